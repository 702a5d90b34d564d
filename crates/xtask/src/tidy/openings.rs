//! Every Rust file opens with what it is for, every script with its interpreter and what it is for.
//!
//! A `tests.rs` is left out: the file above it says what is tested.

use super::{Finding, finding};
use crate::tree::Tree;

/// Finds files that do not say what they are for.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let rust = tree.ending(".rs").filter(|(path, text)| !path.ends_with("/tests.rs") && !opens_rust(text)).map(|(path, _)| {
        finding(
            path,
            1,
            "the file does not open with `//!`",
            "say in one sentence what the file is for, then what it promises and what it does not do",
        )
    });
    let scripts = tree
        .ending("")
        .filter(|(path, _)| is_script(path))
        .filter(|(_, text)| !opens_script(text))
        .map(|(path, _)| {
            finding(
                path,
                1,
                "the script does not open with `#!` and a comment",
                "name the interpreter on the first line and say what the script is for on the second",
            )
        });
    rust.chain(scripts).collect()
}

fn opens_rust(text: &str) -> bool {
    text.starts_with("//! ") || text.starts_with("#!")
}

fn is_script(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path == "test" || ((path.starts_with("ci/") || path.starts_with(".ci/")) && !name.contains('.'))
}

fn opens_script(text: &str) -> bool {
    let mut lines = text.lines();
    lines.next().is_some_and(|first| first.starts_with("#!"))
        && lines.next().is_some_and(|second| second.starts_with("# "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_one(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_file_says_what_it_is_for() {
        for (path, text, findings) in [
            ("crates/a/src/lib.rs", "//! Does it.\n", 0),
            ("crates/a/src/lib.rs", "#![no_std]\n//! Does it.\n", 0),
            ("crates/a/src/lib.rs", "// Does it.\n", 1),
            ("crates/a/src/lib.rs", "\n//! Does it.\n", 1),
            ("crates/a/src/lib.rs", "", 1),
            ("crates/a/src/b/tests.rs", "", 0),
            ("test", "#!/bin/sh\n# Runs it.\n", 0),
            ("test", "#!/bin/sh\ntrue\n", 1),
            ("ci/peers", "# Runs it.\n", 1),
            ("ci/package.json", "{}", 0),
        ] {
            assert_eq!(check_one(path, text), findings, "{path}: {text:?}");
        }
    }
}
