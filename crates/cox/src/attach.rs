//! Images that go with a prompt: read and checked before anything is sent.

use std::{fs::File, io::Read as _, path::Path};

use base64::Engine as _;
use cox_protocol::ImageAttachment;

use crate::exit::Failure;

/// Largest image, in bytes before base64: 5,000,000 characters once encoded, the smallest per-image limit that a
/// supported provider documents.
pub(crate) const MAX_IMAGE_BYTES: u64 = 3_750_000;

/// Reads an image. Its type is told by its first bytes, not by its name.
///
/// # Errors
///
/// A usage failure that names the file when it cannot be read, is too large, or is no PNG, JPEG, GIF or WebP.
pub(crate) fn read_image(path: &Path) -> Result<ImageAttachment, Failure> {
    let shown = path.display();
    let unreadable =
        |error: std::io::Error| Failure::usage(format!("cannot read the image {shown}: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(Failure::usage(format!("the image {shown} is not a file")));
    }
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large from one that just fits.
    file.take(MAX_IMAGE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_IMAGE_BYTES {
        return Err(Failure::usage(format!(
            "the image {shown} is larger than {MAX_IMAGE_BYTES} bytes\nhint: make it smaller"
        )));
    }
    let Some(media_type) = media_type(&bytes) else {
        return Err(Failure::usage(format!(
            "the image {shown} is no PNG, JPEG, GIF or WebP"
        )));
    };
    Ok(ImageAttachment {
        media_type: media_type.to_owned(),
        base64: base64::engine::general_purpose::STANDARD.encode(&bytes),
    })
}

/// Returns the media type of an image by its magic bytes.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_an_image_is_told_by_its_first_bytes() {
        #[track_caller]
        fn check(bytes: &[u8], expect: Option<&str>) {
            assert_eq!(media_type(bytes), expect);
        }
        check(b"\x89PNG\r\n\x1a\n....", Some("image/png"));
        check(b"\xff\xd8\xff\xe0", Some("image/jpeg"));
        check(b"GIF89a..", Some("image/gif"));
        check(b"RIFF\x00\x00\x00\x00WEBPVP8 ", Some("image/webp"));
        check(b"RIFF\x00\x00\x00\x00WAVE", None);
        check(b"<svg>", None);
        check(b"", None);
    }
}
