//! Results that are too large to be answered whole: put aside, described, read in pieces.

use mcp_wire::content::Content;
use mcp_wire::{CallResult, Object, Raw};
use mcpx_api::{ApiError, Code, Params};
use mcpx_config::settings::key;
use mcpx_store::results::{Handle, Kind, MAX_PIECE_BYTES, ResultsError};

use crate::hub::Hub;
use crate::ops::Reply;
use crate::registry::call::Done;

/// How much of a large text is shown from its beginning, and from its end, in bytes.
const HEAD: usize = 2_000;
const TAIL: usize = 500;
/// How much a reader gets who does not say.
const PIECE: usize = 64 * 1024;

/// Pictures and sounds of so many bytes together stay where they are: a model sees them, and as pieces of text they would be
/// of no use to anybody. Model APIs take some 5 MB for one.
const MEDIA: usize = 8 * 1024 * 1024;

/// The result as it is, or, over `results.inlineMaxBytes`, what it is and how to read it: its beginning and end, its
/// size, and a handle under `_meta["dev.mcpx/result"]`.
#[must_use]
pub fn within_cap(hub: &Hub, done: &Done, result: Object) -> Object {
    let cap = hub.settings().bytes(key::RESULTS_INLINE_MAX_BYTES);
    within(hub, cap, done, result)
}

/// As [`within_cap`], for a caller who has a cap of its own, in bytes.
#[must_use]
pub fn within(hub: &Hub, cap: u64, done: &Done, result: Object) -> Object {
    let whole = Raw::from(result.clone());
    let (media, of_media) = media(&result);
    let bytes = whole.as_str().len() - media.iter().map(|raw| raw.as_str().len()).sum::<usize>();
    if u64::try_from(bytes).unwrap_or(u64::MAX) <= cap {
        return result;
    }
    let label = format!("{}.{}", done.server, done.tool);
    match hub
        .results
        .keep(whole.as_str().as_bytes(), Kind::Json, &label)
    {
        Ok(handle) => instead(&result, &handle, media, &of_media),
        // It cannot be put aside: better too large than lost.
        Err(_) => result,
    }
}

/// The pictures and sounds of a result, as far as they stay, and what is to be said of those that do not.
fn media(result: &Object) -> (Vec<Raw>, String) {
    let blocks = result.get("content").and_then(|raw| raw.array().ok());
    let is_media = |raw: &Raw| {
        let kind = raw.object().ok().and_then(|block| block.string("type"));
        matches!(kind.as_deref(), Some("image" | "audio"))
    };
    let media: Vec<Raw> = blocks.into_iter().flatten().filter(is_media).collect();
    let bytes: usize = media.iter().map(|raw| raw.as_str().len()).sum();
    if bytes <= MEDIA {
        return (media, String::new());
    }
    let said = format!(
        "\n[{} pictures or sounds of {bytes} bytes are left out too]",
        media.len()
    );
    (Vec::new(), said)
}

/// What stands for a result that was put aside. Its pictures and sounds are in it.
fn instead(result: &Object, handle: &Handle, media: Vec<Raw>, of_media: &str) -> Object {
    let is_error = result
        .get("isError")
        .and_then(Raw::boolean)
        .unwrap_or(false);
    let text = CallResult::parse(result.clone())
        .map(|result| result.joined_text())
        .unwrap_or_default();
    let shown = shorten(&text);
    let note = format!(
        "{shown}{of_media}\n[the whole result has {} bytes and is kept as {}; read it in pieces: `mcpx read {}`, the tool `mcpx_read`, or GET /v1/results/{}]",
        handle.total, handle.id, handle.id, handle.id
    );
    let about = Object::new()
        .with("handle", handle.id.as_str())
        .with("bytes", Raw::of(&handle.total));
    let mut short =
        CallResult::new(vec![Content::text(note.trim_start())], None, is_error).into_raw();
    if !media.is_empty() {
        let text = short.get("content").and_then(|raw| raw.array().ok());
        let blocks: Vec<Raw> = text.into_iter().flatten().chain(media).collect();
        short.set("content", Raw::of(&blocks));
    }
    short.set("_meta", Object::new().with("dev.mcpx/result", about));
    short
}

/// The beginning and the end, and how much is missing between them.
fn shorten(text: &str) -> String {
    if text.len() <= HEAD + TAIL {
        return text.to_owned();
    }
    let head = floor(text, HEAD);
    let tail = ceil(text, text.len() - TAIL);
    format!(
        "{}\n[… {} bytes of text are left out …]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at..=text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len())
}

/// Reads a piece of a result that was put aside.
///
/// # Errors
/// When there is no such handle, or the place is none.
pub fn read(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let id = params.required("id")?;
    let offset = params.count("offset")?.unwrap_or(0) as u64;
    let length = params
        .count("length")?
        .unwrap_or(PIECE)
        .clamp(1, MAX_PIECE_BYTES);
    let piece = match params.text("pointer") {
        Some(pointer) => hub.results.select(&id, &pointer, offset, length),
        None => hub.results.read(&id, offset, length),
    };
    let piece = piece.map_err(|error| refused(&error))?;
    Ok(Reply::of(&piece))
}

fn refused(error: &ResultsError) -> ApiError {
    let code = match error {
        ResultsError::NotFound { .. } => Code::NotFound,
        ResultsError::Store(_) => Code::Internal,
        _ => Code::BadRequest,
    };
    ApiError::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_text_keeps_its_beginning_and_its_end_and_says_what_is_missing() {
        let text = "ä".repeat(4_000);
        let short = shorten(&text);
        assert!(short.len() < 3_000);
        assert!(short.contains("5500 bytes of text are left out"), "{short}");
        assert_eq!(shorten("small"), "small");
    }
}
