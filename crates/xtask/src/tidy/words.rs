//! Words that do not belong: markers that nobody owns, tests that are switched off, names that say nothing.

use super::{Finding, finding, prose};
use crate::tree::Tree;

/// Name endings of types that say what somebody does for a living, not what a thing is.
const EMPTY_ENDINGS: &[&str] = &["Manager", "Helper", "Helpers", "Util", "Utils", "Impl"];

/// Words in prose that sell or soothe instead of saying something that can be checked.
const EMPTY_PROSE: &[&str] = &[
    "blazing",
    "seamless",
    "seamlessly",
    "effortless",
    "effortlessly",
    "simply",
    "robust",
    "leverage",
    "leverages",
    "cutting-edge",
    "state-of-the-art",
    "world-class",
    "best-in-class",
];

/// Finds them.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree
        .ending(".rs")
        .filter(|(path, _)| !path.starts_with("crates/xtask/"))
    {
        for (index, line) in text.lines().enumerate() {
            findings.extend(in_code(path, index + 1, line));
        }
    }
    for (path, text) in tree.ending(".md").filter(|(path, _)| *path != "STYLE.md") {
        for (number, line) in prose(text) {
            findings.extend(in_prose(path, number, line));
        }
    }
    findings
}

fn in_code(path: &str, number: usize, line: &str) -> Option<Finding> {
    let trimmed = line.trim_start();
    if trimmed.starts_with("#[ignore") {
        return Some(finding(
            path,
            number,
            "a test is switched off",
            "assert what happens today and say why it is wrong, or delete the test",
        ));
    }
    if let Some(at) = ["FIXME", "XXX"]
        .iter()
        .find(|marker| has_word(line, marker))
    {
        return Some(finding(
            path,
            number,
            format!("`{at}` has no owner"),
            "write `TODO(name or issue): …`",
        ));
    }
    if has_word(line, "TODO") && !line.contains("TODO(") {
        return Some(finding(
            path,
            number,
            "`TODO` has no owner",
            "write `TODO(name or issue): …`",
        ));
    }
    let declared = ["struct ", "enum ", "trait "].iter().find_map(|keyword| {
        let rest = trimmed
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub ");
        rest.strip_prefix(keyword)
    })?;
    let name: String = declared
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    let ending = EMPTY_ENDINGS
        .iter()
        .find(|ending| name.ends_with(**ending))?;
    Some(finding(
        path,
        number,
        format!("`{name}` ends with `{ending}`, which does not say what it is"),
        "name it for what it is in the user's words",
    ))
}

fn in_prose(path: &str, number: usize, line: &str) -> Option<Finding> {
    let lower = line.to_lowercase();
    let word = EMPTY_PROSE.iter().find(|word| has_word(&lower, word))?;
    Some(finding(
        path,
        number,
        format!("`{word}` says nothing that can be checked"),
        "say the fact, or strike it",
    ))
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_do_not_belong_are_found() {
        for (path, line, findings) in [
            ("crates/a/src/lib.rs", "// TODO: later", 1),
            ("crates/a/src/lib.rs", "// TODO(ann): later", 0),
            ("crates/a/src/lib.rs", "let todo = TODO_LIST;", 0),
            ("crates/a/src/lib.rs", "// FIXME", 1),
            ("crates/a/src/lib.rs", "    #[ignore = \"slow\"]", 1),
            (
                "crates/a/src/lib.rs",
                "pub(crate) struct SessionManager {",
                1,
            ),
            ("crates/a/src/lib.rs", "pub struct Session;", 0),
            ("crates/a/src/lib.rs", "let manager = 1;", 0),
            ("README.md", "It is simply robust.", 1),
            ("README.md", "It is robustly built.", 0),
            ("README.md", "```\nsimply\n```", 0),
            ("STYLE.md", "Do not write `simply`.", 0),
        ] {
            assert_eq!(
                check(&Tree::of(&[(path, line)])).len(),
                findings,
                "{path}: {line}"
            );
        }
    }
}
