//! Links from one Markdown page to another file lead somewhere, and so do their anchors.

use super::{Finding, finding, prose};
use crate::tree::Tree;

/// Finds links that lead nowhere.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree
        .ending(".md")
        .filter(|(path, _)| !path.contains("/tests/"))
    {
        for (number, line) in prose(text) {
            for target in targets(line) {
                if let Some(problem) = problem(tree, path, text, target) {
                    findings.push(finding(
                        path,
                        number,
                        problem,
                        "links are relative to the page they stand on; mend the link or write the page",
                    ));
                }
            }
        }
    }
    findings
}

/// Returns the targets of the inline links of a line, those inside code spans left out.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (at, c) in line.char_indices() {
        match c {
            '`' => is_code = !is_code,
            ']' if !is_code => {
                if let Some(rest) = line[at..].strip_prefix("](")
                    && let Some((target, _)) = rest.split_once(')')
                {
                    found.push(target);
                }
            }
            _ => {}
        }
    }
    found
}

fn problem(tree: &Tree, page: &str, text: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let (reached, resolved) = if file.is_empty() {
        (Some(text), page.to_owned())
    } else {
        let Some(resolved) = resolve(page, file) else {
            return Some(format!("the link `{target}` leads out of the repository"));
        };
        if !tree.has(&resolved) {
            return Some(format!(
                "the link `{target}` leads to `{resolved}`, which is not there"
            ));
        }
        (tree.get(&resolved), resolved)
    };
    if anchor.is_empty() || !resolved.ends_with(".md") {
        return None;
    }
    let is_there = prose(reached?).any(|(_, line)| {
        line.starts_with('#') && slug(line.trim_start_matches('#').trim()) == anchor
    });
    (!is_there).then(|| format!("`{resolved}` has no heading for the anchor `#{anchor}`"))
}

/// Joins a link's path to the folder of its page.
fn resolve(page: &str, file: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns the anchor that a Markdown viewer gives a heading.
fn slug(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_somewhere() {
        for (line, findings) in [
            ("see [b](b.md)", 0),
            ("see [b](./b.md) and [top](../README.md)", 0),
            ("see [b](c.md)", 1),
            ("see [b](../../b.md)", 1),
            ("see [b](b.md#the-one-heading)", 0),
            ("see [b](b.md#another)", 1),
            ("see [here](#a-heading)", 0),
            ("see [web](https://example.com/x)", 0),
            ("see `[b](c.md)`", 0),
            ("see [folder](../docs/)", 0),
        ] {
            let page = format!("# A heading\n\n{line}\n");
            let tree = Tree::of(&[
                ("docs/a.md", page.as_str()),
                ("docs/b.md", "# The *one* heading\n"),
                ("README.md", "# R\n"),
            ]);
            assert_eq!(check(&tree).len(), findings, "{line}");
        }
    }
}
