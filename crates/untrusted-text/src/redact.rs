//! Secrets that must not be stored or shown, replaced by a marker such as `[redacted: api key]`.
//!
//! Known shapes (keys and tokens with a prefix, `Bearer` headers, AWS secrets, JWTs, PEM private keys) and the exact
//! values that a [`Redactor`] was given. A stream cut anywhere gives the same result as the whole text, and redacting
//! twice changes nothing. A secret without a known shape that nobody registered passes.
//!
//! There is no regular expression in here: nothing is compiled at start, and a text is read once.

mod machine;
mod shapes;

use std::{borrow::Cow, fmt, sync::Arc};

use machine::{Machine, Piece};
use shapes::Begins;

/// Shortest value that is redacted wherever it stands, in bytes. Shorter ones would tear ordinary words apart.
pub const MIN_VALUE_BYTES: usize = 8;

/// Longest value that is redacted, in bytes: a stream holds back as much.
pub const MAX_VALUE_BYTES: usize = 4096;

/// What a secret was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretKind {
    /// A provider's key, such as `sk-…`.
    ApiKey,
    /// The credentials of a `Bearer` header.
    BearerToken,
    /// An AWS key id or secret.
    AwsKey,
    /// A GitHub token.
    GithubToken,
    /// A GitLab token.
    GitlabToken,
    /// A Slack token.
    SlackToken,
    /// A package registry's token.
    RegistryToken,
    /// A JSON Web Token.
    Jwt,
    /// A private key in PEM.
    PrivateKey,
    /// A value that was registered.
    Registered,
}

impl SecretKind {
    /// Returns what stands in the place of the secret.
    pub fn marker(self) -> &'static str {
        match self {
            Self::ApiKey => "[redacted: api key]",
            Self::BearerToken => "[redacted: bearer token]",
            Self::AwsKey => "[redacted: aws key]",
            Self::GithubToken => "[redacted: github token]",
            Self::GitlabToken => "[redacted: gitlab token]",
            Self::SlackToken => "[redacted: slack token]",
            Self::RegistryToken => "[redacted: registry token]",
            Self::Jwt => "[redacted: jwt]",
            Self::PrivateKey => "[redacted: private key]",
            Self::Registered => "[redacted: configured key]",
        }
    }

    const ALL: [Self; 10] = [
        Self::ApiKey,
        Self::BearerToken,
        Self::AwsKey,
        Self::GithubToken,
        Self::GitlabToken,
        Self::SlackToken,
        Self::RegistryToken,
        Self::Jwt,
        Self::PrivateKey,
        Self::Registered,
    ];
}

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction<'a> {
    /// The text; borrowed when there was nothing to hide.
    pub text: Cow<'a, str>,
    /// How many secrets were replaced.
    pub count: usize,
    /// What they were, sorted, each kind once.
    pub kinds: Vec<SecretKind>,
}

/// Returns `text` without the secrets that have a known shape.
pub fn redact(text: &str) -> Cow<'_, str> {
    Redactor::default().redact(text).text
}

/// Finds secrets: those with a known shape, and registered values. Cheap to clone.
#[derive(Clone)]
pub struct Redactor {
    secrets: Arc<Secrets>,
}

/// What is looked for besides the known shapes.
struct Secrets {
    /// Longest first, so that a value wins over its own beginning.
    values: Vec<Box<[u8]>>,
    /// What a secret may begin with.
    begins: Begins,
}

impl Default for Redactor {
    fn default() -> Self {
        Self::with_values(Vec::new())
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("values", &self.secrets.values.len())
            .finish()
    }
}

impl Redactor {
    /// Returns a redactor that also hides exact values, such as the keys that the environment holds.
    ///
    /// White space around a value does not count. Values shorter than [`MIN_VALUE_BYTES`], longer than [`MAX_VALUE_BYTES`] or
    /// part of a marker are left alone.
    pub fn with_values(values: Vec<String>) -> Self {
        let is_usable = |value: &str| {
            (MIN_VALUE_BYTES..=MAX_VALUE_BYTES).contains(&value.len())
                && !SecretKind::ALL
                    .iter()
                    .any(|kind| kind.marker().contains(value))
        };
        let mut values: Vec<Box<[u8]>> = values
            .into_iter()
            .filter(|value| is_usable(value.trim()))
            .map(|value| value.trim().as_bytes().into())
            .collect();
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        let begins = values.iter().fold(Begins::KNOWN, |begins, value| {
            begins.with(value[0], value[1])
        });
        Self {
            secrets: Arc::new(Secrets { values, begins }),
        }
    }

    /// Returns `text` without the secrets in it.
    pub fn redact<'a>(&self, text: &'a str) -> Redaction<'a> {
        let mut out = String::new();
        let mut kinds = Vec::new();
        let mut count = 0;
        let mut copied = 0;
        let bytes = text.as_bytes();
        Machine::default().run(&self.secrets, bytes, 0, true, &mut |piece| match piece {
            Piece::Keep(_) => {}
            Piece::Hide { kind, from } => {
                out.push_str(text.get(copied..from).unwrap_or_default());
                out.push_str(kind.marker());
                count += 1;
                kinds.push(kind);
            }
            Piece::Drop(range) => copied = range.end,
        });
        if count == 0 {
            return Redaction {
                text: Cow::Borrowed(text),
                count,
                kinds,
            };
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        kinds.sort_unstable();
        kinds.dedup();
        Redaction {
            text: Cow::Owned(out),
            count,
            kinds,
        }
    }

    /// Returns a redactor for bytes that arrive in pieces.
    pub fn stream(&self) -> StreamRedactor {
        StreamRedactor {
            redactor: self.clone(),
            machine: Machine::default(),
            buffer: Vec::new(),
            done: 0,
            count: 0,
        }
    }
}

/// Redacts bytes that arrive in pieces, wherever they are cut.
///
/// Holds back only what may still turn out to be a secret: a few bytes as a rule, never more than about
/// [`MAX_VALUE_BYTES`].
#[derive(Clone, Debug)]
pub struct StreamRedactor {
    redactor: Redactor,
    machine: Machine,
    /// A little of what was returned, to know what stands before a secret, then what is held back.
    buffer: Vec<u8>,
    /// How much of the buffer was returned.
    done: usize,
    count: usize,
}

impl StreamRedactor {
    /// Takes bytes and returns what is certain by now.
    #[must_use]
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.buffer.extend_from_slice(bytes);
        self.advance(false)
    }

    /// Returns what was held back. The redactor can be used again, for another text.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        let out = self.advance(true);
        self.buffer.clear();
        self.done = 0;
        self.machine = Machine::default();
        out
    }

    /// Returns how many secrets were replaced.
    pub fn count(&self) -> usize {
        self.count
    }

    fn advance(&mut self, at_end: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.buffer.len() - self.done);
        let buffer = &self.buffer;
        let count = &mut self.count;
        let done = self.machine.run(
            &self.redactor.secrets,
            buffer,
            self.done,
            at_end,
            &mut |piece| match piece {
                Piece::Keep(range) => out.extend_from_slice(&buffer[range]),
                Piece::Hide { kind, .. } => {
                    out.extend_from_slice(kind.marker().as_bytes());
                    *count += 1;
                }
                Piece::Drop(_) => {}
            },
        );
        let surplus = self.machine.forget(done);
        self.buffer.drain(..surplus);
        self.done = done - surplus;
        out
    }
}

#[cfg(test)]
mod tests;
