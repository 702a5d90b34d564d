use proptest::prelude::*;

use super::*;

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().unwrap();
    let row: Vec<u8> = (0..width).map(|x| (x * 7) as u8).collect();
    writer
        .write_image_data(&row.repeat(height as usize))
        .unwrap();
    writer.finish().unwrap();
    bytes
}

/// Grey blocks of 8 by 8 pixels, each in two bits.
fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let [h, w] = [height.to_be_bytes(), width.to_be_bytes()];
    let mut bytes = vec![0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0];
    bytes.extend([1; 64]);
    bytes.extend([0xFF, 0xC0, 0, 11, 8, h[0], h[1], w[0], w[1], 1, 1, 0x11, 0]);
    for class in [0x00, 0x10] {
        bytes.extend([0xFF, 0xC4, 0, 20, class, 1]);
        bytes.extend([0; 15]);
        bytes.push(0);
    }
    bytes.extend([0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0]);
    let blocks = usize::from(width.div_ceil(8)) * usize::from(height.div_ceil(8));
    bytes.extend(std::iter::repeat_n(0, blocks / 4));
    bytes.push(0x3F);
    bytes.extend([0xFF, 0xD9]);
    bytes
}

fn gif(width: u16, height: u16, frames: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = gif::Encoder::new(&mut bytes, width, height, &[0, 0, 0, 9, 9, 9]).unwrap();
    let pixels = vec![1; usize::from(width) * usize::from(height)];
    for _ in 0..frames {
        let frame = gif::Frame::from_indexed_pixels(width, height, pixels.clone(), None);
        encoder.write_frame(&frame).unwrap();
    }
    drop(encoder);
    bytes
}

fn webp(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let pixels: Vec<u8> = (0..width * height).map(|at| (at * 13) as u8).collect();
    image_webp::WebPEncoder::new(&mut bytes)
        .encode(&pixels, width, height, image_webp::ColorType::L8)
        .unwrap();
    bytes
}

#[test]
fn whole_images_decode_and_tell_their_size() {
    #[track_caller]
    fn check_size(bytes: &[u8], media_type: &'static str, width: u32, height: u32) {
        let expect = Checked {
            media_type,
            width,
            height,
        };
        assert_eq!(check(bytes), Ok(expect));
    }
    check_size(&png(64, 48), "image/png", 64, 48);
    check_size(&jpeg(64, 48), "image/jpeg", 64, 48);
    check_size(&gif(64, 48, 3), "image/gif", 64, 48);
    check_size(&webp(64, 48), "image/webp", 64, 48);
    check_size(&png(1, 1), "image/png", 1, 1);
}

#[test]
fn an_image_that_is_cut_off_is_refused_wherever_the_cut_is() {
    for (whole, media_type) in [
        (png(64, 48), "image/png"),
        (jpeg(64, 48), "image/jpeg"),
        (gif(64, 48, 2), "image/gif"),
        (webp(64, 48), "image/webp"),
    ] {
        // The last byte may be nothing but padding.
        for cut in 16..whole.len() - 1 {
            match check(&whole[..cut]) {
                Err(ImageError::Broken {
                    media_type: as_, ..
                }) => assert_eq!(as_, media_type),
                other => panic!("{media_type} cut at {cut} of {}: {other:?}", whole.len()),
            }
        }
    }
}

#[test]
fn what_claims_to_be_huge_is_refused_before_room_is_made_for_it() {
    #[track_caller]
    fn refused(bytes: &[u8]) {
        let found = check(bytes);
        assert!(
            matches!(found, Err(ImageError::TooManyPixels { .. })),
            "{found:?}"
        );
    }
    let mut huge = png(64, 48);
    // The size in the header, with its checksum.
    huge[16..24].copy_from_slice(&[0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF]);
    let mut crc = flate_crc(&huge[12..29]);
    crc.reverse();
    huge[29..33].copy_from_slice(&crc);
    refused(&huge);
    refused(&jpeg(65_000, 64));
    refused(&jpeg(8_000, 8_000));
    refused(&gif(9_000, 1, 1));
    let mut lossy = b"RIFF\x1a\0\0\0WEBPVP8 \x0e\0\0\0\0\0\0\x9D\x01\x2A\xFF\x3F\xFF\x3F".to_vec();
    lossy.extend([0; 8]);
    refused(&lossy);
}

#[test]
fn a_jpeg_that_is_damaged_in_the_middle_is_refused() {
    #[track_caller]
    fn refused(bytes: &[u8], expect: &str) {
        match check(bytes) {
            Err(ImageError::Broken { problem, .. }) => {
                assert!(problem.contains(expect), "{problem}");
            }
            other => panic!("{other:?}"),
        }
    }
    let whole = jpeg(640, 480);
    let data = whole.len() - 2 - 4800 / 4;
    let mut short = whole.clone();
    short.drain(data + 100..data + 400);
    refused(&short, "");
    let mut long = whole.clone();
    long.splice(data + 100..data + 100, [0; 300]);
    refused(&long, "more data than");
    let mut foreign = whole.clone();
    foreign[data + 100] = 0x55;
    refused(&foreign, "");
    let mut marked = whole;
    marked[data + 100..data + 102].copy_from_slice(b"\xFF\xC0");
    assert!(check(&marked).is_err());
}

/// CRC-32 as PNG has it, little end first.
fn flate_crc(bytes: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
    }
    (!crc).to_le_bytes()
}

#[test]
fn a_picture_at_the_limit_is_decoded_in_full() {
    let bytes = jpeg(8_000, 5_000);
    assert_eq!(check(&bytes).map(|found| found.height), Ok(5_000));
}

#[test]
fn what_is_no_image_and_what_is_too_many_bytes_says_so() {
    assert_eq!(check(b"<svg>"), Err(ImageError::Unknown));
    assert_eq!(check(b""), Err(ImageError::Unknown));
    let mut long = png(1, 1);
    long.resize(3_750_001, 0);
    assert_eq!(
        check(&long),
        Err(ImageError::TooManyBytes { bytes: 3_750_001 })
    );
}

proptest! {
    #[test]
    fn damaged_bytes_are_an_image_or_refused_and_never_more(
        which in 0..4_usize,
        damage in prop::collection::vec((8..10_000_usize, any::<u8>()), 1..6),
    ) {
        let mut bytes = [png(40, 40), jpeg(40, 40), gif(40, 40, 2), webp(40, 40)][which].clone();
        for (at, byte) in damage {
            let at = 8 + at % (bytes.len() - 8);
            bytes[at] = byte;
        }
        let _checked = check(&bytes);
    }
}
