//! The files that may do what is forbidden to all others are those that `ARCHITECTURE.md` lists, in both directions.
//!
//! The list is the fenced block that opens with ` ```doors `: one file a line. Tests and the crates of tooling need no line.

use super::{Finding, finding};
use crate::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";
const TOOLING: &[&str] = &["crates/testkit/", "crates/bench/", "crates/xtask/"];

/// Finds files that opt out of the forbidden methods without standing in the list, and lines for files that do not.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(listed) = tree.get(MAP).and_then(listed) else {
        return vec![finding(
            MAP,
            1,
            "the block ` ```doors ` is missing or does not end",
            "list the files that opt out of `clippy::disallowed_methods`, one a line",
        )];
    };
    let doors: Vec<(&str, usize)> = tree
        .ending(".rs")
        .filter(|(path, _)| needs_line(path))
        .filter_map(|(path, text)| Some((path, opt_out(text)?)))
        .collect();

    let unlisted = doors.iter().filter(|(path, _)| !listed.iter().any(|(_, file)| file == path)).map(
        |(path, line)| {
            finding(
                path,
                *line,
                "the file opts out of `clippy::disallowed_methods` and is not a listed door",
                format!("go through the door that clippy.toml names, or add the file to the doors in {MAP} and say why in the commit"),
            )
        },
    );
    let stale = listed
        .iter()
        .filter(|(_, file)| !doors.iter().any(|(path, _)| path == file))
        .map(|(line, file)| {
            finding(
                MAP,
                *line,
                format!("`{file}` is no door"),
                "strike the line",
            )
        });
    unlisted.chain(stale).collect()
}

fn needs_line(path: &str) -> bool {
    path.contains("/src/")
        && !path.ends_with("/tests.rs")
        && !TOOLING.iter().any(|folder| path.starts_with(folder))
}

/// Returns the line where a file opts out; what stands in its test module does not count.
fn opt_out(text: &str) -> Option<usize> {
    let code = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text);
    code.lines()
        .position(|line| line.contains("clippy::disallowed_methods"))
        .map(|at| at + 1)
}

fn listed(text: &str) -> Option<Vec<(usize, &str)>> {
    let mut files = Vec::new();
    let mut is_inside = false;
    for (index, line) in text.lines().enumerate() {
        match line.trim() {
            "```doors" => is_inside = true,
            "```" if is_inside => return Some(files),
            "" => {}
            file if is_inside => files.push((index + 1, file)),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPT_OUT: &str = "//! A.\n#![allow(clippy::disallowed_methods, reason = \"a door\")]\n";

    #[test]
    fn a_door_stands_in_the_map_and_the_map_lists_no_other() {
        let in_tests = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{OPT_OUT}}}\n");
        for (map, path, text, places) in [
            (
                "```doors\ncrates/a/src/lib.rs\n```",
                "crates/a/src/lib.rs",
                OPT_OUT,
                0,
            ),
            ("```doors\n```", "crates/a/src/lib.rs", OPT_OUT, 1),
            (
                "```doors\ncrates/a/src/lib.rs\n```",
                "crates/a/src/lib.rs",
                "//! A.\n",
                1,
            ),
            ("```doors\n```", "crates/a/src/b/tests.rs", OPT_OUT, 0),
            ("```doors\n```", "crates/a/tests/it/main.rs", OPT_OUT, 0),
            ("```doors\n```", "crates/testkit/src/lib.rs", OPT_OUT, 0),
            ("```doors\n```", "crates/a/src/lib.rs", in_tests.as_str(), 0),
            ("no list", "crates/a/src/lib.rs", OPT_OUT, 1),
        ] {
            assert_eq!(
                check(&Tree::of(&[(MAP, map), (path, text)])).len(),
                places,
                "{map} {path}"
            );
        }
    }
}
