//! A file's definitions by the words its lines begin with; headings for Markdown.

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

/// Returns `line: signature` rows, one a definition.
pub(super) fn outline(path: &str, text: &str) -> Vec<(usize, String)> {
    let is_markdown = [".md", ".markdown", ".mdx"]
        .iter()
        .any(|end| path.ends_with(end));
    let mut rows = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let is_row = if is_markdown {
            fenced ^= start.starts_with("```") || start.starts_with("~~~");
            let level = line.bytes().take_while(|byte| *byte == b'#').count();
            !fenced && (1..=6).contains(&level) && line[level..].starts_with(' ')
        } else {
            defines(start)
        };
        if is_row {
            rows.push((index + 1, signature(line)));
        }
    }
    rows
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

/// The line without its body, at most 160 characters.
fn signature(line: &str) -> String {
    let line = line.trim_end().trim_end_matches('{').trim_end();
    let mut shown: String = line.chars().take(160).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}
