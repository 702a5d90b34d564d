//! Servers and settings that are changed while the daemon runs, in its files and by requests.

use mcpx_api::{Code, Op};
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos};

use crate::front_setup::{Daemon, stdio};

fn timeouts(status: &Value, server: &str) -> Value {
    let servers = status["servers"].as_array().expect("servers");
    let found = servers.iter().find(|row| row["name"] == server);
    found.expect("the server")["timeoutsMs"].clone()
}

#[allow(clippy::disallowed_methods, reason = "the file is the test's own")]
fn write(daemon: &Daemon, text: &str) {
    std::fs::write(file(daemon), text).expect("written");
}

fn file(daemon: &Daemon) -> std::path::PathBuf {
    daemon.home().join("mcp.json")
}

#[tokio::test]
async fn an_edited_file_counts_for_the_next_request_and_a_broken_one_leaves_what_was() {
    let daemon = Daemon::of(json!({"a": {"command": "true"}})).await;
    let names = |rows: &Value| -> Vec<String> {
        let rows = rows.as_array().expect("rows");
        rows.iter()
            .map(|row| row["server"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(
        names(&daemon.ask(Op::Namespaces, json!({})).await.expect("rows")),
        ["a"]
    );
    write(
        &daemon,
        r#"{"mcpServers": {"a": {"command": "true"}, "b": {"command": "true"}}}"#,
    );
    daemon
        .until(Op::Namespaces, json!({}), |rows| names(rows) == ["a", "b"])
        .await;
    write(&daemon, "{\n\"mcpServers\": {\"a\": 7}\n}");
    let status = daemon
        .until(Op::Status, json!({}), |status| {
            status.get("configError").is_some()
        })
        .await;
    let error = status["configError"].as_str().expect("an error");
    assert!(error.contains("mcp.json:2"), "{error}");
    assert_eq!(
        names(&daemon.ask(Op::Namespaces, json!({})).await.expect("rows")),
        ["a", "b"]
    );
    let refused = daemon.ask(Op::Reload, json!({})).await.expect_err("broken");
    assert_eq!(refused.code, Code::Unprocessable);
    assert_eq!(
        refused.data.get("line").and_then(mcp_wire::Raw::integer),
        Some(2)
    );
    let told = daemon
        .checked(Op::LogQuery, json!({"event": "config.broken"}))
        .await;
    assert_eq!(
        told["records"].as_array().map(Vec::len),
        Some(1),
        "told once: {told:#}"
    );
    write(&daemon, r#"{"mcpServers": {"b": {"command": "true"}}}"#);
    let status = daemon
        .until(Op::Status, json!({}), |status| {
            status.get("configError").is_none()
        })
        .await;
    assert_eq!(status["servers"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_pool_setting_applies_at_once_where_a_server_says_nothing_itself_and_survives_a_reload() {
    let daemon = Daemon::of(json!({
        "plain": {"command": "true"},
        "own": {"command": "true", "mcpx": {"callTimeout": "7s"}},
    }))
    .await;
    let set = daemon
        .checked(
            Op::SettingsSet,
            json!({"path": "pool.callTimeout", "value": "90s"}),
        )
        .await;
    assert_eq!(
        (&set["applied"], &set["restartRequired"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(set["source"], "runtime");
    assert_eq!(set["shadowed"][0]["source"], "default");
    for _ in 0..2 {
        let status = daemon.checked(Op::Status, json!({})).await;
        assert_eq!(timeouts(&status, "plain")["call"], 90_000);
        assert_eq!(timeouts(&status, "own")["call"], 7_000);
        daemon.checked(Op::Reload, json!({})).await;
    }
    let unset = daemon
        .checked(Op::SettingsUnset, json!({"path": "pool.callTimeout"}))
        .await;
    assert_eq!(
        (&unset["applied"], &unset["source"]),
        (&json!(true), &json!("default"))
    );
    let status = daemon.checked(Op::Status, json!({})).await;
    assert_eq!(timeouts(&status, "plain")["call"], 120_000);
}

#[tokio::test]
async fn a_setting_says_when_it_cannot_apply_now() {
    let daemon = Daemon::of(json!({})).await;
    let cold = daemon
        .checked(
            Op::SettingsSet,
            json!({"path": "events.history", "value": 7}),
        )
        .await;
    assert_eq!(
        (&cold["applied"], &cold["restartRequired"]),
        (&json!(false), &json!(true))
    );
    let client = daemon
        .checked(
            Op::SettingsSet,
            json!({"path": "output.json", "value": true}),
        )
        .await;
    assert_eq!(
        (&client["applied"], &client["restartRequired"]),
        (&json!(false), &json!(false))
    );
    assert!(client["note"].is_string());
    for (path, value, code) in [
        ("pool.max", json!("many"), Code::BadRequest),
        ("pool.max", Value::Null, Code::BadRequest),
        ("logging.level", json!("loud"), Code::BadRequest),
        ("pool.maxx", json!(1), Code::NotFound),
    ] {
        let error = daemon
            .ask(Op::SettingsSet, json!({"path": path, "value": value}))
            .await
            .expect_err(path);
        assert_eq!(error.code, code, "{path}: {error}");
    }
    let near = daemon
        .ask(Op::SettingsGet, json!({"path": "pool.maxx"}))
        .await
        .expect_err("none");
    assert!(
        format!("{near} {:?}", near.hint).contains("pool.max"),
        "{near:?}"
    );
    let changed = daemon
        .checked(Op::SettingsList, json!({"changed": true}))
        .await;
    let paths: Vec<&Value> = changed
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| &row["path"])
        .collect();
    assert_eq!(paths, ["socketPath"]);
}

#[tokio::test]
async fn a_setting_that_is_kept_is_in_the_file_with_its_comments_and_in_force() {
    let daemon = Daemon::of(json!({})).await;
    write(
        &daemon,
        "{\n  // mine\n  \"mcpServers\": {\"a\": {\"command\": \"true\"}}\n}\n",
    );
    let set = daemon
        .checked(
            Op::SettingsSet,
            json!({"path": "pool.idleTimeout", "value": "3m", "persist": "user"}),
        )
        .await;
    assert_eq!(set["applied"], true, "{set:#}");
    let text = std::fs::read_to_string(file(&daemon)).expect("text");
    assert!(
        text.contains("// mine") && text.contains("\"idleTimeout\": \"3m\""),
        "{text}"
    );
    let status = daemon.checked(Op::Status, json!({})).await;
    assert_eq!(timeouts(&status, "a")["idle"], 180_000);
    daemon
        .checked(
            Op::SettingsUnset,
            json!({"path": "pool.idleTimeout", "persist": "user"}),
        )
        .await;
    let status = daemon.checked(Op::Status, json!({})).await;
    assert_eq!(timeouts(&status, "a")["idle"], 300_000);
    let gone = daemon
        .ask(
            Op::SettingsUnset,
            json!({"path": "pool.idleTimeout", "persist": "user"}),
        )
        .await
        .expect_err("not there");
    assert_eq!(gone.code, Code::NotFound);
}

#[tokio::test]
async fn a_server_is_added_called_replaced_and_removed_while_others_run_on() {
    let kept = Chaos::new().tool("stay", Behaviour::Answer).stdio();
    let added = Chaos::new().tool("come", Behaviour::Answer).stdio();
    let daemon = Daemon::of(json!({"kept": stdio(&kept)})).await;
    daemon
        .ask(Op::Call, json!({"tool": "kept.stay"}))
        .await
        .expect("an answer");
    let mut wanted = stdio(&added);
    wanted["name"] = json!("new");
    let written = daemon.checked(Op::ServersAdd, wanted.clone()).await;
    assert_eq!(written["added"], json!(["new"]));
    assert!(
        written["path"]
            .as_str()
            .is_some_and(|path| path.ends_with("mcp.json"))
    );
    daemon
        .ask(Op::Call, json!({"tool": "new.come"}))
        .await
        .expect("an answer");
    let again = daemon
        .ask(Op::ServersAdd, wanted.clone())
        .await
        .expect_err("there already");
    assert_eq!(again.code, Code::Conflict);
    wanted["replace"] = json!(true);
    wanted["mcpx"] = json!({"callTimeout": "9s"});
    let replaced = daemon.checked(Op::ServersAdd, wanted).await;
    assert_eq!(
        (&replaced["added"], &replaced["changed"]),
        (&json!([]), &json!([])),
        "only a deadline changed"
    );
    let removed = daemon
        .checked(Op::ServersRemove, json!({"name": "new"}))
        .await;
    assert_eq!(removed["removed"], json!(["new"]));
    let gone = daemon
        .ask(Op::ServersRemove, json!({"name": "new"}))
        .await
        .expect_err("gone");
    assert_eq!(gone.code, Code::NotFound);
    daemon
        .ask(Op::Call, json!({"tool": "kept.stay"}))
        .await
        .expect("an answer");
    assert_eq!(kept.received().processes().len(), 1, "it ran on");
}

#[tokio::test]
async fn nothing_is_written_into_a_broken_file() {
    let daemon = Daemon::of(json!({})).await;
    let text = "{ \"mcpServers\": { // half\n";
    write(&daemon, text);
    for (op, params) in [
        (Op::ServersAdd, json!({"name": "x", "command": "true"})),
        (
            Op::SettingsSet,
            json!({"path": "pool.max", "value": 2, "persist": "user"}),
        ),
    ] {
        let error = daemon.ask(op, params).await.expect_err("refused");
        assert_eq!(error.code, Code::Unprocessable, "{error}");
    }
    assert_eq!(std::fs::read_to_string(file(&daemon)).expect("text"), text);
    // What needs no file goes on.
    let set = daemon
        .checked(
            Op::SettingsSet,
            json!({"path": "logging.level", "value": "warn"}),
        )
        .await;
    assert_eq!(set["applied"], true);
}

#[tokio::test]
async fn what_a_silent_caller_had_is_released_and_what_others_share_stays() {
    let shared = Chaos::new().tool("a", Behaviour::Answer).stdio();
    let own = Chaos::new().tool("b", Behaviour::Answer).stdio();
    let mut entry = stdio(&own);
    entry["mcpx"] = json!({"scope": "session", "idleTimeout": "0s"});
    let mut servers = json!({"shared": stdio(&shared), "own": entry});
    servers["shared"]["mcpx"] = json!({"idleTimeout": "0s"});
    let daemon = Daemon::of(servers.clone()).await;
    for tool in ["shared.a", "own.b"] {
        daemon
            .ask(Op::Call, json!({"tool": tool, "session": "s"}))
            .await
            .expect("an answer");
    }
    let settings = json!({"reapInterval": "50ms", "leaseTTL": "1s"});
    write(
        &daemon,
        &json!({"daemon": settings, "mcpServers": servers}).to_string(),
    );
    let running = |status: &Value| -> Vec<String> {
        let servers = status["servers"].as_array().expect("servers");
        let live = servers.iter().filter(|row| row["instances"] != json!([]));
        live.map(|row| row["name"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    daemon
        .until(Op::Status, json!({}), |status| {
            running(status) == ["shared"]
        })
        .await;
    let told = daemon
        .checked(
            Op::LogQuery,
            json!({"event": "server.stop", "server": "own"}),
        )
        .await;
    assert_eq!(told["records"][0]["attributes"]["reason"], "released");
}
