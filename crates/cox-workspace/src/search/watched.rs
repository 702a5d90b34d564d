//! Searching one file under watch: between two pieces of it, and before each use of the pattern, somebody may say stop.
//!
//! One use of a pattern on one piece cannot be interrupted. Lines are searched in pieces of 64 KiB, but a line may be
//! longer, and a search across lines takes a whole file as one piece; so a pattern is timed on the beginning of a piece,
//! and the piece is left when the rest of it would take longer than there is time.

use std::{
    cell::Cell,
    fmt,
    fs::File,
    io::{self, Read},
    path::Path,
    time::Instant,
};

use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher, NoCaptures, NoError};
use grep_regex::RegexMatcher;

use super::Bounds;

/// Bytes that a pattern is timed on: first a few, which even the slowest gets through, then more.
const PROBES: [usize; 2] = [1024, 64 * 1024];

/// The search was told to stop, or would take too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the search was stopped")
    }
}

/// Opens a file that the walk found to be a regular one; a link or a FIFO that took its place since is not followed and not
/// waited for.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is no regular file any more"))
    }
}

/// A file, or a pattern, that stops when the bounds say so.
pub(super) struct Watched<'a, T> {
    inner: T,
    bounds: &'a Bounds<'a>,
    /// Where the piece ends that the pattern was timed on last.
    timed: Cell<usize>,
    /// Whether it did stop.
    pub(super) stopped: Cell<bool>,
}

impl<'a, T> Watched<'a, T> {
    pub(super) fn new(inner: T, bounds: &'a Bounds<'a>) -> Self {
        Self {
            inner,
            bounds,
            timed: Cell::new(0),
            stopped: Cell::new(false),
        }
    }

    fn check(&self) -> Result<(), Stopped> {
        if self.bounds.says_stop() {
            return Err(self.stop());
        }
        Ok(())
    }

    fn stop(&self) -> Stopped {
        self.stopped.set(true);
        Stopped
    }
}

impl<T: Read> Read for Watched<'_, T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check()
            .map_err(|stopped| io::Error::other(stopped.to_string()))?;
        self.inner.read(buffer)
    }
}

impl Watched<'_, RegexMatcher> {
    /// Says stop, also when the pattern is too slow for what is left of the piece.
    fn before(&self, piece: &[u8], at: usize) -> Result<(), Stopped> {
        self.check()?;
        let end = piece.as_ptr_range().end as usize;
        if self.timed.replace(end) == end {
            return Ok(());
        }
        let rest = &piece[at..];
        for probe in PROBES {
            if rest.len() <= 2 * probe {
                return Ok(());
            }
            let started = Instant::now();
            let _found = self.inner.is_match(&rest[..probe]);
            let whole = started
                .elapsed()
                .saturating_mul(u32::try_from(rest.len() / probe).unwrap_or(u32::MAX));
            if Instant::now() + whole > self.bounds.deadline {
                return Err(self.stop());
            }
        }
        self.check()
    }
}

/// The pattern itself cannot fail.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is given to `map_err`, which hands over the error"
)]
fn never(error: NoError) -> Stopped {
    debug_assert!(false, "{error}");
    Stopped
}

impl Matcher for Watched<'_, RegexMatcher> {
    type Captures = NoCaptures;
    type Error = Stopped;

    fn find_at(&self, piece: &[u8], at: usize) -> Result<Option<Match>, Stopped> {
        self.before(piece, at)?;
        self.inner.find_at(piece, at).map_err(never)
    }

    fn new_captures(&self) -> Result<NoCaptures, Stopped> {
        Ok(NoCaptures::new())
    }

    fn shortest_match_at(&self, piece: &[u8], at: usize) -> Result<Option<usize>, Stopped> {
        self.before(piece, at)?;
        self.inner.shortest_match_at(piece, at).map_err(never)
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        self.inner.non_matching_bytes()
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.inner.line_terminator()
    }

    fn find_candidate_line(&self, piece: &[u8]) -> Result<Option<LineMatchKind>, Stopped> {
        self.before(piece, 0)?;
        self.inner.find_candidate_line(piece).map_err(never)
    }
}
