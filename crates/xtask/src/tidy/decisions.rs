//! A decision note has a date, the context, the decision, the alternatives and the consequences, and the index names it.

use super::{Finding, finding};
use crate::tree::Tree;

const FOLDER: &str = "docs/decisions/";
const INDEX: &str = "docs/decisions/README.md";
const SECTIONS: &[&str] = &[
    "## Context",
    "## Decision",
    "## Alternatives",
    "## Consequences",
];

/// Finds notes that lack a part or stand in no index.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let index = tree.get(INDEX).unwrap_or_default();
    for (path, text) in tree
        .ending(".md")
        .filter(|(path, _)| path.starts_with(FOLDER) && *path != INDEX)
    {
        let name = &path[FOLDER.len()..];
        if !is_numbered(name) {
            findings.push(finding(
                path,
                1,
                "the name is not `NNNN-words.md`",
                "number the notes in order",
            ));
        }
        if !text.lines().any(is_date) {
            findings.push(finding(
                path,
                1,
                "the note has no date",
                "write `Date: YYYY-MM-DD` below the title",
            ));
        }
        let mut last = 0;
        for section in SECTIONS {
            match text.lines().position(|line| line == *section) {
                None => findings.push(finding(
                    path,
                    1,
                    format!("the note has no `{section}`"),
                    "half a page is enough, but with all four parts",
                )),
                Some(at) if at < last => findings.push(finding(
                    path,
                    at + 1,
                    format!("`{section}` stands too early"),
                    "context, decision, alternatives, consequences: in this order",
                )),
                Some(at) => last = at,
            }
        }
        if !index.contains(&format!("({name})")) {
            findings.push(finding(
                path,
                1,
                format!("{INDEX} does not name this note"),
                "add a line with a link",
            ));
        }
    }
    findings
}

fn is_numbered(name: &str) -> bool {
    name.split_once('-')
        .is_some_and(|(number, _)| number.len() == 4 && number.chars().all(|c| c.is_ascii_digit()))
}

fn is_date(line: &str) -> bool {
    line.strip_prefix("Date: ").is_some_and(|date| {
        date.len() == 10
            && date.char_indices().all(|(at, c)| {
                if at == 4 || at == 7 {
                    c == '-'
                } else {
                    c.is_ascii_digit()
                }
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "# A\n\nDate: 2026-11-30\n\n## Context\n\n## Decision\n\n## Alternatives\n\n## Consequences\n";

    #[test]
    fn a_note_has_its_parts_in_order() {
        let without_date = WHOLE.replace("Date: ", "On ");
        let without_part = WHOLE.replace("## Alternatives\n\n", "");
        let reordered = WHOLE
            .replace("## Context", "## X")
            .replace("## Decision", "## Context")
            .replace("## X", "## Decision");
        for (path, text, findings) in [
            ("docs/decisions/0001-a.md", WHOLE, 0),
            ("docs/decisions/0001-a.md", without_date.as_str(), 1),
            ("docs/decisions/0001-a.md", without_part.as_str(), 1),
            ("docs/decisions/0001-a.md", reordered.as_str(), 1),
            ("docs/decisions/0002-b.md", WHOLE, 1),
            ("docs/decisions/a.md", WHOLE, 2),
        ] {
            let tree = Tree::of(&[(path, text), (INDEX, "- [A](0001-a.md)\n")]);
            assert_eq!(check(&tree).len(), findings, "{path}\n{text}");
        }
    }
}
