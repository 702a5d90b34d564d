//! From the names that servers chose to identifiers, and back.
//!
//! An identifier is a function of the name alone: no other tool, no order and no time changes it. A name that is an
//! identifier already stays as it is. Any other is made one (other characters become `_`, a leading digit gets a `_`,
//! a long one is cut) and ends in `_x` and six letters of a digest of the original. A name that looks as if it ended
//! that way counts as changed too, so an unchanged name never equals a changed one.
//!
//! [`Names`] is the way back, [`Directory`] the one from a whole path. They take the original, the identifier, and the
//! plain form without a digest where only one name has it. What two names share names neither: the answer lists both.

mod directory;

use std::collections::{BTreeMap, BTreeSet};

use crate::canonical;
pub use directory::Directory;

/// Longest identifier, in bytes: what hosts and model APIs accept as a tool's name.
pub const MAX_LEN: usize = 64;

const DIGEST_CHARS: usize = 6;

/// What stands between the two halves of a [`qualified`] name.
const BETWEEN: &str = "__";

/// Words that cannot be the name of a variable in a module.
const RESERVED: &[&str] = &[
    "abstract",
    "any",
    "arguments",
    "as",
    "async",
    "await",
    "boolean",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "declare",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "globalThis",
    "if",
    "implements",
    "import",
    "in",
    "infer",
    "instanceof",
    "interface",
    "is",
    "keyof",
    "let",
    "module",
    "namespace",
    "never",
    "new",
    "null",
    "number",
    "object",
    "of",
    "package",
    "private",
    "protected",
    "public",
    "readonly",
    "require",
    "return",
    "static",
    "string",
    "super",
    "switch",
    "symbol",
    "this",
    "throw",
    "true",
    "try",
    "type",
    "typeof",
    "undefined",
    "unique",
    "unknown",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Names that a script finds already: the language's own, and the globals of the hub.
const TAKEN: &[&str] = &[
    "Array",
    "ArrayBuffer",
    "BigInt",
    "Boolean",
    "Bun",
    "DataView",
    "Date",
    "Deno",
    "Error",
    "Function",
    "Infinity",
    "Intl",
    "Iterator",
    "JSON",
    "Map",
    "Math",
    "NaN",
    "Number",
    "Object",
    "Promise",
    "Proxy",
    "Reflect",
    "RegExp",
    "Set",
    "String",
    "Symbol",
    "WeakMap",
    "WeakSet",
    "WebAssembly",
    "artifact",
    "call",
    "captureFrames",
    "clearTimeout",
    "connect",
    "console",
    "describe",
    "document",
    "emit",
    "errorFrames",
    "exports",
    "fetch",
    "global",
    "localStorage",
    "log",
    "paths",
    "process",
    "readResource",
    "releaseConsole",
    "result",
    "script",
    "search",
    "self",
    "setTimeout",
    "tools",
    "window",
    "Attached",
    "Connection",
    "Envelope",
    "ToolError",
    "ToolResult",
];

/// Members that every object or function has, or that change what an object is: `then` makes it a promise.
const MEMBERS: &[&str] = &[
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "prototype",
    "then",
    "toJSON",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// The identifier of a server, which scripts use as a variable.
#[must_use]
pub fn namespace(server: &str) -> String {
    identifier(server, &[RESERVED, TAKEN, MEMBERS])
}

/// The identifier of a tool, which scripts use as a member of its namespace. A word of the language may be one.
#[must_use]
pub fn function(tool: &str) -> String {
    identifier(tool, &[MEMBERS])
}

/// One name for a tool of a server, for a list that has no namespaces: `server__tool`, at most [`MAX_LEN`] bytes.
#[must_use]
pub fn qualified(server: &str, tool: &str) -> String {
    let (space, name) = (namespace(server), function(tool));
    let plain = format!("{space}{BETWEEN}{name}");
    // Where the halves meet must be plain to see: `a_` and `b` would be spelled as `a` and `_b`.
    let meets = space.contains(BETWEEN) || space.ends_with('_') || name.starts_with('_');
    if plain.len() <= MAX_LEN && !meets {
        return plain;
    }
    let pair = format!("{}:{server}{tool}", server.len());
    with_digest(&plain, &pair)
}

/// The name made an identifier without a digest: what people type, and what two names may share.
#[must_use]
pub fn plain(name: &str) -> String {
    let mut text = sanitised(name);
    if [RESERVED, TAKEN, MEMBERS]
        .iter()
        .any(|words| words.contains(&text.as_str()))
    {
        text.push('_');
    }
    text
}

fn identifier(name: &str, forbidden: &[&[&str]]) -> String {
    let clean = sanitised(name);
    let stays = clean == name
        && name.len() <= MAX_LEN
        && !ends_in_digest(name)
        && !forbidden.iter().any(|words| words.contains(&name));
    if stays {
        clean
    } else {
        with_digest(&clean, name)
    }
}

fn sanitised(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    text
}

/// `clean` is ASCII, so that any place is a boundary.
fn with_digest(clean: &str, original: &str) -> String {
    let room = MAX_LEN - 2 - DIGEST_CHARS;
    let digest = canonical::letters(original, DIGEST_CHARS);
    format!("{}_x{digest}", &clean[..clean.len().min(room)])
}

fn ends_in_digest(name: &str) -> bool {
    let Some(at) = name.len().checked_sub(2 + DIGEST_CHARS) else {
        return false;
    };
    name.as_bytes()[at..].starts_with(b"_x")
        && name.as_bytes()[at + 2..]
            .iter()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
}

/// What a spelling stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved<'a> {
    /// One name, as its owner spells it.
    One(&'a str),
    /// Several; sorted. The caller has to say which.
    Several(Vec<&'a str>),
    /// None.
    Unknown,
}

/// The names of one kind in one place (the servers, or the tools of a server), and the way back from their spellings.
#[derive(Debug, Clone, Default)]
pub struct Names {
    originals: BTreeSet<String>,
    identifiers: BTreeMap<String, Vec<String>>,
    plain: BTreeMap<String, Vec<String>>,
}

impl Names {
    /// The names of servers.
    pub fn of_servers<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self::new(names, namespace)
    }

    /// The names of the tools of one server.
    pub fn of_tools<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self::new(names, function)
    }

    fn new<S: Into<String>>(
        names: impl IntoIterator<Item = S>,
        identifier: fn(&str) -> String,
    ) -> Self {
        let mut all = Self {
            originals: names.into_iter().map(Into::into).collect(),
            ..Self::default()
        };
        for name in &all.originals {
            all.identifiers
                .entry(identifier(name))
                .or_default()
                .push(name.clone());
            all.plain.entry(plain(name)).or_default().push(name.clone());
        }
        all
    }

    /// What `spelling` stands for: an original first, then an identifier, then a plain form.
    #[must_use]
    pub fn resolve(&self, spelling: &str) -> Resolved<'_> {
        if let Some(original) = self.originals.get(spelling) {
            return Resolved::One(original);
        }
        match self
            .identifiers
            .get(spelling)
            .or_else(|| self.plain.get(spelling))
            .map(Vec::as_slice)
        {
            None | Some([]) => Resolved::Unknown,
            Some([one]) => Resolved::One(one),
            Some(several) => Resolved::Several(several.iter().map(String::as_str).collect()),
        }
    }

    /// Every spelling of `name` that leads back to it and to no other: the identifier first, then the plain form and
    /// the original where they differ. The identifier is missing only where a digest was forged to clash.
    #[must_use]
    pub fn spellings(&self, name: &str, identifier: &str) -> Vec<String> {
        let mut spellings: Vec<String> = Vec::with_capacity(3);
        for spelling in [identifier.to_owned(), plain(name), name.to_owned()] {
            if !spellings.contains(&spelling) && self.resolve(&spelling) == Resolved::One(name) {
                spellings.push(spelling);
            }
        }
        spellings
    }
}

#[cfg(test)]
mod tests;
