//! A part of a result, cut between characters.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;

/// Bytes on either side of a piece that may belong to its first or last character.
pub(super) const MARGIN: usize = 4;

/// A part of a result: `text` or `base64`, never both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Piece {
    /// The part of a text. Text from outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The part of what is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// The byte it begins with.
    pub offset: u64,
    /// Where to read on; nothing at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Bytes of the whole.
    pub total: u64,
}

/// Where a piece was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) length: usize,
    pub(super) total: u64,
}

/// Cuts a piece out of a window on the bytes, in which it begins at `before`.
pub(super) fn cut(window: &[u8], before: usize, at: Place, is_text: bool) -> Piece {
    let before = before.min(window.len());
    let mut from = before;
    let mut to = before.saturating_add(at.length.max(1)).min(window.len());
    if is_text {
        while from > 0 && is_inside(window, from) {
            from -= 1;
        }
        while to > from && is_inside(window, to) {
            to -= 1;
        }
        if to == from {
            // One whole character at least, or nobody gets on.
            to = (from + 1).min(window.len());
            while is_inside(window, to) {
                to += 1;
            }
        }
    }
    let part = window.get(from..to).unwrap_or_default();
    let offset = at.offset.saturating_sub((before - from) as u64);
    let end = offset + part.len() as u64;
    let text = is_text.then(|| String::from_utf8_lossy(part).into_owned());
    Piece {
        base64: (!is_text).then(|| STANDARD.encode(part)),
        text,
        offset,
        next: (end < at.total && !part.is_empty()).then_some(end),
        total: at.total,
    }
}

/// Says whether the byte at `index` continues a character.
fn is_inside(bytes: &[u8], index: usize) -> bool {
    bytes.get(index).is_some_and(|byte| byte & 0xc0 == 0x80)
}
