//! `\ No newline at end of file`: what a hunk says of the end of a file, checked against it and obeyed.

use super::{Hunk, HunkError};
use crate::{locate::Text, splice::Place};

/// How a patch wants the file to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Newline,
    Bare,
}

/// What a hunk says of the end of the file, after its old lines were found up to the offset `found_end`.
pub(super) fn wanted_end(
    text: &Text<'_>,
    hunk: &Hunk,
    number: usize,
    found_end: usize,
) -> Result<Option<End>, HunkError> {
    if !hunk.old_ends_bare && !hunk.new_ends_bare {
        return Ok(None);
    }
    let is_elsewhere = found_end < text.bytes.len();
    if is_elsewhere || (hunk.old_ends_bare && text.bytes.ends_with(b"\n")) {
        return Err(HunkError::OtherEnd {
            hunk: number,
            line: hunk.line,
            elsewhere: is_elsewhere,
        });
    }
    Ok(Some(if hunk.new_ends_bare {
        End::Bare
    } else {
        End::Newline
    }))
}

/// Adds or takes away the final newline, as a part of the last place.
pub(super) fn set_end(
    old: &[u8],
    bytes: &mut Vec<u8>,
    places: &mut [Place],
    end: End,
    ending: &[u8],
) {
    let before = bytes.len();
    let has_newline = bytes.ends_with(b"\n");
    match end {
        End::Newline if !has_newline && !bytes.is_empty() => bytes.extend_from_slice(ending),
        End::Bare if has_newline => {
            bytes.pop();
            if bytes.ends_with(b"\r") {
                bytes.pop();
            }
        }
        End::Newline | End::Bare => return,
    }
    let changed_to_the_end =
        |place: &&mut Place| place.new.end == before && place.old.end == old.len();
    if let Some(last) = places.last_mut().filter(changed_to_the_end) {
        last.new.start = last.new.start.min(bytes.len());
        last.new.end = bytes.len();
    }
}
