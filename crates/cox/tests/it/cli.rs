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
    assert_snapshot!(Cox::new().run(&[]).to_string(), @r#"
        exit code 5
        --- stdout
        --- stderr
        error: the full-screen surface of cox is not built yet
        hint: give a prompt with `cox run -p "…"`
        hint: see it work without a key with `cox demo`
        hint: see every command with `cox --help`
        "#);
}

#[test]
fn a_wrong_flag_is_a_usage_error() {
    assert_snapshot!(Cox::new().run(&["run", "--promt", "x"]).to_string(), @r#"
        exit code 5
        --- stdout
        --- stderr
        error: unexpected argument '--promt' found

          tip: a similar argument exists: '--prompt'

        Usage: cox run --prompt <PROMPT> [PROMPT]

        For more information, try '--help'.
        "#);
}

#[test]
fn a_usage_error_is_a_document_where_json_was_asked_for() {
    assert_snapshot!(Cox::new().run(&["run", "--output-format", "json"]).to_string(), @r#"
        exit code 5
        --- stdout
        {
          "type": "result",
          "session": null,
          "result": "",
          "usage": {
            "input": 0,
            "output": 0,
            "cache_read": 0,
            "cache_write": 0
          },
          "cost_usd": 0.0,
          "turns": 0,
          "stop": "error",
          "denied": [],
          "exit_code": 5,
          "is_error": true,
          "error": "the following required arguments were not provided:\n  <PROMPT>"
        }
        --- stderr
        "#);
    assert_snapshot!(Cox::new().run(&["sessions", "--json", "--nope"]).to_string(), @r#"
        exit code 5
        --- stdout
        {
          "error": "unexpected argument '--nope' found",
          "exit_code": 5
        }
        --- stderr
        "#);
}

#[test]
fn wrong_usage_says_what_was_expected() {
    let cox = Cox::new();
    cox.work.write("notes.txt", "no image");
    assert_snapshot!(cox.run(&["run", "-p", "x", "--image", "notes.txt"]).to_string(), @r#"
        exit code 5
        --- stdout
        --- stderr
        error: the image notes.txt is no PNG, JPEG, GIF or WebP
        "#);
    assert_snapshot!(cox.run(&["run", "-p", "x", "--image", "gone.png"]).to_string(), @r#"
        exit code 5
        --- stdout
        --- stderr
        error: cannot read the image gone.png: No such file or directory (os error 2)
        "#);
    assert_snapshot!(cox.run(&["run", "-p", "x", "--cwd", "gone"]).to_string(), @r#"
        exit code 5
        --- stdout
        --- stderr
        error: --cwd [work]/gone: No such file or directory (os error 2)
        "#);
    assert_snapshot!(cox.run(&["run", "-p", " ", "--provider", "local"]).to_string(), @r#"
        exit code 5
        --- stdout
        --- stderr
        error: the prompt is empty
        hint: say what to do with `-p "…"`
        "#);
    assert_snapshot!(cox.run(&["run", "-p", "-", "--approve", "on-request"]).to_string(), @r#"
        exit code 5
        --- stdout
        --- stderr
        error: the prompt cannot come from stdin where the answers to approvals do: the policy is set by --approve
        hint: give the prompt with `-p "…"`, or add `--approve never`
        "#);
    assert_snapshot!(cox.run(&["run", "-p", "x", "--max-turns", "many"]).to_string(), @r#"
        exit code 5
        --- stdout
        --- stderr
        error: --max-turns: `core.max_turns` is `many`, expected a whole number from 1 to 10000
        "#);
    assert_snapshot!(cox.run(&["run", "-p", "x", "--resume", "id", "--provider", "local"]).to_string(), @r#"
        exit code 5
        --- stdout
        --- stderr
        error: --resume: `id` is not a session id: expected 26 letters and digits such as `01K9ZQ3T7N8V5W2X4Y6A8B0C1D`
        "#);
    assert_snapshot!(cox.run(&["expand", "01K9ZQ3T7N8V5W2X4Y6A8B0C1D", "--lines", "5-4"]).to_string(), @r#"
        exit code 5
        --- stdout
        --- stderr
        error: `--lines 5-4` is no range: expected `10-25`, `10-` or `10`, from 1
        "#);
    assert_snapshot!(cox.run(&["expand", "01K9ZQ3T7N8V5W2X4Y6A8B0C1D"]).to_string(), @r#"
        exit code 1
        --- stdout
        --- stderr
        error: no archived output 01K9ZQ3T7N8V5W2X4Y6A8B0C1D
        "#);
}

#[test]
fn completions_and_the_manual_page_are_printed() {
    let cox = Cox::new();
    assert!(cox.run(&["completions", "bash"]).stdout.contains("_cox()"));
    let man = cox.run(&["man"]).stdout;
    assert!(man.starts_with(".ie"));
    for part in [
        ".SS cox run\n",
        "\\fB\\-\\-max\\-turns\\fR \\fIN\\fR\n",
        ".SS cox config set\n",
        ".SH EXIT STATUS\n",
        ".B 143\n",
    ] {
        assert!(man.contains(part), "{part} is not in\n{man}");
    }
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
