//! What `server-everything` has, as clients on the official TypeScript SDK get it through the hub, in both eras.

use serde_json::{Value, json};
use testkit::TempHome;
use testkit::peers::mcp::{Client, everything};

use crate::front::{hub, with_token};

fn check(client: Client, own: bool) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let home = TempHome::new();
    let line = everything();
    let base = runtime.block_on(async {
        let server = json!({"command": line.program, "args": line.args});
        let (address, token) = hub(&home, server).await;
        with_token(address, token).await
    });
    let query = if own {
        "passthrough="
    } else {
        "passthrough=everything&tools=none"
    };
    let said = client.tour(&format!("{base}/mcp?{query}"), own);
    let name = format!("{client:?}, own: {own}: {said:#}");
    let has = |step: &str, text: &str| {
        let found = said[step].as_str().is_some_and(|said| said.contains(text));
        assert!(found, "{step}: {name}");
    };
    let failed = |step: &str, text: &str| {
        let error = said[step]["error"].as_str();
        assert!(
            error.is_some_and(|said| said.contains(text)),
            "{step}: {name}"
        );
    };
    if !own {
        // A server that lists what its client can use lists it for this one, from the first time on.
        let tools = said["tools"].as_array().unwrap();
        for tool in [
            "trigger-elicitation-request",
            "get-roots-list",
            "trigger-sampling-request",
        ] {
            assert!(tools.contains(&Value::from(tool)), "{tool}: {name}");
        }
    }
    // What a modern client misses while it answers a question has no request to come with.
    let progress: Vec<_> = said["progress"]
        .as_array()
        .unwrap()
        .iter()
        .map(Value::as_u64)
        .collect();
    assert!(!progress.is_empty() && progress.is_sorted(), "{name}");
    failed("cancelled", "enough");
    has("form", "User provided the requested information");
    has("url", "User completed the URL elicitation");
    has("sampling", "sampled");
    has("roots", "file:///tour");
    if said.get("task").is_some() {
        has("task", "Clarification");
    }
    has("prompt", "weather in Bern");
    assert_eq!(said["completion"], json!(["Engineering"]), "{name}");
    let prefix = if own { "mcpx://everything/" } else { "" };
    let uri = format!("{prefix}demo://resource/dynamic/text/1");
    assert_eq!(said["resource"], uri, "{name}");
    failed("nothing", "not found");
    assert_eq!(said["updated"], uri, "{name}");
    assert_eq!(said["logged"], true, "{name}");
    let asked = said["asked"].as_array().unwrap();
    for kind in ["form", "url", "sampling", "roots"] {
        assert!(asked.contains(&Value::from(kind)), "{kind}: {name}");
    }
}

#[test]
fn a_legacy_client_gets_all_that_a_legacy_server_has_passed_through() {
    check(Client::TypeScriptV1, false);
}

#[test]
fn a_legacy_client_gets_all_that_a_legacy_server_has_by_the_hubs_own_tools() {
    check(Client::TypeScriptV1, true);
}

#[test]
fn a_modern_client_gets_all_that_a_legacy_server_has_passed_through() {
    check(Client::TypeScriptV2, false);
}

#[test]
fn a_modern_client_gets_all_that_a_legacy_server_has_by_the_hubs_own_tools() {
    check(Client::TypeScriptV2, true);
}
