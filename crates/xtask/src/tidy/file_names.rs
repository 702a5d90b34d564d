//! Names that say nothing: a file is a noun or a verb of its subject, never a drawer.

use super::{Finding, finding};
use crate::tree::Tree;

const DRAWERS: &[&str] = &[
    "mod",
    "util",
    "utils",
    "common",
    "misc",
    "types",
    "helpers",
    "shared",
    "stuff",
    "manager",
    "constants",
];

/// The only integration targets besides `tests/it`, each with its reason.
const TARGETS: &[(&str, &str)] = &[(
    "peers",
    "needs programs that `./test setup` installs, and runs as a target of its own",
)];

/// Finds files named after a drawer, and integration targets beyond the one.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _) in tree.ending(".rs") {
        let name = path
            .rsplit('/')
            .next()
            .unwrap_or(path)
            .trim_end_matches(".rs");
        if DRAWERS.contains(&name) {
            findings.push(finding(
                path,
                1,
                format!("`{name}.rs` names a drawer, not a subject"),
                "name the file for the one thing it holds; for a module folder use `foo.rs` beside `foo/`",
            ));
        }
        if let Some(target) = integration_target(path)
            && target != "it"
            && !TARGETS.iter().any(|(allowed, _)| *allowed == target)
        {
            findings.push(finding(
                path,
                1,
                format!("`tests/{target}` is a second integration target of its crate"),
                "move it to `tests/it/` and name it in `tests/it/main.rs`: each target links once more",
            ));
        }
    }
    findings
}

/// Returns the integration target that a file is the root of.
fn integration_target(path: &str) -> Option<&str> {
    // A `tests` folder below `src` holds the children of a module `tests`.
    let (_, inside) = path.strip_prefix("crates/")?.split_once('/')?;
    let inside = inside.strip_prefix("tests/")?;
    match inside.split_once('/') {
        None => inside.strip_suffix(".rs"),
        Some((target, "main.rs")) => Some(target),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_the_file_holds() {
        for (path, findings) in [
            ("crates/a/src/confine.rs", 0),
            ("crates/a/src/utils.rs", 1),
            ("crates/a/src/foo/mod.rs", 1),
            ("crates/a/tests/it/main.rs", 0),
            ("crates/a/tests/it/reading.rs", 0),
            ("crates/a/tests/peers/main.rs", 0),
            ("crates/a/src/b/tests/reading.rs", 0),
            ("crates/a/tests/reading.rs", 1),
            ("crates/a/tests/more/main.rs", 1),
            ("crates/a/tests/common/mod.rs", 1),
        ] {
            assert_eq!(
                check(&Tree::of(&[(path, "//! A.")])).len(),
                findings,
                "{path}"
            );
        }
    }
}
