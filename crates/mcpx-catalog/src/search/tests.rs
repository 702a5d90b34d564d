use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Instant;

use proptest::prelude::*;

use super::*;

fn entry(name: &str, text: &str) -> Entry {
    Entry {
        name: name.to_owned(),
        text: text.to_owned(),
        parameters: Vec::new(),
    }
}

fn search(tools: &[(&str, &str, &str)]) -> Search {
    let mut by_server: BTreeMap<&str, Vec<Entry>> = BTreeMap::new();
    for (server, name, text) in tools {
        by_server.entry(server).or_default().push(entry(name, text));
    }
    let mut search = Search::default();
    for (server, entries) in by_server {
        search.replace(server, &entries);
    }
    search
}

fn names(hits: &[Hit]) -> Vec<String> {
    hits.iter()
        .map(|hit| format!("{}.{}", hit.server, hit.tool))
        .collect()
}

/// The tools of the corpus, under their servers.
fn corpus() -> BTreeMap<String, Vec<Entry>> {
    let mut servers: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for line in include_str!("../../corpus/search/tools.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let mut parts = line.split('|').map(str::trim);
        let (path, parameters, text) = (
            parts.next().unwrap(),
            parts.next().unwrap(),
            parts.next().unwrap(),
        );
        let (server, name) = path.split_once('.').unwrap();
        let parameters = parameters.split_whitespace().map(str::to_owned).collect();
        servers.entry(server.to_owned()).or_default().push(Entry {
            name: name.to_owned(),
            text: text.to_owned(),
            parameters,
        });
    }
    servers
}

#[test]
fn the_labelled_queries_find_their_tool_among_the_first_five() {
    let servers = corpus();
    let mut search = Search::default();
    for (server, entries) in &servers {
        search.replace(server, entries);
    }
    assert!(search.len() >= 300, "{} tools", search.len());
    let queries: Vec<_> = include_str!("../../corpus/search/queries.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert!(queries.len() >= 60);
    let (mut found, mut first, mut missed) = (0, 0, String::new());
    for line in &queries {
        let (query, wanted) = line.split_once(" => ").unwrap();
        let wanted: BTreeSet<&str> = wanted.split_whitespace().collect();
        for path in &wanted {
            let (server, name) = path.split_once('.').unwrap();
            assert!(
                servers[server].iter().any(|entry| entry.name == name),
                "{path} is no tool of the corpus"
            );
        }
        let got = names(&search.find(query, 5));
        found += usize::from(got.iter().any(|name| wanted.contains(name.as_str())));
        first += usize::from(
            got.first()
                .is_some_and(|name| wanted.contains(name.as_str())),
        );
        if !got.iter().any(|name| wanted.contains(name.as_str())) {
            writeln!(missed, "{query}: {got:?}").unwrap();
        }
    }
    println!(
        "recall@5 {found}/{}, first {first}/{}\n{missed}",
        queries.len(),
        queries.len()
    );
    assert!(
        found * 100 >= queries.len() * 95,
        "recall@5 is {found} of {}:\n{missed}",
        queries.len()
    );
    assert!(
        first * 100 >= queries.len() * 75,
        "{first} of {} come first",
        queries.len()
    );
}

#[test]
fn a_name_is_found_first_in_whatever_spelling() {
    let search = search(&[
        ("github", "create_issue", ""),
        ("github", "create_issue_comment", ""),
        (
            "notes",
            "other",
            "create issue create_issue create issue github create issue",
        ),
        ("chrome-devtools", "take-screenshot", ""),
    ]);
    for query in [
        "create_issue",
        "createIssue",
        "create-issue",
        "Create Issue",
        "github.create_issue",
        "github__create_issue",
        "`create_issue`?",
    ] {
        let hits = search.find(query, 3);
        assert_eq!(
            (names(&hits)[0].as_str(), hits[0].matched),
            ("github.create_issue", Match::Name),
            "{query}"
        );
        assert_eq!(hits[1].matched, Match::NamePrefix, "{query}");
    }
    let identifier = crate::names::digested("take-screenshot");
    for query in [
        "chrome_devtools.take_screenshot",
        identifier.as_str(),
        "chrome-devtools/take-screenshot",
    ] {
        assert_eq!(search.find(query, 1)[0].matched, Match::Name, "{query}");
    }
}

#[test]
fn each_of_several_names_gets_its_hit_before_any_gets_a_second() {
    let search = search(&[
        ("a", "read_file", ""),
        ("b", "read_file", ""),
        ("c", "read_file", ""),
        ("d", "write_file", ""),
        ("e", "fetch", ""),
    ]);
    assert_eq!(
        names(&search.find("read_file, write_file and fetch", 3)),
        ["a.read_file", "d.write_file", "e.fetch"]
    );
    assert_eq!(
        names(&search.find("fetch read_file", 2)),
        ["e.fetch", "a.read_file"]
    );
}

#[test]
fn a_word_of_prose_that_is_a_name_does_not_push_the_rest_aside() {
    let search = search(&[
        ("a", "search", "any"),
        ("b", "search", "any"),
        ("github", "search_issues", "Search issues of a repository"),
    ]);
    assert_eq!(
        names(&search.find("search open issues", 1)),
        ["github.search_issues"]
    );
}

#[test]
fn a_word_that_no_tool_has_finds_what_it_may_have_meant() {
    let search = search(&[
        ("browser", "take_screenshot", "Takes a picture of the page"),
        ("github", "create_pull_request_review", "Reviews changes"),
        ("hooks", "register", "Tells a webhook about changes"),
        ("maps", "translate_address", "Gives coordinates"),
        ("calendar", "list_events", "What is planned"),
        ("shop", "purchase_domain", "Takes a name"),
    ]);
    for (query, found) in [
        ("a screnshot", "browser.take_screenshot"),
        ("screen shot", "browser.take_screenshot"),
        ("screens", "browser.take_screenshot"),
        ("pullrequest", "github.create_pull_request_review"),
        ("a web hook", "hooks.register"),
        ("translation", "maps.translate_address"),
        ("creation", "github.create_pull_request_review"),
        ("calender", "calendar.list_events"),
        ("buying", "shop.purchase_domain"),
    ] {
        let hits = search.find(query, 1);
        assert_eq!(names(&hits), [found], "{query}");
    }
    for query in ["qqqq", "日本語", "🦊", "x", "12345"] {
        assert_eq!(search.find(query, 1), [], "{query}");
    }
}

#[test]
fn what_was_meant_never_stands_before_what_was_said() {
    let search = search(&[
        ("a", "create_note", "makes one"),
        ("b", "note_creation", "makes one"),
        ("c", "calendar", "days"),
        ("d", "calender", "presses paper"),
    ]);
    assert_eq!(names(&search.find("creation", 2))[0], "b.note_creation");
    assert_eq!(names(&search.find("calender", 1)), ["d.calender"]);
}

#[test]
fn equal_scores_are_in_the_order_of_server_and_name_whatever_came_first() {
    let mut one = Search::default();
    let mut other = Search::default();
    let entries = [entry("beta", "same words"), entry("alpha", "same words")];
    let reversed: Vec<Entry> = entries.iter().rev().cloned().collect();
    for server in ["x", "y", "z"] {
        one.replace(server, &entries);
    }
    for server in ["z", "x", "y"] {
        other.replace(server, &reversed);
    }
    assert_eq!(
        names(&one.find("words", 9)),
        [
            "x.alpha", "x.beta", "y.alpha", "y.beta", "z.alpha", "z.beta"
        ]
    );
    assert_eq!(names(&one.find("words", 9)), names(&other.find("words", 9)));
}

#[test]
fn a_server_that_is_replaced_leaves_nothing_behind() {
    let mut search = search(&[("a", "old_name", "ancient"), ("b", "stays", "ancient")]);
    search.replace("a", &[entry("new_name", "modern")]);
    assert_eq!(names(&search.find("ancient", 9)), ["b.stays"]);
    assert!(
        search
            .find("old_name", 9)
            .iter()
            .all(|hit| hit.tool != "old_name")
    );
    assert_eq!(names(&search.find("modern", 9)), ["a.new_name"]);
    search.remove("a");
    search.remove("b");
    search.remove("never there");
    assert!(search.is_empty());
    assert_eq!(search.find("ancient modern stays", 9), []);
}

#[test]
fn an_empty_query_or_limit_finds_nothing() {
    let search = search(&[("a", "b", "c")]);
    for (query, limit) in [("", 5), ("  .,; ", 5), ("b", 0), ("\u{202e}\0", 5)] {
        assert_eq!(search.find(query, limit), [], "{query:?}");
    }
}

#[test]
fn shouting_does_not_help() {
    let shout = "send email ".repeat(100_000);
    let mut search = search(&[
        ("gmail", "send_email", "Send an email to somebody"),
        ("spam", "buy_pills", &shout),
    ]);
    assert_eq!(
        names(&search.find("send an email", 2))[0],
        "gmail.send_email"
    );
    let many: String = (0..100_000).fold(String::new(), |mut text, at| {
        write!(text, "word{} ", at * 7919).unwrap();
        text
    });
    search.replace("big", &[entry(&"n".repeat(100_000), &many)]);
    assert_eq!(search.find(&"word ".repeat(100_000), 5).len(), 1);
    assert_eq!(search.find(&"word".repeat(100_000), 5).len(), 0);
}

#[test]
fn ten_thousand_tools_are_searched_quickly() {
    let servers = corpus();
    let mut search = Search::default();
    let copies = 10_000 / servers.values().map(Vec::len).sum::<usize>() + 1;
    for copy in 0..copies {
        for (server, entries) in &servers {
            search.replace(&format!("{server}{copy}"), entries);
        }
    }
    assert!(search.len() >= 10_000);
    let queries: Vec<_> = include_str!("../../corpus/search/queries.txt")
        .lines()
        .filter_map(|line| line.split_once(" => "))
        .collect();
    let mut times: Vec<_> = (0..10)
        .flat_map(|_| &queries)
        .map(|(query, _)| {
            let start = Instant::now();
            assert!(!search.find(query, 20).is_empty(), "{query}");
            start.elapsed()
        })
        .collect();
    times.sort();
    let p99 = times[times.len() * 99 / 100];
    println!(
        "{} tools: p50 {:?}, p99 {p99:?}",
        search.len(),
        times[times.len() / 2]
    );
    // Without optimisation, and beside other tests: a sign of trouble, not the promise (5 ms in release).
    let most = if cfg!(debug_assertions) { 100 } else { 5 };
    assert!(p99.as_millis() <= most, "{p99:?}");
}

proptest! {
    #[test]
    fn any_text_is_indexed_and_found_or_not_without_harm(texts in prop::collection::vec((".{0,20}", ".{0,60}"), 1..6), query in ".{0,40}") {
        let mut search = Search::default();
        let entries: Vec<Entry> = texts.iter().map(|(name, text)| entry(name, text)).collect();
        search.replace("s", &entries);
        for hit in search.find(&query, 10) {
            prop_assert!(hit.score.is_finite() && hit.score >= 0.0);
        }
        for (name, _) in &texts {
            if name.chars().any(char::is_alphanumeric) {
                prop_assert!(search.find(name, 10).iter().any(|hit| hit.tool == *name), "{:?}", name);
            }
        }
        search.remove("s");
        prop_assert!(search.is_empty());
    }
}
