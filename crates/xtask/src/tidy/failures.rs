//! The page of reported failures names a test for each, and each test that it names is there.

use super::{Finding, finding};
use crate::tree::Tree;

const PAGE: &str = "docs/how/hub-failures.md";
/// What stands in a row instead of a test, for what does not exist yet or cannot on this platform.
const WITHOUT: [&str; 2] = ["later", "not here"];

/// Finds rows without a test, and tests that are gone.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.get(PAGE) else {
        return vec![finding(
            PAGE,
            1,
            "the page of reported failures is gone",
            "write it, or say in this check where it is",
        )];
    };
    let mut findings = Vec::new();
    for (index, line) in page.lines().enumerate() {
        let Some(cells) = row(line) else { continue };
        let tests: Vec<(&str, &str)> = spans(cells.tests)
            .filter_map(|span| span.split_once(".rs::"))
            .collect();
        if tests.is_empty() && !WITHOUT.iter().any(|word| cells.tests.starts_with(word)) {
            findings.push(finding(
                PAGE,
                index + 1,
                format!("the failure {} has no test", cells.number),
                "name one as `crate/tests/it/file.rs::name`, or say `later` or `not here` and why",
            ));
        }
        for (file, name) in tests {
            let path = format!("crates/{file}.rs");
            let defined = format!("fn {name}(");
            if tree.get(&path).is_some_and(|text| text.contains(&defined)) {
                continue;
            }
            let elsewhere = tree.ending(".rs").find(|(_, text)| text.contains(&defined));
            findings.push(finding(
                PAGE,
                index + 1,
                format!("`{path}` has no test `{name}`"),
                match elsewhere {
                    Some((moved, _)) => format!("it is in `{moved}` now"),
                    None => "name the test that shows it now".to_owned(),
                },
            ));
        }
    }
    findings
}

struct Row<'a> {
    number: &'a str,
    tests: &'a str,
}

/// A row of a failure: its first cell is a number, perhaps with a letter or a dot in it, and its last names tests.
fn row(line: &str) -> Option<Row<'_>> {
    let inner = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let number = inner.split(" | ").next()?.trim();
    number
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| Row {
            number,
            tests: inner.rsplit(" | ").next().unwrap_or_default().trim(),
        })
}

/// What stands between backquotes.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_without_a_test_and_a_test_that_is_gone_are_found() {
        let code = "#[test]\nfn it_holds() {}\n";
        for (tests, problems) in [
            ("`a/tests/it/b.rs::it_holds`", 0),
            ("`a/tests/it/b.rs::it_holds`, `a/tests/it/b.rs::it_hold`", 1),
            ("`a/tests/it/c.rs::it_holds`", 1),
            ("later: there are no scripts", 0),
            ("not here: Windows", 0),
            ("", 1),
        ] {
            let page = format!(
                "| number | failure | tests |\n|---|---|---|\n| 77a | it breaks | {tests} |\n"
            );
            let tree = Tree::of(&[(PAGE, page.as_str()), ("crates/a/tests/it/b.rs", code)]);
            assert_eq!(check(&tree).len(), problems, "{tests}");
        }
        assert_eq!(check(&Tree::of(&[])).len(), 1);
        let tree = Tree::of(&[
            (PAGE, "| 1 | it breaks | `a/tests/it/old.rs::it_holds` |\n"),
            ("crates/a/tests/it/new.rs", code),
        ]);
        let found = check(&tree);
        assert_eq!(found[0].hint, "it is in `crates/a/tests/it/new.rs` now");
    }
}
