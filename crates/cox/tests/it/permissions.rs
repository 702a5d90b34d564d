//! `cox permissions`, and the rules that a session is given.

use serde_json::{Value, json};
use testkit::{Answer, FakeModel};

use crate::harness::{Cox, Ran};

fn cox(config: &str) -> Cox {
    let cox = Cox::new();
    cox.home.write(".cox/config.toml", config);
    cox
}

fn judged(cox: &Cox, line: &str) -> (String, String) {
    let ran = cox.run(&["permissions", "test", line, "--json"]);
    let text = |key: &str| ran.json()[key].as_str().unwrap().to_owned();
    (text("verdict"), text("why"))
}

fn verdict(cox: &Cox, line: &str) -> String {
    judged(cox, line).0
}

#[test]
fn a_line_is_judged_command_by_command_in_words() {
    let cox = cox("[permissions]\nallow = [\"Bash(make:*)\"]\ndeny = [\"Bash(git push:*)\"]\n");
    let ran = cox.run(&["permissions", "test", "make && git push; touch log; ls"]);
    insta::assert_snapshot!(ran.to_string(), @r"
    exit code 0
    --- stdout
    allow  make
           rule `Bash(make:*)` from ~/.cox/config.toml:2
    deny   git push
           rule `Bash(git push:*)` from ~/.cox/config.toml:3
    ask    touch log
           it may change something or run code and no rule covers it
    allow  ls
           it only reads

    verdict: deny
    --- stderr
    ");
}

#[test]
fn json_is_one_document_of_this_very_shape() {
    let cox = cox("[permissions]\nallow = [\"Bash(make:*)\"]\n");
    let document = cox
        .run(&["permissions", "test", "make all | tee x", "--json"])
        .json();
    assert_eq!(
        document,
        json!({
            "verdict": "ask",
            "why": "it may change something or run code and no rule covers it",
            "segments": [
                {"text": "make all", "verdict": "allow", "rule": "Bash(make:*)", "why": "rule `Bash(make:*)` from ~/.cox/config.toml:2"},
                {"text": "tee x", "verdict": "ask", "rule": Value::Null, "why": "it may change something or run code and no rule covers it"},
            ],
        })
    );
}

#[test]
fn a_verdict_is_an_answer_and_a_wrong_call_is_not() {
    let cox = cox("");
    let code = |args: &[&str]| cox.run(&[&["permissions"], args].concat()).code;
    assert_eq!(code(&["test", "ls"]), 0);
    assert_eq!(code(&["test", "make"]), 0);
    assert_eq!(code(&["test", "--tool", "edit", "--path", "x"]), 0);
    assert_eq!(code(&["test"]), 5);
    assert_eq!(code(&["test", ""]), 5);
    assert_eq!(code(&["test", "--tool", "nosuch"]), 5);
    assert_eq!(code(&["list"]), 0);
}

#[test]
fn modes_and_policies_are_those_of_a_session() {
    let cox = cox("[permissions]\ndeny = [\"Bash(rm:*)\"]\n");
    let with = |line: &str, more: &[&str]| -> String {
        let ran = cox.run(&[&["permissions", "test", line, "--json"], more].concat());
        ran.json()["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(with("make", &["--permission-mode", "plan"]), "deny");
    assert_eq!(with("ls", &["--permission-mode", "plan"]), "allow");
    assert_eq!(with("make", &["--permission-mode", "bypass"]), "allow");
    assert_eq!(with("rm x", &["--permission-mode", "bypass"]), "deny");
    assert_eq!(with("ls > x", &["--permission-mode", "auto"]), "allow");
    assert_eq!(with("make", &["--approve", "on-failure"]), "allow");
}

#[test]
fn every_rule_is_listed_with_where_it_comes_from() {
    let cox = cox("[permissions]\nallow = [\"Bash(make:*)\"]\nask = [\"Edit(a)\"]\n");
    cox.work.write(
        ".cox/config.toml",
        "[permissions]\ndeny = [\"Read(.env)\"]\n",
    );
    cox.home.write(
        ".claude/settings.json",
        "{\"permissions\": {\n\"allow\": [\"Bash(npm test)\"]}}",
    );
    let ran = cox.run(&["permissions", "list"]);
    insta::assert_snapshot!(ran.to_string(), @r"
    exit code 0
    --- stdout
    deny   Read(~/.ssh/**)  default
    deny   Read(~/.aws/**)  default
    deny   Bash(rm -rf /*)  default
    deny   Read(.env)       [work]/.cox/config.toml:2
    ask    Edit(a)          ~/.cox/config.toml:3
    allow  Bash(make:*)     ~/.cox/config.toml:2
    allow  Bash(npm test)   ~/.claude/settings.json:2
    --- stderr
    ");
    let document = cox.run(&["permissions", "list", "--json"]).json();
    assert_eq!(
        document["ask"],
        json!([{"rule": "Edit(a)", "origin": "~/.cox/config.toml:3"}])
    );
}

#[test]
fn rules_that_people_already_have_count() {
    let cox = cox("");
    cox.home.write(
        ".claude/settings.json",
        r#"{"permissions": {"allow": ["Bash(make:*)", "Bash(deploy:*)"], "deny": ["Bash(curl:*)"], "additionalDirectories": ["~/notes", "~/missing"]}}"#,
    );
    cox.home.write("notes/a", "");
    cox.work.write(
        ".claude/settings.json",
        r#"{"permissions": {"allow": ["Bash(evil:*)"], "ask": ["Bash(deploy:*)"], "additionalDirectories": ["/etc"]}}"#,
    );
    cox.work.write(
        ".claude/settings.local.json",
        r#"{"permissions": {"deny": ["Edit(/locked/**)"], "allow": ["Bash(worse)"]}}"#,
    );
    for (line, expected) in [
        ("make", "allow"),
        ("deploy", "ask"),
        ("curl x", "deny"),
        ("evil", "ask"),
        ("worse", "ask"),
        ("touch locked/x", "deny"),
    ] {
        assert_eq!(verdict(&cox, line), expected, "{line}");
    }
    let notes = cox.home.path().canonicalize().unwrap().join("notes/a");
    let edit = |path: &str| cox.run(&["permissions", "test", "--tool", "read", "--path", path]);
    assert_eq!(edit(notes.to_str().unwrap()).code, 0);
    let told = edit("/etc/hosts");
    assert_eq!(told.code, 1, "{told}");
    assert!(
        told.stderr.contains(
            ".claude/settings.json: the additional directory `/etc` is ignored: a project may not add one"
        ) && told.stderr.contains("`Bash(evil:*)` is ignored: a project may not allow"),
        "{told}"
    );
    cox.home.write(
        ".cox/config.toml",
        "[permissions]\nimport_claude_settings = false\n",
    );
    assert_eq!(verdict(&cox, "make"), "ask");
}

#[test]
fn an_imported_rule_that_cannot_be_read_fails_closed() {
    for (rules, line, expected, told) in [
        (
            r#"{"deny": ["Bash(rm * -rf)"]}"#,
            "ls",
            "ask",
            "every call of `Bash` asks",
        ),
        (
            r#"{"ask": ["Read(a/*/../b)"]}"#,
            "make",
            "allow",
            "every call of `Read` asks",
        ),
        (r#"{"deny": ["Ba*(x)"]}"#, "make", "ask", "every call asks"),
        (
            r#"{"deny": "Bash"}"#,
            "make",
            "ask",
            "`permissions.deny` is no list of rules",
        ),
        (
            r#"{"ask": [1]}"#,
            "make",
            "ask",
            "a rule of `permissions.ask` is no text",
        ),
        (r#"{"deny": ["x"]"#, "make", "ask", "it is not JSON"),
        (
            r#"{"allow": ["Bash(rm * -rf)"]}"#,
            "ls",
            "allow",
            "it allows nothing",
        ),
        (r#"{"allow": "Bash"}"#, "make", "allow", "it allows nothing"),
    ] {
        let cox = cox("[permissions]\nallow = [\"Bash(make)\"]\n");
        cox.work.write(
            ".claude/settings.json",
            format!("{{\"permissions\": {rules}}}"),
        );
        // A project may not allow, so what is wrong with an allow rule is told from the person's own file.
        cox.home.write(
            ".claude/settings.json",
            if rules.contains("allow") {
                format!("{{\"permissions\": {rules}}}")
            } else {
                "{}".to_owned()
            },
        );
        let ran = cox.run(&["permissions", "test", line, "--json"]);
        assert_eq!(ran.json()["verdict"], expected, "{rules}: {ran}");
        assert!(ran.stderr.contains(told), "{rules}: {ran}");
    }
}

#[test]
fn a_rule_of_ones_own_that_cannot_be_read_stops_every_command_that_needs_it() {
    for (config, told) in [
        (
            "deny = [\"Bash(rm\"]",
            "cannot read the rule `Bash(rm` from ~/.cox/config.toml:2: there is no `)` at its end",
        ),
        (
            "deny = [{ rule = \"Bash(git push:*)\", match = [\"git pull\"] }]",
            "cannot read the rule `Bash(git push:*)` from ~/.cox/config.toml:2: its example `git pull` under `match` is not covered",
        ),
        (
            "allow = [{ rule = \"Bash(make:*)\", not_match = [\"make x\"] }]",
            "cannot read the rule `Bash(make:*)` from ~/.cox/config.toml:2: its example `make x` under `not_match` is covered",
        ),
    ] {
        let cox = cox(&format!("[permissions]\n{config}\n"));
        for args in [
            &["permissions", "list"][..],
            &["permissions", "test", "ls"],
            &["tool", "run", "read", "--input", "{\"path\":\"x\"}"],
        ] {
            let ran = cox.run(args);
            assert_eq!(ran.code, 1, "{ran}");
            assert!(ran.stderr.contains(told), "{ran}");
        }
    }
    let ran = cox("[permissions]\ndeny = [{ rule = \"Bash(git push:*)\", match = [\"git push -f\", \"git -C x push\"], not_match = [\"git pull\"] }]\n")
        .run(&["permissions", "list"]);
    assert_eq!(ran.code, 0, "{ran}");
}

#[test]
fn a_rule_that_names_no_tool_is_told_wherever_rules_count() {
    let model = FakeModel::start([Answer::text("Done.")]);
    let cox = Cox::with_model(&model);
    let config = cox.home.path().join(".cox/config.toml");
    let before = std::fs::read_to_string(config).unwrap();
    cox.home.write(
        ".cox/config.toml",
        format!("{before}\n[permissions]\ndeny = [\"Wriet\"]\n"),
    );
    let told = |ran: Ran| {
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            all.contains("the rule `Wriet` names a tool that there is not")
                && all.contains("did you mean `write`?"),
            "{ran}"
        );
    };
    told(cox.run(&["permissions", "list"]));
    told(cox.run(&["run", "-p", "hi"]));
    told(cox.run(&["doctor"]));
}

#[test]
fn words_are_read_from_the_folder_in_which_a_session_starts() {
    let cox = cox(
        "[permissions]\ndeny = [\"Read(secrets/**)\", \"Edit(api/locked)\"]\nallow = [\"Bash\"]\n",
    );
    cox.work.write("api/x", "");
    let in_api = |line: &str| {
        let ran = cox.run(&["permissions", "test", line, "--json", "--cwd", "api"]);
        ran.json()["verdict"].as_str().unwrap().to_owned()
    };
    for (line, expected) in [
        ("cat ../secrets/a", "deny"),
        ("cat secrets/a", "allow"),
        ("cd .. && cat secrets/a", "deny"),
        ("cp x locked", "deny"),
        ("cp x api/locked", "allow"),
    ] {
        assert_eq!(in_api(line), expected, "{line}");
    }
}
