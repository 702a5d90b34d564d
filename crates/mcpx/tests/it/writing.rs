//! Commands that write files: servers, settings, imports, a first configuration.

use serde_json::json;

use crate::harness::{Mcpx, PROGRAM};

#[test]
fn a_server_is_added_used_and_removed() {
    let mcpx = Mcpx::new();
    mcpx.work
        .write(".mcpx.json", "{\n  // mine\n  \"mcpServers\": {}\n}\n");
    mcpx.ok(&[
        "servers",
        "add",
        "mine",
        "--scope",
        "project",
        "--env",
        "A=b",
        "--",
        PROGRAM,
        "demo-server",
    ]);
    let text = mcpx.work.read(".mcpx.json");
    assert!(text.contains("// mine") && text.contains("\"A\""), "{text}");
    // What the person wrote through the hub is accepted with that.
    assert_eq!(mcpx.ok(&["call", "mine.echo", "message=x"]).stdout, "x\n");
    assert!(mcpx.ok(&["servers"]).stdout.contains("demo-server"));
    mcpx.ok(&["servers", "rm", "mine"]);
    assert!(!mcpx.work.read(".mcpx.json").contains("demo-server"));
    let ran = mcpx.run(&["servers", "add", "none"]);
    assert_eq!(ran.code, 2, "{ran}");
    ran.says(&["a program or a URL"]);
}

#[test]
fn an_import_shows_its_plan_first_and_writes_when_told() {
    let mcpx = Mcpx::new();
    mcpx.home.write(
        ".cursor/mcp.json",
        json!({"mcpServers": {"demo": {"command": PROGRAM, "args": ["demo-server"]}, "web": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer secret-value"}}}}).to_string(),
    );
    let ran = mcpx.ok(&["servers", "import", "--from", "cursor"]);
    assert!(
        ran.stdout.contains("add     demo") && ran.stdout.contains("[home]/.cursor/mcp.json"),
        "{ran}"
    );
    assert!(!ran.stdout.contains("secret-value"), "{ran}");
    ran.says(&["--write"]);
    let target = mcpx.home.path().join(".config/mcpx/config.json");
    assert!(!target.exists());
    let (code, document) = mcpx.json(&["servers", "import", "--from=cursor", "--write"]);
    assert_eq!((code, &document["written"]), (0, &json!(true)));
    assert_eq!(mcpx.ok(&["call", "demo.echo", "message=x"]).stdout, "x\n");
    let (_, again) = mcpx.json(&["servers", "import", "--from", "all", "--write"]);
    assert_eq!(again["written"], false, "{again}");
    mcpx.ok(&["servers", "import", "--from", "windsurf"])
        .says(&["no server list of windsurf"]);
}

#[test]
fn a_list_that_cannot_be_read_is_no_success_and_nothing_is_written() {
    let mcpx = Mcpx::new();
    mcpx.home
        .write(".cursor/mcp.json", "{\n  \"mcpServers\": {\"a\": }\n}\n");
    let ran = mcpx.run(&["servers", "import", "--from", "cursor", "--write"]);
    assert_eq!(ran.code, 1, "{ran}");
    ran.says(&["warning: [home]/.cursor/mcp.json:2:23"]);
    assert!(!ran.stderr.contains("was found here"), "{ran}");
    assert!(!mcpx.home.path().join(".config/mcpx/config.json").exists());
}

#[test]
fn what_a_project_would_send_away_is_seen_whole_before_it_is_accepted() {
    let mcpx = Mcpx::new();
    let padding = "x".repeat(2_000);
    mcpx.work.write(
        ".mcp.json",
        json!({"mcpServers": {
            "web": {"url": "https://example.com/mcp?q=${GITHUB_TOKEN}"},
            "program": {"command": "sh", "args": ["-c", format!("true {padding}; evil")]},
        }})
        .to_string(),
    );
    let listed = mcpx.ok(&["servers", "trust"]).stdout;
    assert!(
        listed.contains("${GITHUB_TOKEN}") && listed.contains("; evil"),
        "{listed}"
    );
}

#[test]
fn the_url_of_a_server_is_looked_at_without_its_secret() {
    let mcpx = Mcpx::with(
        &json!({"mcpServers": {"web": {"url": "https://example.com/mcp?api_key=${MY_KEY}"}}}),
    )
    .variable("MY_KEY", "very-secret");
    let ran = mcpx.run(&["doctor"]);
    assert!(
        ran.stdout.contains("https://example.com/mcp?") && !ran.stdout.contains("very-secret"),
        "{ran}"
    );
}

#[test]
fn a_setting_of_the_project_is_not_written_into_the_list_of_other_hosts() {
    let mcpx = Mcpx::new();
    let list = "{\"mcpServers\": {}}\n";
    mcpx.work.write(".mcp.json", list);
    let (code, document) = mcpx.json(&[
        "settings",
        "set",
        "search.limit",
        "7",
        "--persist",
        "project",
    ]);
    assert_eq!(code, 0, "{document}");
    assert_eq!(mcpx.work.read(".mcp.json"), list);
    assert!(mcpx.work.read(".mcpx.json").contains('7'));
    // The files are others now, and that is said.
    let note = document["note"].as_str().unwrap_or_default();
    assert!(note.contains("daemon"), "{document}");
}

#[test]
fn settings_are_read_set_and_taken_back() {
    let mcpx = Mcpx::with_demos(&["demo"]);
    let (_, before) = mcpx.json(&["settings", "get", "logging.level"]);
    assert_eq!(before["value"], "info", "{before}");
    let ran = mcpx.ok(&["settings", "set", "logging.level", "debug"]);
    assert_eq!(ran.stdout, "logging.level = debug  (runtime)\n");
    assert_eq!(
        mcpx.json(&["settings", "get", "logging.level"]).1["value"],
        "debug"
    );
    mcpx.ok(&["settings", "unset", "logging.level"]);
    assert_eq!(
        mcpx.json(&["settings", "get", "logging.level"]).1["value"],
        "info"
    );
    mcpx.ok(&[
        "settings",
        "set",
        "pool.idleTimeout",
        "7m",
        "--persist",
        "user",
    ]);
    assert!(mcpx.home.read(".config/mcpx/config.json").contains("7m"));
    assert!(
        mcpx.ok(&["settings", "list", "--changed"])
            .stdout
            .contains("pool.idleTimeout")
    );
    let ran = mcpx.run(&["settings", "set", "pool.max", "lots"]);
    assert_ne!(ran.code, 0, "{ran}");
    ran.says(&["lots"]);
}

#[test]
fn a_first_file_is_written_once() {
    let mcpx = Mcpx::new();
    mcpx.ok(&["init"]);
    assert!(mcpx.work.read(".mcpx.json").contains("mcpServers"));
    let ran = mcpx.run(&["init"]);
    assert_eq!(ran.code, 1, "{ran}");
    ran.says(&["is there already", "--force"]);
    mcpx.ok(&["init", "--force"]);
    assert!(mcpx.work.path().join(".mcpx.json.bak").exists());
    assert!(mcpx.ok(&["ls"]).stdout.contains("untrusted"));
    mcpx.ok(&["init", "--global"]);
    assert!(mcpx.home.path().join(".config/mcpx/config.json").exists());
}

#[test]
fn the_configuration_is_shown_without_secrets() {
    let mcpx = Mcpx::with(
        &json!({"mcpServers": {"x": {"command": "true", "env": {"API_TOKEN": "very-secret"}}}, "pool": {"max": 3}}),
    );
    let ran = mcpx.ok(&["config"]);
    assert!(
        ran.stdout.contains("API_TOKEN") && !ran.stdout.contains("very-secret"),
        "{ran}"
    );
    let ran = mcpx.ok(&["config", "--sources"]);
    assert!(
        ran.stdout.contains("pool.max = 3") && ran.stdout.contains("config.json:1"),
        "{ran}"
    );
    assert_eq!(
        mcpx.ok(&["config", "--path"]).stdout,
        "[home]/.config/mcpx/config.json\n"
    );
}

#[test]
fn a_setting_is_shown_as_whoever_reads_it_has_it() {
    let mcpx = Mcpx::with_demos(&["demo"]).variable("MCPX_OUTPUT_COLOR", "never");
    // Without a daemon, and none is started for it.
    let (_, own) = mcpx.json(&["settings", "get", "output.color"]);
    assert_eq!(
        (&own["value"], &own["source"]),
        (&json!("never"), &json!("MCPX_OUTPUT_COLOR"))
    );
    assert_eq!(mcpx.json(&["settings", "get", "pool.max"]).1["value"], 4);
    assert!(
        mcpx.ok(&["settings", "list"])
            .stdout
            .contains("pool.callTimeout")
    );
    assert_eq!(mcpx.daemons(), Vec::<u64>::new());
    mcpx.ok(&["settings", "set", "pool.max", "9"]);
    assert_eq!(
        mcpx.json(&["settings", "get", "pool.max"]).1["source"],
        "runtime"
    );
    let (_, call) = mcpx.json(&["settings", "get", "search.limit", "--search-limit=3"]);
    assert_eq!(
        (&call["value"], &call["source"]),
        (&json!(3), &json!("--search-limit"))
    );
    let ran = mcpx.run(&["settings", "list", "--scope", "nobody"]);
    assert_eq!(ran.code, 2, "{ran}");
}
