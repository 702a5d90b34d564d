//! A client of `mcpx serve` whose daemon is killed, stopped, started anew, replaced, or ends by itself.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos, StdioChaos};
use testkit::wait_until;

use super::agent::{Agent, ERAS, Era, PATIENCE};
use crate::harness::{Mcpx, demo};

/// A hub with the demo server and one that counts what it does.
fn hub(chaos: &StdioChaos) -> Mcpx {
    let line = chaos.command();
    let counts = json!({"command": line.program, "args": line.args});
    Mcpx::with(&json!({"mcpServers": {"demo": demo(), "counts": counts}}))
}

fn counting() -> StdioChaos {
    let slow = [Behaviour::Delay(Duration::from_secs(50)), Behaviour::Answer];
    let chaos = Chaos::new().legacy();
    chaos
        .tool("slow", slow)
        .tool("quick", Behaviour::Answer)
        .stdio()
}

fn kill(pid: u64) {
    let killed = std::process::Command::new("kill")
        .args(["-KILL", &pid.to_string()])
        .status();
    assert!(killed.unwrap().success());
    wait_until("it is gone", PATIENCE, || is_gone(pid));
}

/// Whether a process is gone, with all that its threads held open; whether somebody waited for it is not ours to say.
fn is_gone(pid: u64) -> bool {
    let folder = std::path::PathBuf::from(format!("/proc/{pid}"));
    let threads = std::fs::read_dir(folder.join("task")).map_or(0, Iterator::count);
    let ended = |stat: String| stat.contains(") Z ") || stat.contains(") X ");
    std::fs::read_to_string(folder.join("stat")).map_or(true, ended) && threads <= 1
}

/// Writes into the record of the daemon that it is of another version.
fn pretend_version(mcpx: &Mcpx, version: &str) {
    let folder = mcpx.home.path().join(".local/state/mcpx");
    let names = std::fs::read_dir(&folder).unwrap();
    let record = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .find(|name| name.starts_with("daemon-") && name.ends_with(".json"))
        .unwrap();
    let path = format!(".local/state/mcpx/{record}");
    let mut document: Value = serde_json::from_str(&mcpx.home.read(&path)).unwrap();
    document["version"] = version.into();
    mcpx.home.write(&path, document.to_string());
}

fn calls(chaos: &StdioChaos) -> usize {
    chaos.received().of_method("tools/call").len()
}

#[test]
fn a_killed_daemon_costs_the_calls_under_way_and_nothing_else() {
    for era in ERAS {
        let chaos = counting();
        let mcpx = hub(&chaos);
        let mut agent = Agent::begin(&mcpx, era, &[]);
        agent.echo(2, "before");
        let before = mcpx.daemons()[0];
        for id in [3, 4] {
            agent.call(id, "counts.slow", &json!({}));
        }
        wait_until("both calls are under way", PATIENCE, || calls(&chaos) == 2);
        kill(before);
        for id in [3, 4] {
            let error = agent.answer(id)["error"].clone();
            assert_eq!(error["code"], 502, "{era:?}: {error}");
            assert_eq!(error["data"]["delivery"], "outcome_unknown", "{error}");
            assert_eq!(error["data"]["origin"], "hub", "{error}");
        }
        agent.echo(5, "after");
        agent.call(6, "counts.quick", &json!({}));
        assert!(agent.answer(6)["result"].is_object());
        assert_eq!(calls(&chaos), 3, "{era:?}: none was made twice");
        assert_ne!(mcpx.daemons(), [before]);
        let (rest, code, err) = agent.end();
        assert_eq!(code, 0, "{err}");
        assert!(err.contains("connected to the daemon again"), "{err}");
        assert!(
            rest.iter().all(|message| message.get("id").is_none()),
            "{era:?}: nothing but notes: {rest:?}"
        );
    }
}

#[test]
fn requests_while_the_daemon_is_started_anew_are_all_answered() {
    for era in ERAS {
        let chaos = counting();
        let mcpx = hub(&chaos);
        let mut agent = Agent::begin(&mcpx, era, &[]);
        agent.call(2, "counts.quick", &json!({}));
        agent.answer(2);
        let before = mcpx.daemons()[0];
        let mut restarting = mcpx.command(&["daemon", "restart"]).spawn().unwrap();
        // Before, while and after.
        let (mut sent, mut after) = (Vec::new(), 0);
        while after < 20 && sent.len() < 2_000 {
            let id = 10 + u32::try_from(sent.len()).unwrap();
            agent.call(id, "counts.quick", &json!({}));
            sent.push(id);
            after += usize::from(restarting.try_wait().unwrap().is_some());
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut done = 0;
        for id in &sent {
            let answer = agent.answer(*id);
            match answer.get("error") {
                None => done += 1,
                Some(error) => assert!(error["data"]["delivery"].is_string(), "{answer}"),
            }
        }
        let ran = mcpx.ran(restarting.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{ran}");
        assert_ne!(mcpx.daemons(), [before]);
        let made = calls(&chaos) - 1;
        assert!(
            done <= made && made <= sent.len(),
            "{era:?}: {done} of {made}"
        );
        agent.call(3, "counts.quick", &json!({}));
        assert!(agent.answer(3)["result"].is_object(), "{era:?}");
    }
}

#[test]
fn a_stopped_daemon_stays_away_until_the_agent_asks_for_something() {
    for era in ERAS {
        let mcpx = Mcpx::with_demos(&["demo"]);
        let mut agent = Agent::begin(&mcpx, era, &[]);
        agent.echo(2, "before");
        mcpx.ok(&["stop"]);
        assert_eq!(mcpx.daemons(), Vec::<u64>::new());
        agent.echo(3, "after");
        assert_eq!(mcpx.daemons().len(), 1);
        // Right behind the stop, while the old one may still be there.
        let stopping = mcpx.command(&["stop"]).spawn().unwrap();
        agent.echo(4, "meanwhile");
        mcpx.ran(stopping.wait_with_output().unwrap());
        agent.echo(5, "again");
        let (_, code, err) = agent.end();
        assert_eq!(code, 0, "{err}");
    }
}

#[test]
fn a_daemon_that_nobody_asks_anything_ends_although_an_agent_is_connected() {
    for era in ERAS {
        let mcpx = Mcpx::with(
            &json!({"mcpServers": {"demo": demo()}, "autostart": {"idleExit": "1s"},
            "pool": {"idleTimeout": "100ms"}, "daemon": {"reapInterval": "100ms"}}),
        );
        let mut agent = Agent::begin(&mcpx, era, &[]);
        agent.echo(2, "before");
        let before = mcpx.daemons()[0];
        wait_until("it ends", PATIENCE, || is_gone(before));
        agent.echo(3, "after");
        assert_ne!(mcpx.daemons(), [before]);
    }
}

#[test]
fn a_daemon_of_an_older_version_gives_way_under_a_connected_agent() {
    for era in ERAS {
        let mcpx = Mcpx::with_demos(&["demo"]);
        let mut agent = Agent::begin(&mcpx, era, &[]);
        agent.echo(2, "before");
        let before = mcpx.daemons()[0];
        pretend_version(&mcpx, "0.0.1");
        mcpx.ok(&["health"]).says(&["is started again"]);
        agent.echo(3, "after");
        assert_ne!(mcpx.daemons(), [before], "{era:?}");
    }
}

#[test]
fn a_legacy_agent_keeps_its_level_and_is_told_what_it_may_have_missed() {
    let chaos = Chaos::new()
        .legacy()
        .resource("x:1", "text")
        .tool("a", Behaviour::Answer)
        .stdio();
    let line = chaos.command();
    let server = json!({"command": line.program, "args": line.args});
    let mcpx = Mcpx::with(&json!({"mcpServers": {"s": server}}));
    let mut agent = Agent::begin(
        &mcpx,
        Era::Legacy,
        &["--passthrough", "s", "--tools", "none"],
    );
    agent.request(2, "resources/subscribe", json!({"uri": "x:1"}));
    let subscribed = agent.answer(2);
    let before = chaos.received().of_method("resources/subscribe").len();
    kill(mcpx.daemons()[0]);
    if subscribed.get("result").is_some() {
        agent.first("the resource may have changed", |message| {
            message["method"] == "notifications/resources/updated"
                && message["params"]["uri"] == "x:1"
        });
        wait_until("it is subscribed again", PATIENCE, || {
            chaos.received().of_method("resources/subscribe").len() > before
        });
    }
    agent.request(3, "tools/list", json!({}));
    assert_eq!(agent.answer(3)["result"]["tools"][0]["name"], "a");
    // Nothing of what was repeated came through.
    let (rest, ..) = agent.end();
    assert!(
        rest.iter().all(|message| message.get("id").is_none()),
        "{rest:?}"
    );
}

#[test]
fn a_subscription_of_a_modern_agent_goes_on_with_the_next_daemon() {
    let chaos = Chaos::new().tool("a", Behaviour::Answer).stdio();
    let line = chaos.command();
    let server = json!({"command": line.program, "args": line.args});
    let mcpx = Mcpx::with(&json!({"mcpServers": {"s": server}}));
    let mut agent = Agent::begin(&mcpx, Era::Modern, &["--passthrough", "s"]);
    let listens = json!({"notifications": {"toolsListChanged": true}});
    agent.request(2, "subscriptions/listen", listens);
    let acknowledged = "notifications/subscriptions/acknowledged";
    agent.first("an acknowledgement", |message| {
        message["method"] == acknowledged
    });
    mcpx.ok(&["daemon", "restart"]);
    let changed = "notifications/tools/list_changed";
    let said = agent.first("what may have changed", |message| {
        message["method"] == changed
    });
    let id = &said["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*id, 2);
    let (rest, ..) = agent.end();
    assert!(
        rest.iter().all(|message| message["method"] != acknowledged),
        "it was told once: {rest:?}"
    );
}

#[test]
fn a_daemon_that_cannot_start_is_told_to_each_request_until_it_can() {
    for era in ERAS {
        let mcpx = Mcpx::with_demos(&["demo"]);
        let mut agent = Agent::begin(&mcpx, era, &[]);
        agent.echo(2, "before");
        let config = mcpx.home.read(".config/mcpx/config.json");
        let mut broken: Value = serde_json::from_str(&config).unwrap();
        broken["daemon"] = json!({"address": "256.0.0.1"});
        mcpx.home
            .write(".config/mcpx/config.json", broken.to_string());
        kill(mcpx.daemons()[0]);
        for id in [3, 4] {
            agent.call(id, "demo.echo", &json!({"message": "x"}));
            let error = agent.answer(id)["error"].clone();
            assert_eq!(error["data"]["delivery"], "not_sent", "{era:?}: {error}");
            assert!(
                error["message"].as_str().unwrap().contains("256.0.0.1"),
                "{error}"
            );
        }
        mcpx.home.write(".config/mcpx/config.json", config);
        agent.echo(5, "after");
        let (_, code, err) = agent.end();
        assert_eq!(code, 0, "{err}");
        assert!(
            err.contains("error: ") && err.contains("256.0.0.1"),
            "{err}"
        );
    }
}

#[test]
fn without_a_daemon_from_the_beginning_each_request_is_told_why() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    let ping = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let stdin = format!("{}\n{}\n", ping(1), ping(2));
    let ran = mcpx.run_with(&["--no-daemon-autostart", "serve"], Some(&stdin));
    assert_eq!(ran.code, 1, "{ran}");
    ran.says(&["no daemon runs", "mcpx daemon --detached"]);
    let answers: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 2, "{ran}");
    for answer in answers {
        assert_eq!(answer["error"]["data"]["delivery"], "not_sent", "{answer}");
    }
}

#[test]
fn what_is_under_way_when_the_client_has_said_its_last_is_finished() {
    for era in ERAS {
        let mcpx = Mcpx::with_demos(&["demo"]);
        let mut agent = Agent::begin(&mcpx, era, &[]);
        agent.call(2, "demo.slow", &json!({"ms": 300}));
        let (rest, code, err) = agent.end();
        assert_eq!(code, 0, "{err}");
        assert!(
            rest.iter()
                .any(|message| message["id"] == 2 && message["result"].is_object()),
            "{rest:?}"
        );
    }
}
