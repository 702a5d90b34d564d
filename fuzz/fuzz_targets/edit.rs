//! Replaces any text in any bytes.
//!
//! Every byte outside the replaced places stays; an exact match is what a plain search finds, no more and no less; old
//! text that comes again in the new one is the file's, whatever was forgiven to find it.
#![no_main]

use std::ops::Range;

use cox_workspace::edit::{EditError, Edited, Strictness, edit};
use libfuzzer_sys::fuzz_target;

// Four option bytes, then the new text and the file, parted by a NUL byte. The old text stands between them as a third
// part, or is cut out of the file, as a model would write it.
fuzz_target!(|data: &[u8]| {
    let Some(([flags, from, to, forgiven], rest)) = data.split_first_chunk() else {
        return;
    };
    let (all, is_cut) = (flags & 1 != 0, flags & 2 != 0);
    let mut parts = rest.splitn(if is_cut { 2 } else { 3 }, |byte| *byte == 0);
    let Some(new) = parts.next() else { return };
    let new = String::from_utf8_lossy(new);
    let (old, file) = if is_cut {
        let Some(file) = parts.next() else { return };
        (cut(file, *from, *to, *forgiven), file)
    } else {
        let (Some(old), Some(file)) = (parts.next(), parts.next()) else {
            return;
        };
        (String::from_utf8_lossy(old).into_owned(), file)
    };
    match edit(file, &old, &new, all) {
        Ok(edited) => {
            assert!(all || edited.places.len() == 1);
            assert_ne!(edited.bytes, file);
            the_rest_stays(file, &edited);
            lines_are_counted(&edited);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    agrees_with_a_plain_search(file, &old, &new, all);
    an_old_text_that_stays_is_the_files(file, &old);
});

/// Some lines of the file as a model would write them: decoded, and some forgivable things otherwise.
fn cut(file: &[u8], from: u8, to: u8, forgiven: u8) -> String {
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let first = usize::from(from).min(lines.len());
    let last = (first + usize::from(to % 8)).min(lines.len());
    let mut text = String::from_utf8_lossy(&lines[first..last].concat()).into_owned();
    if forgiven & 1 != 0 {
        text = lines_with(&text, str::trim_end);
    }
    if forgiven & 2 != 0 {
        text = lines_with(&text, str::trim_start);
    }
    if forgiven & 4 != 0 {
        text = text
            .replace(['\u{201C}', '\u{201D}'], "\"")
            .replace('\u{2014}', "-");
    }
    if forgiven & 8 != 0 {
        text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
    }
    text
}

fn lines_with(text: &str, change: impl Fn(&str) -> &str) -> String {
    text.split('\n').map(change).collect::<Vec<_>>().join("\n")
}

fn the_rest_stays(file: &[u8], edited: &Edited) {
    let (mut before, mut after) = (0, 0);
    for place in &edited.places {
        assert_eq!(
            &file[before..place.old.start],
            &edited.bytes[after..place.new.start]
        );
        before = place.old.end;
        after = place.new.end;
    }
    assert_eq!(&file[before..], &edited.bytes[after..]);
}

fn lines_are_counted(edited: &Edited) {
    let newlines = |range: Range<usize>| {
        let bytes = edited.bytes[range].iter();
        bytes.filter(|byte| **byte == b'\n').count()
    };
    for place in &edited.places {
        assert_eq!(place.first_line, 1 + newlines(0..place.new.start));
        assert!(place.last_line + 1 >= place.first_line);
        assert!(place.last_line <= 1 + newlines(0..place.new.end));
    }
}

/// A search that knows nothing of lines: whatever it finds is found, and replaced as it stands there.
fn agrees_with_a_plain_search(file: &[u8], old: &str, new: &str, all: bool) {
    if old.is_empty() || old == new {
        return;
    }
    // In a file of another encoding they are looked for, and written, in that one.
    if std::str::from_utf8(file).is_err() && !(old.is_ascii() && new.is_ascii()) {
        return;
    }
    let stands_at = |at: &usize| file[*at..].starts_with(old.as_bytes());
    let places: Vec<usize> = (0..file.len()).filter(stands_at).collect();
    match (edit(file, old, new, all), places.as_slice()) {
        (Ok(edited), []) => assert_ne!(edited.strictness, Strictness::Exact),
        (Ok(edited), [..]) if all => assert_eq!(edited.strictness, Strictness::Exact),
        (Ok(edited), [at]) => {
            assert_eq!(edited.strictness, Strictness::Exact);
            assert_eq!(edited.places[0].old, *at..*at + old.len());
            // New lines take the ending of the lines around them, so the new text is only the same without any.
            if !new.contains('\n') {
                let whole = [&file[..*at], new.as_bytes(), &file[*at + old.len()..]].concat();
                assert_eq!(edited.bytes, whole);
            }
        }
        (Err(EditError::Ambiguous { .. }), []) => {}
        (Err(EditError::Ambiguous { strictness, .. }), [_, _, ..]) if !all => {
            assert_eq!(strictness, Strictness::Exact);
        }
        (Err(EditError::NotFound { .. } | EditError::Same), []) => {}
        (outcome, places) => panic!("{outcome:?} for {places:?}"),
    }
}

fn an_old_text_that_stays_is_the_files(file: &[u8], old: &str) {
    const MARK: &str = "\u{1}";
    if old.trim().is_empty() || old.contains(MARK) || file.contains(&1) {
        return;
    }
    // At the end of the last line: behind its newline it would be a further line.
    let (line, newline) = match old.strip_suffix('\n') {
        Some(line) => (line, "\n"),
        None => (old, ""),
    };
    // White space before the mark would stand within the line.
    if line.ends_with(char::is_whitespace) {
        return;
    }
    let Ok(mut edited) = edit(file, old, &format!("{line}{MARK}{newline}"), false) else {
        return;
    };
    edited.bytes.retain(|byte| *byte != 1);
    assert_eq!(
        String::from_utf8_lossy(&edited.bytes),
        String::from_utf8_lossy(file),
        "{:?}",
        edited.strictness
    );
}
