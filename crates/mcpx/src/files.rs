//! What people hand to a command by a file or by stdin, and results that are written into a file.

use std::io::{Read, Write as _};
use std::path::Path;

use crate::exit::Failure;

/// Most bytes that are read from one file or from stdin: as many as a call may have.
const MAX_BYTES: u64 = 64 << 20;

/// The text itself; the text of the file for `@FILE`; what stdin has for `-` and `@-`.
///
/// # Errors
/// When it cannot be read, is too large or no UTF-8.
pub(crate) fn text_or_file(text: &str) -> Result<String, Failure> {
    match text.strip_prefix('@') {
        _ if text == "-" => stdin(),
        Some("-") => stdin(),
        Some("") => Err(Failure::usage("`@` names no file")
            .hint("expected `@FILE`, or `@-` for what stdin has")),
        Some(path) => text_of(Path::new(path)),
        None => Ok(text.to_owned()),
    }
}

/// The text of a file.
///
/// # Errors
/// As [`text_or_file`].
pub(crate) fn text_of(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let failed =
        |error: std::io::Error| Failure::usage(format!("`{shown}` cannot be read: {error}"));
    let file = std::fs::File::open(path).map_err(failed)?;
    let bytes = capped(file, &shown.to_string())?;
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("`{shown}` is not UTF-8 text")))
}

/// What stdin has, to its end.
///
/// # Errors
/// As [`text_or_file`].
pub(crate) fn stdin() -> Result<String, Failure> {
    let bytes = capped(std::io::stdin().lock(), "stdin")?;
    String::from_utf8(bytes).map_err(|_| Failure::usage("stdin is not UTF-8 text"))
}

fn capped(reader: impl Read, what: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    reader
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("`{what}` cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::usage(format!(
            "`{what}` has more than {MAX_BYTES} bytes"
        )));
    }
    Ok(bytes)
}

/// Writes a result into a file, over what is there.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::File::create(path)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(|error| {
            Failure::failed(format!("`{}` cannot be written: {error}", path.display()))
        })
}
