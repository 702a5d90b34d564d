//! An image, checked before it is attached.

use base64::Engine as _;
use cox_workspace::{Confined, file::Opened};

use crate::{
    ToolError, ToolImage, ToolOutput,
    fs::place::from_read,
    image::{self, Checked},
};

/// Attaches an image that decodes.
pub(super) fn read_image(
    at: &Confined,
    file: Opened,
    media_type: &str,
    ignored: bool,
) -> Result<ToolOutput, ToolError> {
    let bytes = file
        .read_all(image::MAX_BYTES)
        .map_err(|error| match from_read(error) {
            ToolError::TooLarge {
                what, bytes, cap, ..
            } => ToolError::TooLarge {
                what,
                bytes,
                cap,
                hint: "; make a smaller copy with `bash` and read that".into(),
            },
            other => other,
        })?;
    let Checked { width, height, .. } = image::check(&bytes)
        .map_err(|problem| ToolError::Binary(format!("`{}` {problem}", at.written)))?;
    let mut output = ToolOutput::text(format!(
        "{media_type}, {width}×{height} pixels, {} bytes",
        bytes.len()
    ));
    if ignored {
        output
            .text
            .push_str(" (`lines`, `mode` and `symbol` do not apply to images)");
    }
    output.images.push(ToolImage {
        media_type: media_type.to_owned(),
        base64: base64::engine::general_purpose::STANDARD.encode(&bytes),
    });
    Ok(output)
}
