//! Text that a command takes whole from stdin, up to a limit.

use std::io::Read as _;

use crate::exit::Failure;

/// Reads stdin to its end as text of at most `max_bytes`; `what` names it in a failure, such as "prompt".
///
/// # Errors
///
/// An error when it cannot be read; wrong usage when it is too large or not UTF-8.
pub(crate) fn read_stdin(what: &str, max_bytes: u64) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::error(format!("cannot read the {what} from stdin: {error}")))?;
    if bytes.len() as u64 > max_bytes {
        return Err(Failure::usage(format!(
            "the {what} on stdin is larger than {max_bytes} bytes"
        )));
    }
    String::from_utf8(bytes)
        .map_err(|error| Failure::usage(format!("the {what} on stdin is not UTF-8 text: {error}")))
}
