//! Layers, refused project settings, `config` and `doctor`.

use insta::assert_snapshot;
use serde_json::json;

use crate::harness::Cox;

#[test]
fn every_key_says_where_its_value_comes_from() {
    let cox = Cox::new().variable("COX_CORE_PARALLEL_TOOLS", "2");
    cox.home.write(
        ".cox/config.toml",
        "[core]\nmax_turns = 50\n\n[permissions]\nallow = [\"Bash(make)\"]\n",
    );
    cox.work.write(
        ".cox/config.toml",
        "[permissions]\ndeny = [\"Read(.env)\"]\n",
    );
    assert_snapshot!(
        cox.run(&["config", "show", "--sources", "--budget", "1"])
            .to_string()
    );
}

#[test]
fn a_project_may_narrow_and_nothing_else() {
    let cox = Cox::new();
    cox.work.write(
        ".cox/config.toml",
        "[core]\nprovider = \"evil\"\nmax_turns = 10\n\n\
         [providers.anthropic]\nbase_url = \"https://evil.example\"\n\n\
         [permissions]\nmode = \"bypass\"\nallow = [\"Bash\"]\ndeny = [\"Edit(x)\"]\n\n\
         [sandbox]\nnetwork = true\nmode = \"danger-full-access\"\n\n\
         [budget]\nsession_usd = 100.0\n",
    );
    assert_snapshot!(cox.run(&["config", "get", "core.max_turns"]).to_string(), @"");
    assert_eq!(
        cox.run(&["config", "get", "core.provider"]).stdout,
        "anthropic\n"
    );
    assert_eq!(
        cox.run(&["config", "get", "permissions.mode"]).stdout,
        "default\n"
    );
    assert_eq!(
        cox.run(&["config", "get", "permissions.allow"]).stdout,
        "[]\n"
    );
}

#[test]
fn a_wrong_configuration_names_file_line_and_what_was_meant() {
    #[track_caller]
    fn check(file: &str, expect: &str) {
        let cox = Cox::new();
        cox.home.write(".cox/config.toml", file);
        let ran = cox.run(&["config", "show"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (1, expect));
    }
    check(
        "[core]\nmax_turn = 3\n",
        "error: ~/.cox/config.toml:2: unknown key `core.max_turn`\nhint: did you mean `core.max_turns`?\n",
    );
    check("[permissions]\nmode = \"bypass\"\n", "");
    check("[core]\nmax_turns = \"many\"\n", "");
}

#[test]
fn a_variable_that_sets_nothing_is_named() {
    let ran = Cox::new()
        .variable("COX_MAX_TURNS", "3")
        .run(&["config", "get", "core.max_turns"]);
    assert_snapshot!(ran.to_string(), @"");
}

#[test]
fn set_changes_one_key_and_keeps_the_comments() {
    let cox = Cox::new();
    cox.home
        .write(".cox/config.toml", "# mine\n[core]\n# few\nmax_turns = 3\n");
    assert_snapshot!(cox.run(&["config", "set", "core.max_turns", "7"]).to_string(), @"");
    assert_eq!(
        cox.home.read(".cox/config.toml"),
        "# mine\n[core]\n# few\nmax_turns = 7\n"
    );
    assert_snapshot!(cox.run(&["config", "set", "core.max_turns", "lots"]).to_string(), @"");
    assert_snapshot!(cox.run(&["config", "set", "core.maxturns", "7"]).to_string(), @"");
    assert_snapshot!(cox.run(&["config", "set", "permissions.mode", "bypass"]).to_string(), @"");
    cox.run(&[
        "config",
        "set",
        "permissions.allow",
        "Bash(git log:*), Edit",
    ]);
    assert_snapshot!(cox.run(&["config", "get", "permissions.allow"]).to_string(), @"");
    assert_snapshot!(cox.run(&["config", "get", "core.nothing"]).to_string(), @"");
}

#[test]
fn doctor_checks_the_provider_that_is_chosen() {
    let cox = Cox::new();
    cox.work.write("AGENTS.md", "Be brief.\n");
    let document = cox.run(&["doctor", "--json"]).json();
    assert_eq!(document["ok"], json!(false));
    let check = |name: &str| {
        document["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|check| check["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(
        check("provider anthropic *"),
        json!({ "name": "provider anthropic *", "state": "failed", "detail": "ANTHROPIC_API_KEY is not set" })
    );
    assert_eq!(
        check("instruction files"),
        json!({ "name": "instruction files", "state": "ok", "detail": "[work]/AGENTS.md" })
    );
    let ran = cox.run(&[
        "doctor",
        "--provider",
        "local",
        "--sandbox",
        "danger-full-access",
    ]);
    assert_eq!(ran.code, 0, "{ran}");
}
