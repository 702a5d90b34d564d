#![expect(
    clippy::disallowed_methods,
    reason = "the files are those of a temporary folder"
)]

mod formats;

use std::fs;

use serde_json::json;

use super::*;

struct Place(tempfile::TempDir);

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.path("home/work/deep")).unwrap();
        for (path, text) in files {
            let path = place.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings {
            cwd: self.path("home/work/deep"),
            env: BTreeMap::new(),
            home: Some(self.path("home")),
            exe: PathBuf::from("/bin/mcpx"),
        }
    }

    fn found(&self, host: Host) -> Vec<Found> {
        found(&self.surroundings(), host)
    }

    /// The one server of the one list.
    fn one(host: Host, path: &str, text: &str) -> (Value, Vec<String>) {
        let place = Self::new(&[(path, text)]);
        let lists = place.found(host);
        assert_eq!(lists.len(), 1, "{lists:?}");
        let server = lists[0].servers[0].clone();
        let root = place.path("").to_string_lossy().into_owned();
        let entry = server.entry.unwrap().to_string().replace(&root, "/");
        (serde_json::from_str(&entry).unwrap(), server.notes)
    }

    fn plan(&self, host: Host) -> Plan {
        plan(&self.found(host), &self.path("target.json")).unwrap()
    }
}

#[test]
fn claude_code_has_three_lists_and_the_nearest_comes_first() {
    let place = Place::new(&[(
        "home/work/.mcp.json",
        r#"{"mcpServers": {"p": {"command": "p"}}}"#,
    )]);
    let state = json!({
        "numStartups": 3,
        "mcpServers": {"u": {"type": "stdio", "command": "u", "args": [], "env": {}}},
        "projects": {place.path("home/work").to_string_lossy(): {"allowedTools": [], "mcpServers": {"l": {"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${T}"}}}}},
    });
    fs::write(place.path("home/.claude.json"), state.to_string()).unwrap();
    let names: Vec<(String, bool)> = place
        .found(Host::ClaudeCode)
        .iter()
        .map(|list| (list.servers[0].name.clone(), list.project.is_some()))
        .collect();
    assert_eq!(
        names,
        [
            ("l".to_owned(), true),
            ("u".to_owned(), false),
            ("p".to_owned(), true)
        ]
    );
    let changes: Vec<Change> = place
        .plan(Host::ClaudeCode)
        .steps
        .into_iter()
        .map(|step| step.change)
        .collect();
    assert_eq!(
        changes,
        [
            Change::Add,
            Change::Add,
            Change::CannotTake {
                why: "mcpx reads this file itself".to_owned()
            }
        ]
    );
}

#[test]
fn claude_desktop_is_found_in_the_folder_of_the_application() {
    let (entry, notes) = Place::one(
        Host::ClaudeDesktop,
        "home/.config/Claude/claude_desktop_config.json",
        r#"{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "${x}"]}}, "globalShortcut": ""}"#,
    );
    // It knows no references.
    assert_eq!(entry, json!({"command": "npx", "args": ["-y", "$${x}"]}));
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn a_cursor_project_keeps_its_folder() {
    let (entry, notes) = Place::one(
        Host::Cursor,
        "home/work/.cursor/mcp.json",
        r#"{"mcpServers": {"s": {"command": "${workspaceFolder}/bin", "envFile": ".env", "autoApprove": ["x"]}}}"#,
    );
    assert_eq!(
        entry,
        json!({"command": "/home/work/bin", "cwd": "/home/work"})
    );
    assert_eq!(notes.len(), 2, "{notes:?}");
    let (entry, _) = Place::one(
        Host::Cursor,
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {"s": {"url": "https://h", "auth": {"CLIENT_ID": "c", "scopes": ["a"]}}}}"#,
    );
    assert_eq!(
        entry,
        json!({"url": "https://h", "auth": {"type": "oauth", "clientId": "c", "scopes": ["a"]}})
    );
}

#[test]
fn inputs_of_vs_code_become_variables() {
    let (entry, notes) = Place::one(
        Host::VsCode,
        "home/work/.vscode/mcp.json",
        r#"{"inputs": [{"id": "api-key", "type": "promptString", "password": true}],
           "servers": {"s": {"type": "sse", "url": "https://h", "headers": {"X": "${input:api-key}"}}}} // end"#,
    );
    assert_eq!(
        entry,
        json!({"url": "https://h", "transport": "sse", "headers": {"X": "${input:api-key}"}})
    );
    assert_eq!(
        notes,
        ["nobody is asked for the input `api-key`: set the variable `MCPX_INPUT_API_KEY`"]
    );
    assert_eq!(
        Place::new(&[(
            "home/.config/Code/User/mcp.json",
            r#"{"servers": {"a": {"command": "x"}}}"#
        )])
        .found(Host::VsCode)
        .len(),
        1
    );
}

#[test]
fn codex_tables_become_entries() {
    let text = r#"
model = "x"
[mcp_servers.local]
command = "npx"
args = ["-y", "s"]
env = { A = "1" }
env_vars = ["TOKEN"]
startup_timeout_sec = 20
tool_timeout_sec = 1.5
enabled_tools = ["a"]
disabled_tools = ["b"]
enabled = false
default_tools_approval_mode = "auto"
[mcp_servers.remote]
url = "https://h/mcp"
bearer_token_env_var = "T"
http_headers = { "X-A" = "1" }
env_http_headers = { "X-B" = "B" }
"#;
    let place = Place::new(&[("home/.codex/config.toml", text)]);
    let lists = place.found(Host::Codex);
    let [local, remote] = lists[0].servers.as_slice() else {
        panic!("{lists:?}");
    };
    assert_eq!(
        local.entry,
        Ok(
            json!({"command": "npx", "args": ["-y", "s"], "env": {"A": "1", "TOKEN": "${TOKEN:-}"},
            "mcpx": {"startTimeout": "20s", "callTimeout": "1s500ms", "tools": ["a"], "excludeTools": ["b"], "disabled": true}})
        )
    );
    assert_eq!(local.notes.len(), 2, "{:?}", local.notes);
    assert_eq!((local.line, remote.line), (3, 14));
    assert_eq!(
        remote.entry,
        Ok(
            json!({"url": "https://h/mcp", "auth": {"type": "bearer", "token": "${T}"}, "headers": {"X-A": "1", "X-B": "${B}"}})
        )
    );
}

#[test]
fn both_versions_of_opencode_are_read() {
    let local = r#"{"type": "local", "command": ["npx", "-y", "s"], "environment": {"K": "{env:KEY}"}, "enabled": true, "timeout": 5000}"#;
    let expected = json!({"command": "npx", "args": ["-y", "s"], "env": {"K": "${KEY}"}, "mcpx": {"startTimeout": "5000ms"}});
    let first = format!(r#"{{"mcp": {{"s": {local}}}}}"#);
    let second = format!(r#"{{"mcp": {{"servers": {{"s": {local}}}}}, }} // jsonc"#);
    let path = "home/.config/opencode/opencode.jsonc";
    assert_eq!(Place::one(Host::OpenCode, path, &first).0, expected);
    assert_eq!(Place::one(Host::OpenCode, path, &second).0, expected);
    let (entry, _) = Place::one(
        Host::OpenCode,
        path,
        r#"{"mcp": {"servers": {"type": "remote", "url": "https://h", "oauth": false}}}"#,
    );
    assert_eq!(entry, json!({"url": "https://h"}));
    let place = Place::new(&[(
        path,
        r#"{"mcp": {"a": {"type": "local", "command": ["x", "{file:k}"]}, "b": {"enabled": true}}}"#,
    )]);
    assert!(
        place.found(Host::OpenCode)[0]
            .servers
            .iter()
            .all(|server| server.entry.is_err())
    );
}

#[test]
fn windsurf_calls_its_url_otherwise() {
    let (entry, _) = Place::one(
        Host::Windsurf,
        "home/.codeium/windsurf/mcp_config.json",
        r#"{"mcpServers": {"s": {"serverUrl": "https://h", "headers": {"A": "${env:T}"}, "disabled": true, "disabledTools": ["x"]}}}"#,
    );
    assert_eq!(
        entry,
        json!({"url": "https://h", "headers": {"A": "${env:T}"}, "mcpx": {"disabled": true, "excludeTools": ["x"]}})
    );
}

#[test]
fn a_plan_writes_nothing_and_shows_no_secret() {
    let place = Place::new(&[
        (
            "home/.codeium/windsurf/mcp_config.json",
            r#"{"mcpServers": {"new": {"command": "x", "env": {"API_KEY": "hunter2", "DEBUG": "1"}}, "same": {"command": "y"},
               "other": {"command": "z"}, "none": {}, "hub": {"command": "/usr/bin/mcpx", "args": ["serve"]}}}"#,
        ),
        (
            "target.json",
            "{\n  // mine\n  \"mcpServers\": {\n    \"same\": {\"command\": \"y\"},\n    \"other\": {\"command\": \"o\"}\n  }\n}\n",
        ),
    ]);
    let before = fs::read_to_string(place.path("target.json")).unwrap();
    let plan = place.plan(Host::Windsurf);
    let changes: Vec<(&str, &Change)> = plan
        .steps
        .iter()
        .map(|step| (step.name.as_str(), &step.change))
        .collect();
    let cannot = |why: &str| Change::CannotTake {
        why: why.to_owned(),
    };
    assert_eq!(
        changes,
        [
            ("new", &Change::Add),
            ("same", &Change::Same),
            ("other", &Change::Differs),
            ("none", &cannot("it has neither a command nor a URL")),
            ("hub", &cannot("it is mcpx itself"))
        ]
    );
    assert_eq!(plan.steps[0].literal_secrets, ["env.API_KEY"]);
    assert!(
        !plan.steps[0]
            .shown
            .as_ref()
            .unwrap()
            .to_string()
            .contains("hunter2")
    );
    assert_eq!(
        fs::read_to_string(place.path("target.json")).unwrap(),
        before
    );

    let saved = apply(&plan, false).unwrap();
    assert!(saved.is_changed && saved.backup.is_some());
    let after = fs::read_to_string(place.path("target.json")).unwrap();
    assert!(
        after.contains("// mine") && after.contains("hunter2") && after.contains("\"o\""),
        "{after}"
    );
    assert!(matches!(
        apply(&plan, false),
        Err(WriteError::Changed { .. })
    ));

    let again = place.plan(Host::Windsurf);
    assert_eq!(again.steps[0].change, Change::Same);
    assert!(!apply(&again, false).unwrap().is_changed);
    apply(&again, true).unwrap();
    assert!(
        !fs::read_to_string(place.path("target.json"))
            .unwrap()
            .contains("\"o\"")
    );
}

#[test]
fn a_list_that_cannot_be_read_is_named_and_the_others_count() {
    let place = Place::new(&[
        ("home/work/.cursor/mcp.json", "{broken"),
        (
            "home/.cursor/mcp.json",
            r#"{"mcpServers": {"a": {"command": "x"}}}"#,
        ),
    ]);
    let plan = place.plan(Host::Cursor);
    assert_eq!(plan.steps.len(), 1);
    assert_eq!(plan.problems.len(), 1);
    assert!(
        plan.problems[0].1.contains("mcp.json:1:2"),
        "{:?}",
        plan.problems
    );
    let place = Place::new(&[("home/.codex/config.toml", "a = 1\nb =")]);
    assert!(
        place.plan(Host::Codex).problems[0]
            .1
            .contains("config.toml:2")
    );
}

#[test]
fn of_two_lists_the_nearer_one_gives_the_name() {
    let place = Place::new(&[
        (
            "home/work/.cursor/mcp.json",
            r#"{"mcpServers": {"a": {"url": "https://near"}}}"#,
        ),
        (
            "home/.cursor/mcp.json",
            r#"{"mcpServers": {"a": {"url": "https://far"}}}"#,
        ),
    ]);
    let plan = place.plan(Host::Cursor);
    assert_eq!(plan.steps[0].change, Change::Add);
    assert!(matches!(plan.steps[1].change, Change::CannotTake { .. }));
}

#[test]
fn every_host_has_a_word_of_its_own() {
    for host in Host::ALL {
        assert_eq!(Host::from_word(host.word()), Some(host));
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(100))]
    #[test]
    fn any_list_is_read_or_named(text in r#"\{("(mcp|mcpServers|servers|a|type|command|url|args|env|timeout|oauth)": ?(\{|\[|"local"|"\{env:|1|true|null|"x"),? ?|\}|\]|,){0,16}|(\[mcp_servers\.[a-z]\]\n|[a-z_]{1,8} = (1|"x"|\[\]|\{\})\n){0,6}"#) {
        for (host, path) in [
            (Host::Cursor, "home/.cursor/mcp.json"),
            (Host::OpenCode, "home/.config/opencode/opencode.json"),
            (Host::Codex, "home/.codex/config.toml"),
        ] {
            let place = Place::new(&[(path, text.as_str())]);
            drop(place.plan(host));
        }
    }
}
