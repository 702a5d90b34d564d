//! Reads a range of lines of a file of any size in bounded memory, and tells what kind of text it is.

use std::{
    fs::File,
    io::{self, Read, Seek},
};

use sha2::{Digest as _, Sha256};

use super::{
    Digest, ReadError,
    encoding::{Encoding, Signs},
    open_stamped,
};
use crate::{
    confine::Confined,
    folder::{Stamp, stamp_of},
    locate::BOM,
};

/// A regular file, open, with its beginning.
#[derive(Debug)]
pub struct Opened {
    file: File,
    stamp: Stamp,
    written: String,
    /// Its size when it was opened, in bytes.
    pub size: u64,
    /// Its first bytes, 8 KiB unless it is shorter.
    pub head: Vec<u8>,
}

/// Which lines, 1-based and inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// The first.
    pub first: u64,
    /// The last.
    pub last: u64,
}

/// How much is taken at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineLimits {
    /// Bytes of all lines.
    pub bytes: usize,
    /// Bytes of one line.
    pub line_bytes: usize,
}

/// The lines of a range, and the whole file in figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The lines.
    pub lines: Vec<ShownLine>,
    /// Lines of the file; a last one without newline counts.
    pub total: u64,
    /// The first line of the range that the limit left out.
    pub left_out_from: Option<u64>,
    /// Lines that end with CR LF.
    pub crlf: u64,
    /// Lines that end with LF alone.
    pub lf: u64,
    /// Whether the last line has a newline; true for an empty file.
    pub has_final_newline: bool,
    /// Whether it begins with the byte order mark of UTF-8, which is left out of the first line.
    pub has_bom: bool,
    /// What the file's bytes are. The lines of UTF-16 are turned into UTF-8, others are as they lie there.
    pub encoding: Encoding,
    /// Whether some of the file does not decode: no UTF-8, or half a character of UTF-16.
    pub is_broken: bool,
    /// NUL characters in the file.
    pub nuls: u64,
    /// What the file's bytes were; `None` for a file too large to be edited, or one that was not read to its end.
    pub digest: Option<Digest>,
    /// Whether reading stopped before the end of the file: what is counted is counted up to there.
    pub stopped: bool,
    /// Whether the file was changed while it was read: the lines may be of no one moment.
    pub changed: bool,
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownLine {
    /// Its 1-based number.
    pub number: u64,
    /// Its bytes without the ending.
    pub bytes: Vec<u8>,
    /// Bytes that the limit left out.
    pub cut: u64,
}

/// Bytes at the beginning by which a file is told apart.
pub const HEAD_BYTES: usize = 8 * 1024;

/// Bytes read at once.
const BUFFER: usize = 128 * 1024;

/// Bytes beyond the size at opening that are read of a file that grows meanwhile.
const MAX_GROWTH: u64 = 16 << 20;

/// Opens the regular file at a confined path and reads its beginning.
///
/// # Errors
///
/// As [`super::open`].
pub fn open_with_head(at: &Confined) -> Result<Opened, ReadError> {
    let (mut file, stamp) = open_stamped(at)?;
    let mut head = Vec::new();
    let written = at.written.clone();
    let read = (&mut file).take(HEAD_BYTES as u64).read_to_end(&mut head);
    read.map_err(|source| ReadError::Io {
        written: written.clone(),
        source,
    })?;
    Ok(Opened {
        file,
        written,
        size: stamp.size,
        stamp,
        head,
    })
}

impl Opened {
    /// Says whether the file is no text that can be changed byte by byte: a NUL in its beginning, or UTF-16.
    pub fn is_binary(&self) -> bool {
        self.head.contains(&0) || self.utf16().is_some()
    }

    /// Returns which UTF-16 the file is in, by its mark and what follows.
    pub fn utf16(&self) -> Option<Encoding> {
        Encoding::by_mark(&self.head)
    }

    /// Returns the whole file, of at most `cap` bytes.
    ///
    /// # Errors
    ///
    /// [`ReadError::TooLarge`] or [`ReadError::Io`].
    pub fn read_all(mut self, cap: u64) -> Result<Vec<u8>, ReadError> {
        let too_large = |bytes, written| ReadError::TooLarge {
            written,
            bytes,
            cap,
        };
        if self.size > cap {
            return Err(too_large(self.size, self.written));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(self.size).unwrap_or(0) + 1);
        let read = self
            .file
            .rewind()
            .and_then(|()| self.file.take(cap + 1).read_to_end(&mut bytes));
        match read {
            Ok(read) if read as u64 > cap => Err(too_large(read as u64, self.written)),
            Ok(_) => Ok(bytes),
            Err(source) => Err(ReadError::Io {
                written: self.written,
                source,
            }),
        }
    }

    /// Reads the lines of a range. Looks at the whole file, keeps only what is asked for. `stop` is asked again and again
    /// whether to leave it there: a file can claim to be larger than any disk.
    ///
    /// # Errors
    ///
    /// [`ReadError::Io`].
    pub fn read_lines(
        mut self,
        range: LineRange,
        limits: LineLimits,
        digest_up_to: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Lines, ReadError> {
        let mut scan = Scan::new(range, limits, self.size <= digest_up_to);
        let utf16 = self.utf16();
        let mut decoder = utf16.and_then(Encoding::decoder);
        let mut text = String::with_capacity(if decoder.is_some() { 3 * BUFFER } else { 0 });
        let written = self.written;
        let mut whole = || -> io::Result<bool> {
            self.file.rewind()?;
            let mut file = (&mut self.file).take(self.size.saturating_add(MAX_GROWTH));
            let mut buffer = vec![0; BUFFER];
            loop {
                if stop() {
                    return Ok(false);
                }
                let read = match file.read(&mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read?,
                };
                let bytes = &buffer[..read];
                scan.hash(bytes);
                if let Some(decoder) = &mut decoder {
                    text.clear();
                    let (_, _, is_broken) = decoder.decode_to_string(bytes, &mut text, read == 0);
                    scan.out.is_broken |= is_broken;
                    scan.take(text.as_bytes());
                } else {
                    scan.take(bytes);
                }
                if read == 0 {
                    return Ok(true);
                }
            }
        };
        let failed = |source| ReadError::Io {
            written: written.clone(),
            source,
        };
        let is_whole = whole().map_err(failed)?;
        let now = stamp_of(&self.file).map_err(failed)?;
        let mut lines = scan.finish();
        lines.changed = !now.same_content(&self.stamp);
        lines.stopped = !is_whole;
        lines.encoding = utf16.unwrap_or(lines.encoding);
        if lines.stopped {
            lines.digest = None;
        }
        Ok(lines)
    }
}

struct Scan {
    range: LineRange,
    limits: LineLimits,
    hasher: Option<Sha256>,
    signs: Signs,
    out: Lines,
    /// The line being read.
    line: ShownLine,
    kept: usize,
    /// Bytes of the line being read, kept or not.
    length: u64,
    last_byte: Option<u8>,
    at_start: bool,
}

impl Scan {
    fn new(range: LineRange, limits: LineLimits, digest: bool) -> Self {
        Self {
            range,
            limits,
            hasher: digest.then(Sha256::new),
            signs: Signs::default(),
            out: Lines::default(),
            line: ShownLine {
                number: 1,
                ..ShownLine::default()
            },
            kept: 0,
            length: 0,
            last_byte: None,
            at_start: true,
        }
    }

    fn hash(&mut self, chunk: &[u8]) {
        if let Some(hasher) = &mut self.hasher {
            hasher.update(chunk);
        }
    }

    fn take(&mut self, chunk: &[u8]) {
        if chunk.is_empty() {
            return;
        }
        self.signs.take(chunk);
        let mut rest = chunk;
        if std::mem::take(&mut self.at_start) && rest.starts_with(BOM) {
            self.out.has_bom = true;
            rest = &rest[BOM.len()..];
        }
        while let Some(newline) = memchr::memchr(b'\n', rest) {
            self.append(&rest[..newline]);
            if self.last_byte == Some(b'\r') {
                self.out.crlf += 1;
                // The ending is no part of the line, wherever it was cut.
                if self.line.cut > 0 {
                    self.line.cut -= 1;
                } else if self.line.bytes.last() == Some(&b'\r') {
                    self.line.bytes.pop();
                }
            } else {
                self.out.lf += 1;
            }
            self.end_line();
            self.last_byte = Some(b'\n');
            rest = &rest[newline + 1..];
        }
        self.append(rest);
    }

    fn append(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.last_byte = Some(*last);
        self.length += bytes.len() as u64;
        if !self.is_wanted() {
            return;
        }
        let room = (self.limits.line_bytes + 1).saturating_sub(self.line.bytes.len());
        let kept = if self.line.cut > 0 {
            0
        } else {
            room.min(bytes.len())
        };
        self.line.bytes.extend_from_slice(&bytes[..kept]);
        self.line.cut += (bytes.len() - kept) as u64;
    }

    fn is_wanted(&self) -> bool {
        (self.range.first..=self.range.last).contains(&self.line.number)
            && self.out.left_out_from.is_none()
    }

    fn end_line(&mut self) {
        let number = self.line.number;
        let next = ShownLine {
            number: number + 1,
            ..ShownLine::default()
        };
        let wanted = self.is_wanted();
        let mut line = std::mem::replace(&mut self.line, next);
        self.out.total = number;
        self.length = 0;
        self.last_byte = None;
        if !wanted {
            return;
        }
        cut_at_character(&mut line, self.limits.line_bytes);
        if self.kept + line.bytes.len() > self.limits.bytes && !self.out.lines.is_empty() {
            self.out.left_out_from = Some(number);
            return;
        }
        self.kept += line.bytes.len() + 1;
        self.out.lines.push(line);
    }

    fn finish(mut self) -> Lines {
        self.out.has_final_newline = self.length == 0;
        if self.length > 0 {
            self.end_line();
        }
        self.out.is_broken |= self.signs.is_broken();
        self.out.nuls = self.signs.nuls();
        self.out.encoding = self.signs.encoding();
        self.out.digest = self.hasher.map(|hasher| Digest(hasher.finalize().into()));
        self.out
    }
}

/// Cuts a line that is too long, not inside a character.
fn cut_at_character(line: &mut ShownLine, max: usize) {
    if line.bytes.len() <= max {
        return;
    }
    let mut end = max;
    while end > max.saturating_sub(4) && line.bytes[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    line.cut += (line.bytes.len() - end) as u64;
    line.bytes.truncate(end);
}
