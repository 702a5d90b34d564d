//! The outline of a file, and one definition of it.

use std::fmt::Write as _;

use cox_workspace::{
    Confined, ReadError,
    file::{LineRange, Opened, decode, open_with_head},
    in_words::counted,
};

use super::text::read_text;
use crate::{
    ToolCx, ToolError, ToolOutput,
    fs::{
        outline::{Definition, Found, How, outline},
        place::from_read,
    },
};

/// Largest file that is outlined. One over the limit of the parser is told by its first words.
const MAX_OUTLINE_BYTES: u64 = 16 << 20;

/// Levels that an outline is indented by at most.
const MAX_INDENT: usize = 12;

/// Definitions that are listed when a name means several.
const MAX_CANDIDATES: usize = 30;

/// Lists what a file defines.
pub(super) fn read_outline(at: &Confined, file: Opened) -> Result<ToolOutput, ToolError> {
    let bytes = file.read_all(MAX_OUTLINE_BYTES).map_err(too_large)?;
    let (text, _) = decode(&bytes);
    let total = counted(text.lines().count(), "line");
    let outline = outline(&at.written, &text);
    let how = how_found(&outline.how);
    if outline.definitions.is_empty() {
        return Ok(ToolOutput::text(format!(
            "[no definitions found{how}; {total}]"
        )));
    }
    let mut out = String::new();
    let (listed, more) = outline.listed();
    for definition in &listed {
        let indent = 2 * definition.depth.min(MAX_INDENT);
        let _ = writeln!(
            out,
            "{}: {:indent$}{}",
            definition.line, "", definition.signature
        );
    }
    let _ = write!(
        out,
        "[{}{}{how}; {total}]",
        counted(listed.len(), "definition"),
        inside(more)
    );
    Ok(ToolOutput::text(out))
}

/// Says how many definitions an outline leaves out.
fn inside(more: usize) -> String {
    match more {
        0 => String::new(),
        _ => format!(", {more} more inside functions, which `symbol` finds"),
    }
}

/// Says what to do with a file that is too large for an outline.
fn too_large(error: ReadError) -> ToolError {
    match from_read(error) {
        ToolError::TooLarge {
            what, bytes, cap, ..
        } => ToolError::TooLarge {
            what,
            bytes,
            cap,
            hint: " for an outline; `grep` finds a name, `lines` reads around it".into(),
        },
        other => other,
    }
}

fn how_found(how: &How) -> String {
    match how {
        How::Parsed(_, false) | How::Headings => String::new(),
        How::Parsed(language, true) => {
            format!(
                "; some of the file is no {language} that can be parsed, so some may be missing"
            )
        }
        How::FirstWords(why) => format!(" by the first words of lines, because {why}"),
    }
}

/// Reads one definition.
pub(super) fn read_symbol(
    cx: &ToolCx,
    at: &Confined,
    file: Opened,
    symbol: &str,
) -> Result<ToolOutput, ToolError> {
    let bytes = file.read_all(MAX_OUTLINE_BYTES).map_err(too_large)?;
    let (text, _) = decode(&bytes);
    let outline = outline(&at.written, &text);
    let symbol: String = symbol.chars().take(200).collect();
    if let How::FirstWords(why) = outline.how {
        return Ok(ToolOutput::error(format!(
            "`symbol` needs a file that can be parsed: `{}` cannot, because {why}\nhint: `grep` finds the name, `lines` reads around it",
            at.written
        )));
    }
    let rows = |of: &[&Definition]| -> String {
        let shown = of.iter().take(MAX_CANDIDATES).map(|definition| {
            format!(
                "\nlines {}-{}: {} ({})",
                definition.first,
                definition.last,
                definition.signature,
                definition.path.join("::")
            )
        });
        let more = of.len().saturating_sub(MAX_CANDIDATES);
        let more = (more > 0).then(|| format!("\n[{more} more; `outline` lists all]"));
        shown.chain(more).collect()
    };
    match outline.find(&symbol) {
        Found::One(definition, beside) => {
            let range = LineRange {
                first: definition.first as u64,
                last: definition.last as u64,
            };
            let file = open_with_head(at).map_err(from_read)?;
            let mut output = read_text(cx, at, file, range)?;
            if !beside.is_empty() {
                output
                    .text
                    .push_str(&format!("\nof the same name:{}", rows(&beside)));
            }
            Ok(output)
        }
        Found::Several(several) => Ok(ToolOutput::error(format!(
            "`{symbol}` is defined {} times in `{}`; name one by its path, or read its `lines`:{}",
            several.len(),
            at.written,
            rows(&several)
        ))),
        Found::Nothing(nearest) => {
            let hint = if nearest.is_empty() {
                "`outline` lists what there is".to_owned()
            } else {
                format!("the nearest names are {}", quoted(&nearest))
            };
            Ok(ToolOutput::error(format!(
                "`{}` does not define `{symbol}`; {hint}{}",
                at.written,
                how_found(&outline.how)
            )))
        }
    }
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
