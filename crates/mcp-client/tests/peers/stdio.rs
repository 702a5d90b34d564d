//! Real servers over their standard streams. Most of the time is theirs, to start, so they start at once.

use mcp_client::{CallOptions, ServerSpec};
use mcp_wire::Era::{self, Legacy, Modern};
use testkit::TempHome;
use testkit::peers::mcp::{self, Server};
use tokio::task::JoinSet;

use crate::setup::{
    Call, asks, call, cancels, close, connected, legacy, look, object, program, sdk_calls,
};

/// Connects, looks, cancels a call of a server on an SDK, and closes.
async fn see(spec: ServerSpec, era: Era, calls: Vec<Call>, slow: Option<Call>, can_ask: bool) {
    let mark = spec.name.clone();
    let (connection, person) = connected(spec).await;
    look(&connection, era, &calls, slow).await;
    if can_ask {
        asks(&connection, &person).await;
    }
    if calls.len() > 1 {
        cancels(&connection).await;
    }
    close(&connection, &mark).await;
}

async fn all(mut seeing: JoinSet<()>) {
    while let Some(seen) = seeing.join_next().await {
        seen.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_servers_are_listed_called_and_closed() {
    let home = TempHome::new();
    let note = home.write("note.txt", "written");
    let repository = home.path().join("repository");
    let git = child_process::Program::new("git")
        .args(["init", "-q"])
        .arg(&repository)
        .env(child_process::Env::allowlisted(
            &std::env::vars_os().collect(),
        ));
    child_process::run_briefly(&git, std::time::Duration::from_secs(20)).unwrap();
    let text = |value: &std::path::Path| serde_json::json!(value).to_string();

    let mut seeing = JoinSet::new();
    let slow = call(
        "trigger-long-running-operation",
        r#"{"duration":0.3,"steps":3}"#,
        "completed",
    );
    let echo = vec![call("echo", r#"{"message":"hi"}"#, "Echo:hi")];
    seeing.spawn(see(
        program(&mcp::everything(), "everything"),
        Legacy,
        echo,
        Some(slow),
        false,
    ));
    let read = format!(r#"{{"path":{}}}"#, text(&note));
    let read = vec![call("read_text_file", &read, "written")];
    seeing.spawn(see(
        program(&mcp::filesystem(home.path()), "files"),
        Legacy,
        read,
        None,
        false,
    ));
    let graph = vec![call(
        "read_graph",
        "{}",
        r#"{"entities":[],"relations":[]}"#,
    )];
    let memory = mcp::memory(&home.path().join("graph.jsonl"));
    seeing.spawn(see(program(&memory, "memory"), Legacy, graph, None, false));
    let status = format!(r#"{{"repo_path":{}}}"#, text(&repository));
    let status = vec![call("git_status", &status, "Repositorystatus:")];
    seeing.spawn(see(
        program(&mcp::git(&repository), "git"),
        Modern,
        status,
        None,
        false,
    ));
    let now = vec![call(
        "get_current_time",
        r#"{"timezone":"UTC"}"#,
        r#""timezone":"UTC""#,
    )];
    seeing.spawn(see(program(&mcp::time(), "time"), Modern, now, None, false));
    all(seeing).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_on_the_sdks_answer_ask_and_report_in_both_eras() {
    let slow = || Some(call("slow", r#"{"steps":3}"#, "done"));
    let mut seeing = JoinSet::new();
    for (server, mark, era, can_ask) in [
        (Server::TypeScriptV1, "ts-v1", Legacy, true),
        (Server::TypeScriptV2, "ts-v2", Modern, true),
        (Server::Python, "python", Modern, true),
        (Server::FastMcp, "fastmcp", Modern, false),
    ] {
        seeing.spawn(see(
            program(&server.stdio(), mark),
            era,
            sdk_calls(),
            slow(),
            can_ask,
        ));
    }
    all(seeing).await;
    let mut seeing = JoinSet::new();
    for (server, mark) in [
        (Server::TypeScriptV2, "ts-v2-legacy"),
        (Server::Python, "python-legacy"),
        (Server::FastMcp, "fastmcp-legacy"),
    ] {
        let spec = legacy(program(&server.stdio(), mark));
        seeing.spawn(see(spec, Legacy, sdk_calls(), slow(), true));
    }
    all(seeing).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_of_everything_asks_with_a_form_of_its_own() {
    let (connection, person) = connected(program(&mcp::everything(), "everything-asks")).await;
    let tool = "trigger-elicitation-request";
    let result = connection
        .call_tool(tool, object("{}"), &CallOptions::default())
        .await
        .unwrap();
    assert_eq!(person.asked.lock().unwrap().len(), 1);
    // The answer lacks what its form requires: it says so, or takes it; it is not left waiting.
    assert!(!result.raw().is_empty());
    close(&connection, "everything-asks").await;
}
