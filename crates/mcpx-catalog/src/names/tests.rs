use proptest::prelude::*;

use super::*;

fn is_identifier(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_LEN
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[test]
fn a_name_that_is_an_identifier_stays_as_it_is() {
    for name in [
        "create_issue",
        "createIssue",
        "_private",
        "echo",
        "delete",
        "import",
        "a1",
    ] {
        assert_eq!(function(name), name);
    }
    assert_eq!(namespace("github"), "github");
}

#[test]
fn a_changed_name_keeps_what_can_be_read_and_ends_in_a_digest() {
    for name in [
        "create-issue",
        "files.read",
        "two words",
        "2fa",
        "",
        "日本語",
        "a/b",
        "a\0b",
        "constructor",
        "__proto__",
        "then",
        "a\u{2028}b",
        "get_xabcdef",
    ] {
        let made = function(name);
        assert!(
            is_identifier(&made) && ends_in_digest(&made),
            "{name:?} became {made}"
        );
        assert_ne!(made, name);
    }
    assert!(function("create-issue").starts_with("create_issue_x"));
    for word in ["delete", "console", "tools", "call", "await", "ToolError"] {
        assert!(ends_in_digest(&namespace(word)), "{word}");
    }
}

#[test]
fn names_that_differ_only_in_what_is_cut_or_replaced_stay_apart() {
    let long = "a".repeat(80);
    let names = [
        "a-b",
        "a.b",
        "a b",
        "a_b",
        &format!("{long}1"),
        &format!("{long}2"),
        &long,
    ];
    let made: BTreeSet<_> = names.iter().map(|name| function(name)).collect();
    assert_eq!(made.len(), names.len());
}

#[test]
fn every_spelling_leads_back_and_a_shared_one_names_all() {
    let names = Names::of_tools(["take-screenshot", "click", "a-b", "a.b", "a_b", "delete"]);
    assert_eq!(
        names.resolve("take-screenshot"),
        Resolved::One("take-screenshot")
    );
    assert_eq!(
        names.resolve("take_screenshot"),
        Resolved::One("take-screenshot")
    );
    assert_eq!(
        names.resolve(&function("take-screenshot")),
        Resolved::One("take-screenshot")
    );
    assert_eq!(
        names.resolve("a_b"),
        Resolved::One("a_b"),
        "an original is never shadowed"
    );
    assert_eq!(names.resolve("delete_"), Resolved::One("delete"));
    assert_eq!(names.resolve("nothing"), Resolved::Unknown);
    let two = Names::of_tools(["a-b", "a.b"]);
    assert_eq!(two.resolve("a_b"), Resolved::Several(vec!["a-b", "a.b"]));
    assert_eq!(
        two.spellings("a-b", &function("a-b")),
        [function("a-b"), "a-b".to_owned()]
    );
}

#[test]
fn a_tool_named_like_the_identifier_of_another_takes_only_its_own_name() {
    let target = function("a-b");
    let names = Names::of_tools(["a-b", target.as_str()]);
    assert_ne!(function(&target), target);
    assert_eq!(
        names.resolve(&function(&target)),
        Resolved::One(target.as_str())
    );
    assert!(!names.spellings("a-b", &target).contains(&target));
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
        ("a-", "b"),
        ("a", "-b"),
    ];
    let made: BTreeSet<_> = pairs
        .iter()
        .map(|(server, tool)| qualified(server, tool))
        .collect();
    assert_eq!(made.len(), pairs.len());
    assert!(is_identifier(&qualified(&"s".repeat(70), &"t".repeat(70))));
}

proptest! {
    #[test]
    fn any_name_becomes_an_identifier_and_comes_back(names in prop::collection::btree_set(".{0,90}|[a-c_.-]{1,4}", 1..12)) {
        let index = Names::of_tools(names.iter().cloned());
        for name in &names {
            prop_assert!(is_identifier(&function(name)), "{name:?}");
            prop_assert!(is_identifier(&namespace(name)), "{name:?}");
            prop_assert!(is_identifier(&plain(name).chars().take(MAX_LEN).collect::<String>()));
            prop_assert_eq!(index.resolve(name), Resolved::One(name.as_str()));
            prop_assert_eq!(index.resolve(&function(name)), Resolved::One(name.as_str()));
        }
        let made: BTreeSet<_> = names.iter().map(|name| function(name)).collect();
        prop_assert_eq!(made.len(), names.len());
    }

    #[test]
    fn two_pairs_never_share_a_qualified_name(a in "[ab_.-]{1,4}", b in "[ab_.-]{1,4}", c in "[ab_.-]{1,4}", d in "[ab_.-]{1,4}") {
        prop_assume!((&a, &b) != (&c, &d));
        prop_assert_ne!(qualified(&a, &b), qualified(&c, &d));
    }
}
