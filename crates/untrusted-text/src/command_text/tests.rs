use proptest::prelude::*;

use super::{CommandText, MAX_LINE};

fn text(pieces: &[&[u8]]) -> (String, bool) {
    let mut command = CommandText::new();
    let mut out = String::new();
    for piece in pieces {
        command.push(piece, &mut out);
    }
    command.finish(&mut out);
    (out, command.is_folded())
}

/// Checks what a command's output reads like, however it is cut.
#[track_caller]
fn check(printed: &str, expect: &str) {
    let (whole, folded) = text(&[printed.as_bytes()]);
    assert_eq!(whole, expect, "{printed:?}");
    let bytes: Vec<&[u8]> = printed.as_bytes().chunks(1).collect();
    assert_eq!(text(&bytes), (whole, folded), "byte by byte: {printed:?}");
}

#[test]
fn ordinary_output_stays_as_it_is() {
    check("", "");
    check("one\ntwo", "one\ntwo");
    check("one\n\n\n\n\ntwo\n", "one\n\n\n\n\ntwo\n");
    check("same\nsame\n", "same\nsame\n");
    check("zażółć\u{200c} 👩‍👩‍👧\n", "zażółć\u{200c} 👩‍👩‍👧\n");
}

#[test]
fn repeated_lines_are_folded() {
    check("same\nsame\nsame\n", "same (×3)\n");
    check("same\nsame\nsame", "same (×3)");
    check(
        "Compiling 1 of 30\nCompiling 2 of 30\nCompiling 30 of 30\ndone\n",
        "Compiling 1 of 30 (×3)\ndone\n",
    );
    check("a\nb\na\nb\n", "a\nb\na\nb\n");
}

#[test]
fn lines_that_a_reader_acts_upon_fold_only_to_the_letter() {
    check(
        "error at 1\nerror at 2\nerror at 3\n",
        "error at 1\nerror at 2\nerror at 3\n",
    );
    check(
        "x.c:1: Warning: y\nx.c:2: Warning: y\nx.c:3: Warning: y\n",
        "x.c:1: Warning: y\nx.c:2: Warning: y\nx.c:3: Warning: y\n",
    );
    check(
        "test 7 FAILED\ntest 7 FAILED\ntest 7 FAILED\n",
        "test 7 FAILED (×3)\n",
    );
    check("1\n2\n3\n", "1\n2\n3\n");
    check("1, 2\n3, 4\n5, 6\n", "1, 2\n3, 4\n5, 6\n");
}

#[test]
fn a_progress_bar_shows_its_last_state() {
    check("get\n 1%\r 50%\r100%\ndone\n", "get\n100%\ndone\n");
    check("dos\r\nlines\r\n", "dos\nlines\n");
    check(" 1%\r 50%\r", " 50%");
    check("a\r\u{1b}[Kb\n", "b\n");
}

#[test]
fn escape_sequences_go() {
    check("\u{1b}[31mred\u{1b}[0m\n\u{1b}]0;title\u{7}x\n", "red\nx\n");
}

#[test]
fn a_line_that_is_very_long_passes() {
    let long = "x".repeat(3 * MAX_LINE);
    check(&format!("a\n{long}\nb\n"), &format!("a\n{long}\nb\n"));
    check(&long, &long);
}

#[test]
fn binary_output_is_recognised() {
    let check = |bytes: &[u8], expect: bool| {
        let mut command = CommandText::new();
        command.push(bytes, &mut String::new());
        command.finish(&mut String::new());
        assert_eq!(command.is_binary(), expect, "{bytes:?}");
    };
    check(b"", false);
    check(b"text\n", false);
    check(b"a\0b", true);
    check(b"caf\xe9 au lait\n", false);
    check(&[0x8f, 0xff, 0x1f, 0x8b, b'x'], true);
    check("日本語".as_bytes(), false);
}

proptest! {
    #[test]
    fn the_cut_makes_no_difference(lines in proptest::collection::vec("[a1é\u{1b}\\[m\r]{0,4}", 0..12), cut in 0_usize..60) {
        let printed = lines.join("\n");
        let bytes = printed.as_bytes();
        let cut = cut.min(bytes.len());
        prop_assert_eq!(text(&[bytes]), text(&[&bytes[..cut], &bytes[cut..]]));
    }
}
