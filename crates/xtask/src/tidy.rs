//! `cargo xtask tidy`: what the compiler does not hold, checked over the text of the repository.
//!
//! Every check is a function from a [`Tree`] to findings. A finding names the file and the line and says what to do.

mod decisions;
mod doors;
mod edges;
mod failures;
mod file_names;
mod links;
mod lock_file;
mod modules;
mod openings;
mod reference;
mod settings;
mod words;

use std::{fmt, path::Path, process::ExitCode};

use crate::tree::Tree;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Path from the root of the repository.
    pub(crate) file: String,
    /// 1-based.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) problem: String,
    /// What to do.
    pub(crate) hint: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}\nhint: {}",
            self.file, self.line, self.problem, self.hint
        )
    }
}

/// Makes a finding.
fn finding(
    file: &str,
    line: usize,
    problem: impl Into<String>,
    hint: impl Into<String>,
) -> Finding {
    Finding {
        file: file.to_owned(),
        line,
        problem: problem.into(),
        hint: hint.into(),
    }
}

const CHECKS: &[fn(&Tree) -> Vec<Finding>] = &[
    openings::check,
    file_names::check,
    modules::check,
    edges::check,
    doors::check,
    settings::check,
    words::check,
    links::check,
    decisions::check,
    failures::check,
    lock_file::check,
];

/// Checks the repository and prints what it finds.
pub(crate) fn run(_: &[String]) -> anyhow::Result<ExitCode> {
    let root = crate::root()?;
    let mut findings = check_text(&Tree::read(&root)?);
    crate::generate::build(&root)?;
    findings.extend(check_pages(&root)?);
    for finding in &findings {
        eprintln!("{finding}\n");
    }
    if findings.is_empty() {
        println!("tidy");
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "{} finding{}",
        findings.len(),
        if findings.len() == 1 { "" } else { "s" }
    );
    Ok(ExitCode::FAILURE)
}

/// Returns what the checks of the text find, in the order of files and lines.
fn check_text(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(tree)).collect();
    findings.sort();
    findings
}

/// Returns the reference pages that the binary would write otherwise.
fn check_pages(root: &Path) -> anyhow::Result<Vec<Finding>> {
    reference::check(&Tree::read(root)?, root)
}

/// Returns the lines of a Markdown text with their 1-based numbers, without those inside code fences.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            return None;
        }
        (!is_fenced).then_some((index + 1, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_none(findings: &[Finding]) {
        let text: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert!(findings.is_empty(), "\n{}\n", text.join("\n\n"));
    }

    #[test]
    fn the_repository_is_tidy() {
        assert_none(&check_text(&Tree::read(&crate::root().unwrap()).unwrap()));
    }

    #[test]
    fn the_reference_pages_say_what_the_binary_says() {
        assert_none(&check_pages(&crate::root().unwrap()).unwrap());
    }

    #[test]
    fn a_finding_names_the_place_and_says_what_to_do() {
        assert_eq!(
            finding("a/b.rs", 3, "it is wrong", "mend it").to_string(),
            "a/b.rs:3: it is wrong\nhint: mend it"
        );
    }

    #[test]
    fn prose_leaves_out_what_stands_in_a_fence() {
        let lines: Vec<_> = prose("a\n```rust\nb\n```\nc").collect();
        assert_eq!(lines, [(1, "a"), (5, "c")]);
    }
}
