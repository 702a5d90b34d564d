//! `cox tool`: one tool outside a session.

use serde_json::{Value, json};

use crate::harness::Cox;

fn run(cox: &Cox, name: &str, input: &Value, more: &[&str]) -> (i32, Value) {
    let input = input.to_string();
    let mut line = vec!["tool", "run", name, "--input", &input, "--json"];
    line.extend(more);
    let ran = cox.run(&line);
    let document =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"));
    (ran.code, document)
}

#[test]
fn a_tool_runs_without_a_provider_and_prints_what_a_model_would_see() {
    let cox = Cox::new();
    cox.work.write("a.txt", "one\ntwo");
    let ran = cox.run(&["tool", "run", "read", "--input", r#"{"path":"a.txt"}"#]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (
            0,
            "1\tone\n2\ttwo\n[2 lines; no newline at the end of the file]\n",
            ""
        )
    );
}

#[test]
fn what_a_session_would_ask_about_is_denied_and_nothing_changes() {
    let cox = Cox::new();
    cox.work.write("a.txt", "one\n");
    let edit = json!({"path": "a.txt", "old": "one", "new": "two"});
    let (code, document) = run(&cox, "edit", &edit, &[]);
    assert_eq!(
        (code, &document["denied"], &document["ok"]),
        (2, &json!(true), &json!(false))
    );
    assert_eq!(
        document["why"],
        "nothing allows it and nobody is there to ask"
    );
    assert_eq!(cox.work.read("a.txt"), "one\n");
}

#[test]
fn an_allowed_change_is_made_and_its_preimage_can_be_printed() {
    let cox = Cox::new();
    cox.work.write("a.txt", "one\n");
    let edit = json!({"path": "a.txt", "old": "one", "new": "two"});
    let (code, document) = run(&cox, "edit", &edit, &["--allowed-tools", "Edit"]);
    assert_eq!((code, &document["ok"]), (0, &json!(true)), "{document}");
    assert_eq!(cox.work.read("a.txt"), "two\n");
    let id = document["preimages"][0]["archive"].as_str().unwrap();
    assert_eq!(cox.run(&["expand", id]).stdout, "one\n");
    assert_eq!(
        document["diff"],
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
    );
}

#[test]
fn exit_codes_tell_a_wrong_call_from_a_failed_one() {
    let cox = Cox::new();
    #[track_caller]
    fn check(cox: &Cox, name: &str, input: &str, code: i32) {
        let ran = cox.run(&["tool", "run", name, "--input", input]);
        assert_eq!(ran.code, code, "{ran}");
    }
    check(&cox, "nope", "{}", 5);
    check(&cox, "read", "{", 5);
    check(&cox, "read", "[]", 5);
    check(&cox, "read", r#"{"file":"x"}"#, 5);
    check(&cox, "read", r#"{"path":"missing"}"#, 1);
    check(&cox, "read", r#"{"path":"/etc/hosts"}"#, 1);
    check(&cox, "bash", r#"{"command":"touch x"}"#, 2);
}

#[test]
fn the_list_names_every_tool_with_its_schema() {
    let cox = Cox::new();
    let document: Value =
        serde_json::from_str(&cox.run(&["tool", "list", "--json"]).stdout).unwrap();
    let names: Vec<&str> = document
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..3], ["read", "grep", "glob"]);
    assert_eq!(document[0]["input_schema"]["required"], json!(["path"]));
    assert!(cox.run(&["tool", "list"]).stdout.starts_with("read "));
}
