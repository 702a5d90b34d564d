//! Reads any bytes as a stream of server-sent events: they do not depend on how it was cut, none is over the limit, and
//! each reads the same when it is written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_wire::sse::{Decoder, Event};

fuzz_target!(|data: &[u8]| {
    // The last two bytes: how the stream is cut, and how long an event may be.
    let (piece, limit, stream) = match data {
        [stream @ .., limit, piece] => (usize::from(*piece).max(1), usize::from(*limit), stream),
        short => (1, 8, short),
    };
    for limit in [limit, 1 << 20] {
        let whole = decode(stream, limit, usize::MAX);
        assert_eq!(decode(stream, limit, piece), whole);
        for event in &whole.0 {
            match event {
                Event::TooLong { bytes, head } => {
                    assert!(head.len() as u64 <= *bytes && head.len() <= 200);
                }
                Event::Message(message) => {
                    assert!(message.data.len() <= limit);
                    assert!(!message.event.is_empty());
                    let written = message.to_bytes();
                    let again = decode(&written, 1 << 20, piece).0;
                    let mut expected = message.clone();
                    // What an id may not hold is kept out of a name as well.
                    expected.event.retain(|character| character != '\0');
                    if expected.event.is_empty() {
                        expected.event = "message".to_owned();
                    }
                    assert_eq!(again, [Event::Message(expected)]);
                }
            }
        }
        // The last id is that of an event that was given out.
        let ids = whole.0.iter().filter_map(|event| match event {
            Event::Message(message) => message.id.clone(),
            Event::TooLong { .. } => None,
        });
        if let Some(id) = ids.last() {
            assert!(whole.1.is_some(), "{id} was forgotten");
        }
    }
});

fn decode(stream: &[u8], limit: usize, piece: usize) -> (Vec<Event>, Option<String>) {
    let mut decoder = Decoder::new(limit);
    let mut events = Vec::new();
    for chunk in stream.chunks(piece) {
        decoder.push(chunk);
        events.extend(std::iter::from_fn(|| decoder.next()));
    }
    (events, decoder.last_id().map(str::to_owned))
}
