//! Tells images by their bytes.

/// Largest image that is returned, in bytes before base64.
///
/// 5,000,000 characters once encoded: the smallest per-image limit that a supported provider documents.
pub(super) const MAX_BYTES: u64 = 3_750_000;

/// Returns the media type of the four formats that providers accept, by magic bytes.
pub(super) fn media_type(head: &[u8]) -> Option<&'static str> {
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

/// Says whether the image has its end. A provider refuses the whole request for one that was cut off.
pub(super) fn is_whole(media_type: &str, bytes: &[u8]) -> bool {
    let near_end = |mark: &[u8]| {
        let tail = &bytes[bytes.len().saturating_sub(4096)..];
        tail.windows(mark.len()).any(|window| window == mark)
    };
    match media_type {
        "image/png" => bytes.len() >= 33 && &bytes[12..16] == b"IHDR" && near_end(b"IEND"),
        "image/jpeg" => near_end(b"\xFF\xD9"),
        "image/gif" => bytes.len() >= 14 && near_end(b"\x3B"),
        _ => bytes
            .get(4..8)
            .and_then(|size| size.try_into().ok())
            .is_some_and(|size| u64::from(u32::from_le_bytes(size)) + 8 <= bytes.len() as u64 + 1),
    }
}
