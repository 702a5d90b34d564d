//! Many callers at once on servers that may serve one at a time, each session with its own state.

use std::collections::BTreeSet;

use mcp_wire::{Object, Raw};
use mcpx_api::{Caller, ClientError, Op, operation};
use serde_json::{Value, json};

use crate::hub::{Hub, PATIENCE, stateful};

const CALLERS: usize = 64;
const SESSIONS: usize = 8;

fn object(value: Value) -> Object {
    Raw::from(value).object().unwrap()
}

/// One call; returns the text and the instance.
async fn call(hub: &Hub, session: &str, tool: &str, args: &Value) -> (String, String) {
    let caller = Caller {
        session: Some(session.to_owned()),
        ..Caller::default()
    };
    let params = object(json!({ "tool": tool, "args": args }));
    let answer = hub.client(caller).send(operation(Op::Call), &params).await;
    let document: Value = serde_json::from_str(&answer.unwrap().text()).unwrap();
    assert_eq!(document["result"]["isError"], false, "{document}");
    let text = document["result"]["content"][0]["text"].as_str().unwrap();
    (
        text.to_owned(),
        document["instance"].as_str().unwrap().to_owned(),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exclusive_servers_never_serve_two_at_once_and_sessions_never_mix() {
    // Equal launches would share their instances, and the sizes of the first.
    let server = |name: &str, mcpx| {
        let mut server = stateful(mcpx);
        server["env"] = json!({ "NAME": name });
        server
    };
    let sized = |max: usize| json!({ "scope": "session", "sharing": "exclusive", "max": max });
    let hub = Hub::new(&json!({
        "own": server("own", sized(SESSIONS)),
        "few": server("few", sized(3)),
        "one": server("one", json!({ "sharing": "exclusive" })),
    }));
    hub.ok(&["health"]);
    let hub = std::sync::Arc::new(hub);
    let callers = (0..CALLERS).map(|caller| {
        let hub = std::sync::Arc::clone(&hub);
        tokio::spawn(async move {
            let session = format!("session-{}", caller % SESSIONS);
            let mut seen = BTreeSet::new();
            for _ in 0..2 {
                let value = json!({ "value": session });
                let (_, instance) = call(&hub, &session, "own.put", &value).await;
                seen.insert(instance);
                let (value, _) = call(&hub, &session, "own.get", &json!({})).await;
                assert_eq!(value, session, "the state of another session");
            }
            let value = json!({ "value": session });
            call(&hub, &session, "one.put", &value).await;
            // There are more sessions than it may have instances: one that is idle gives way.
            if caller < 2 * SESSIONS {
                call(&hub, &session, "few.put", &value).await;
            }
            seen.into_iter()
                .map(move |instance| (instance, caller % SESSIONS))
                .collect::<Vec<_>>()
        })
    });
    let ended = futures_of(callers.collect()).await;
    // No instance served two sessions.
    let owners: BTreeSet<(String, usize)> = ended.into_iter().flatten().collect();
    let instances: BTreeSet<&String> = owners.iter().map(|(instance, _)| instance).collect();
    assert_eq!(instances.len(), owners.len(), "{owners:?}");
    for (name, most) in [("own", SESSIONS), ("one", 1), ("few", 3)] {
        let instances = hub.server(name).instances;
        assert!(
            (1..=most).contains(&instances.len()),
            "{name}: {instances:?}"
        );
        assert!(
            instances.iter().all(|one| one.holders == 0),
            "{name}: {instances:?}"
        );
    }
}

async fn futures_of<T>(tasks: Vec<tokio::task::JoinHandle<T>>) -> Vec<T> {
    let mut ended = Vec::new();
    for task in tasks {
        ended.push(tokio::time::timeout(PATIENCE, task).await.unwrap().unwrap());
    }
    ended
}

#[tokio::test]
async fn an_exhausted_pool_is_no_unknown_tool() {
    let hub = Hub::new(&json!({ "one": stateful(json!({ "sharing": "exclusive", "max": 1 })) }));
    hub.ok(&["call", "one.who"]);
    let until = hub.path("until");
    let hold = format!("until={}", until.display());
    let mut holder = hub.command(&["call", "one.hold", &hold]).spawn().unwrap();
    testkit::wait_until("it is held", PATIENCE, || {
        hub.server("one")
            .instances
            .iter()
            .any(|one| one.holders == 1)
    });
    hub.ok(&["settings", "set", "pool.queueTimeout", "50ms"]);
    let refused = hub.run(&["call", "one.who"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.err.contains("no free instance") && refused.err.contains("hint: "),
        "{refused:?}"
    );
    let params = object(json!({ "tool": "one.who" }));
    let sent = hub
        .client(Caller::default())
        .send(operation(Op::Call), &params)
        .await;
    let Err(ClientError::Api(error)) = sent else {
        panic!("it was answered");
    };
    assert_eq!(error.code.status(), 429, "{error:?}");
    std::fs::write(&until, "").unwrap();
    assert!(holder.wait().unwrap().success());
    hub.ok(&["call", "one.who"]);
}
