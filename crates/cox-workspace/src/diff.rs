//! The change of a file as a unified diff for people, within a deadline.

pub mod words;

use std::{
    borrow::Cow,
    fmt::Write as _,
    time::{Duration, Instant},
};

use crate::{file::encoding::decode, in_words::counted};

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Time for one diff; what is not compared by then is shown as replaced.
const MAX_TIME: Duration = Duration::from_millis(500);

/// Bytes of both sides over which only sizes are told.
const MAX_BYTES: usize = 32 << 20;

/// Bytes shown of one line.
const MAX_LINE: usize = 2000;

/// Bytes of a whole diff.
const MAX_SHOWN: usize = 512 << 10;

/// Returns the unified diff from `old` to `new`; `None` is a file that does not exist. Empty when nothing changed.
///
/// Text in another encoding is shown as `read` shows it; bytes that are no text show as `�`. A diff that would take too long is coarse or only tells the sizes.
pub fn unified(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
    moved(path, old, path, new)
}

/// Returns the unified diff of a file that was renamed from `from` to `to`.
pub fn moved(from: &str, old: Option<&[u8]>, to: &str, new: Option<&[u8]>) -> String {
    if from == to && old == new {
        return String::new();
    }
    let name = |path: &str, side: char, bytes: Option<&[u8]>| match bytes {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (before, after) = (name(from, 'a', old), name(to, 'b', new));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let mut out = String::new();
    if from != to {
        let _ = writeln!(out, "rename from {from}\nrename to {to}");
    }
    if old == new {
        return out;
    }
    if old.len() + new.len() > MAX_BYTES {
        let _ = writeln!(
            out,
            "--- {before}\n+++ {after}\n(too large for a diff: {} bytes became {} bytes)",
            old.len(),
            new.len()
        );
        return out;
    }
    let (old, new) = (shown(old), shown(new));
    let diff = similar::TextDiff::configure()
        .deadline(Instant::now() + MAX_TIME)
        .diff_lines(&*old, &*new);
    let whole = diff
        .unified_diff()
        .context_radius(CONTEXT)
        .header(&before, &after)
        .to_string();
    shorten(&mut out, &whole);
    out
}

/// The text of one side. A byte order mark stays, so that a change of it is seen.
fn shown(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => decode(bytes).0,
    }
}

/// Appends a diff; cuts lines and a whole that no one reads, and says so.
fn shorten(out: &mut String, diff: &str) {
    let mut rest = diff;
    while let Some(end) = rest.find('\n') {
        if out.len() > MAX_SHOWN {
            let left_out = counted(rest.lines().count(), "line");
            let _ = writeln!(out, "(the diff goes on for {left_out})");
            return;
        }
        let line = &rest[..end];
        let shown = line.floor_char_boundary(MAX_LINE);
        out.push_str(&line[..shown]);
        if shown < line.len() {
            let _ = write!(out, " … ({} bytes more)", line.len() - shown);
        }
        out.push('\n');
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_three_lines_around_it() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        assert_eq!(
            unified(
                "f",
                Some(old.as_bytes()),
                Some(old.replace('5', "five").as_bytes())
            ),
            "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        );
        assert_eq!(
            unified("f", None, Some(b"x")),
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
        );
        assert_eq!(
            moved("f", Some(b"x\n"), "g", Some(b"x\n")),
            "rename from f\nrename to g\n"
        );
        assert_eq!(unified("f", Some(b"x"), Some(b"x")), "");
        assert_eq!(
            unified("f", Some(b"caf\xE9 noir\n"), Some(b"th\xE9 noir\n")),
            "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-café noir\n+thé noir\n"
        );
    }

    #[test]
    fn what_no_one_reads_is_cut_and_says_so() {
        let wide = "é".repeat(5000);
        let diff = unified("f", Some(b""), Some(wide.as_bytes()));
        assert!(diff.contains("é … (8002 bytes more)\n"), "{}", diff.len());
        let long = "a line of text\n".repeat(100_000);
        let diff = unified("f", Some(b""), Some(long.as_bytes()));
        assert!(diff.len() < 600_000);
        assert!(diff.ends_with(" lines)\n"));
        let huge = vec![b'x'; MAX_BYTES + 1];
        assert!(
            unified("f", Some(b""), Some(&huge)).contains("too large for a diff: 0 bytes became")
        );
    }

    #[test]
    fn two_files_without_a_common_line_are_compared_in_time() {
        let side = |seed: usize| -> String {
            (0..60_000)
                .map(|line| format!("{}\n", (line * 7919 + seed) % 50_021))
                .collect()
        };
        let start = Instant::now();
        let diff = unified("f", Some(side(1).as_bytes()), Some(side(2).as_bytes()));
        assert!(!diff.is_empty());
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?}",
            start.elapsed()
        );
    }
}
