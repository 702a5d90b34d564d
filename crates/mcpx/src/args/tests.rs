use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[track_caller]
fn command(line: &[&str]) -> Typed {
    let argv = std::iter::once("mcpx").chain(line.iter().copied());
    match understand(argv.map(OsString::from).collect()) {
        Ok(Understood::Command(typed)) => *typed,
        other => panic!("{line:?}: {other:?}"),
    }
}

#[track_caller]
fn refused(line: &[&str]) -> String {
    let argv = std::iter::once("mcpx").chain(line.iter().copied());
    match understand(argv.map(OsString::from).collect()) {
        Err(failure) => format!(
            "{}\n{}",
            failure.error.message,
            failure.error.hint.unwrap_or_default()
        ),
        other => panic!("{line:?}: {other:?}"),
    }
}

#[test]
fn the_command_line_is_well_formed() {
    tree::root().debug_assert();
}

#[test]
fn the_words_of_the_operations_are_the_words_of_the_command_line() {
    let operations: BTreeSet<&str> = mcpx_api::operations::all()
        .filter_map(|operation| operation.word)
        .collect();
    let own: BTreeSet<&str> = local::commands()
        .into_iter()
        .map(|(word, _)| word)
        .collect();
    let mut found = BTreeSet::new();
    let root = tree::root();
    for first in root.get_subcommands() {
        let is_named = operations.contains(first.get_name()) || own.contains(first.get_name());
        // A word that stands for nothing and leads nowhere is found too.
        if is_named || !first.has_subcommands() {
            found.insert(first.get_name().to_owned());
        }
        for below in first.get_subcommands() {
            found.insert(format!("{} {}", first.get_name(), below.get_name()));
        }
    }
    let expect: BTreeSet<String> = operations
        .union(&own)
        .map(|word| (*word).to_owned())
        .collect();
    assert_eq!(found, expect);
}

#[test]
fn a_setting_is_a_flag_before_and_after_the_words() {
    for line in [
        ["--pool-max", "8", "servers", "list"],
        ["servers", "--pool-max=8", "list", "--demo"],
        ["servers", "list", "--pool-max", "8"],
    ] {
        let typed = command(&line);
        assert_eq!(typed.words, "servers list");
        assert_eq!(
            typed.choice.flags,
            [("pool.max".to_owned(), "8".to_owned())]
        );
    }
    let typed = command(&[
        "--json",
        "--config",
        "x.json",
        "ls",
        "--no-daemon-warm",
        "--skip-default",
    ]);
    assert_eq!(
        typed.choice.config_file.as_deref(),
        Some(std::path::Path::new("x.json"))
    );
    let flags: Vec<(&str, &str)> = typed
        .choice
        .flags
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    assert_eq!(
        flags,
        [
            ("output.json", "true"),
            ("daemon.warm", "false"),
            ("profile.skipDefault", "true")
        ]
    );
}

#[test]
fn every_flag_of_every_setting_is_taken_on_every_command() {
    for setting in mcpx_config::settings::registry::SETTINGS {
        for flag in setting.flags_all() {
            if flag == "--config" {
                continue;
            }
            let line = format!("{flag}=x");
            let words: Vec<&str> = if flag.starts_with("--") {
                vec![&line]
            } else {
                vec![&flag, "x"]
            };
            let typed = command(&[&["health"][..], &words].concat());
            let (path, text) = typed.choice.flags.first().map_or(("", ""), |(a, b)| (a, b));
            assert!(
                (path, text) == (setting.path, "x") || path.is_empty(),
                "{flag}"
            );
            assert!(
                typed.choice.config_file.is_some() || path == setting.path,
                "{flag}"
            );
        }
    }
}

#[test]
fn a_flag_of_the_command_is_not_taken_for_a_setting() {
    let typed = command(&["history", "--limit", "3", "demo.echo"]);
    assert_eq!(typed.choice.flags, []);
    assert_eq!(
        from_table::text(&typed.matches, "limit").as_deref(),
        Some("3")
    );
    // Before the word too.
    let typed = command(&["-n", "3", "history"]);
    assert_eq!(
        from_table::text(&typed.matches, "limit").as_deref(),
        Some("3")
    );
}

#[test]
fn what_stands_behind_two_dashes_is_nobodys_flag() {
    let typed = command(&[
        "servers",
        "add",
        "fs",
        "--",
        "npx",
        "--json",
        "--pool-max",
        "-y",
    ]);
    assert_eq!(typed.choice.flags, []);
    assert_eq!(
        from_table::texts(&typed.matches, "command"),
        ["npx", "--json", "--pool-max", "-y"]
    );
}

#[test]
fn what_is_unknown_is_answered_with_the_nearest_name() {
    #[track_caller]
    fn check(line: &[&str], expect: &str) {
        let told = refused(line);
        assert!(told.contains(expect), "{line:?}: {told}");
    }
    check(&["serach", "x"], "did you mean `search`?");
    check(&["servers", "imprt"], "did you mean `import`?");
    check(&["ls", "--pool-mx=3"], "did you mean `--pool-max`");
    check(&["call", "a.b", "--timout", "3s"], "`mcpx call`");
    check(&["call"], "needs");
    check(&["--pool-max"], "has no value, expected a whole number");
    check(&["ls", "x"], "`mcpx ls` has no use for `x`");
    check(
        &["servers", "import", "--from", "emacs"],
        "expected one of `claude-code`",
    );
    check(&["session"], "needs another word");
}

#[test]
fn help_is_a_word_too() {
    for line in [
        &["help"][..],
        &["help", "call"],
        &["call", "--help"],
        &["-h"],
    ] {
        let argv = std::iter::once("mcpx").chain(line.iter().copied());
        let understood = understand(argv.map(OsString::from).collect());
        assert!(
            matches!(understood, Ok(Understood::Print { what: "help", .. })),
            "{line:?}"
        );
    }
}

#[test]
fn json_is_heard_also_on_a_line_that_cannot_be_understood() {
    let line = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    assert!(wants_json(&line(&["mcpx", "nope", "--json"]), None));
    assert!(wants_json(&line(&["mcpx", "ls"]), Some("true")));
    assert!(!wants_json(
        &line(&["mcpx", "ls", "--json=false"]),
        Some("true")
    ));
    assert!(!wants_json(
        &line(&["mcpx", "servers", "add", "x", "--", "--json"]),
        None
    ));
    assert!(!wants_json(&[], None));
}

fn word() -> impl Strategy<Value = String> {
    let known = tree::commands()
        .into_iter()
        .flat_map(|(words, command)| {
            let flags: Vec<String> = command
                .get_arguments()
                .filter_map(|arg| Some(format!("--{}", arg.get_long()?)))
                .collect();
            words
                .split(' ')
                .map(str::to_owned)
                .chain(flags)
                .collect::<Vec<_>>()
        })
        .chain(
            [
                "--",
                "-",
                "--json",
                "--config",
                "-n",
                "-o",
                "--pool-max",
                "--=",
                "=",
            ]
            .map(str::to_owned),
        )
        .collect::<Vec<_>>();
    prop_oneof![
        proptest::sample::select(known),
        ".{0,8}",
        "--[a-z-]{0,12}(=.{0,4})?"
    ]
}

proptest! {
    #[test]
    fn any_line_is_understood_or_refused(words in proptest::collection::vec(word(), 0..7)) {
        let argv = std::iter::once("mcpx".to_owned()).chain(words);
        if let Err(failure) = understand(argv.map(OsString::from).collect()) {
            prop_assert!(!failure.error.message.is_empty());
            prop_assert_eq!(failure.exit, crate::exit::Exit::Usage);
            let document = mcp_wire::Raw::from(failure.document());
            prop_assert!(serde_json::from_str::<serde_json::Value>(document.as_str()).is_ok());
        }
    }
}
