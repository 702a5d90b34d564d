//! What `grep` and `glob` share: the way into a search, and the words for what it left out.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use cox_workspace::{
    Access, Confined,
    search::{Bounds, SearchError},
};

use crate::{ToolCx, ToolError, ToolOutput};

/// How long a search takes at most; then what was found by then is returned.
const PATIENCE: Duration = Duration::from_secs(30);

/// Searches the folder or file that a call names, or the working directory: `find` is given its real path and the bounds,
/// `say` words what it returns. A pattern that cannot be read is a result that a model can mend.
///
/// # Errors
///
/// [`ToolError`] for a place outside the roots, one that is not there or cannot be searched, and for a search that was
/// cancelled.
pub(super) fn search<T>(
    cx: &ToolCx,
    written: Option<&str>,
    find: impl FnOnce(&Confined, &Bounds<'_>) -> Result<T, SearchError>,
    say: impl FnOnce(T) -> ToolOutput,
) -> Result<ToolOutput, ToolError> {
    let at = cx.workspace.confine(place(written), Access::Read)?;
    searchable(&at)?;
    let bounds = Bounds {
        may_read: &|path| (cx.may_read)(path),
        cancelled: &|| cx.cancel.is_cancelled(),
        deadline: Instant::now() + PATIENCE,
    };
    match find(&at, &bounds) {
        Ok(found) => Ok(say(found)),
        Err(SearchError::Cancelled) => Err(ToolError::Cancelled),
        Err(other) => Ok(ToolOutput::error(other.to_string())),
    }
}

/// The place that a call names, as it is written.
pub(super) fn place(written: Option<&str>) -> &str {
    written.filter(|path| !path.is_empty()).unwrap_or(".")
}

/// Refuses to search what is neither a folder nor a regular file: nothing would be found, or it would be waited for.
fn searchable(at: &Confined) -> Result<(), ToolError> {
    let kind = match at.real.symlink_metadata() {
        Ok(found) if found.is_dir() || found.is_file() => return Ok(()),
        Ok(_) => "is neither a folder nor a regular file, so it is not searched",
        Err(_) => {
            return Err(ToolError::NotFound(format!(
                "there is no file or folder `{}`{}",
                at.written,
                looked_at(at)
            )));
        }
    };
    Err(ToolError::Refused(format!("`{}` {kind}", at.written)))
}

fn looked_at(at: &Confined) -> String {
    if Path::new(&at.written) == at.real {
        String::new()
    } else {
        format!(" (looked at `{}`)", at.real.display())
    }
}

/// Words for what a search left out.
pub(super) fn left_out(has_denied: bool, failed: usize, timed_out: bool) -> String {
    let mut notes = String::new();
    if timed_out {
        notes.push_str(&format!(
            "\n[not everything was searched, that takes more than {PATIENCE:?}; narrow it by `path`, or ask for something simpler]"
        ));
    }
    if has_denied {
        notes.push_str("\n[files that a rule denies reading are left out]");
    }
    if failed > 0 {
        notes.push_str(&format!("\n[{failed} files or folders could not be read]"));
    }
    notes
}

/// A path as a row of a list: relative where it can be, characters that break or turn a line written out, so that a name
/// with a line break is still one row.
pub(super) fn listed(cx: &ToolCx, path: &Path) -> String {
    let name = cx.workspace.shown(path);
    if !name.contains(moves_text) {
        return name;
    }
    let written = name.chars().map(|character| {
        if moves_text(character) {
            character.escape_default().to_string()
        } else {
            character.to_string()
        }
    });
    written.collect()
}

/// Control characters, line and paragraph separators, and what changes the direction of text.
fn moves_text(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Keeps a list that is too long to be shown, without its secrets, and says where.
pub(super) fn kept(cx: &ToolCx, list: &str) -> String {
    let id = match cx.relay.keeper() {
        Some(mut keeper) => {
            keeper.write(list.as_bytes());
            keeper.finish().map(|()| keeper.id())
        }
        None => cx
            .archive
            .put(untrusted_text::redact::redact(list).as_bytes())
            .map_err(|error| error.to_string()),
    };
    match id {
        Ok(id) => format!("the whole list: `expand` with id {id}"),
        Err(error) => format!("the whole list could not be stored: {error}"),
    }
}
