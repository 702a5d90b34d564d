//! Secrets of entries: in no answer and in no file of the hub.

use mcpx_api::Op;
use serde_json::json;

use crate::front_setup::Daemon;

/// Every file below a folder, with its path.
fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files
}

#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "the file is the test's own")]
async fn no_secret_of_an_entry_is_in_any_answer_or_file_of_the_hub() {
    const SENTINEL: &str = "sentinel4711abcdef";
    let secret = |at: usize| format!("{SENTINEL}{at}");
    let tells = r#"echo "my token is $API_TOKEN and $1" >&2; exit 3"#;
    let servers = json!({
        "no_program": {"command": "no-such-program-4711", "args": ["--header", format!("Authorization: Bearer {}", secret(1)), "--api-key", secret(2)]},
        "ends": {"command": "/bin/sh", "args": ["-c", tells, "sh", format!("--password={}", secret(3))], "env": {"API_TOKEN": secret(4)}},
        "database": {"command": "/bin/sh", "args": ["-c", "echo \"cannot reach $1\" >&2; exit 3", "sh", format!("postgresql://me:{}@db/x", secret(5))]},
        "query": {"url": format!("http://127.0.0.1:1/mcp?api_key={}", secret(6)), "headers": {"X-Secret": secret(7)}},
        "path": {"url": format!("http://me:{}@127.0.0.1:1/s/{}/mcp", secret(8), secret(9))},
        "bearer": {"url": "http://127.0.0.1:1/mcp", "auth": {"type": "bearer", "token": secret(10)}},
        "by_query": {"url": "http://127.0.0.1:1/mcp", "auth": {"type": "query", "name": "k", "value": secret(11)}},
        "basic": {"url": "http://127.0.0.1:1/mcp", "auth": {"type": "basic", "username": "me", "password": secret(12)}},
    });
    let names: Vec<String> = servers
        .as_object()
        .expect("servers")
        .keys()
        .cloned()
        .collect();
    let daemon = Daemon::of(servers).await;
    let file = daemon.home().join("mcp.json");
    let write = |text: &str| std::fs::write(&file, text).expect("written");
    let mut answers = Vec::new();
    for name in &names {
        let tool = format!("{name}.x");
        let called = daemon.ask(Op::Call, json!({"tool": tool})).await;
        answers.push(format!("{called:?}"));
        let read = daemon.ask(Op::Types, json!({"selector": [name]})).await;
        answers.push(format!("{read:?}"));
    }
    // An edit that breaks the file, with a secret where it breaks.
    let good = std::fs::read_to_string(&file).expect("text");
    write(&format!(
        "{{\"mcpServers\": {{\"a\": {{\"env\": \"{}\"}}}}}}",
        secret(13)
    ));
    let broken = daemon.ask(Op::Reload, json!({})).await;
    answers.push(format!("{broken:?}"));
    write(&format!("{{\"mcpServers\": {}}}", secret(14)));
    answers.push(format!("{:?}", daemon.ask(Op::Reload, json!({})).await));
    write(&good);
    answers.push(format!("{:?}", daemon.ask(Op::Refresh, json!({})).await));
    for op in [
        Op::Health,
        Op::Status,
        Op::Namespaces,
        Op::Tools,
        Op::Catalog,
        Op::History,
        Op::ServersList,
        Op::SettingsList,
        Op::LogQuery,
        Op::StatsQuery,
        Op::Protocol,
        Op::Openapi,
    ] {
        answers.push(format!("{op:?} {:?}", daemon.ask(op, json!({})).await));
    }
    let failures = daemon
        .checked(Op::LogQuery, json!({"level": "warn", "limit": 500}))
        .await;
    assert_ne!(failures["records"], json!([]), "failures are logged");
    answers.push(failures.to_string());
    for answer in &answers {
        assert!(!answer.contains(SENTINEL), "{answer}");
    }
    let said = answers.concat();
    assert!(
        said.contains("no-such-program-4711") && said.contains("my token is"),
        "they say what happened: {said}"
    );
    for path in files_below(daemon.home()) {
        if path == file {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(SENTINEL), "{}", path.display());
        #[cfg(unix)]
        if path.starts_with(daemon.home().join("state")) {
            let mode = |path: &std::path::Path| {
                let metadata = std::fs::symlink_metadata(path).expect("it is there");
                std::os::unix::fs::PermissionsExt::mode(&metadata.permissions())
            };
            assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
            let folder = path.parent().expect("a folder");
            assert_eq!(mode(folder) & 0o077, 0, "{}", folder.display());
        }
    }
}
