//! Reads any bytes as messages and as a stream of lines: what is written reads the same again, lines do not depend on
//! how the stream was cut, and a line over the limit is known by the id that a reader of the whole of it finds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_wire::lines::{Line, Lines, TooLong};
use mcp_wire::{Frame, Id, Raw};

fuzz_target!(|data: &[u8]| {
    // Behind the last NUL: how the stream is cut, and how long a line may be.
    let (text, options) = match data.iter().rposition(|byte| *byte == 0) {
        Some(nul) => (&data[..nul], &data[nul + 1..]),
        None => (data, &[][..]),
    };
    messages(text);
    let (piece, limit) = match options {
        [] => (3, 16),
        [piece] => (usize::from(*piece), 16),
        [piece, limit, ..] => (usize::from(*piece), usize::from(*limit)),
    };
    lines(text, piece.max(1), limit);
});

fn messages(text: &[u8]) {
    let Ok(frames) = Frame::parse_batch(text) else {
        return;
    };
    for frame in frames.iter().flatten() {
        let line = frame.to_line();
        let (end, inner) = line.split_last().expect("a line has an end");
        assert_eq!(*end, b'\n');
        assert!(!inner.iter().any(|byte| matches!(byte, b'\n' | b'\r')));
        let again = Frame::parse(inner).expect("what is written can be read");
        assert_eq!(again.to_line(), line);
        // Only white space that would break a line is left out, so without it nothing differs.
        if !text.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            assert_eq!(&again, frame);
        }
    }
}

fn lines(text: &[u8], piece: usize, limit: usize) {
    let cut = |limit: usize, piece: usize| {
        let mut lines = Lines::new(limit);
        text.chunks(piece).for_each(|chunk| lines.push(chunk));
        lines.finish();
        std::iter::from_fn(|| lines.next()).collect::<Vec<_>>()
    };
    let whole = cut(limit, usize::MAX);
    assert_eq!(cut(limit, piece), whole);
    let mut long = whole.iter().filter_map(|line| match line {
        Line::TooLong(line) => Some(line),
        Line::Whole(line) => {
            assert!(!line.is_empty() && line.len() <= limit);
            None
        }
    });
    for line in text
        .split(|byte| *byte == b'\n')
        .filter(|line| line.len() > limit)
    {
        let told = long.next().expect("each line over the limit is told");
        assert_eq!(told.bytes, line.len() as u64);
        assert!(line.starts_with(&told.head));
        same_top(told, line);
    }
    assert!(long.next().is_none());
}

/// What was found while the line was dropped is what is found in the whole of it.
fn same_top(told: &TooLong, line: &[u8]) {
    let Ok(object) = Raw::parse_bytes(line).and_then(|raw| raw.object()) else {
        return;
    };
    // A name that is spelled with escapes is not looked for.
    if line.windows(2).any(|pair| pair == b"\\u") {
        return;
    }
    assert_eq!(told.names_method, object.contains("method"));
    let id = object
        .get("id")
        .filter(|id| id.as_str().len() <= 256)
        .and_then(|id| Id::parse(id).ok());
    assert_eq!(told.id, id);
}
