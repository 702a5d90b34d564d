//! The hub's pages of the guide run as they are printed.
//!
//! Each page has a home and a folder of its own, in which its ```` ```console ```` blocks run from top to bottom. A line
//! that begins with `$ ` is a command, lines below it that begin with `> ` go on with it, and the rest is what it prints,
//! on stdout and stderr. `…` stands for anything within a line, a line of `…` alone for any number of lines.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Mcpx, PROGRAM};

/// Stands between what two commands print.
const MARK: &str = "<<<next>>>";

struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
}

fn pages() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let mut pages: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("hub-")
        })
        .collect();
    pages.sort();
    pages
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_inside = false;
    for (at, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            is_inside = line == "```console";
        } else if is_inside {
            if let Some(command) = line.strip_prefix("$ ") {
                steps.push(Step {
                    line: at + 1,
                    command: command.to_owned(),
                    expected: Vec::new(),
                });
            } else if let Some(step) = steps.last_mut() {
                match line.strip_prefix("> ").or((line == ">").then_some("")) {
                    Some(more) if step.expected.is_empty() => {
                        step.command.push('\n');
                        step.command.push_str(more);
                    }
                    _ => step.expected.push(line.to_owned()),
                }
            }
        }
    }
    steps
}

/// Whether a line is what a pattern with `…` says.
fn is_like(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

fn are_like(patterns: &[String], lines: &[&str]) -> bool {
    match (patterns.split_first(), lines.split_first()) {
        (None, None) => true,
        (None, Some(_)) => false,
        (Some((pattern, below)), line) if pattern == "…" => {
            are_like(below, lines) || line.is_some_and(|(_, more)| are_like(patterns, more))
        }
        (Some(_), None) => false,
        (Some((pattern, below)), Some((line, more))) => {
            is_like(pattern, line.trim_end()) && are_like(below, more)
        }
    }
}

#[test]
fn the_pages_of_the_guide_run_as_printed() {
    let pages = pages();
    assert!(pages.len() >= 3, "{pages:?}");
    let mut wrong = String::new();
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        let mcpx = Mcpx::new();
        let folder = Path::new(PROGRAM).parent().unwrap().display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let steps = steps(&text);
        // One shell for the whole page, so that its variables live on.
        let mut script = "exec 2>&1\n".to_owned();
        for step in &steps {
            script.push_str(&format!("{}\nprintf '{MARK}'\n", step.command));
        }
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(mcpx.work.path())
            .env_clear()
            .env("PATH", format!("{folder}:{path}"))
            .env("HOME", mcpx.home.path())
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let printed = mcpx.filtered(&String::from_utf8_lossy(&output.stdout));
        let printed = printed
            .replace("[home]", "~")
            .replace("[work]", "…")
            .replace("[mcpx]", "…/mcpx");
        let mut pieces = printed.split(MARK);
        for step in &steps {
            let printed = pieces.next().unwrap_or("(the shell ended before)");
            let lines: Vec<&str> = printed.lines().collect();
            if !are_like(&step.expected, &lines) {
                wrong.push_str(&format!(
                    "{}:{}: $ {}\n--- the page\n{}\n--- the program\n{printed}\n\n",
                    page.file_name().unwrap().display(),
                    step.line,
                    step.command,
                    step.expected.join("\n"),
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_pattern_stands_for_what_varies_and_for_nothing_else() {
    assert!(is_like("a … c", "a b c"));
    assert!(is_like("…", "anything"));
    assert!(is_like("plain", "plain"));
    assert!(!is_like("plain", "plain x"));
    assert!(!is_like("a … c", "a b d"));
    let patterns = ["a".to_owned(), "…".to_owned(), "z".to_owned()];
    assert!(are_like(&patterns, &["a", "z"]));
    assert!(are_like(&patterns, &["a", "b", "c", "z"]));
    assert!(!are_like(&patterns, &["a", "b"]));
}
