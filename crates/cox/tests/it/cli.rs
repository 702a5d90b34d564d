//! The command line: help, usage errors, version.

use insta::assert_snapshot;

use crate::harness::Cox;

#[test]
fn the_version_is_one_line() {
    let ran = Cox::new().run(&["--version"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, concat!("cox ", env!("CARGO_PKG_VERSION"), "\n"))
    );
}

#[test]
fn help_names_every_command() {
    assert_snapshot!(Cox::new().run(&["--help"]).to_string());
}

#[test]
fn help_of_run_names_every_flag() {
    assert_snapshot!(Cox::new().run(&["run", "--help"]).to_string());
}

#[test]
fn without_a_command_it_says_what_is_not_built_yet() {
    assert_snapshot!(Cox::new().run(&[]).to_string(), @"");
}

#[test]
fn a_wrong_flag_is_a_usage_error() {
    assert_snapshot!(Cox::new().run(&["run", "--promt", "x"]).to_string(), @"");
}

#[test]
fn a_usage_error_is_a_document_where_json_was_asked_for() {
    assert_snapshot!(Cox::new().run(&["run", "--output-format", "json"]).to_string(), @"");
    assert_snapshot!(Cox::new().run(&["sessions", "--json", "--nope"]).to_string(), @"");
}

#[test]
fn wrong_usage_says_what_was_expected() {
    let cox = Cox::new();
    cox.work.write("notes.txt", "no image");
    assert_snapshot!(cox.run(&["run", "-p", "x", "--image", "notes.txt"]).to_string(), @"");
    assert_snapshot!(cox.run(&["run", "-p", "x", "--image", "gone.png"]).to_string(), @"");
    assert_snapshot!(cox.run(&["run", "-p", "x", "--cwd", "gone"]).to_string(), @"");
    assert_snapshot!(cox.run(&["run", "-p", " ", "--provider", "local"]).to_string(), @"");
    assert_snapshot!(cox.run(&["run", "-p", "-", "--approve", "on-request"]).to_string(), @"");
    assert_snapshot!(cox.run(&["run", "-p", "x", "--max-turns", "many"]).to_string(), @"");
    assert_snapshot!(cox.run(&["run", "-p", "x", "--resume", "short", "--provider", "local"]).to_string(), @"");
    assert_snapshot!(cox.run(&["expand", "01K9ZQ3T7N8V5W2X4Y6A8B0C1D", "--lines", "5-4"]).to_string(), @"");
    assert_snapshot!(cox.run(&["expand", "01K9ZQ3T7N8V5W2X4Y6A8B0C1D"]).to_string(), @"");
}

#[test]
fn completions_and_the_manual_page_are_printed() {
    let cox = Cox::new();
    assert!(cox.run(&["completions", "bash"]).stdout.contains("_cox()"));
    assert!(cox.run(&["man"]).stdout.starts_with(".ie"));
    assert!(
        cox.run(&["__reference", "cli"])
            .stdout
            .contains("| `--max-turns N` |")
    );
    assert!(
        cox.run(&["__reference", "config"])
            .stdout
            .contains("| `core.max_turns` |")
    );
}
