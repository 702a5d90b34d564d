//! Images for a model: told apart by their bytes, and decoded to the end before one is attached.
//!
//! A provider refuses a whole request for one image that is broken, so a broken one is refused here, with what is wrong with
//! it. Nothing of the picture is kept or changed. Memory stays bounded whatever an image claims to be: see [`MAX_SIDE`] and
//! [`MAX_PIXELS`]. The codecs are used directly: the crate over all of them costs a minute of build time for the
//! management of colours, which no check needs.

mod codecs;
mod jpeg_scan;
#[cfg(test)]
mod tests;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
};

/// Largest image that is attached, in bytes before base64.
///
/// 5,000,000 characters once encoded: the smallest per-image limit that a supported provider documents.
pub const MAX_BYTES: u64 = 3_750_000;

/// Most pixels on a side: providers refuse more.
pub const MAX_SIDE: u32 = 8_000;

/// Most pixels of a picture. Decoding one takes up to about 12 bytes for each.
pub const MAX_PIXELS: u64 = 40_000_000;

/// Most pixels of all frames of an animation, so that checking it has an end.
const MAX_FRAME_PIXELS: u64 = 200_000_000;

/// An image that decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: &'static str,
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
}

/// An image that is not attached. The text has no subject: "it …" or "the image … " goes before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// Its first bytes are of no format that providers take.
    #[error("is no PNG, JPEG, GIF or WebP")]
    Unknown,
    /// It has too many bytes.
    #[error("has {bytes} bytes, the limit is {MAX_BYTES} bytes\nhint: make a smaller copy")]
    TooManyBytes {
        /// Its size.
        bytes: u64,
    },
    /// It has too many pixels.
    #[error(
        "has {width}×{height} pixels, the limit is {MAX_SIDE} on a side and {MAX_PIXELS} in all\nhint: make a smaller copy"
    )]
    TooManyPixels {
        /// What it begins as.
        media_type: &'static str,
        /// Pixels from left to right.
        width: u32,
        /// Pixels from top to bottom.
        height: u32,
    },
    /// It does not decode.
    #[error("begins as {media_type} but is damaged or cut off: {problem}")]
    Broken {
        /// What it begins as.
        media_type: &'static str,
        /// What the decoder says.
        problem: String,
    },
}

/// Returns the media type of the four formats that providers accept, by magic bytes.
pub fn media_type(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if head.starts_with(b"\xFF\xD8\xFF") {
        Some("image/jpeg")
    } else if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
        Some("image/gif")
    } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

/// Decodes an image to its end, every frame of it, and says what it is. Takes up to seconds: not for an async thread.
///
/// # Errors
///
/// [`ImageError`], which says what is wrong with it.
pub fn check(bytes: &[u8]) -> Result<Checked, ImageError> {
    /// One at a time, so that calls side by side do not take the memory of several.
    static DECODING: Mutex<()> = Mutex::new(());

    let media_type = media_type(bytes).ok_or(ImageError::Unknown)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ImageError::TooManyBytes {
            bytes: bytes.len() as u64,
        });
    }
    let _alone = DECODING.lock().unwrap_or_else(PoisonError::into_inner);
    // What came from outside must not end more than this check, whatever a codec does with it.
    let decoded = catch_unwind(AssertUnwindSafe(|| codecs::decode(media_type, bytes)));
    decoded.unwrap_or_else(|_| {
        Err(ImageError::Broken {
            media_type,
            problem: "the decoder gave up on it".to_owned(),
        })
    })
}

/// Refuses what is too large before anything is made room for.
fn allow(media_type: &'static str, width: u32, height: u32) -> Result<(), ImageError> {
    let pixels = u64::from(width) * u64::from(height);
    if width > MAX_SIDE || height > MAX_SIDE || pixels > MAX_PIXELS {
        return Err(ImageError::TooManyPixels {
            media_type,
            width,
            height,
        });
    }
    Ok(())
}
