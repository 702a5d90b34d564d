//! Changes in a file that is not UTF-8: computed on its text as UTF-8, and put back into its encoding.
//!
//! Windows-1252 has one byte for each character, and each byte is a character, so that what is not changed comes back as
//! it was.

use std::borrow::Cow;

use crate::{
    file::encoding::{WrittenIn, from_windows_1252, to_windows_1252, written_in},
    splice::Place,
};

/// Why a text cannot be put into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    /// The file's encoding has no such character.
    #[error(
        "the file looks like Windows-1252, which has no `{0}` (U+{code:04X}), and UTF-8 would not fit the rest of it\nhint: write it in other characters, or turn the whole file into UTF-8 with `iconv` in `bash` first",
        code = u32::from(*.0)
    )]
    NotInWindows1252(char),
    /// The file is not UTF-8.
    #[error(
        "the file is not UTF-8 and its encoding cannot be told, so `{0}` (U+{code:04X}) cannot be written into it; ASCII can\nhint: find its encoding out with `file` in `bash`, and turn the whole file into UTF-8 with `iconv` first",
        code = u32::from(*.0)
    )]
    Unknown(char),
}

/// A file as changes are computed on it.
#[derive(Debug)]
pub(crate) struct Recoded<'a> {
    bytes: Cow<'a, [u8]>,
    written_in: WrittenIn,
}

impl<'a> Recoded<'a> {
    /// Makes the bytes of a file ready for changes.
    pub(crate) fn new(content: &'a [u8]) -> Self {
        let written_in = written_in(content);
        let bytes = match written_in {
            WrittenIn::Utf8 | WrittenIn::Unknown => Cow::Borrowed(content),
            WrittenIn::Windows1252 => match from_windows_1252(content) {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
        };
        Self { bytes, written_in }
    }

    /// Returns the bytes that a change is computed on.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns a changed file, and its places in it, as they are to be written.
    ///
    /// # Errors
    ///
    /// [`Unwritable`] when a new text has a character that cannot be written.
    pub(crate) fn back(
        &self,
        changed: Vec<u8>,
        mut places: Vec<Place>,
    ) -> Result<(Vec<u8>, Vec<Place>), Unwritable> {
        match self.written_in {
            WrittenIn::Utf8 => Ok((changed, places)),
            WrittenIn::Unknown => {
                // Text of the file that a change keeps is no new text.
                let strange = places.iter().find_map(|place| {
                    let old = self.bytes.get(place.old.clone()).unwrap_or_default();
                    let new = changed.get(place.new.clone()).unwrap_or_default();
                    String::from_utf8_lossy(new).chars().find(|char| {
                        !char.is_ascii() && !String::from_utf8_lossy(old).contains(*char)
                    })
                });
                match strange {
                    Some(char) => Err(Unwritable::Unknown(char)),
                    None => Ok((changed, places)),
                }
            }
            WrittenIn::Windows1252 => {
                let text = String::from_utf8_lossy(&changed);
                let bytes = to_windows_1252(&text).map_err(Unwritable::NotInWindows1252)?;
                // One byte a character.
                let (mut old, mut new) = (Offsets::new(&self.bytes), Offsets::new(&changed));
                for place in &mut places {
                    place.old = old.of(place.old.start)..old.of(place.old.end);
                    place.new = new.of(place.new.start)..new.of(place.new.end);
                }
                Ok((bytes, places))
            }
        }
    }
}

/// Turns byte offsets of UTF-8, in ascending order, into counts of characters.
struct Offsets<'t> {
    text: &'t [u8],
    at: usize,
    characters: usize,
}

impl<'t> Offsets<'t> {
    fn new(text: &'t [u8]) -> Self {
        Self {
            text,
            at: 0,
            characters: 0,
        }
    }

    fn of(&mut self, offset: usize) -> usize {
        let passed = self.text.get(self.at..offset).unwrap_or_default();
        self.characters += passed.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        self.at = self.at.max(offset);
        self.characters
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::edit::edit;

    proptest! {
        #[test]
        fn every_byte_outside_the_change_stays_in_any_encoding(
            before in prop::collection::vec(prop_oneof![8 => 0x20..0x7fu8, 1 => 0x80..=0xffu8], 0..40),
            after in prop::collection::vec(prop_oneof![8 => 0x20..0x7fu8, 1 => 0x80..=0xffu8], 0..40),
            new in "[a-z€é日]{0,4}",
        ) {
            let file = [&before, &b"\x02old\x02"[..], &after].concat();
            let Ok(edited) = edit(&file, "\x02old\x02", &new, false) else {
                prop_assert!(!new.is_ascii());
                return Ok(());
            };
            let place = &edited.places[0];
            prop_assert_eq!(&file[place.old.clone()], b"\x02old\x02");
            prop_assert_eq!(&edited.bytes[..place.new.start], &before);
            prop_assert_eq!(&edited.bytes[place.new.end..], &after);
            if new.is_ascii() {
                prop_assert_eq!(&edited.bytes[place.new.clone()], new.as_bytes());
            }
        }
    }

    #[test]
    fn all_bytes_come_back_from_windows_1252() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(to_windows_1252(&from_windows_1252(&all)), Ok(all));
    }
}
