//! The generated reference pages say what the binary says.

use std::path::Path;

use super::{Finding, finding};
use crate::{generate, tree::Tree};

/// Finds pages that are missing or stale.
pub(crate) fn check(tree: &Tree, root: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for page in generate::pages(root)? {
        findings.extend(compare(page.path, tree.get(page.path), &page.text));
    }
    Ok(findings)
}

fn compare(path: &str, checked_in: Option<&str>, generated: &str) -> Option<Finding> {
    let checked_in = checked_in.unwrap_or_default();
    if checked_in == generated {
        return None;
    }
    let line = checked_in
        .lines()
        .zip(generated.lines())
        .position(|(left, right)| left != right)
        .unwrap_or_else(|| checked_in.lines().count().min(generated.lines().count()));
    Some(finding(
        path,
        line + 1,
        "the page is not what its program says about itself",
        "run `cargo xtask generate` and read what changed: it is what users will see",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_page_is_found_at_its_first_difference() {
        assert_eq!(compare("p.md", Some("a\nb\n"), "a\nb\n"), None);
        for (checked_in, generated, line) in [
            (Some("a\nb\n"), "a\nc\n", 2),
            (Some("a\n"), "a\nb\n", 2),
            (None, "a\n", 1),
        ] {
            assert_eq!(
                compare("p.md", checked_in, generated).map(|finding| finding.line),
                Some(line)
            );
        }
    }
}
