//! Images that go with a prompt: read, and decoded to their end, before anything is sent.

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

use base64::Engine as _;
use cox_protocol::ImageAttachment;
use cox_tools::image;

use crate::exit::Failure;

/// Reads an image. Its type is told by its bytes, not by its name.
///
/// # Errors
///
/// A usage failure that names the file when it cannot be read, is too large, is no PNG, JPEG, GIF or WebP, or does not
/// decode: a provider would refuse the whole request for it.
pub(crate) fn read_image(path: &Path) -> Result<ImageAttachment, Failure> {
    let shown = path.display();
    let unreadable =
        |error: std::io::Error| Failure::usage(format!("cannot read the image {shown}: {error}"));
    // Before it is opened: opening a FIFO waits for its other end.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(Failure::usage(format!("the image {shown} is not a file")));
    }
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large from one that just fits.
    File::open(path)
        .and_then(|file| file.take(image::MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > image::MAX_BYTES {
        return Err(Failure::usage(format!(
            "the image {shown} is larger than {} bytes\nhint: make it smaller",
            image::MAX_BYTES
        )));
    }
    let checked = image::check(&bytes)
        .map_err(|problem| Failure::usage(format!("the image {shown} {problem}")))?;
    Ok(ImageAttachment {
        media_type: checked.media_type.to_owned(),
        base64: base64::engine::general_purpose::STANDARD.encode(&bytes),
    })
}
