//! Events as lines of JSON, for programs.

use cox_protocol::Event;

use crate::printer::{NotPrinted, Printer};

/// Prints one event as one line.
pub(crate) fn print(printer: Printer, event: &Event) -> Result<(), NotPrinted> {
    // An event is plain data with string keys; if writing one should fail all the same, the line says so.
    let line = serde_json::to_string(event).unwrap_or_else(|error| {
        serde_json::json!({ "type": "notice", "level": "warning", "text": format!("an event could not be written: {error}") })
            .to_string()
    });
    printer.json_line(&line)
}
