//! Reads any text as a patch and applies it to any bytes.
//!
//! What is read can be written again and reads the same; what is applied keeps every byte outside its places; the diff
//! that is shown of a change makes the same change.
#![no_main]

use std::fmt::Write as _;

use cox_workspace::{
    diff,
    patch::{Action, Hunk, HunkLine, Patch, apply},
};
use libfuzzer_sys::fuzz_target;

// The patch, and the file after the first NUL byte.
fuzz_target!(|data: &[u8]| {
    let (patch, file) = match data.iter().position(|byte| *byte == 0) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &b"a\nb\r\na\n"[..]),
    };
    let text = String::from_utf8_lossy(patch);
    let patch = match Patch::parse(&text) {
        Ok(patch) => patch,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    reads_the_same_again(&patch);
    for operation in &patch.operations {
        let Action::Update { hunks, .. } = &operation.action else {
            continue;
        };
        match apply(file, hunks) {
            Ok(patched) => {
                let (mut before, mut after) = (0, 0);
                for place in &patched.places {
                    assert_eq!(
                        &file[before..place.old.start],
                        &patched.bytes[after..place.new.start]
                    );
                    before = place.old.end;
                    after = place.new.end;
                }
                assert_eq!(&file[before..], &patched.bytes[after..]);
                the_diff_makes_the_change(file, &patched.bytes);
                the_reverse_undoes(file, hunks, &patched.bytes);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

/// Writes a patch as V4A and reads it back: only the line numbers may differ.
fn reads_the_same_again(patch: &Patch) {
    let Some(written) = v4a(patch) else {
        return;
    };
    let again = match Patch::parse(&written) {
        Ok(again) => again,
        Err(error) => panic!("{error}\n{patch:?}\n{written}"),
    };
    let (told, again) = (without_lines(patch), without_lines(&again));
    assert_eq!(told, again, "{written}");
}

/// What V4A can say of each file: its path, its content or new place, and the hunks.
fn without_lines(patch: &Patch) -> Vec<(&str, Option<&str>, Vec<Hunk>)> {
    let mut files = Vec::new();
    for operation in &patch.operations {
        let (text, hunks) = match &operation.action {
            Action::Add { content, .. } => (Some(content.as_str()), Vec::new()),
            Action::Delete { .. } => (None, Vec::new()),
            Action::Update { move_to, hunks } => (move_to.as_deref(), hunks.clone()),
        };
        let unnumbered = |hunk: Hunk| Hunk { line: 0, ..hunk };
        let hunks = hunks.into_iter().map(unnumbered).collect();
        files.push((operation.path.as_str(), text, hunks));
    }
    files
}

/// The patch in the V4A grammar; none if that cannot say it.
fn v4a(patch: &Patch) -> Option<String> {
    let mut out = String::from("*** Begin Patch\r\n");
    for operation in &patch.operations {
        let path = plain(&operation.path)?;
        match &operation.action {
            Action::Add { content, .. } => {
                if !content.is_empty() && !content.ends_with('\n') {
                    return None;
                }
                let _ = write!(out, "*** Add File: {path}\r\n");
                for line in content.split_terminator('\n') {
                    let _ = write!(out, "+{line}\r\n");
                }
            }
            Action::Delete { .. } => {
                let _ = write!(out, "*** Delete File: {path}\r\n");
            }
            Action::Update { move_to, hunks } => {
                let _ = write!(out, "*** Update File: {path}\r\n");
                if let Some(to) = move_to {
                    let _ = write!(out, "*** Move to: {}\r\n", plain(to)?);
                }
                let changes = |hunk: &Hunk| {
                    hunk.lines
                        .iter()
                        .any(|line| !matches!(line, HunkLine::Keep(_)))
                };
                // A file without a line end at its end is a word of unified diffs alone.
                let bare = |hunk: &Hunk| hunk.old_ends_bare || hunk.new_ends_bare;
                if hunks.iter().any(|hunk| hunk.lines.is_empty() || bare(hunk))
                    || (move_to.is_none() && !hunks.iter().any(changes))
                {
                    return None;
                }
                for hunk in hunks {
                    write_hunk(&mut out, hunk)?;
                }
            }
        }
    }
    out.push_str("*** End Patch\r\n");
    Some(out)
}

/// Every line ends with `\r\n`, so that a carriage return of its own before that one is kept.
fn write_hunk(out: &mut String, hunk: &Hunk) -> Option<()> {
    let number = hunk
        .old_start
        .map_or(String::new(), |start| format!(" -{start} +{start} @@"));
    // A header that looks like the number of one is told apart by its stars alone, which are gone.
    let odd = |header: &String| header.contains("@@");
    if hunk.headers.iter().any(odd) {
        return None;
    }
    if hunk.headers.is_empty() {
        let _ = write!(out, "@@{number}\r\n");
    }
    for header in &hunk.headers {
        let _ = write!(out, "@@{number} {header}\r\n");
    }
    for line in &hunk.lines {
        let _ = match line {
            HunkLine::Keep(text) => write!(out, " {text}\r\n"),
            HunkLine::Remove(text) => write!(out, "-{text}\r\n"),
            HunkLine::Add(text) => write!(out, "+{text}\r\n"),
        };
    }
    if hunk.at_end {
        out.push_str("*** End of File\r\n");
    }
    Some(())
}

/// A path that a marker can hold as it is.
fn plain(path: &str) -> Option<&str> {
    let is_plain = !path.is_empty()
        && !path.contains(['\n', '\r'])
        && path == path.trim()
        && !path.ends_with('*')
        && !path.starts_with('`')
        && !path.ends_with('`');
    is_plain.then_some(path)
}

/// Text that line-wise rules have nothing to forgive in: no carriage return, no byte order mark, a final newline.
fn is_ordinary(file: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(file) else {
        return false;
    };
    text.ends_with('\n')
        && !text.contains(['\r', '\u{FEFF}'])
        && text.lines().all(|line| line.len() < 1000)
}

/// A person sees a diff of what was changed, and a model may be given it: it has to be the change.
fn the_diff_makes_the_change(old: &[u8], new: &[u8]) {
    if old == new || old.len() > 10_000 || !is_ordinary(old) || !is_ordinary(new) {
        return;
    }
    let shown = diff::unified("f", Some(old), Some(new));
    let patch = Patch::parse(&shown).unwrap_or_else(|error| panic!("{error}\n{shown}"));
    let [operation] = patch.operations.as_slice() else {
        panic!("one file: {patch:?}");
    };
    let Action::Update { hunks, .. } = &operation.action else {
        panic!("an update: {patch:?}");
    };
    let patched = apply(old, hunks).unwrap_or_else(|error| panic!("{error}\n{shown}"));
    assert_eq!(
        String::from_utf8_lossy(&patched.bytes),
        String::from_utf8_lossy(new),
        "{shown}"
    );
}

/// One hunk with a kept line, read backwards, gives back the file, where its lines stand only once.
fn the_reverse_undoes(old: &[u8], hunks: &[Hunk], new: &[u8]) {
    let [hunk] = hunks else {
        return;
    };
    let is_kept = |line: &HunkLine| matches!(line, HunkLine::Keep(_));
    if !hunk.lines.iter().any(is_kept) || !is_ordinary(old) || !is_ordinary(new) {
        return;
    }
    let lines = hunk.lines.iter().cloned().map(|line| match line {
        HunkLine::Add(text) => HunkLine::Remove(text),
        HunkLine::Remove(text) => HunkLine::Add(text),
        kept => kept,
    });
    // Without a hint it fits in one place or in none.
    let back = Hunk {
        lines: lines.collect(),
        ..Hunk::default()
    };
    let strict = |content: &[u8], hunk: &Hunk| {
        apply(content, std::slice::from_ref(hunk))
            .ok()
            .filter(|patched| patched.strictness == cox_workspace::edit::Strictness::Exact)
    };
    if strict(old, hunk).is_none() {
        return;
    }
    if let Some(back) = strict(new, &back) {
        assert_eq!(
            String::from_utf8_lossy(&back.bytes),
            String::from_utf8_lossy(old)
        );
    }
}
