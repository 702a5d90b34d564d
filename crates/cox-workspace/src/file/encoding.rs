//! Which encoding a file's text is in, and its way to UTF-8.
//!
//! A byte order mark tells UTF-16. What has none and is not UTF-8 is taken for Windows-1252, which has Latin-1 in it, only
//! where it looks like words of a Latin alphabet; that is a guess, and whoever shows such text says so.

use std::borrow::Cow;

use encoding_rs::{Decoder, EncoderResult, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// How the bytes of a text are to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, or what cannot be told: bytes that do not decode become U+FFFD.
    #[default]
    Utf8,
    /// UTF-16 with a byte order mark, the low byte first.
    Utf16Le,
    /// UTF-16 with a byte order mark, the high byte first.
    Utf16Be,
    /// Windows-1252, as a guess.
    Windows1252,
}

impl Encoding {
    /// Returns its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le => "UTF-16 LE",
            Self::Utf16Be => "UTF-16 BE",
            Self::Windows1252 => "Windows-1252",
        }
    }

    /// Tells UTF-16 by the beginning of a file: its mark, and text behind it.
    pub(crate) fn by_mark(head: &[u8]) -> Option<Self> {
        let (found, encoding) = match head {
            // The mark of UTF-32 begins alike.
            [0xFF, 0xFE, 0, 0, ..] => return None,
            [0xFF, 0xFE, ..] => (Self::Utf16Le, UTF_16LE),
            [0xFE, 0xFF, ..] => (Self::Utf16Be, UTF_16BE),
            _ => return None,
        };
        let mut text = String::with_capacity(3 * head.len());
        let mut decoder = encoding.new_decoder_with_bom_removal();
        let (_, _, is_broken) = decoder.decode_to_string(head, &mut text, false);
        (!is_broken && !text.contains('\0')).then_some(found)
    }

    pub(crate) fn decoder(self) -> Option<Decoder> {
        match self {
            Self::Utf8 | Self::Windows1252 => None,
            Self::Utf16Le => Some(UTF_16LE.new_decoder_with_bom_removal()),
            Self::Utf16Be => Some(UTF_16BE.new_decoder_with_bom_removal()),
        }
    }
}

/// Returns a whole text as UTF-8 without its byte order mark, and the encoding it was in.
pub fn decode(bytes: &[u8]) -> (Cow<'_, str>, Encoding) {
    let head = &bytes[..bytes.len().min(super::HEAD_BYTES)];
    let encoding = Encoding::by_mark(head).unwrap_or_else(|| {
        let mut signs = Signs::default();
        signs.take(bytes);
        signs.encoding()
    });
    let text = match encoding {
        Encoding::Utf8 => {
            String::from_utf8_lossy(bytes.strip_prefix(crate::locate::BOM).unwrap_or(bytes))
        }
        Encoding::Windows1252 => WINDOWS_1252.decode_without_bom_handling(bytes).0,
        Encoding::Utf16Le => UTF_16LE.decode_with_bom_removal(bytes).0,
        Encoding::Utf16Be => UTF_16BE.decode_with_bom_removal(bytes).0,
    };
    (text, encoding)
}

/// What text that is put into a file has to be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrittenIn {
    /// UTF-8, which a few broken bytes do not change.
    Utf8,
    /// Windows-1252, as a guess.
    Windows1252,
    /// Not UTF-8, and nobody can tell what else.
    Unknown,
}

/// Tells what text that is put into a file without NUL bytes has to be written in.
pub(crate) fn written_in(bytes: &[u8]) -> WrittenIn {
    if std::str::from_utf8(bytes).is_ok() {
        return WrittenIn::Utf8;
    }
    let mut signs = Signs::default();
    signs.take(bytes);
    if signs.encoding() == Encoding::Windows1252 {
        WrittenIn::Windows1252
    } else if signs.characters >= signs.strange {
        WrittenIn::Utf8
    } else {
        WrittenIn::Unknown
    }
}

/// Returns a text of Windows-1252 as UTF-8. [`to_windows_1252`] gives the same bytes back, whatever they are.
pub(crate) fn from_windows_1252(bytes: &[u8]) -> Cow<'_, str> {
    WINDOWS_1252.decode_without_bom_handling(bytes).0
}

/// Returns a text in Windows-1252; the first character that it does not have, else.
pub(crate) fn to_windows_1252(text: &str) -> Result<Vec<u8>, char> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut encoder = WINDOWS_1252.new_encoder();
    let mut rest = text;
    let mut buffer = [0; 4096];
    loop {
        let (result, read, written) =
            encoder.encode_from_utf8_without_replacement(rest, &mut buffer, true);
        bytes.extend_from_slice(&buffer[..written]);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return Ok(bytes),
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(char) => return Err(char),
        }
    }
}

/// Returns one line as text. Lines of UTF-16 are UTF-8 already.
pub fn decode_line(bytes: &[u8], encoding: Encoding) -> Cow<'_, str> {
    match encoding {
        Encoding::Windows1252 => WINDOWS_1252.decode_without_bom_handling(bytes).0,
        Encoding::Utf8 | Encoding::Utf16Le | Encoding::Utf16Be => String::from_utf8_lossy(bytes),
    }
}

/// What is gathered of a text's bytes to tell what they are.
#[derive(Debug, Default)]
pub(crate) struct Signs {
    /// The beginning of a character that the last chunk broke off in.
    open: Vec<u8>,
    /// Characters of several bytes that are UTF-8.
    characters: u64,
    /// Bytes that are not.
    strange: u64,
    ascii: u64,
    /// Strange bytes in a row, now and at most.
    run: usize,
    longest_run: usize,
    /// Whether there are bytes that Windows-1252 has no character for.
    has_undefined: bool,
    nuls: u64,
}

impl Signs {
    pub(crate) fn take(&mut self, chunk: &[u8]) {
        self.nuls += memchr::memchr_iter(0, chunk).count() as u64;
        if self.open.is_empty() && chunk.is_ascii() {
            self.ascii += chunk.len() as u64;
            self.run = 0;
            return;
        }
        let mut bytes = std::mem::take(&mut self.open);
        bytes.extend_from_slice(chunk);
        let mut seen = 0;
        for part in bytes.utf8_chunks() {
            self.count_valid(part.valid());
            seen += part.valid().len() + part.invalid().len();
            // The last character may only be cut off.
            let is_open = seen == bytes.len()
                && std::str::from_utf8(part.invalid())
                    .is_err_and(|error| error.error_len().is_none());
            if is_open {
                self.open = part.invalid().to_vec();
            } else {
                self.count_strange(part.invalid());
            }
        }
    }

    fn count_valid(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let first_bytes = text.bytes().filter(|byte| byte & 0xC0 != 0x80).count() as u64;
        let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
        self.ascii += ascii;
        self.characters += first_bytes - ascii;
        self.run = 0;
    }

    fn count_strange(&mut self, bytes: &[u8]) {
        self.strange += bytes.len() as u64;
        self.run += bytes.len();
        self.longest_run = self.longest_run.max(self.run);
        self.has_undefined |= bytes
            .iter()
            .any(|byte| matches!(byte, 0x81 | 0x8D | 0x8F | 0x90 | 0x9D));
    }

    /// NUL bytes.
    pub(crate) fn nuls(&self) -> u64 {
        self.nuls
    }

    /// Whether some bytes are not UTF-8.
    pub(crate) fn is_broken(&self) -> bool {
        self.strange > 0 || !self.open.is_empty()
    }

    /// Says what was seen. Letters with accents stand alone among plain ones; other alphabets fill words with high bytes.
    pub(crate) fn encoding(&mut self) -> Encoding {
        let open = std::mem::take(&mut self.open);
        self.count_strange(&open);
        let is_latin = self.strange > 0
            && self.characters == 0
            && !self.has_undefined
            && self.nuls == 0
            && self.longest_run <= 3
            && self.strange * 2 <= self.ascii;
        if is_latin {
            Encoding::Windows1252
        } else {
            Encoding::Utf8
        }
    }
}
