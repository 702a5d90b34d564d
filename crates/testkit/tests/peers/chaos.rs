//! Real clients with the chaos server: where it does nothing wrong they find nothing wrong.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{
    mcp::{Behaviour, Chaos, Question},
    peers::mcp::Client,
};

fn server() -> Chaos {
    let steps = [
        Behaviour::Progress(2, Duration::ZERO),
        Behaviour::Ask("sure", Question::confirm("sure?")),
    ];
    Chaos::new()
        .tool("ask", steps)
        .resource("test://note", "a note")
        .prompt("greet", "Greet")
}

#[track_caller]
fn check(said: &Value, era: &str) {
    assert_eq!(said["era"], era, "{said}");
    assert_eq!(
        (&said["tools"], &said["resources"], &said["prompts"]),
        (&json!(["ask"]), &json!(["test://note"]), &json!(["greet"]))
    );
    let text = said["result"]["content"][0]["text"].as_str();
    let text = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let text = text.unwrap_or_else(|| panic!("{said}"));
    assert_eq!(
        text["answers"]["sure"],
        json!({ "action": "accept", "content": { "ok": true } })
    );
}

#[test]
fn real_clients_understand_a_legacy_server() {
    for client in [Client::TypeScriptV1, Client::TypeScriptV2, Client::Python] {
        let stdio = server().legacy().stdio();
        check(&client.call(&stdio.command(), "ask", &json!({})), "legacy");
        let http = server().legacy().sessions().get_stream().http();
        check(&client.call_url(http.url(), "ask", &json!({})), "legacy");
    }
}

#[test]
fn real_clients_understand_a_modern_server() {
    for client in [Client::TypeScriptV2, Client::Python] {
        let stdio = server().modern().stdio();
        check(&client.call(&stdio.command(), "ask", &json!({})), "modern");
        let http = server().modern().http();
        check(&client.call_url(http.url(), "ask", &json!({})), "modern");
    }
}
