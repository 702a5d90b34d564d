//! Lists as hosts write them, each with what becomes of every field.

use super::*;

type Taken<'a> = (&'a str, Result<Value, &'a str>, &'a [&'a str]);

/// Every server of the one list: its name, its entry or why there is none, and what is said about it.
fn check(host: Host, path: &str, text: &str, expected: &[Taken<'_>]) {
    let place = Place::new(&[(path, text)]);
    let lists = place.found(host);
    assert_eq!(lists.len(), 1, "{lists:?}");
    assert_eq!(lists[0].problem, None);
    let root = place.path("").to_string_lossy().into_owned();
    let shortened = |entry: Value| -> Value {
        serde_json::from_str(&entry.to_string().replace(&root, "/")).unwrap()
    };
    let found: Vec<_> = lists[0]
        .servers
        .iter()
        .map(|server| {
            let entry = server.entry.clone().map(shortened);
            (server.name.clone(), entry, server.notes.clone())
        })
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, entry, notes)| {
            let notes: Vec<String> = notes.iter().map(|&note| note.to_owned()).collect();
            let entry = entry.clone().map_err(str::to_owned);
            ((*name).to_owned(), entry, notes)
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn claude_code_names_what_has_no_place_here() {
    check(
        Host::ClaudeCode,
        "home/.claude.json",
        r#"{"numStartups": 7, "mcpServers": {
            "fs": {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {}, "timeout": 90000, "alwaysLoad": true},
            "linear": {"type": "http", "url": "https://h/mcp", "headersHelper": "/bin/h",
                       "oauth": {"clientId": "c", "callbackPort": 8080, "scopes": "a b", "authServerMetadataUrl": "https://a"}},
            "socket": {"type": "ws", "url": "wss://h"},
            "odd": {"type": "stdio", "command": "x", "timeout": "soon", "disabled": "yes", "description": 7}
        }}"#,
        &[
            (
                "fs",
                Ok(
                    json!({"command": "npx", "args": ["-y", "x"], "env": {}, "mcpx": {"callTimeout": "90000ms"}}),
                ),
                &["`alwaysLoad` is not taken over"],
            ),
            (
                "linear",
                Ok(
                    json!({"url": "https://h/mcp", "auth": {"type": "oauth", "clientId": "c", "scopes": ["a", "b"]}}),
                ),
                &[
                    "`headersHelper` is not run: put the headers into `headers`, with variables",
                    "`oauth.callbackPort` is not taken over",
                    "`oauth.authServerMetadataUrl` is not taken over",
                ],
            ),
            ("socket", Err("it is of the kind `ws`"), &[]),
            (
                "odd",
                Ok(json!({"command": "x"})),
                &[
                    "`disabled` is not taken over",
                    "`description` is not taken over",
                    "`timeout` is not taken over",
                ],
            ),
        ],
    );
}

#[test]
fn a_server_that_claude_code_does_not_use_in_this_project_is_switched_off() {
    let place = Place::new(&[]);
    let state = json!({"projects": {place.path("home/work").to_string_lossy(): {
        "mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}},
        "disabledMcpServers": ["b", "elsewhere"],
    }}});
    fs::write(place.path("home/.claude.json"), state.to_string()).unwrap();
    let lists = place.found(Host::ClaudeCode);
    let disabled: Vec<bool> = lists[0]
        .servers
        .iter()
        .map(|server| server.entry.as_ref().unwrap()["mcpx"]["disabled"] == true)
        .collect();
    assert_eq!(disabled, [false, true]);
}

#[test]
fn vs_code_in_its_own_file_and_in_old_settings() {
    let servers = r#"{
        // the editor's own words
        "inputs": [{"id": "key", "type": "promptString", "password": true}],
        "servers": {
            "local": {"type": "stdio", "command": "${workspaceFolder}/bin/x", "args": ["${workspaceFolderBasename}", "${config:a.b}"],
                      "env": {"K": "${input:key}", "GONE": null, "N": 3}, "envFile": "${workspaceFolder}/.env", "dev": {"watch": "**"}},
            "sandboxed": {"command": "x", "sandboxEnabled": true},
        }
    }"#;
    let local = (
        "local",
        Ok(
            json!({"command": "/home/work/bin/x", "args": ["work", "${config:a.b}"], "env": {"K": "${input:key}", "N": 3}, "cwd": "/home/work"}),
        ),
        &[
            "`env.GONE` is not taken over",
            "`envFile` is not read: put its variables into `env`, or into the daemon's environment",
            "`${config:a.b}` is known there alone, and stays as it is",
            "nobody is asked for the input `key`: set the variable `MCPX_INPUT_KEY`",
        ][..],
    );
    let sandboxed = (
        "sandboxed",
        Ok(json!({"command": "x", "cwd": "/home/work"})),
        &["`sandboxEnabled` is not taken over"][..],
    );
    let expected = [local, sandboxed];
    check(
        Host::VsCode,
        "home/work/.vscode/mcp.json",
        servers,
        &expected,
    );
    let settings = format!("{{\"editor.fontSize\": 12, \"mcp\": {servers},}}");
    check(
        Host::VsCode,
        "home/work/.vscode/settings.json",
        &settings,
        &expected,
    );
    // Settings without servers are not looked at, whatever is wrong with them.
    let place = Place::new(&[(
        "home/.config/Code/User/settings.json",
        "{\"a\": 1, \"a\": 2}",
    )]);
    assert_eq!(place.found(Host::VsCode), []);
    let user = r#"{"servers": {"a": {"command": "x", "args": ["${workspaceFolder}"]}}}"#;
    check(
        Host::VsCode,
        "home/.config/Code - Insiders/User/mcp.json",
        user,
        &[(
            "a",
            Ok(json!({"command": "x", "args": ["${workspaceFolder}"]})),
            &[
                "`${workspaceFolder}` is the project there, and here the folder of the file that it is written into",
            ],
        )],
    );
}

#[test]
fn codex_leaves_references_as_they_are_and_so_do_we() {
    check(
        Host::Codex,
        "home/.codex/config.toml",
        r#"
[mcp_servers.a]
command = "x"
args = ["${HOME}"]
env_vars = ["T", { name = "U", source = "local" }]
startup_timeout_sec = "soon"
tool_timeout_sec = -1
experimental_environment = "remote"
[mcp_servers.a.env]
P = "$5 ${x}"
[mcp_servers.b]
url = "https://h"
[mcp_servers.b.oauth]
client_id = "c"
resource = "r"
"#,
        &[
            (
                "a",
                Ok(
                    json!({"command": "x", "args": ["$${HOME}"], "env": {"P": "$5 $${x}", "T": "${T:-}", "U": "${U:-}"}}),
                ),
                &[
                    "`experimental_environment` is not taken over",
                    "`startup_timeout_sec` is not taken over",
                    "`tool_timeout_sec` is not taken over",
                ],
            ),
            (
                "b",
                Ok(json!({"url": "https://h", "auth": {"type": "oauth", "clientId": "c"}})),
                &["`oauth.resource` is not taken over"],
            ),
        ],
    );
}

#[test]
fn opencode_has_references_of_its_own() {
    check(
        Host::OpenCode,
        "home/.config/opencode/opencode.jsonc",
        r#"{"mcp": {
            "l": {"type": "local", "command": ["x", "{env:A}-${B}"], "timeout": {"startup": 1}, "headers": {"X": "1"}},
            "r": {"type": "remote", "url": "https://h", "oauth": {"clientId": "c", "redirectUri": "http://r"}, "environment": {}},
        }}"#,
        &[
            (
                "l",
                Ok(json!({"command": "x", "args": ["${A}-$${B}"]})),
                &["`timeout` is not taken over", "`headers` is not taken over"],
            ),
            (
                "r",
                Ok(json!({"url": "https://h", "auth": {"type": "oauth", "clientId": "c"}})),
                &[
                    "`oauth.redirectUri` is not taken over",
                    "`environment` is not taken over",
                ],
            ),
        ],
    );
}

#[test]
fn gemini_has_two_urls_and_variables_without_braces() {
    check(
        Host::Gemini,
        "home/work/.gemini/settings.json",
        r#"{"theme": "x", "mcpServers": {
            "py": {"command": "python", "args": ["$1", "a$"], "env": {"K": "$KEY", "L": "${L}/$A$B"}, "cwd": "./s", "timeout": 15000,
                   "trust": true, "includeTools": ["a"], "excludeTools": ["b"]},
            "http": {"httpUrl": "https://h/mcp", "headers": {"A": "$T"}},
            "old": {"url": "https://h/sse"},
            "new": {"url": "https://h/mcp", "type": "http"}
        }}"#,
        &[
            (
                "py",
                Ok(
                    json!({"command": "python", "args": ["$1", "a$"], "env": {"K": "${KEY}", "L": "${L}/${A}${B}"}, "cwd": "/home/work/./s",
                    "mcpx": {"callTimeout": "15000ms", "tools": ["a"], "excludeTools": ["b"]}}),
                ),
                &["`trust` is not taken over"],
            ),
            (
                "http",
                Ok(json!({"url": "https://h/mcp", "headers": {"A": "${T}"}})),
                &[],
            ),
            (
                "old",
                Ok(json!({"url": "https://h/sse", "transport": "sse"})),
                &[],
            ),
            ("new", Ok(json!({"url": "https://h/mcp"})), &[]),
        ],
    );
}

#[test]
fn zed_cline_and_copilot() {
    check(
        Host::Zed,
        "home/.config/zed/settings.json",
        r#"{"context_servers": {
            "a": {"source": "custom", "command": "x", "args": ["${A}"], "env": null},
            "b": {"command": {"path": "y", "args": ["z"], "env": {}}, "settings": {}},
            "c": {"source": "extension", "settings": {"token": "hunter2"}},
        }}"#,
        &[
            ("a", Ok(json!({"command": "x", "args": ["$${A}"]})), &[]),
            (
                "b",
                Ok(json!({"command": "y", "args": ["z"], "env": {}})),
                &["`settings` is not taken over"],
            ),
            (
                "c",
                Err("an extension of Zed starts it; write its command by hand"),
                &[],
            ),
        ],
    );
    check(
        Host::Cline,
        "home/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        r#"{"mcpServers": {
            "a": {"type": "streamableHttp", "url": "https://h", "disabled": true, "autoApprove": ["x"], "timeout": 60},
            "b": {"url": "https://h"}
        }}"#,
        &[
            (
                "a",
                Ok(json!({"url": "https://h", "mcpx": {"disabled": true, "callTimeout": "60s"}})),
                &[
                    "it is switched off there, and would be here",
                    "`autoApprove` is not taken over",
                ],
            ),
            (
                "b",
                Ok(json!({"url": "https://h", "transport": "sse"})),
                &[],
            ),
        ],
    );
    check(
        Host::Copilot,
        "home/.copilot/mcp-config.json",
        r#"{"mcpServers": {"a": {"type": "local", "command": "x", "args": [], "tools": ["*"]}, "b": {"type": "http", "url": "https://h", "tools": ["t"]}}}"#,
        &[
            ("a", Ok(json!({"command": "x", "args": []})), &[]),
            (
                "b",
                Ok(json!({"url": "https://h", "mcpx": {"tools": ["t"]}})),
                &[],
            ),
        ],
    );
}

#[test]
fn two_names_that_would_share_a_namespace_do_not_both_come() {
    let place = Place::new(&[
        (
            "home/.codeium/windsurf/mcp_config.json",
            r#"{"mcpServers": {"a-b": {"command": "x"}, "a_b": {"command": "y"}, "mine": {"command": "z"}}}"#,
        ),
        (
            "target.json",
            r#"{"mcpServers": {"other": {"command": "o", "mcpx": {"namespace": "mine"}}, "off": {"command": "p", "disabled": true, "mcpx": {"namespace": "a_b"}}}}"#,
        ),
    ]);
    let plan = place.plan(Host::Windsurf);
    let taken: Vec<bool> = plan
        .steps
        .iter()
        .map(|step| step.change == Change::Add)
        .collect();
    assert_eq!(taken, [true, false, false], "{:?}", plan.steps);
    assert_eq!(
        plan.steps[1].change,
        Change::CannotTake {
            why: format!(
                "{}: the new server `a_b` would have the namespace `a_b`, and `a-b` has it; expected a namespace of its own; rename one, or give one another `mcpx.namespace`",
                place.path("target.json").display()
            )
        }
    );
    apply(&plan, true).unwrap();
    let surroundings = place.surroundings();
    let choice = crate::Choice {
        config_file: Some(place.path("target.json")),
        ..crate::Choice::default()
    };
    crate::load(&surroundings, &choice, &crate::Trust::none()).unwrap();
}
