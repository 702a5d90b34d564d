//! Private keys in PEM.

use super::{Facts, Look, Swallow, prefix, unfinished};
use crate::redact::SecretKind;

/// Shortest stretch of base64 that makes a private key out of a PEM header.
pub(in crate::redact) const STRETCH: usize = 32;

/// How far after a PEM header such a stretch may begin and end; room for `Proc-Type` and `DEK-Info` lines.
const WINDOW: usize = 320;

/// A `BEGIN … PRIVATE KEY` line that a key follows, with or without its line breaks, line numbers or quotes.
pub(super) fn start(rest: &[u8], at_end: bool) -> Look {
    let start = match prefix(rest, b"-----BEGIN ", at_end) {
        Ok(start) => start,
        Err(look) => return look,
    };
    let (label, after) = match label(&rest[start..]) {
        Ok(found) => found,
        Err(may_come) => return unfinished(may_come, at_end),
    };
    if !label.ends_with(b"PRIVATE KEY") && !label.ends_with(b"PRIVATE KEY BLOCK") {
        return Look::No;
    }
    let body = &rest[start + after..];
    let mut facts = Facts::default();
    let mut stretch = 0;
    for (at, &byte) in body.iter().take(WINDOW).enumerate() {
        // `[` begins a marker: a redacted text must not look like another one.
        if byte == b'[' || !byte.is_ascii() {
            return Look::No;
        }
        if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=') {
            facts.add(byte);
            stretch += 1;
        } else {
            facts = Facts::default();
            stretch = 0;
        }
        if stretch >= STRETCH && facts.has_digit && facts.has_upper && facts.has_lower {
            let len = start + after + at + 1;
            return Look::Secret {
                kind: SecretKind::PrivateKey,
                keep: 0,
                len,
                then: Swallow::Pem,
            };
        }
    }
    unfinished(body.len() < WINDOW, at_end)
}

pub(in crate::redact) enum End {
    No,
    More,
    /// The end is as long.
    Here(usize),
}

/// Looks for the line that ends a private key.
pub(in crate::redact) fn end(rest: &[u8], at_end: bool) -> End {
    let may_come = |may_come: bool| {
        if may_come && !at_end {
            End::More
        } else {
            End::No
        }
    };
    match prefix(rest, b"-----END ", at_end) {
        Ok(start) => match label(&rest[start..]) {
            Ok((_, after)) => End::Here(start + after),
            Err(may) => may_come(may),
        },
        Err(Look::More) => End::More,
        Err(_) => End::No,
    }
}

/// Returns a PEM label and the end of the dashes after it, or whether it may still come.
fn label(rest: &[u8]) -> Result<(&[u8], usize), bool> {
    const MOST: usize = 48;
    const DASHES: &[u8] = b"-----";
    let is_label =
        |byte: &&u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b' ';
    let len = rest.iter().take(MOST).take_while(is_label).count();
    let dashes = &rest[len..];
    if dashes.starts_with(DASHES) {
        return Ok((&rest[..len], len + DASHES.len()));
    }
    Err(len < MOST && DASHES.starts_with(dashes))
}
