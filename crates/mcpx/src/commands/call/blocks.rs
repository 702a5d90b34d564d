//! A result as people read it: the structured part or the text, and what else is in it described; or written into files.

use std::path::{Path, PathBuf};

use mcp_wire::CallResult;
use mcp_wire::content::Block;
use untrusted_text::terminal::one_line;

use crate::exit::Failure;
use crate::files;

/// The structured part when there is one, else the text; behind it a line for each block that is neither.
pub(in crate::commands) fn shown(result: &CallResult, is_terminal: bool) -> String {
    let mut text = String::new();
    let mut described = String::new();
    for content in &result.content {
        match content.as_ref().map(|content| &content.block) {
            Ok(Block::Text(words)) => push(&mut text, words),
            Ok(block) => push(&mut described, &line(block)),
            Err(error) => push(
                &mut described,
                &format!("[a block that cannot be read: {error}; `--raw` shows it]"),
            ),
        }
    }
    if let Some(structured) = &result.structured {
        text = if is_terminal {
            super::super::from_table::pretty(structured)
        } else {
            structured.as_str().to_owned()
        };
    }
    push(&mut text, &described);
    text
}

fn push(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(more);
}

/// A block that is no text, in a line; the text of a resource whole.
fn line(block: &Block) -> String {
    let typed =
        |kind: Option<&String>| kind.map_or("unknown type".to_owned(), |kind| one_line(kind, 80));
    match block {
        Block::Text(text) => text.clone(),
        Block::Image { media_type, bytes } => {
            format!(
                "[image, {}, {} bytes]",
                one_line(media_type, 80),
                bytes.len()
            )
        }
        Block::Audio { media_type, bytes } => {
            format!(
                "[sound, {}, {} bytes]",
                one_line(media_type, 80),
                bytes.len()
            )
        }
        Block::Link {
            uri,
            name,
            media_type,
        } => {
            let name = name
                .as_deref()
                .map(|name| format!("{}, ", one_line(name, 80)));
            format!(
                "[link, {}{}, {}]",
                name.unwrap_or_default(),
                one_line(uri, 400),
                typed(media_type.as_ref())
            )
        }
        Block::ResourceText { uri, text, .. } => {
            format!("[resource, {}]\n{text}", one_line(uri, 400))
        }
        Block::ResourceBytes {
            uri,
            media_type,
            bytes,
        } => format!(
            "[resource, {}, {}, {} bytes]",
            one_line(uri, 400),
            typed(media_type.as_ref()),
            bytes.len()
        ),
        Block::Unknown { kind } => format!(
            "[a block of the type `{}`; `--raw` shows it]",
            one_line(kind, 80)
        ),
    }
}

/// The bytes of a block that is no text, and what kind they are.
fn bytes_of(block: &Block) -> Option<(&[u8], &str)> {
    match block {
        Block::Image { media_type, bytes } | Block::Audio { media_type, bytes } => {
            Some((bytes, media_type))
        }
        Block::ResourceBytes {
            media_type, bytes, ..
        } => Some((
            bytes,
            media_type.as_deref().unwrap_or("application/octet-stream"),
        )),
        _ => None,
    }
}

fn all_bytes(result: &CallResult) -> Vec<(&[u8], &str)> {
    let blocks = result.content.iter().filter_map(|one| one.as_ref().ok());
    blocks
        .filter_map(|content| bytes_of(&content.block))
        .collect()
}

/// Whether a result has what can be written and not be shown.
pub(super) fn has_bytes(result: &CallResult) -> bool {
    !all_bytes(result).is_empty()
}

/// What became of a result that went into files.
pub(super) struct Written {
    /// A line for each file.
    pub(super) lines: Vec<String>,
    /// What is in no file, as [`shown`] says it.
    pub(super) beside: String,
}

/// Writes a result into a file: its one image, sound or resource as its bytes, else what [`shown`] says. Several of them
/// go into several files, numbered before the ending; the text beside them is handed back.
pub(super) fn write(result: &CallResult, path: &Path) -> Result<Written, Failure> {
    let data = all_bytes(result);
    if data.is_empty() {
        let text = shown(result, false);
        files::write(path, text.as_bytes())?;
        return Ok(Written {
            lines: vec![format!("{}: {} bytes", path.display(), text.len())],
            beside: String::new(),
        });
    }
    let mut lines = Vec::new();
    for (at, (bytes, media_type)) in data.iter().enumerate() {
        let path = numbered(path, at);
        files::write(&path, bytes)?;
        lines.push(format!(
            "{}: {}, {} bytes",
            path.display(),
            one_line(media_type, 80),
            bytes.len()
        ));
    }
    Ok(Written {
        lines,
        beside: beside(result),
    })
}

/// A result without what has bytes.
fn beside(result: &CallResult) -> String {
    let mut result = result.clone();
    result.content.retain(|content| {
        content
            .as_ref()
            .map_or(true, |content| bytes_of(&content.block).is_none())
    });
    shown(&result, false)
}

/// `a.png`, `a-2.png`, `a-3.png`.
fn numbered(path: &Path, at: usize) -> PathBuf {
    if at == 0 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path
        .extension()
        .map(|ending| format!(".{}", ending.to_string_lossy()));
    path.with_file_name(format!("{stem}-{}{}", at + 1, ending.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_wire::Raw;

    fn result(json: &str) -> CallResult {
        CallResult::parse(Raw::parse(json).unwrap().object().unwrap()).unwrap()
    }

    const IMAGE: &str = r#"{"content":[{"type":"text","text":"here"},{"type":"image","mimeType":"image/png","data":"AAEC"},{"type":"image","mimeType":"image/gif","data":"AA=="},{"type":"future","x":1}]}"#;

    #[test]
    fn what_is_no_text_is_described() {
        assert_eq!(
            shown(&result(IMAGE), false),
            "here\n[image, image/png, 3 bytes]\n[image, image/gif, 1 bytes]\n[a block of the type `future`; `--raw` shows it]"
        );
        let structured = result(
            r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}"#,
        );
        assert_eq!(shown(&structured, false), r#"{"a":1}"#);
        assert_eq!(shown(&structured, true), "{\n  \"a\": 1\n}");
    }

    #[test]
    fn bytes_are_written_as_they_are_and_several_are_numbered() {
        let home = testkit::TempHome::new();
        let path = home.path().join("shot.png");
        let written = write(&result(IMAGE), &path).unwrap();
        assert_eq!(written.lines.len(), 2);
        assert_eq!(
            written.beside,
            "here\n[a block of the type `future`; `--raw` shows it]"
        );
        assert_eq!(std::fs::read(&path).unwrap(), [0, 1, 2]);
        assert_eq!(std::fs::read(home.path().join("shot-2.png")).unwrap(), [0]);
        write(
            &result(r#"{"content":[{"type":"text","text":"t"}]}"#),
            &path,
        )
        .unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"t");
    }
}
