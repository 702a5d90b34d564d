//! Servers that take their time to start.

use std::time::Duration;

use mcpx_api::{Code, Op};
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos};

use super::options;
use crate::failures_setup::{Gate, until};
use crate::front_setup::{Daemon, ERAS};

#[tokio::test]
async fn a_start_goes_on_when_whoever_asked_first_gave_up() {
    let chaos = Chaos::new().tool("say", Behaviour::Answer).stdio();
    let folder = testkit::TempHome::new();
    let gate = Gate::new(folder.path());
    let settings = [("daemon.warm", "false")];
    let daemon = Daemon::with(json!({"slow": gate.entry(&chaos)}), &settings).await;
    for _ in 0..3 {
        let call = json!({"tool": "slow.say", "timeoutMs": 100});
        let gave_up = daemon.ask(Op::Call, call);
        let gave_up = tokio::time::timeout(Duration::from_secs(20), gave_up).await;
        let error = gave_up.expect("a caller's own time counts while a server starts");
        let error = error.unwrap_err();
        assert_eq!(error.code, Code::Timeout, "{error}");
        assert_eq!(error.data.string("delivery").as_deref(), Some("not_sent"));
    }
    gate.open();
    until("it started for nobody", || {
        !chaos.received().processes().is_empty()
    })
    .await;
    let called = daemon
        .ask(Op::Call, json!({"tool": "slow.say"}))
        .await
        .expect("an answer");
    assert_eq!(called["tool"], "say");
    assert_eq!(chaos.received().processes().len(), 1);
}

#[tokio::test]
async fn what_an_earlier_daemon_read_answers_while_a_server_takes_its_time() {
    let chaos = Chaos::new()
        .tool("say", Behaviour::Answer)
        .prompt("greet", "Hello")
        .stdio();
    let folder = testkit::TempHome::new();
    let gate = Gate::new(folder.path());
    gate.open();
    let servers = json!({"slow": gate.entry(&chaos)});
    let daemon = Daemon::of(servers.clone()).await;
    daemon
        .ask(Op::Call, json!({"tool": "slow.say"}))
        .await
        .unwrap();
    gate.close();
    let daemon = daemon.again(servers).await;
    let before = chaos.received().processes().len();
    let asked = async {
        let rows = daemon.checked(Op::Namespaces, json!({})).await;
        assert_eq!(
            (&rows[0]["tools"], &rows[0]["cached"]),
            (&json!(1), &json!(true))
        );
        let found = daemon.checked(Op::Search, json!({"q": "say"})).await;
        assert_eq!(found[0]["function"], "slow.say");
        let types = daemon.ask(Op::Types, json!({"ns": ["slow"]})).await;
        assert!(types.unwrap().to_string().contains("say"));
        for era in ERAS {
            let passed = daemon.client("?passthrough=slow", era, None).await;
            let tools = passed.tools(&options()).await.unwrap().elements;
            assert!(tools.iter().any(|tool| tool.name == "say"), "{era:?}");
            assert_eq!(passed.prompts(&options()).await.unwrap().elements.len(), 1);
        }
    };
    let asked = tokio::time::timeout(Duration::from_secs(10), asked).await;
    asked.expect("nothing waits for the server");
    assert_eq!(chaos.received().processes().len(), before);
    gate.open();
    let called = daemon.ask(Op::Call, json!({"tool": "slow.say"})).await;
    called.unwrap();
}
