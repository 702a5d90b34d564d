//! Writes any text as a header's value and reads any header: what is written is plain ASCII and comes back. Reads any
//! JSON as a tool's schema and arguments: what is found in it is bounded, and is a header that can be sent.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_wire::Raw;
use mcp_wire::header::{self, ParamHeader};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    value(&text);
    if let Ok(decoded) = header::decode(&text) {
        value(&decoded);
    }
    // The first line is a schema, the second one arguments.
    let (schema, arguments) = text.split_once('\n').unwrap_or((&text, "{}"));
    let Ok(schema) = Raw::parse(schema) else {
        return;
    };
    let Ok(found) = header::param_headers(&schema) else {
        return;
    };
    assert!(found.len() <= 10_000);
    let arguments = Raw::parse(arguments).and_then(|raw| raw.object());
    for header in &found {
        assert!((1..=32).contains(&header.path.len()));
        assert!(
            !header.header.is_empty() && header.header.bytes().all(|byte| byte.is_ascii_graphic())
        );
        if let Ok(arguments) = &arguments
            && let Ok(Some(sent)) = header::param_value(header, arguments)
        {
            value(&sent);
            assert!(header::same_value(header, &sent, &sent));
        }
    }
    let mut names: Vec<_> = found.iter().map(lower).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), found.len());
});

fn value(text: &str) {
    let encoded = header::encode(text);
    assert!(
        encoded
            .bytes()
            .all(|byte| matches!(byte, b'\t' | 0x20..0x7f))
    );
    assert_eq!(encoded.trim_matches([' ', '\t']), encoded);
    assert_eq!(header::decode(&encoded).as_deref(), Ok(text));
}

fn lower(header: &ParamHeader) -> String {
    header.header.to_ascii_lowercase()
}
