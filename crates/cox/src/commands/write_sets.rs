//! Changes of files that a killed process left unfinished: found, told, finished, undone or forgotten.
//!
//! What needs no decision is tidied up when it is found: a change that touched nothing yet, and one that was all made.

use cox_store::{Archive, ArchiveId, Home, LeftRecord, WriteSets};
use cox_workspace::{
    Unfinished,
    write_set::{FileState, Mended, Progress, RecoverError, Recovery, Standing, progress},
};
use serde_json::json;

use crate::{
    exit::{Exit, Failure},
    printer::Printer,
};

/// Files of one change that are named.
const MAX_NAMED: usize = 20;

/// A change that somebody has to decide about.
pub(crate) struct Left {
    record: LeftRecord,
    /// What the record says; none when it cannot be read.
    set: Result<(Unfinished, Vec<Standing>), String>,
}

/// What is to become of an unfinished change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mend {
    /// Every file gets its new content.
    Finish,
    /// Every file gets its old content back.
    Undo,
    /// Every file stays as it is.
    Forget,
}

impl Mend {
    /// The word in its flag, when it changes files.
    fn way(self) -> Option<&'static str> {
        match self {
            Self::Finish => Some("finish"),
            Self::Undo => Some("undo"),
            Self::Forget => None,
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Finish => "finished",
            Self::Undo => "undone",
            Self::Forget => "forgotten",
        }
    }
}

/// Returns the changes that were left unfinished, oldest first, and tidies up after those that need no decision.
///
/// # Errors
///
/// When the records cannot be listed.
pub(crate) fn left(home: &Home) -> Result<Vec<Left>, Failure> {
    let archive = Archive::new(home.clone());
    let mut found = Vec::new();
    for record in WriteSets::new(home.clone()).left()? {
        let images = |id: &str| image(&archive, id);
        let looked = Unfinished::read(&record.bytes).and_then(|set| {
            let standing = set.look(&images)?;
            Ok((set, standing))
        });
        let (set, standing) = match looked {
            Ok(looked) => looked,
            Err(error) => {
                let set = Err(Failure::from_chain(&error).message);
                found.push(Left { record, set });
                continue;
            }
        };
        let tidied = match progress(&standing) {
            Progress::Untouched => set.forget(),
            // Every file is new: nothing is overwritten.
            Progress::Complete => set
                .finish(&Recovery {
                    images: &images,
                    keep: &|_, bytes| kept(&archive, bytes),
                    skip_theirs: false,
                })
                .map(drop),
            Progress::Partial => {
                let set = Ok((set, standing));
                found.push(Left { record, set });
                continue;
            }
        };
        match tidied {
            Ok(()) => record.remove()?,
            Err(error) => {
                let set = Err(Failure::from_chain(&error).message);
                found.push(Left { record, set });
            }
        }
    }
    Ok(found)
}

/// Warns of unfinished changes in a line or two each; says nothing when there are none.
pub(crate) fn warn(home: &Home, printer: Printer) {
    match left(home) {
        Ok(left) => {
            for left in left {
                printer.warn(&format!(
                    "a change of files was cut off: {}\nhint: `cox doctor` tells which, and how to finish or undo it",
                    left.summary()
                ));
            }
        }
        Err(failure) => printer.warn(&failure.message),
    }
}

/// Finishes, undoes or forgets a change. With `skip_changed` files that somebody changed since stay as they are, and the
/// others are done.
///
/// # Errors
///
/// A usage failure for an id that is none, an error when there is no such change or it is refused.
pub(crate) fn mend(
    id: &str,
    mend: Mend,
    skip_changed: bool,
    home: &Home,
    printer: Printer,
) -> Result<Exit, Failure> {
    let id: ArchiveId = id
        .parse()
        .map_err(|error| Failure::usage(format!("{error}")))?;
    let Some(Left { record, set }) = left(home)?.into_iter().find(|left| left.record.id == id)
    else {
        return Err(Failure::error(format!(
            "there is no unfinished change {id}\nhint: `cox doctor` lists them; one that another process works on is not among them"
        )));
    };
    let (files, mended) = match (set, mend) {
        (Ok((set, standing)), mend) => {
            let archive = Archive::new(home.clone());
            let images = |id: &str| image(&archive, id);
            let recovery = Recovery {
                images: &images,
                keep: &|_, bytes| kept(&archive, bytes),
                skip_theirs: skip_changed,
            };
            let mended = match mend {
                Mend::Finish => set.finish(&recovery),
                Mend::Undo => set.undo(&recovery),
                Mend::Forget => set.forget().map(|()| Mended::default()),
            };
            let mended = mended.map_err(|error| refused(&error, &standing, id, mend))?;
            (standing.len(), mended)
        }
        (Err(_), Mend::Forget) => (0, Mended::default()),
        (Err(problem), _) => {
            return Err(Failure::error(format!(
                "{problem}\nhint: `cox doctor --forget-write-set {id}` leaves every file as it is"
            )));
        }
    };
    record.remove()?;
    let done = mend.done();
    Ok(crate::printed(if printer.json {
        let left: Vec<_> = mended
            .skipped
            .iter()
            .map(|file| json!({ "path": file.path, "before": file.before, "after": file.after }))
            .collect();
        let torn: Vec<_> = mended
            .kept
            .iter()
            .map(|(path, id)| json!({ "path": path, "held": id }))
            .collect();
        printer.document(&json!({
            "write_set": id.to_string(), "done": done, "files": files, "left": left, "torn": torn,
        }))
    } else {
        let mut text = format!("{done}: the change {id} of {files} file(s)");
        text.push_str(&told_of(&mended));
        printer.result(&text)
    }))
}

/// Tells of the files that are not as the word "finished" or "undone" says, one line each.
fn told_of(mended: &Mended) -> String {
    let mut text = String::new();
    for file in &mended.skipped {
        text.push_str(&format!("\nleft as it is: `{}`", file.path.display()));
        if let Some(before) = &file.before {
            text.push_str(&format!("; before the change: `cox expand {before}`"));
        }
        if let Some(after) = &file.after {
            text.push_str(&format!("; after it: `cox expand {after}`"));
        }
    }
    for (path, id) in &mended.kept {
        text.push_str(&format!(
            "\nwas half written: `{}`; what it held: `cox expand {id}`",
            path.display()
        ));
    }
    text
}

impl Left {
    /// Tells what there is and what to do, in lines.
    pub(crate) fn told(&self) -> String {
        let id = self.record.id;
        let mut lines = vec![self.summary()];
        let mut ways = vec!["forget"];
        if let Ok((_, standing)) = &self.set {
            ways = vec!["finish", "undo", "forget"];
            lines.extend(
                standing
                    .iter()
                    .take(MAX_NAMED)
                    .map(|file| format!("  {:<16}{}", word(file.state), file.path.display())),
            );
            if standing.len() > MAX_NAMED {
                lines.push(format!("  … {} more", standing.len() - MAX_NAMED));
            }
        }
        let ways: Vec<String> = ways
            .iter()
            .map(|way| format!("`cox doctor --{way}-write-set {id}`"))
            .collect();
        lines.push(format!("decide: {}", ways.join(", or ")));
        lines.join("\n")
    }

    fn summary(&self) -> String {
        let id = self.record.id;
        match &self.set {
            Err(problem) => format!("{id}: {problem}"),
            Ok((_, standing)) => {
                let new = standing
                    .iter()
                    .filter(|file| file.state == FileState::New)
                    .count();
                format!("{id}: {new} of {} file(s) were changed", standing.len())
            }
        }
    }
}

fn word(state: FileState) -> &'static str {
    match state {
        FileState::Old => "old",
        FileState::New => "new",
        FileState::Torn => "torn",
        FileState::Theirs { .. } => "changed since",
    }
}

/// Says why nothing was done, and where the old content of each file is.
fn refused(error: &RecoverError, standing: &[Standing], id: ArchiveId, mend: Mend) -> Failure {
    let mut failure = Failure::from_chain(error);
    let theirs = |file: &&Standing| matches!(file.state, FileState::Theirs { .. });
    for file in standing.iter().filter(theirs).take(MAX_NAMED) {
        if let Some(old) = &file.preimage {
            failure.message.push_str(&format!(
                "\nhint: `cox expand {old}` prints what `{}` held before the change",
                file.path.display()
            ));
        }
    }
    if let (RecoverError::Theirs(_), Some(way)) = (error, mend.way()) {
        failure.message.push_str(&format!(
            "\nhint: `cox doctor --{way}-write-set {id} --skip-changed` does the other files and leaves these as they are"
        ));
    }
    failure.message.push_str(&format!(
        "\nhint: `cox doctor --forget-write-set {id}` leaves every file as it is"
    ));
    failure
}

fn kept(archive: &Archive, bytes: &[u8]) -> std::io::Result<String> {
    let id = archive.put(bytes).map_err(std::io::Error::other)?;
    Ok(id.to_string())
}

fn image(archive: &Archive, id: &str) -> std::io::Result<Vec<u8>> {
    let id = id.parse().map_err(std::io::Error::other)?;
    archive.read(id).map_err(std::io::Error::other)
}
