//! Agents on the official SDKs, at the same time: what they share, and what is each one's own.

use std::thread;

use serde_json::{Value, json};
use testkit::peers::mcp::{Client, everything, memory};
use testkit::wait_until;

use crate::hub::{Hub, PATIENCE, program, stateful};

/// The two agents.
const AGENTS: [Client; 2] = [Client::TypeScriptV2, Client::Python];

/// How an agent reaches the hub.
#[derive(Clone, Copy, Debug)]
enum Way {
    Stdio,
    Http,
}

/// A call that an agent makes through the hub; returns its text.
#[track_caller]
fn call(hub: &Hub, agent: Client, way: Way, tool: &str, arguments: Value) -> String {
    let arguments = json!({ "tool": tool, "args": arguments });
    let said = match way {
        Way::Stdio => agent.call(&hub.line(&["serve"]), "mcpx_call", &arguments),
        Way::Http => {
            let record = hub.record();
            let url = format!("{}/mcp", record.endpoint.unwrap());
            agent.call_url_as(&url, &record.token.unwrap(), "mcpx_call", &arguments)
        }
    };
    assert_eq!(said["era"], "modern", "{agent:?}: {said}");
    let text = said["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{agent:?}: {said}"))
        .to_owned()
}

/// Both agents call at the same time; `meanwhile` runs while both calls are open. Returns what each was answered.
#[track_caller]
fn both_hold(hub: &Hub, way: Way, server: &str, meanwhile: impl FnOnce()) -> [String; 2] {
    let until = hub.path(&format!("{server}-{way:?}"));
    let tool = format!("{server}.hold");
    let arguments = json!({ "until": until });
    let hold = &|agent| call(hub, agent, way, &tool, arguments.clone());
    thread::scope(|scope| {
        let open = AGENTS.map(|agent| scope.spawn(move || hold(agent)));
        wait_until("both calls are open", PATIENCE, || {
            let instances = hub.server(server).instances;
            instances
                .iter()
                .map(|instance| instance.holders)
                .sum::<usize>()
                == 2
        });
        meanwhile();
        std::fs::write(&until, "").unwrap();
        open.map(|agent| agent.join().unwrap())
    })
}

fn servers(hub: &Hub, idle: &str) -> Value {
    json!({
        "shared": stateful(json!({ "idleTimeout": idle })),
        "own": stateful(json!({ "scope": "session" })),
        "everything": program(&everything()),
        "memory": program(&memory(&hub.path("graph.jsonl"))),
    })
}

#[test]
fn two_agents_share_one_instance() {
    let hub = Hub::new(&json!({}));
    hub.configure(&servers(&hub, "5m"));
    hub.ok(&["health"]);
    for way in [Way::Stdio, Way::Http] {
        let pids = both_hold(&hub, way, "shared", || {
            let status = hub.status();
            let shared = hub.server("shared");
            assert_eq!(shared.instances.len(), 1, "{way:?}: {shared:?}");
            if matches!(way, Way::Stdio) {
                assert!(status.clients >= 2, "{status:?}");
            }
        });
        assert_eq!(pids[0], pids[1], "{way:?}");
        // Both have left; what they shared stays.
        let instances = hub.server("shared").instances;
        assert_eq!(instances.len(), 1, "{way:?}: {instances:?}");
        assert_eq!(instances[0].pid.unwrap().to_string(), pids[0], "{way:?}");
        assert_eq!(instances[0].holders, 0, "{way:?}");
    }
    // A shorter life ends no instance by itself, but counts for the one that runs.
    hub.configure(&servers(&hub, "100ms"));
    wait_until("it was idle", PATIENCE, || {
        hub.server("shared").instances.is_empty()
    });
}

#[test]
fn agents_have_instances_of_their_own_when_the_scope_is_the_session() {
    let hub = Hub::new(&json!({}));
    hub.configure(&servers(&hub, "5m"));
    let pids = both_hold(&hub, Way::Stdio, "own", || {
        assert_eq!(hub.server("own").instances.len(), 2);
    });
    assert_ne!(pids[0], pids[1]);
    wait_until("they ended with their sessions", PATIENCE, || {
        hub.server("own").instances.is_empty()
    });
}

#[test]
fn agents_see_what_the_other_one_wrote() {
    let hub = Hub::new(&json!({}));
    hub.configure(&servers(&hub, "5m"));
    let [typescript, python] = AGENTS;
    let hi = json!({ "message": "hi" });
    let echo = &|agent| call(&hub, agent, Way::Stdio, "everything.echo", hi.clone());
    thread::scope(|scope| {
        for agent in AGENTS {
            scope.spawn(move || assert!(echo(agent).contains("hi")));
        }
    });
    let entity = json!({ "name": "hub", "entityType": "program", "observations": ["shares"] });
    let entities = json!({ "entities": [entity] });
    call(
        &hub,
        typescript,
        Way::Stdio,
        "memory.create_entities",
        entities,
    );
    let graph = call(&hub, python, Way::Http, "memory.read_graph", json!({}));
    assert!(graph.contains("shares"), "{graph}");
    for name in ["everything", "memory"] {
        assert_eq!(hub.server(name).instances.len(), 1, "{name}");
    }
}

#[test]
fn a_passed_through_server_looks_to_an_agent_as_if_it_were_its_own() {
    let hub = Hub::new(&json!({ "everything": program(&everything()) }));
    let line = hub.line(&["serve", "--passthrough", "everything", "--tools", "none"]);
    let hi = json!({ "message": "hi" });
    let agent = Client::TypeScriptV2;
    let [through, direct] = [&line, &everything()].map(|line| agent.call(line, "echo", &hi));
    // A server of 2025-11-25 learns at its start what its clients can do, and lists what those can use: the hub says what
    // this one can.
    for same in ["resources", "prompts", "tools"] {
        assert_eq!(through[same], direct[same], "{same}");
    }
    assert_eq!(through["result"]["content"], direct["result"]["content"]);
}
