//! A setting of the hub that no code reads: it can be set, and nothing happens.

use super::{Finding, finding};
use crate::tree::Tree;

/// Where the settings are declared, `NAME: Kind "path" = "default", …`, a line each.
const TABLE: &str = "crates/mcpx-config/src/settings/registry/table.rs";

/// Finds them.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some((_, table)) = tree.ending(".rs").find(|(path, _)| *path == TABLE) else {
        return vec![finding(
            TABLE,
            1,
            "the settings of the hub are not declared here any more",
            "say in this check where they are",
        )];
    };
    let read: Vec<&str> = tree
        .ending(".rs")
        .filter(|(path, _)| reads(path))
        .map(|(_, text)| text)
        .collect();
    unread(table, &read)
}

/// Whether a file is code that does something with settings.
fn reads(path: &str) -> bool {
    path.starts_with("crates/mcpx")
        && path != TABLE
        && !path.contains("/tests/")
        && !path.ends_with("/tests.rs")
        && !path.contains("/examples/")
}

fn unread(table: &str, read: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in table.lines().enumerate() {
        let Some((name, rest)) = line.trim_start().split_once(": ") else {
            continue;
        };
        let is_row = rest.contains("\" = \"")
            && name
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        if !is_row || read.iter().any(|text| has_word(text, name)) {
            continue;
        }
        findings.push(finding(
            TABLE,
            index + 1,
            format!("nobody reads the setting `{name}`"),
            "read it where it is to have an effect, or take its row out",
        ));
    }
    findings
}

fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(name).any(|(at, _)| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + name.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_nobody_reads_is_found() {
        let table = "settings! {\n    POOL_MAX: Int \"pool.max\" = \"4\", Daemon, \"x\";\n    \
                     POOL_MAX_AGE: Int \"pool.maxAge\" = \"4\", Daemon, \"x\";\n}";
        let found = unread(table, &["settings.int(key::POOL_MAX_AGE)"]);
        assert_eq!(found.len(), 1);
        assert!(found[0].problem.contains("`POOL_MAX`") && found[0].line == 2);
        assert!(unread(table, &["key::POOL_MAX, key::POOL_MAX_AGE"]).is_empty());
    }
}
