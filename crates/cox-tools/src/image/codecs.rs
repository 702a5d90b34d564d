//! The four decoders, each led through its whole input.

use std::{fmt::Display, io::Cursor, num::NonZeroU64};

use zune_jpeg::zune_core::{bytestream::ZCursor, options::DecoderOptions};

use super::{Checked, ImageError, MAX_FRAME_PIXELS, MAX_PIXELS, MAX_SIDE, allow};

/// Memory that a decoder may take by its own count, in bytes.
const MAX_MEMORY: usize = 12 * MAX_PIXELS as usize;

/// Bytes near the end that are searched for an end mark: some writers pad.
const TAIL: usize = 4096;

pub(super) fn decode(media_type: &'static str, bytes: &[u8]) -> Result<Checked, ImageError> {
    match media_type {
        "image/png" => png(bytes),
        "image/jpeg" => jpeg(bytes),
        "image/gif" => gif(bytes),
        _ => webp(bytes),
    }
}

fn broken(media_type: &'static str) -> impl Fn(&dyn Display) -> ImageError {
    move |problem| ImageError::Broken {
        media_type,
        problem: problem.to_string().chars().take(200).collect(),
    }
}

/// Row by row: a picture of any size takes the memory of two rows.
fn png(bytes: &[u8]) -> Result<Checked, ImageError> {
    let broken = broken("image/png");
    let limits = png::Limits { bytes: MAX_MEMORY };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(|error| broken(&error))?;
    let (width, height) = reader.info().size();
    allow("image/png", width, height)?;
    while reader.next_row().map_err(|error| broken(&error))?.is_some() {}
    reader.finish().map_err(|error| broken(&error))?;
    Ok(Checked {
        media_type: "image/png",
        width,
        height,
    })
}

fn jpeg(bytes: &[u8]) -> Result<Checked, ImageError> {
    let broken = broken("image/jpeg");
    let options = DecoderOptions::default()
        .set_max_width(MAX_SIDE as usize)
        .set_max_height(MAX_SIDE as usize);
    // Decoders of JPEG fill what is missing with grey, ours too; a provider need not.
    let tail = &bytes[bytes.len().saturating_sub(TAIL)..];
    if !tail.windows(2).any(|mark| mark == b"\xFF\xD9") {
        return Err(broken(&"it has no end mark"));
    }
    // The headers once without the limits, so that a picture that is too large is called that.
    let mut headers = zune_jpeg::JpegDecoder::new_with_options(
        ZCursor::new(bytes),
        DecoderOptions::default()
            .set_max_width(usize::from(u16::MAX))
            .set_max_height(usize::from(u16::MAX)),
    );
    headers.decode_headers().map_err(|error| broken(&error))?;
    let (width, height) = headers
        .info()
        .map(|info| (u32::from(info.width), u32::from(info.height)))
        .ok_or_else(|| broken(&"it has no size"))?;
    allow("image/jpeg", width, height)?;
    let decode = |is_strict| {
        let options = options.set_strict_mode(is_strict);
        zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options)
            .decode()
            .map_err(|error| error.to_string())
    };
    // Strict, or what is damaged in the middle is filled up in silence. Bytes between headers harm nobody.
    let decoded = match decode(true) {
        Err(problem) if problem.contains("Extra bytes between headers") => decode(false),
        decoded => decoded,
    };
    decoded.map_err(|problem| broken(&problem))?;
    super::jpeg_scan::check(bytes).map_err(|problem| broken(&problem))?;
    Ok(Checked {
        media_type: "image/jpeg",
        width,
        height,
    })
}

fn gif(bytes: &[u8]) -> Result<Checked, ImageError> {
    let broken = broken("image/gif");
    let mut options = gif::DecodeOptions::new();
    options.check_frame_consistency(true);
    if let Some(limit) = NonZeroU64::new(MAX_MEMORY as u64) {
        options.set_memory_limit(gif::MemoryLimit::Bytes(limit));
    }
    let mut decoder = options
        .read_info(Cursor::new(bytes))
        .map_err(|error| broken(&error))?;
    let (width, height) = (u32::from(decoder.width()), u32::from(decoder.height()));
    allow("image/gif", width, height)?;
    let (mut frames, mut pixels) = (0_u64, 0);
    while let Some(frame) = decoder.read_next_frame().map_err(|error| broken(&error))? {
        frames += 1;
        pixels += u64::from(frame.width) * u64::from(frame.height);
        within_budget(pixels).map_err(|problem| broken(&problem))?;
    }
    if frames == 0 {
        return Err(broken(&"it has no picture"));
    }
    if !bytes[bytes.len().saturating_sub(TAIL)..].contains(&b';') {
        return Err(broken(&"it has no end mark"));
    }
    Ok(Checked {
        media_type: "image/gif",
        width,
        height,
    })
}

fn webp(bytes: &[u8]) -> Result<Checked, ImageError> {
    let broken = broken("image/webp");
    for (width, height) in lossy_sizes(bytes) {
        allow("image/webp", width, height)?;
    }
    let mut decoder =
        image_webp::WebPDecoder::new(Cursor::new(bytes)).map_err(|error| broken(&error))?;
    decoder.set_memory_limit(MAX_MEMORY);
    let (width, height) = decoder.dimensions();
    allow("image/webp", width, height)?;
    let size = decoder
        .output_buffer_size()
        .ok_or_else(|| broken(&"its size is out of all bounds"))?;
    let mut picture = vec![0; size];
    if decoder.is_animated() {
        for frame in 1..=u64::from(decoder.num_frames()) {
            within_budget(frame * u64::from(width) * u64::from(height))
                .map_err(|problem| broken(&problem))?;
            decoder
                .read_frame(&mut picture)
                .map_err(|error| broken(&error))?;
        }
    } else {
        decoder
            .read_image(&mut picture)
            .map_err(|error| broken(&error))?;
    }
    Ok(Checked {
        media_type: "image/webp",
        width,
        height,
    })
}

/// The sizes that the lossy pictures inside a WebP claim: the decoder makes room for them before it compares them with
/// the size of the whole.
fn lossy_sizes(bytes: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    let side = |low: u8, high: u8| u32::from(u16::from_le_bytes([low, high]) & 0x3FFF);
    bytes.windows(18).filter_map(move |at| match at {
        [
            b'V',
            b'P',
            b'8',
            b' ',
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            0x9D,
            0x01,
            0x2A,
            w0,
            w1,
            h0,
            h1,
        ] => Some((side(*w0, *w1), side(*h0, *h1))),
        _ => None,
    })
}

fn within_budget(pixels: u64) -> Result<(), &'static str> {
    if pixels > MAX_FRAME_PIXELS {
        return Err("its frames have more pixels in all than are checked; take one of them");
    }
    Ok(())
}
