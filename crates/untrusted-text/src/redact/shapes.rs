//! What secrets look like.
//!
//! Every check looks at a bounded stretch of bytes and, unless the text is at its end, answers [`Look::More`] as long as
//! further bytes could change the answer.

pub(super) mod pem;

use super::SecretKind;

/// How many bytes of a token are looked at before it is taken for ordinary text.
const TOKEN_WINDOW: usize = 256;

/// Longest header of a JWT.
const JWT_HEADER: usize = 2048;

/// What a look at one place of a text found.
pub(super) enum Look {
    No,
    /// More bytes are needed.
    More,
    Secret {
        kind: SecretKind,
        /// Bytes that stay before the marker, such as `Bearer `.
        keep: usize,
        /// Bytes that were looked at, `keep` included.
        len: usize,
        /// What else belongs to the secret.
        then: Swallow,
    },
}

/// Which bytes after the ones that gave a secret away belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Swallow {
    Nothing,
    /// Letters, digits, `-` and `_`.
    Word,
    /// Words joined by single dots.
    Dotted,
    /// Dotted words and the rest of base64.
    Header,
    Pem,
}

impl Swallow {
    /// Returns the end of the bytes that belong to the secret, and whether it is certain.
    pub(super) fn end(self, buffer: &[u8], at: usize, at_end: bool) -> (usize, bool) {
        let is_part = |byte: u8| {
            is_word(byte) || self == Self::Header && matches!(byte, b'+' | b'/' | b'=' | b'~')
        };
        let mut at = at;
        while let Some(&byte) = buffer.get(at) {
            if is_part(byte) {
                at += 1;
            } else if byte == b'.' && matches!(self, Self::Dotted | Self::Header) {
                // A dot that ends a sentence stays.
                match buffer.get(at + 1) {
                    Some(&next) if is_part(next) => at += 2,
                    Some(_) => return (at, true),
                    None => return (at, at_end),
                }
            } else {
                return (at, true);
            }
        }
        (at, at_end)
    }
}

/// What a token must have, besides its length, to be no ordinary word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Digit,
    /// Sixteen letters and digits on end, both kinds among them.
    Stretch,
}

struct Token {
    prefix: &'static [u8],
    kind: SecretKind,
    /// Fewest bytes after the prefix.
    min: usize,
    need: Need,
    /// Whether `-` and `_` are part of it.
    is_word: bool,
    /// Whether a letter or digit before it makes it part of a longer word.
    needs_start: bool,
}

/// Returns a token whose prefix cannot stand in base64, so that it counts in the middle of a word as well.
const fn token(
    prefix: &'static [u8],
    kind: SecretKind,
    min: usize,
    need: Need,
    is_word: bool,
) -> Token {
    Token {
        prefix,
        kind,
        min,
        need,
        is_word,
        needs_start: false,
    }
}

/// Returns a token that counts at the start of a word only.
const fn word(
    prefix: &'static [u8],
    kind: SecretKind,
    min: usize,
    need: Need,
    is_word: bool,
) -> Token {
    Token {
        prefix,
        kind,
        min,
        need,
        is_word,
        needs_start: true,
    }
}

/// The shapes that their issuers document, with lengths a little below the documented ones.
const TOKENS: &[Token] = &[
    token(b"sk-ant-", SecretKind::ApiKey, 20, Need::Digit, true),
    token(b"sk-proj-", SecretKind::ApiKey, 20, Need::Digit, true),
    token(b"sk-or-v1-", SecretKind::ApiKey, 20, Need::Digit, true),
    word(b"sk-", SecretKind::ApiKey, 20, Need::Stretch, true),
    token(b"sk_live_", SecretKind::ApiKey, 20, Need::Digit, false),
    token(b"sk_test_", SecretKind::ApiKey, 20, Need::Digit, false),
    token(b"rk_live_", SecretKind::ApiKey, 20, Need::Digit, false),
    word(b"gsk_", SecretKind::ApiKey, 40, Need::Digit, false),
    word(b"hf_", SecretKind::ApiKey, 30, Need::Stretch, false),
    word(b"xai-", SecretKind::ApiKey, 60, Need::Digit, false),
    word(b"AIza", SecretKind::ApiKey, 35, Need::Digit, true),
    token(b"ghp_", SecretKind::GithubToken, 30, Need::Digit, false),
    token(b"gho_", SecretKind::GithubToken, 30, Need::Digit, false),
    token(b"ghu_", SecretKind::GithubToken, 30, Need::Digit, false),
    token(b"ghs_", SecretKind::GithubToken, 30, Need::Digit, false),
    token(b"ghr_", SecretKind::GithubToken, 30, Need::Digit, false),
    token(
        b"github_pat_",
        SecretKind::GithubToken,
        22,
        Need::Stretch,
        true,
    ),
    token(b"glpat-", SecretKind::GitlabToken, 20, Need::Digit, true),
    word(b"xoxa-", SecretKind::SlackToken, 16, Need::Digit, true),
    word(b"xoxb-", SecretKind::SlackToken, 16, Need::Digit, true),
    word(b"xoxp-", SecretKind::SlackToken, 16, Need::Digit, true),
    word(b"xoxr-", SecretKind::SlackToken, 16, Need::Digit, true),
    word(b"xoxs-", SecretKind::SlackToken, 16, Need::Digit, true),
    word(b"xapp-", SecretKind::SlackToken, 20, Need::Stretch, true),
    token(b"npm_", SecretKind::RegistryToken, 36, Need::Digit, false),
    token(
        b"pypi-AgE",
        SecretKind::RegistryToken,
        32,
        Need::Digit,
        true,
    ),
];

/// The two bytes that a secret may begin with, as a set. Most of a text is passed by a look into it.
#[derive(Clone)]
pub(super) struct Begins([u64; 1024]);

impl Begins {
    /// The beginnings of everything that [`look`] knows.
    pub(super) const KNOWN: Self = {
        let mut begins = Self([0; 1024]);
        let mut at = 0;
        while at < TOKENS.len() {
            begins = begins.with(TOKENS[at].prefix[0], TOKENS[at].prefix[1]);
            at += 1;
        }
        let others = b"AKASBebeBEbEeySeseSEsE--";
        let mut at = 0;
        while at < others.len() {
            begins = begins.with(others[at], others[at + 1]);
            at += 2;
        }
        begins
    };

    /// Adds a beginning.
    pub(super) const fn with(mut self, first: u8, second: u8) -> Self {
        let pair = (first as usize) << 8 | second as usize;
        self.0[pair / 64] |= 1 << (pair % 64);
        self
    }

    /// Returns the first place from `at` where a secret may begin; the last byte may always be one.
    pub(super) fn next(&self, buffer: &[u8], at: usize) -> usize {
        let rest = &buffer[at..];
        let found = rest.windows(2).position(|pair| {
            let pair = usize::from(pair[0]) << 8 | usize::from(pair[1]);
            self.0[pair / 64] >> (pair % 64) & 1 == 1
        });
        at + found.unwrap_or(rest.len().saturating_sub(1))
    }
}

/// Looks for a secret at the beginning of `rest`; `context` is what stands before it.
pub(super) fn look(rest: &[u8], context: &[u8], at_end: bool) -> Look {
    for token in TOKENS.iter().filter(|token| token.prefix[0] == rest[0]) {
        match look_for_token(token, rest, context, at_end) {
            Look::No => {}
            found => return found,
        }
    }
    match rest[0] {
        b'A' => key_id(rest, context, at_end),
        b'b' | b'B' => bearer(rest, context, at_end),
        b'e' => jwt(rest, context, at_end),
        b's' | b'S' => named_secret(rest, at_end),
        b'-' => pem::start(rest, at_end),
        _ => Look::No,
    }
}

fn look_for_token(token: &Token, rest: &[u8], context: &[u8], at_end: bool) -> Look {
    let start = match prefix(rest, token.prefix, at_end) {
        Ok(start) => start,
        Err(look) => return look,
    };
    if token.needs_start && !begins_word(context) {
        return Look::No;
    }
    let mut facts = Facts::default();
    for (at, &byte) in rest[start..].iter().take(TOKEN_WINDOW).enumerate() {
        let is_part = byte.is_ascii_alphanumeric() || token.is_word && matches!(byte, b'-' | b'_');
        if !is_part {
            return Look::No;
        }
        facts.add(byte);
        let has_what_it_needs = match token.need {
            Need::Digit => facts.has_digit,
            Need::Stretch => facts.had_stretch,
        };
        if at + 1 >= token.min && has_what_it_needs {
            let then = if token.prefix == b"glpat-" || token.prefix[..3] == *b"ghs" {
                Swallow::Dotted
            } else {
                Swallow::Word
            };
            return Look::Secret {
                kind: token.kind,
                keep: 0,
                len: start + at + 1,
                then,
            };
        }
    }
    unfinished(rest.len() - start < TOKEN_WINDOW, at_end)
}

/// `AKIA…` and `ASIA…`: twenty capitals and digits.
///
/// What follows does not matter: it could be another secret, and a redacted text must read the same again.
fn key_id(rest: &[u8], context: &[u8], at_end: bool) -> Look {
    const LEN: usize = 20;
    let begin = &rest[..rest.len().min(4)];
    if !(b"AKIA".starts_with(begin) || b"ASIA".starts_with(begin)) || !begins_word(context) {
        return Look::No;
    }
    let len = rest
        .iter()
        .take(LEN)
        .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        .count();
    match len {
        LEN => Look::Secret {
            kind: SecretKind::AwsKey,
            keep: 0,
            len: LEN,
            then: Swallow::Word,
        },
        len => unfinished(len == rest.len(), at_end),
    }
}

/// `Bearer` and what follows, unless that is a word of prose or a placeholder.
fn bearer(rest: &[u8], context: &[u8], at_end: bool) -> Look {
    const NAME: &[u8] = b"bearer";
    const MOST_SPACES: usize = 4;
    let name = &rest[..rest.len().min(NAME.len())];
    if !name.eq_ignore_ascii_case(&NAME[..name.len()]) || !begins_word(context) {
        return Look::No;
    }
    let spaces = rest[name.len()..]
        .iter()
        .take(MOST_SPACES + 1)
        .take_while(|&&byte| matches!(byte, b' ' | b'\t'))
        .count();
    let start = name.len() + spaces;
    if start == rest.len() && spaces <= MOST_SPACES {
        return unfinished(true, at_end);
    }
    if spaces == 0 || spaces > MOST_SPACES {
        return Look::No;
    }
    let mut facts = Facts::default();
    for (at, &byte) in rest[start..].iter().take(TOKEN_WINDOW).enumerate() {
        if !(is_word(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')) {
            return Look::No;
        }
        facts.add(byte);
        if at + 1 >= 16 && facts.has_digit {
            return Look::Secret {
                kind: SecretKind::BearerToken,
                keep: start,
                len: start + at + 1,
                then: Swallow::Header,
            };
        }
    }
    unfinished(rest.len() - start < TOKEN_WINDOW, at_end)
}

/// Two JSON objects in base64, joined by a dot: the header and the payload of a JWT.
fn jwt(rest: &[u8], context: &[u8], at_end: bool) -> Look {
    let start = match prefix(rest, b"eyJ", at_end) {
        Ok(start) => start,
        Err(look) => return look,
    };
    if !begins_word(context) {
        return Look::No;
    }
    let header = start
        + rest[start..]
            .iter()
            .take(JWT_HEADER)
            .take_while(|&&byte| is_word(byte))
            .count();
    match rest.get(header) {
        _ if header - start >= JWT_HEADER => return Look::No,
        None => return unfinished(true, at_end),
        Some(b'.') if header >= 12 => {}
        Some(_) => return Look::No,
    }
    let payload = &rest[header + 1..];
    // `{"`, `{ ` and `{` with a line break.
    let begins_object = [b"eyJ", b"eyA", b"ewo", b"ew0"]
        .iter()
        .any(|begin| payload.starts_with(*begin));
    let may_begin_object = [b"eyJ", b"eyA", b"ewo", b"ew0"]
        .iter()
        .any(|begin| begin.starts_with(payload));
    let len = payload
        .iter()
        .take(10)
        .take_while(|&&byte| is_word(byte))
        .count();
    if len >= 10 && begins_object {
        return Look::Secret {
            kind: SecretKind::Jwt,
            keep: 0,
            len: header + 1 + len,
            then: Swallow::Dotted,
        };
    }
    unfinished(
        len == payload.len() && (begins_object || may_begin_object),
        at_end,
    )
}

/// `aws_secret_access_key = …` and `SessionToken: …`, in whatever case and quotes.
fn named_secret(rest: &[u8], at_end: bool) -> Look {
    const NAMES: [&[u8]; 2] = [b"secretaccesskey", b"sessiontoken"];
    const MOST_SEPARATORS: usize = 12;
    const MIN: usize = 40;
    for name in NAMES {
        let mut at = 0;
        let mut matched = 0;
        while matched < name.len() {
            match rest.get(at) {
                None => return unfinished(true, at_end),
                Some(byte) if byte.to_ascii_lowercase() == name[matched] => matched += 1,
                Some(b'_' | b'-') if matched > 0 && !matches!(rest[at - 1], b'_' | b'-') => {}
                Some(_) => break,
            }
            at += 1;
        }
        if matched < name.len() {
            continue;
        }
        let separators = &rest[at..rest.len().min(at + MOST_SEPARATORS)];
        let is_separator = |&&byte: &&u8| {
            matches!(
                byte,
                b' ' | b'\t' | b'"' | b'\'' | b'\\' | b'=' | b':' | b'>'
            )
        };
        let len = separators.iter().take_while(is_separator).count();
        let start = at + len;
        if start == rest.len() && len < MOST_SEPARATORS {
            return unfinished(true, at_end);
        }
        if len == MOST_SEPARATORS
            || !separators[..len]
                .iter()
                .any(|byte| matches!(byte, b'=' | b':'))
        {
            return Look::No;
        }
        let value = &rest[start..rest.len().min(start + MIN)];
        let is_base64 =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        if !value.iter().all(is_base64) {
            return Look::No;
        }
        if value.len() < MIN {
            return unfinished(true, at_end);
        }
        let has = |test: fn(&u8) -> bool| value.iter().any(test);
        let is_random = has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(|byte| !byte.is_ascii_alphabetic());
        return match is_random {
            true => Look::Secret {
                kind: SecretKind::AwsKey,
                keep: start,
                len: start + MIN,
                then: Swallow::Header,
            },
            false => Look::No,
        };
    }
    Look::No
}

/// Returns the length of `prefix` if `rest` begins with it.
fn prefix(rest: &[u8], prefix: &[u8], at_end: bool) -> Result<usize, Look> {
    if rest.starts_with(prefix) {
        Ok(prefix.len())
    } else {
        Err(unfinished(prefix.starts_with(rest), at_end))
    }
}

fn unfinished(may_come: bool, at_end: bool) -> Look {
    if may_come && !at_end {
        Look::More
    } else {
        Look::No
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Says whether a word can begin after `context`.
///
/// A letter counts as the end of something else when it ends an escape: `\n` in JSON or source text, or a terminal's
/// colour.
fn begins_word(context: &[u8]) -> bool {
    match context {
        [.., last] if !last.is_ascii_alphanumeric() => true,
        [] | [.., b'\\', b'n' | b't' | b'r' | b'b' | b'f'] => true,
        [before @ .., last] if last.is_ascii_alphabetic() => {
            let end = before
                .iter()
                .rposition(|byte| !matches!(byte, b'0'..=b'9' | b';' | b'?'))
                .map_or(0, |at| at + 1);
            let before = &before[..end];
            [
                &b"\x1b["[..],
                b"\\u001b[",
                b"\\u001B[",
                b"\\x1b[",
                b"\\x1B[",
                b"\\033[",
                b"\\e[",
            ]
            .iter()
            .any(|csi| before.ends_with(csi))
        }
        _ => false,
    }
}

#[derive(Default)]
struct Facts {
    has_digit: bool,
    has_upper: bool,
    has_lower: bool,
    had_stretch: bool,
    stretch: usize,
    stretch_has_digit: bool,
    stretch_has_letter: bool,
}

impl Facts {
    fn add(&mut self, byte: u8) {
        self.has_digit |= byte.is_ascii_digit();
        self.has_upper |= byte.is_ascii_uppercase();
        self.has_lower |= byte.is_ascii_lowercase();
        if !byte.is_ascii_alphanumeric() {
            self.stretch = 0;
            self.stretch_has_digit = false;
            self.stretch_has_letter = false;
            return;
        }
        self.stretch += 1;
        self.stretch_has_digit |= byte.is_ascii_digit();
        self.stretch_has_letter |= byte.is_ascii_alphabetic();
        self.had_stretch |= self.stretch >= 16 && self.stretch_has_digit && self.stretch_has_letter;
    }
}
