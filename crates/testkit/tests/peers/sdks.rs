//! Real clients with real servers: what our tests may expect of either.

use serde_json::{Value, json};
use testkit::peers::mcp::{self, Client, Server};

const ACCEPTED: &str = r#"{"action":"accept","content":{"ok":true}}"#;

fn text(said: &Value) -> String {
    let text = &said["result"]["content"][0]["text"];
    text.as_str()
        .unwrap_or_else(|| panic!("{said}"))
        .replace(' ', "")
}

#[test]
fn every_server_asks_over_stdio() {
    let servers = [
        (Server::TypeScriptV1, "legacy"),
        (Server::TypeScriptV2, "modern"),
        (Server::Python, "modern"),
    ];
    for (server, era) in servers {
        let question = json!({ "question": "sure?" });
        let said = Client::TypeScriptV2.call(&server.stdio(), "ask", &question);
        assert_eq!(
            (said["era"].as_str(), text(&said).as_str()),
            (Some(era), ACCEPTED),
            "{server:?}"
        );
        assert_eq!(said["questions"][0]["message"], "sure?");
    }
}

#[test]
fn progress_comes_over_http() {
    for server in [
        Server::TypeScriptV1,
        Server::TypeScriptV2,
        Server::Python,
        Server::FastMcp,
    ] {
        let peer = server.http();
        let said = Client::TypeScriptV2.call_url(peer.url(), "slow", &json!({ "steps": 3 }));
        assert_eq!(
            (&said["progress"], text(&said).as_str()),
            (&json!([1, 2, 3]), "done"),
            "{server:?}"
        );
    }
}

#[test]
fn fastmcp_asks_legacy_clients_only() {
    let question = json!({ "question": "sure?" });
    let legacy = Client::PythonLegacy.call(&Server::FastMcp.stdio(), "ask", &question);
    assert_eq!(text(&legacy), ACCEPTED);
    let modern = Client::Python.call(&Server::FastMcp.stdio(), "ask", &question);
    assert_eq!(modern["result"]["isError"], true, "{modern}");
}

#[test]
fn the_official_servers_answer() {
    let home = testkit::TempHome::new();
    let file = home.write("note.txt", "written");
    let read = json!({ "path": file });
    let said = Client::TypeScriptV2.call(&mcp::filesystem(home.path()), "read_text_file", &read);
    assert_eq!(
        (text(&said).as_str(), said["era"].as_str()),
        ("written", Some("legacy"))
    );

    let graph = mcp::memory(&home.path().join("graph.jsonl"));
    let said = Client::Python.call(&graph, "read_graph", &json!({}));
    assert_eq!(
        said["result"]["structuredContent"],
        json!({ "entities": [], "relations": [] })
    );

    let said = Client::Python.call(&mcp::everything(), "echo", &json!({ "message": "hi" }));
    assert_eq!(text(&said), "Echo:hi");

    let zone = json!({ "timezone": "UTC" });
    let said = Client::TypeScriptV2.call(&mcp::time(), "get_current_time", &zone);
    assert_eq!(said["era"], "modern", "{said}");
    assert!(text(&said).contains(r#""timezone":"UTC""#), "{said}");
}
