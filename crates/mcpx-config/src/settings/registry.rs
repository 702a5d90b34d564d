//! The declarations: one row for each setting, from which file key, variable, flag, help and page follow.
//!
//! The key in a file is the path with nested objects. The variable is `MCPX_` and the path in capitals with `_`, the flag
//! `--` and the path in small letters with `-`. Aliases stand beside them.

pub mod key;
mod table;

use std::marker::PhantomData;

pub use table::SETTINGS;

/// How the text of a setting is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number, not negative.
    Int,
    /// Such as `1m30s`.
    Duration,
    /// Such as `256KiB`.
    Bytes,
    /// Free text.
    Text,
    /// One of the choices.
    Enum,
    /// Texts; in a variable or flag with commas between them.
    List,
    /// Paths; in a variable or flag with the system's separator between them.
    Paths,
    /// An object in a file, JSON text elsewhere.
    Json,
}

impl Kind {
    /// The word for pages and listings.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Duration => "duration",
            Self::Bytes => "bytes",
            Self::Text => "string",
            Self::Enum => "enum",
            Self::List => "list",
            Self::Paths => "paths",
            Self::Json => "json",
        }
    }
}

/// Who reads a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingScope {
    /// The daemon, from its own files and environment.
    Daemon,
    /// The command that a person runs.
    Client,
    /// Whoever serves a call; the caller's value is sent along.
    Call,
}

impl SettingScope {
    /// The word for pages and listings.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::Client => "client",
            Self::Call => "call",
        }
    }
}

/// What a project's file may do with a setting before the person accepted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Set it: harmless, or it can only narrow.
    Free,
    /// Nothing.
    Asks,
    /// Set it to this value alone, which narrows.
    AsksUnless(&'static str),
}

/// A declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name: `pool.callTimeout`.
    pub path: &'static str,
    /// How its text is read.
    pub kind: Kind,
    /// The text of its default; it passes the same reader as every other.
    pub default: &'static str,
    /// Who reads it.
    pub scope: SettingScope,
    /// Read at each use, so that a change holds at once.
    pub hot: bool,
    /// What it is, in a few words.
    pub help: &'static str,
    /// Variables besides the derived one.
    pub env_aliases: &'static [&'static str],
    /// Flags besides the derived one, with their dashes.
    pub flag_aliases: &'static [&'static str],
    /// The words of an enum; empty for other kinds.
    pub choices: &'static [&'static str],
    /// Other spellings of choices, and what they stand for.
    pub choice_aliases: &'static [(&'static str, &'static str)],
    /// Internal: hidden from ordinary help.
    pub plumbing: bool,
    /// Smallest number, size or count of nanoseconds.
    pub least: u64,
    /// Largest number or size.
    pub most: u64,
    /// Whether a file may set it.
    pub in_file: bool,
    pub(crate) guard: Guard,
}

impl Setting {
    const fn new(
        path: &'static str,
        kind: Kind,
        default: &'static str,
        scope: SettingScope,
        help: &'static str,
    ) -> Self {
        Self {
            path,
            kind,
            default,
            scope,
            hot: false,
            help,
            env_aliases: &[],
            flag_aliases: &[],
            choices: &[],
            choice_aliases: &[],
            plumbing: false,
            least: 0,
            most: u64::MAX,
            in_file: true,
            guard: Guard::Free,
        }
    }

    const fn hot(mut self) -> Self {
        self.hot = true;
        self
    }

    const fn plumbing(mut self) -> Self {
        self.plumbing = true;
        self
    }

    const fn not_in_file(mut self) -> Self {
        self.in_file = false;
        self
    }

    /// Zero would turn a pause into none, or nothing could be done at all.
    const fn positive(mut self) -> Self {
        self.least = 1;
        self
    }

    const fn at_most(mut self, most: u64) -> Self {
        self.most = most;
        self
    }

    const fn guarded(mut self) -> Self {
        self.guard = Guard::Asks;
        self
    }

    const fn guarded_unless(mut self, narrow: &'static str) -> Self {
        self.guard = Guard::AsksUnless(narrow);
        self
    }

    const fn flags(mut self, aliases: &'static [&'static str]) -> Self {
        self.flag_aliases = aliases;
        self
    }

    const fn vars(mut self, aliases: &'static [&'static str]) -> Self {
        self.env_aliases = aliases;
        self
    }

    const fn choices(mut self, words: &'static [&'static str]) -> Self {
        self.choices = words;
        self
    }

    const fn also(mut self, aliases: &'static [(&'static str, &'static str)]) -> Self {
        self.choice_aliases = aliases;
        self
    }

    /// The derived variable: `MCPX_POOL_CALL_TIMEOUT`.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("MCPX_{}", words(self.path).join("_").to_ascii_uppercase())
    }

    /// The derived flag: `--pool-call-timeout`.
    #[must_use]
    pub fn flag(&self) -> String {
        format!("--{}", words(self.path).join("-"))
    }

    /// The derived variable and the others.
    #[must_use]
    pub fn variables(&self) -> Vec<String> {
        std::iter::once(self.variable())
            .chain(self.env_aliases.iter().map(|&name| name.to_owned()))
            .collect()
    }

    /// The derived flag and the others.
    #[must_use]
    pub fn flags_all(&self) -> Vec<String> {
        std::iter::once(self.flag())
            .chain(self.flag_aliases.iter().map(|&name| name.to_owned()))
            .collect()
    }
}

/// The words of a path in small letters: `proto.askTTL` is `proto`, `ask`, `ttl`.
fn words(path: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for segment in path.split('.') {
        let chars: Vec<char> = segment.chars().collect();
        let mut word = String::new();
        for (at, &char) in chars.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| chars.get(at));
            let after = chars.get(at + 1);
            let begins = char.is_uppercase()
                && (before.is_some_and(|before| !before.is_uppercase())
                    || (before.is_some() && after.is_some_and(|after| after.is_lowercase())));
            if begins {
                words.push(std::mem::take(&mut word));
            }
            word.extend(char.to_lowercase());
        }
        words.push(word);
    }
    words
}

/// The declaration with this path.
#[must_use]
pub fn by_path(path: &str) -> Option<&'static Setting> {
    position(path).and_then(|at| SETTINGS.get(at))
}

/// The declaration that a flag sets, with its dashes: `--budget`, `-n`.
#[must_use]
pub fn by_flag(flag: &str) -> Option<&'static Setting> {
    SETTINGS
        .iter()
        .find(|setting| setting.flag_aliases.contains(&flag) || setting.flag() == flag)
}

pub(crate) fn position(path: &str) -> Option<usize> {
    SETTINGS.iter().position(|setting| setting.path == path)
}

/// A setting by its place in the table, with the kind of its value; see [`key`] for all of them.
#[derive(Debug)]
pub struct Key<K> {
    index: usize,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Key<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Key<K> {}

impl<K> Key<K> {
    const fn new(index: usize) -> Self {
        Self {
            index,
            kind: PhantomData,
        }
    }

    /// The declaration.
    #[must_use]
    pub fn setting(self) -> &'static Setting {
        &SETTINGS[self.index]
    }

    pub(crate) const fn index(self) -> usize {
        self.index
    }
}

/// What the value of a key is read as.
pub mod of {
    /// `Settings::bool`.
    #[derive(Debug)]
    pub struct Bool;
    /// `Settings::int`.
    #[derive(Debug)]
    pub struct Int;
    /// `Settings::duration`.
    #[derive(Debug)]
    pub struct Duration;
    /// `Settings::bytes`.
    #[derive(Debug)]
    pub struct Bytes;
    /// `Settings::text`.
    #[derive(Debug)]
    pub struct Text;
    /// `Settings::list`.
    #[derive(Debug)]
    pub struct List;
    /// One of the choices: `Settings::text`.
    pub type Enum = Text;
    /// `Settings::list`.
    pub type Paths = List;
    /// JSON: `Settings::text`.
    pub type Json = Text;
}

#[cfg(test)]
mod tests;
