//! A Rust file that no `mod` line names is not compiled: a forgotten test passes for ever.

use super::{Finding, finding};
use crate::tree::Tree;

/// Finds source and test files that their parent does not name.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _) in tree.ending(".rs") {
        let Some(parents) = parents(path) else {
            continue;
        };
        let name = path
            .rsplit('/')
            .next()
            .unwrap_or(path)
            .trim_end_matches(".rs");
        let named = parents.iter().any(|parent| {
            tree.get(parent)
                .is_some_and(|text| names_module(text, name))
        });
        if named || is_named_by_path(tree, path) {
            continue;
        }
        findings.push(finding(
            path,
            1,
            format!("no `mod {name};` names this file, so it is not compiled"),
            format!(
                "add `mod {name};` to {}, or delete the file",
                parents.join(" or ")
            ),
        ));
    }
    findings
}

/// Returns the files of which one must name the module; none for the root of a target.
fn parents(path: &str) -> Option<Vec<String>> {
    let (package, inside) = path.strip_prefix("crates/")?.split_once('/')?;
    let (base, rest) = match inside.split_once('/')? {
        ("src", rest) if rest.starts_with("bin/") => return None,
        ("src", rest) => (format!("crates/{package}/src"), rest),
        ("tests", rest) => {
            let (target, rest) = rest.split_once('/')?;
            (format!("crates/{package}/tests/{target}"), rest)
        }
        _ => return None,
    };
    match rest.rsplit_once('/') {
        None if rest == "main.rs" || rest == "lib.rs" => None,
        None => Some(vec![format!("{base}/lib.rs"), format!("{base}/main.rs")]),
        Some((folder, _)) => Some(vec![format!("{base}/{folder}.rs")]),
    }
}

/// Says whether a file of the same package names this one by `#[path]`, relative to its own folder.
fn is_named_by_path(tree: &Tree, path: &str) -> bool {
    tree.ending(".rs").any(|(other, text)| {
        let folder = other.rsplit_once('/').map_or("", |(folder, _)| folder);
        path.strip_prefix(folder)
            .and_then(|inside| inside.strip_prefix('/'))
            .is_some_and(|inside| text.contains(&format!("#[path = \"{inside}\"]")))
    })
}

fn names_module(text: &str, name: &str) -> bool {
    let declaration = format!("mod {name};");
    text.lines().any(|line| {
        let line = line.trim();
        line.strip_suffix(declaration.as_str())
            .is_some_and(|before| before.is_empty() || before.starts_with("pub"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_named_by_its_parent() {
        let cases: &[(&[(&str, &str)], usize)] = &[
            (
                &[
                    ("crates/a/src/lib.rs", "pub mod b;"),
                    ("crates/a/src/b.rs", ""),
                ],
                0,
            ),
            (
                &[
                    ("crates/a/src/lib.rs", "// mod b;"),
                    ("crates/a/src/b.rs", ""),
                ],
                1,
            ),
            (
                &[
                    ("crates/a/src/main.rs", "pub(crate) mod b;"),
                    ("crates/a/src/b.rs", ""),
                ],
                0,
            ),
            (
                &[
                    ("crates/a/src/lib.rs", "mod b;"),
                    ("crates/a/src/b.rs", "#[cfg(test)]\nmod tests;"),
                    ("crates/a/src/b/tests.rs", ""),
                ],
                0,
            ),
            (
                &[
                    ("crates/a/src/lib.rs", "mod b;"),
                    ("crates/a/src/b.rs", ""),
                    ("crates/a/src/b/c.rs", ""),
                ],
                1,
            ),
            (
                &[
                    ("crates/a/tests/it/main.rs", "mod b;"),
                    ("crates/a/tests/it/c.rs", ""),
                ],
                1,
            ),
            (
                &[
                    ("crates/a/tests/it/main.rs", "mod b;"),
                    ("crates/a/tests/it/b.rs", ""),
                ],
                0,
            ),
            (
                &[
                    ("crates/a/src/lib.rs", "mod b;"),
                    ("crates/a/src/b.rs", "#[path = \"b/unix.rs\"]\nmod system;"),
                    ("crates/a/src/b/unix.rs", ""),
                ],
                0,
            ),
            (&[("crates/a/examples/b.rs", "")], 0),
            (&[("crates/a/src/bin/b.rs", "")], 0),
        ];
        for (files, findings) in cases {
            assert_eq!(check(&Tree::of(files)).len(), *findings, "{files:?}");
        }
    }
}
