use std::path::Path;

use super::{Anchors, HiddenPath, PathGlob, Rule, RuleSet, RuleSource, escape};

fn anchors() -> Anchors {
    Anchors {
        root: "/w/a[1]".into(),
        home: "/home/me".into(),
    }
}

fn source(text: &str) -> RuleSource {
    RuleSource {
        text: text.into(),
        origin: "config.toml:3".into(),
    }
}

#[test]
fn a_rule_that_cannot_be_read_is_an_error_that_says_what_was_expected() {
    let cases = [
        ("", "it names no tool"),
        ("(x)", "it names no tool"),
        ("Bash(git push", "there is no `)` at its end"),
        ("Bash(git push) x", "there is no `)` at its end"),
        ("Bash git", "a tool's name has no ` `"),
        ("Bash()", "there is nothing between `(` and `)`"),
        ("Bash( )", "there is nothing between `(` and `)`"),
        ("Ba*", "a `*` in a name is for MCP tools only"),
        ("Bash(rm * x)", "a `*` inside a command stands for itself"),
        ("Bash(rm:* x)", "a `*` inside a command stands for itself"),
        ("Edit(~root/x)", "another person's home cannot be named"),
        (
            "Edit(src/[a)",
            "the glob does not read: unclosed character class; missing ']'",
        ),
        ("Edit(src/*/../x)", "`.` and `..` cannot follow a wildcard"),
        (
            "WebFetch(docs.rs)",
            "`docs.rs` is neither a URL nor `domain:` and a host",
        ),
        ("WebFetch(domain:*.docs.rs)", "a domain has no `*`"),
        (
            "WebFetch(domain:a b)",
            "`a b` is no host: invalid international domain name",
        ),
        (
            "mcp__a__b(x)",
            "a rule for an MCP tool takes no parentheses",
        ),
        ("mcp__a__*b", "a `*` stands at the end of an MCP name only"),
        ("mcp__", "it names no whole server"),
        ("mcp__a*", "it names no whole server"),
        ("mcp____b", "it names no whole server"),
        ("mcp__a__", "it names no whole server"),
    ];
    for (text, problem) in cases {
        let error = Rule::compile(source(text), &anchors())
            .map(|rule| format!("{:?}", rule.pattern))
            .unwrap_err();
        assert_eq!(error.problem, problem, "from {text:?}");
        assert!(!error.expected.is_empty());
    }
    let error = RuleSet::compile(
        vec![source("Read")],
        vec![],
        vec![source("Bash(x\u{1b}")],
        &anchors(),
    )
    .unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("cannot read the rule `Bash(x\\u{1b}` from config.toml:3: there is no `)` at its end\nhint: expected `Tool`"), "{text}");
}

#[test]
fn globs_are_anchored() {
    // Glob, path, whether it is covered, whether it is stopped.
    let cases = [
        ("src/**", "/w/a[1]/src/x/y.rs", true, true),
        ("src/**", "/w/a[1]/src", false, true),
        ("src/**", "/w/a[1]/other/src/x.rs", false, false),
        ("src/**", "/w/a1/src/x.rs", false, false),
        ("src/", "/w/a[1]/src/x", true, true),
        ("./src/./x.rs", "/w/a[1]/src/x.rs", true, true),
        ("src/*.rs", "/w/a[1]/src/x.rs", true, true),
        ("src/*.rs", "/w/a[1]/src/x/y.rs", false, false),
        ("src/*", "/w/a[1]/src/x/y.rs", false, true),
        ("**/.env", "/w/a[1]/.env", true, true),
        ("**/.env", "/w/a[1]/x/y/.env", true, true),
        ("**/.env", "/w/.env", false, false),
        (".env", "/w/a[1]/.env", true, true),
        (".env", "/w/a[1]/.env/x", false, true),
        (".env", "/w/a[1]/x/.env", false, false),
        ("*", "/w/a[1]/x", true, true),
        ("**", "/w/a[1]/x/y", true, true),
        ("../b/*", "/w/b/x", true, true),
        ("~/.ssh/**", "/home/me/.ssh/id", true, true),
        ("~/.ssh/**", "/w/a[1]/~/.ssh/id", false, false),
        ("/etc/hosts", "/etc/hosts", true, true),
        ("/**", "/etc/hosts", true, true),
        ("a{b,c}", "/w/a[1]/ac", true, true),
        ("a/*/**", "/w/a[1]/a/b", false, true),
        ("[[]x[]]", "/w/a[1]/[x]", true, true),
    ];
    for (glob, path, covers, stops) in cases {
        let glob_ = PathGlob::new(glob, &anchors()).unwrap();
        let path = Path::new(path);
        assert_eq!(
            (glob_.covers(path), glob_.covers_strictly(path)),
            (covers, stops),
            "{glob} on {path:?}"
        );
    }
}

#[test]
fn an_escaped_name_is_named_and_nothing_else() {
    for name in [
        "a", "a*b", "[id]", "{x}", "a?b", "a\\b", "!x", "a]b", "[!a]", "[]", "日[本]",
    ] {
        let glob = PathGlob::new(&escape(name), &anchors()).unwrap();
        assert!(glob.covers(&anchors().root.join(name)), "{name}: {glob:?}");
        let glob = PathGlob::new(&format!("*/{}", escape(name)), &anchors()).unwrap();
        assert!(
            glob.covers(&anchors().root.join("x").join(name)),
            "{name}: {glob:?}"
        );
    }
}

#[test]
fn read_denies_hide_paths() {
    let rules = [
        "Read(secrets/**)",
        "Read(.env)",
        "Read(**/*.pem)",
        "Edit(x)",
        "Bash(cat:*)",
        "Read(~/.ssh/)",
    ];
    let rules = RuleSet::compile(
        rules.map(source).to_vec(),
        vec![],
        vec![source("Read(secrets/a)")],
        &anchors(),
    )
    .unwrap();
    let whole = |path: &str| HiddenPath {
        path: path.into(),
        glob: None,
    };
    assert_eq!(
        rules.read_denies(),
        [
            whole("/w/a[1]/secrets"),
            whole("/w/a[1]/.env"),
            HiddenPath {
                path: "/w/a[1]".into(),
                glob: Some("/w/a[[]1\\]/**/*.pem".into())
            },
            whole("/home/me/.ssh"),
        ]
    );
    let cases = [
        ("/w/a[1]/secrets/a", true),
        ("/w/a[1]/secrets", true),
        ("/w/a[1]/secrets2", false),
        ("/w/a[1]/x/y.pem", true),
        ("/w/a[1]/x", false),
        ("/home/me/.ssh/id", true),
    ];
    for (path, denied) in cases {
        assert_eq!(rules.denies_read(Path::new(path)), denied, "{path}");
    }
    assert!(!RuleSet::default().denies_read(Path::new("/x")));
}
