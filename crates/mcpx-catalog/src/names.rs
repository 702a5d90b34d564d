//! From the names that servers chose to identifiers, and back.
//!
//! A name becomes an identifier as a reader would expect: what is no letter, digit or `_` becomes `_`, a leading digit
//! gets a `_` before it, a word that scripts have taken gets one behind it. Only a name that is too long, or of which
//! nothing readable is left, ends in `_x` and letters of a digest of the original.
//!
//! The namespace of a server depends on its name alone: a second server never changes it, and two servers of one
//! namespace are an error of the configuration. The identifiers of one server's tools depend on the set of them and never
//! on its order: where several would be spelled alike, the one whose own name is that spelling keeps it and every other
//! gets the digest. The way back takes each of them: the original, the identifier, the [`plain`] form and the
//! [`digested`] one. What two names share names neither: the answer lists both.

mod directory;
mod nearest;
mod reserved;

use std::collections::{BTreeMap, BTreeSet};

use crate::canonical;
pub use directory::Directory;
pub(crate) use nearest::distance;
pub use nearest::nearest;
use reserved::{MEMBERS, RESERVED, TAKEN};

/// Longest identifier, in bytes: what hosts and model APIs accept as a tool's name.
pub const MAX_LEN: usize = 64;

/// Letters of a digest; more where a name was made to clash.
const DIGEST_CHARS: [usize; 3] = [6, 12, 24];

/// What stands between the two halves of a [`qualified`] name.
const BETWEEN: &str = "__";

/// The identifier of a server, which scripts use as a variable. Two servers may share one: whoever reads the
/// configuration refuses that.
#[must_use]
pub fn namespace(server: &str) -> String {
    let text = expected(server, &[RESERVED, TAKEN, MEMBERS]);
    text.unwrap_or_else(|| digested(server))
}

/// Whether scripts can use `text` as the variable of a server as it is.
#[must_use]
pub fn is_namespace(text: &str) -> bool {
    namespace(text) == text
}

/// The identifier of a tool that shares it with no other of its server.
#[must_use]
pub fn plain(tool: &str) -> String {
    expected(tool, &[MEMBERS]).unwrap_or_else(|| digested(tool))
}

/// The spelling of a name that no other name has: the expected one with letters of a digest behind it.
#[must_use]
pub fn digested(name: &str) -> String {
    with_digest(&sanitised(name), name, DIGEST_CHARS[0])
}

/// One name for a tool, for a list that has no namespaces: `namespace__function`, at most [`MAX_LEN`] bytes, from the two
/// identifiers.
#[must_use]
pub fn qualified(namespace: &str, function: &str) -> String {
    let whole = format!("{namespace}{BETWEEN}{function}");
    // Where the halves meet must be plain to see: `a_` and `b` would be spelled as `a` and `_b`.
    let meets =
        namespace.contains(BETWEEN) || namespace.ends_with('_') || function.starts_with('_');
    if whole.len() <= MAX_LEN && !meets {
        return whole;
    }
    let pair = format!("{}:{namespace}{function}", namespace.len());
    with_digest(&whole, &pair, DIGEST_CHARS[0])
}

/// The name as an identifier without a digest, where that says enough.
fn expected(name: &str, taken: &[&[&str]]) -> Option<String> {
    let mut text = sanitised(name);
    if taken.iter().any(|words| words.contains(&text.as_str())) {
        text.push('_');
    }
    let is_readable = name == text || text.contains(|c: char| c.is_ascii_alphanumeric());
    (is_readable && text.len() <= MAX_LEN).then_some(text)
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
fn with_digest(clean: &str, original: &str, chars: usize) -> String {
    let room = MAX_LEN - 2 - chars;
    let digest = canonical::letters(original, chars);
    format!("{}_x{digest}", &clean[..clean.len().min(room)])
}

/// The letters and digits of a name, in lower case.
fn letters(name: &str) -> String {
    name.chars()
        .filter(|char| char.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
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
    /// By the name that its owner chose.
    identifiers: BTreeMap<String, String>,
    by_identifier: BTreeMap<String, Vec<String>>,
    other_spellings: BTreeMap<String, BTreeSet<String>>,
    /// By the letters alone, as `createIssue`, `create-issue` and `CREATE_ISSUE` have in common.
    by_letters: BTreeMap<String, BTreeSet<String>>,
}

impl Names {
    /// The names of servers, each with its namespace.
    pub fn of_servers<N: Into<String>, S: Into<String>>(
        servers: impl IntoIterator<Item = (N, S)>,
    ) -> Self {
        let servers = servers.into_iter();
        Self::new(
            servers
                .map(|(name, namespace)| (name.into(), namespace.into()))
                .collect(),
            namespace,
        )
    }

    /// The names of the tools of one server.
    pub fn of_tools<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        let mut sharing: BTreeMap<String, usize> = BTreeMap::new();
        for name in &names {
            *sharing.entry(plain(name)).or_default() += 1;
        }
        let mut identifiers = BTreeMap::new();
        for name in &names {
            let plain = plain(name);
            let is_alone = sharing.get(&plain) == Some(&1);
            let keeps = plain == *name || is_alone && !names.contains(&plain);
            let identifier = if keeps {
                plain
            } else {
                // A digest that another name was made to look like says more letters.
                let longer = DIGEST_CHARS
                    .iter()
                    .map(|chars| with_digest(&sanitised(name), name, *chars));
                let mut free = longer.filter(|text| !names.contains(text));
                free.next().unwrap_or_else(|| digested(name))
            };
            identifiers.insert(name.clone(), identifier);
        }
        Self::new(identifiers, plain)
    }

    fn new(identifiers: BTreeMap<String, String>, expected: fn(&str) -> String) -> Self {
        let mut by_identifier: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut other_spellings: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut by_letters: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (name, identifier) in &identifiers {
            by_letters
                .entry(letters(name))
                .or_default()
                .insert(name.clone());
            by_identifier
                .entry(identifier.clone())
                .or_default()
                .push(name.clone());
            for spelling in [expected(name), digested(name)] {
                other_spellings
                    .entry(spelling)
                    .or_default()
                    .insert(name.clone());
            }
        }
        Self {
            identifiers,
            by_identifier,
            other_spellings,
            by_letters,
        }
    }

    /// What `spelling` stands for: an original first, then an identifier, then what else one may be spelled as, at last any
    /// way to write the same letters.
    #[must_use]
    pub fn resolve(&self, spelling: &str) -> Resolved<'_> {
        if let Some((original, _)) = self.identifiers.get_key_value(spelling) {
            return Resolved::One(original);
        }
        let known = self
            .by_identifier
            .get(spelling)
            .map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
        let other = || {
            self.other_spellings
                .get(spelling)
                .map(|names| names.iter().map(String::as_str).collect())
        };
        let loose = || {
            let is_word = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-');
            let is_name = spelling.contains(char::is_alphanumeric) && spelling.chars().all(is_word);
            let names = is_name.then(|| self.by_letters.get(&letters(spelling)))?;
            names.map(|names| names.iter().map(String::as_str).collect())
        };
        match known.or_else(other).or_else(loose).as_deref() {
            None | Some([]) => Resolved::Unknown,
            Some([one]) => Resolved::One(one),
            Some(several) => Resolved::Several(several.to_vec()),
        }
    }

    /// The identifier of `name`, one of those that this was made of. Any other gets the one that it would have alone.
    #[must_use]
    pub fn identifier(&self, name: &str) -> String {
        let known = self.identifiers.get(name);
        known.cloned().unwrap_or_else(|| plain(name))
    }

    /// Every name with its identifier, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.identifiers
            .iter()
            .map(|(name, identifier)| (name.as_str(), identifier.as_str()))
    }

    /// The spellings under which a script finds `name`: its identifier, and the original where that is another.
    #[must_use]
    pub fn spellings(&self, name: &str) -> Vec<String> {
        let identifier = self.identifier(name);
        let is_other = identifier != name;
        let mut spellings = vec![identifier];
        if is_other {
            spellings.push(name.to_owned());
        }
        spellings.retain(|spelling| self.resolve(spelling) == Resolved::One(name));
        spellings
    }

    /// The names, as their owners and as scripts spell them, that `word` may have meant; the nearest first.
    #[must_use]
    pub fn nearest(&self, word: &str, limit: usize) -> Vec<&str> {
        let spelled = self
            .identifiers
            .iter()
            .flat_map(|(name, identifier)| [(name, name), (identifier, name)]);
        nearest::nearest_of(
            word,
            spelled.map(|(text, name)| (text.as_str(), name.as_str())),
            limit,
        )
    }
}

#[cfg(test)]
mod tests;
