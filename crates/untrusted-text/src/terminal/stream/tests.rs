use proptest::prelude::*;

use super::{Filter, MAX_HELD, TerminalStream};
use crate::terminal::for_terminal;

/// Checks that the pieces give what the whole gives.
#[track_caller]
fn check(pieces: &[&str]) {
    let mut stream = TerminalStream::new();
    let mut safe: String = pieces.iter().map(|piece| stream.push(piece)).collect();
    safe.push_str(&stream.finish());
    assert_eq!(safe, for_terminal(&pieces.concat()), "{pieces:?}");
}

#[test]
fn sequences_that_are_split_never_leak() {
    check(&["a\u{1b}", "[3", "1mred", "\u{1b}[", "0m", "b"]);
    check(&["a\u{1b}]52;c;ZX", "ZpbA==", "\u{7}b"]);
    check(&["a\u{1b}]0;t", "\u{1b}", "\\b"]);
    check(&["a\u{1b}]0;t\nnext", " line", "\nand\u{7}b"]);
    check(&["a\u{1b}]0;t\nnext", " line"]);
    check(&["a\u{9d}52;", "\u{18}b"]);
    check(&["a\r", "\nb\r", "\rc\r"]);
    check(&["👩", "\u{200d}", "👩", "\u{200d}", "x\u{200d}"]);
    check(&["❤", "\u{fe0f}", "\u{202e}"]);
    check(&["\u{1b}(", "Bx\u{1b}", "\u{1b}[31", ";1", " ", "qx"]);
}

#[test]
fn a_control_string_that_never_ends_is_given_up() {
    let mut stream = TerminalStream::new();
    assert_eq!(stream.push("a\u{1b}]0;title"), "a");
    assert_eq!(stream.push(&"x".repeat(2 * MAX_HELD)), "");
    let shown = format!("\n{}", "y".repeat(MAX_HELD));
    assert_eq!(stream.push(&shown), shown);
    assert_eq!(stream.push("go on"), "go on");
}

#[test]
fn a_bare_filter_takes_sequences_only() {
    let mut filter = Filter::new(true);
    let mut out = String::new();
    filter.push("a\rb\u{1b}[31mc\u{200b}\u{202e}\u{0}\r\n", &mut out);
    filter.finish(&mut out);
    assert_eq!(out, "a\rbc\u{200b}\u{202e}\r\n");
}

fn pieces() -> impl Strategy<Value = Vec<String>> {
    let char = prop_oneof![
        4 => proptest::sample::select(vec![
            '\u{1b}', '[', ']', '\\', '\u{7}', '\u{9b}', '\u{9d}', '\u{9c}', '\u{18}', '0', ';', ' ', 'm', 'P', '\r', '\n',
            '\u{200d}', '\u{fe0f}', '👩', '❤', '\u{202e}', 'x', '~', '/', '(', '1', '\t', '\u{0}',
        ]),
        1 => any::<char>(),
    ];
    let piece = proptest::collection::vec(char, 0..6).prop_map(|chars| chars.into_iter().collect());
    proptest::collection::vec(piece, 0..8)
}

proptest! {
    #[test]
    fn pieces_give_what_the_whole_gives(pieces in pieces()) {
        let mut stream = TerminalStream::new();
        let mut safe = String::new();
        for piece in &pieces {
            safe.push_str(&stream.push(piece));
        }
        safe.push_str(&stream.finish());
        prop_assert_eq!(safe, for_terminal(&pieces.concat()));
    }
}
