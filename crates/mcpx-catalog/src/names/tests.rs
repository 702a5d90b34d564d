use proptest::prelude::*;

use super::*;

fn is_identifier(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_LEN
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn ends_in_digest(name: &str) -> bool {
    let tail = name.len().checked_sub(8).map_or("", |at| &name[at..]);
    tail.starts_with("_x")
        && tail[2..]
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
}

#[test]
fn a_name_becomes_what_a_reader_expects() {
    for (name, made) in [
        ("github", "github"),
        ("chrome-devtools", "chrome_devtools"),
        ("my.server v2", "my_server_v2"),
        ("2fast", "_2fast"),
        ("class", "class_"),
        ("console", "console_"),
        ("tools", "tools_"),
        ("log", "log_"),
        ("then", "then_"),
        ("caf\u{e9}", "caf_"),
        ("@scope/pkg", "_scope_pkg"),
        ("set_xoffset", "set_xoffset"),
        ("_", "_"),
    ] {
        assert_eq!(namespace(name), made);
    }
    for (name, made) in [
        ("create-issue", "create_issue"),
        ("files.read", "files_read"),
        ("delete", "delete"),
        ("import", "import"),
        ("constructor", "constructor_"),
        ("__proto__", "__proto___"),
        ("2fa", "_2fa"),
    ] {
        assert_eq!(plain(name), made);
    }
    assert!(is_namespace("chrome_devtools") && is_namespace("_2fast"));
    for word in ["chrome-devtools", "class", "2fast", "", "console"] {
        assert!(!is_namespace(word), "{word}");
    }
}

#[test]
fn a_name_that_is_too_long_or_unreadable_ends_in_a_digest() {
    let long = "a".repeat(80);
    for name in ["", "\u{65e5}\u{672c}\u{8a9e}", "--", &long] {
        for made in [namespace(name), plain(name)] {
            assert!(
                is_identifier(&made) && ends_in_digest(&made),
                "{name:?} became {made}"
            );
        }
    }
    assert_ne!(namespace("\u{65e5}\u{672c}"), namespace("\u{4e2d}\u{56fd}"));
    let (one, two) = (format!("{long}1"), format!("{long}2"));
    assert_ne!(plain(&one), plain(&two));
}

#[test]
fn of_tools_that_would_be_spelled_alike_the_one_of_that_name_keeps_it() {
    let names = Names::of_tools(["a-b", "a_b", "a.b", "take-screenshot"]);
    assert_eq!(names.identifier("a_b"), "a_b");
    assert_eq!(names.identifier("a-b"), digested("a-b"));
    assert_eq!(names.identifier("a.b"), digested("a.b"));
    assert_eq!(names.identifier("take-screenshot"), "take_screenshot");
    let two = Names::of_tools(["a.b", "a-b"]);
    assert_eq!(two.identifier("a-b"), digested("a-b"));
    assert_eq!(two.identifier("a.b"), digested("a.b"));
    assert_eq!(Names::of_tools(["a-b"]).identifier("a-b"), "a_b");
}

#[test]
fn every_spelling_leads_back_and_a_shared_one_names_all() {
    let names = Names::of_tools(["take-screenshot", "click", "a-b", "a.b", "a_b", "then"]);
    for (spelling, name) in [
        ("take-screenshot", "take-screenshot"),
        ("take_screenshot", "take-screenshot"),
        (&digested("take-screenshot"), "take-screenshot"),
        ("a_b", "a_b"),
        (&digested("a-b"), "a-b"),
        ("then", "then"),
        ("then_", "then"),
    ] {
        assert_eq!(names.resolve(spelling), Resolved::One(name));
    }
    assert_eq!(names.resolve("nothing"), Resolved::Unknown);
    let two = Names::of_tools(["a-b", "a.b"]);
    assert_eq!(two.resolve("a_b"), Resolved::Several(vec!["a-b", "a.b"]));
    assert_eq!(two.spellings("a-b"), [digested("a-b"), "a-b".to_owned()]);
    assert_eq!(
        names.spellings("take-screenshot"),
        ["take_screenshot", "take-screenshot"]
    );
}

#[test]
fn any_way_to_write_the_same_letters_leads_to_the_name() {
    let names = Names::of_tools([
        "create_issue",
        "takeScreenshot",
        "list-all",
        "click",
        "a-b",
        "a_b",
    ]);
    for (spelling, name) in [
        ("createIssue", "create_issue"),
        ("create-issue", "create_issue"),
        ("CREATE_ISSUE", "create_issue"),
        ("take_screenshot", "takeScreenshot"),
        ("take-screenshot", "takeScreenshot"),
        ("listAll", "list-all"),
        ("Click", "click"),
        ("a_b", "a_b"),
    ] {
        assert_eq!(names.resolve(spelling), Resolved::One(name), "{spelling}");
    }
    assert_eq!(names.resolve("aB"), Resolved::Several(vec!["a-b", "a_b"]));
    for spelling in ["", "_", "-", ".click", "create issue", "create.issue"] {
        assert_eq!(names.resolve(spelling), Resolved::Unknown, "{spelling}");
    }
}

#[test]
fn servers_are_found_by_name_and_namespace() {
    let names = Names::of_servers([
        ("my-tracker", "issues"),
        ("chrome-devtools", "chrome_devtools"),
    ]);
    for spelling in ["my-tracker", "issues", "my_tracker"] {
        assert_eq!(
            names.resolve(spelling),
            Resolved::One("my-tracker"),
            "{spelling}"
        );
    }
    assert_eq!(names.identifier("my-tracker"), "issues");
    assert_eq!(names.nearest("chrome-devtool", 3), ["chrome-devtools"]);
    assert_eq!(names.nearest("isues", 3), ["my-tracker"]);
}

#[test]
fn a_tool_named_like_the_digest_of_another_takes_only_its_own_name() {
    let target = digested("a-b");
    let names = Names::of_tools(["a-b", "a_b", target.as_str()]);
    assert_eq!(names.identifier(&target), target);
    let longer = names.identifier("a-b");
    assert!(longer != target && longer.starts_with("a_b_x"), "{longer}");
    assert_eq!(names.resolve(&target), Resolved::One(target.as_str()));
    assert_eq!(names.resolve(&longer), Resolved::One("a-b"));
}

#[test]
fn a_qualified_name_shows_where_its_halves_meet() {
    assert_eq!(qualified("github", "create_issue"), "github__create_issue");
    let pairs = [
        ("a__b", "c"),
        ("a", "b__c"),
        ("a_", "b"),
        ("a", "_b"),
        ("a", "b"),
    ];
    let made: BTreeSet<_> = pairs
        .iter()
        .map(|(space, function)| qualified(space, function))
        .collect();
    assert_eq!(made.len(), pairs.len());
    assert!(is_identifier(&qualified(&"s".repeat(60), &"t".repeat(60))));
}

proptest! {
    #[test]
    fn any_set_of_names_becomes_identifiers_that_lead_back(names in prop::collection::btree_set(".{0,90}|[a-c_.-]{1,4}", 1..12)) {
        let index = Names::of_tools(names.iter().cloned());
        let mut made = BTreeSet::new();
        for name in &names {
            let identifier = index.identifier(name);
            prop_assert!(is_identifier(&identifier), "{name:?}: {identifier}");
            prop_assert!(is_identifier(&namespace(name)), "{name:?}");
            prop_assert_eq!(index.resolve(name), Resolved::One(name.as_str()));
            prop_assert_eq!(index.resolve(&identifier), Resolved::One(name.as_str()));
            prop_assert!(made.insert(identifier));
        }
    }

    #[test]
    fn a_namespace_is_a_namespace(name in ".{0,90}|[a-z_.-]{1,6}") {
        prop_assert!(is_namespace(&namespace(&name)), "{}", namespace(&name));
    }

    #[test]
    fn two_pairs_never_share_a_qualified_name(a in "[ab_]{1,4}", b in "[ab_]{1,4}", c in "[ab_]{1,4}", d in "[ab_]{1,4}") {
        prop_assume!((&a, &b) != (&c, &d));
        prop_assert_ne!(qualified(&a, &b), qualified(&c, &d));
    }
}
