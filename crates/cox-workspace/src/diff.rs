//! The change of a file as a unified diff for people, within a deadline.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Time for one diff; what is not compared by then is shown as replaced.
const MAX_TIME: Duration = Duration::from_millis(500);

/// Bytes of both sides over which only sizes are told.
const MAX_BYTES: usize = 32 << 20;

/// Returns the unified diff from `old` to `new`; `None` is a file that does not exist. Empty when nothing changed.
///
/// Bytes that are not UTF-8 show as `�`. A diff that would take too long is coarse or only tells the sizes.
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
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let diff = similar::TextDiff::configure()
        .deadline(Instant::now() + MAX_TIME)
        .diff_lines(&*old, &*new);
    let _ = write!(
        out,
        "{}",
        diff.unified_diff()
            .context_radius(CONTEXT)
            .header(&before, &after)
    );
    out
}
