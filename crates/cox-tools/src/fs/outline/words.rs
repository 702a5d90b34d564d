//! Definitions by the words their lines begin with: for what no grammar is in for, and for what takes too long to parse.

/// Words that may stand before a definition's own word.
const BEFORE: [&str; 24] = [
    "pub",
    "pub(crate)",
    "pub(super)",
    "export",
    "default",
    "public",
    "private",
    "protected",
    "internal",
    "static",
    "final",
    "abstract",
    "async",
    "unsafe",
    "extern",
    "const",
    "override",
    "open",
    "sealed",
    "inline",
    "virtual",
    "declare",
    "partial",
    "local",
];

/// Words that begin a definition.
const DEFINES: [&str; 27] = [
    "fn",
    "struct",
    "enum",
    "trait",
    "impl",
    "mod",
    "type",
    "macro_rules!",
    "union",
    "static",
    "const",
    "def",
    "class",
    "function",
    "interface",
    "namespace",
    "module",
    "func",
    "package",
    "object",
    "record",
    "protocol",
    "extension",
    "fun",
    "sub",
    "template",
    "typedef",
];

use super::{Definition, one_line};

/// Returns the definitions in the order of their lines. Where one ends is not known: each is its first line.
pub(super) fn definitions(text: &str) -> Vec<Definition> {
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| defines(line.trim_start()))
        .map(|(index, line)| {
            let indent = line.len() - line.trim_start().len();
            Definition {
                path: Vec::new(),
                // Four columns are as good a guess at a level as any; deeper than three says nothing more.
                depth: (indent / 4).min(3),
                line: index + 1,
                first: index + 1,
                last: index + 1,
                signature: one_line(line.trim().trim_end_matches('{')),
                is_main: true,
                is_local: false,
            }
        })
        .collect()
}

fn defines(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let Some(mut word) = words.next() else {
        return false;
    };
    loop {
        let bare = word.split(['(', '<', '{', ':']).next().unwrap_or(word);
        if DEFINES.contains(&word) || bare == "impl" {
            return words.next().is_some_and(|name| {
                name.starts_with(|c: char| c.is_alphanumeric() || "_<&*({$`'".contains(c))
            });
        }
        if !(BEFORE.contains(&word) || word.starts_with("pub(") || word.starts_with('"')) {
            return false;
        }
        match words.next() {
            Some(next) => word = next,
            None => return false,
        }
    }
}
