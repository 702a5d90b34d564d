use proptest::prelude::*;

use super::{for_terminal, one_line};

#[track_caller]
fn check(text: &str, expect: &str) {
    assert_eq!(for_terminal(text), expect, "from {text:?}");
}

#[test]
fn plain_text_stays_as_it_is() {
    check("", "");
    check("one\n\ttwo  \n", "one\n\ttwo  \n");
    check(
        "zażółć gęślą jaźń, 日本語, ﷽",
        "zażółć gęślą jaźń, 日本語, ﷽",
    );
    check("👩‍👩‍👧 ❤️ 1️⃣", "👩‍👩‍👧 ❤️ 1️⃣");
}

#[test]
fn escape_sequences_go_in_both_forms() {
    check("\u{1b}[31mred\u{1b}[0m", "red");
    check("\u{9b}31mred\u{9b}m", "red");
    check("\u{1b}[?1049h\u{1b}[2J\u{1b}[1;1Hx", "x");
    check("a\u{1b}]0;title\u{7}b", "ab");
    check("a\u{1b}]52;c;ZXZpbA==\u{1b}\\b", "ab");
    check("a\u{9d}52;c;ZXZpbA==\u{9c}b", "ab");
    check("a\u{1b}Pq#0;2;0;0;0\n#0~~\u{1b}\\b", "ab");
    check("a\u{90}data\u{9c}b", "ab");
    check(
        "a\u{1b}_apc\u{1b}\\b\u{1b}^pm\u{1b}\\c\u{1b}Xsos\u{1b}\\d",
        "abcd",
    );
    check("a\u{1b}(Bb\u{1b}7c\u{1b}=d\u{1b}#8e", "abcde");
    check(
        "\u{1b}]8;;https://example.com\u{1b}\\link\u{1b}]8;;\u{1b}\\",
        "link",
    );
}

#[test]
fn sequences_that_never_end_take_no_more_than_their_line() {
    check("a\u{1b}", "a");
    check("a\u{1b}[", "a");
    check("a\u{1b}[31", "a");
    check("a\u{1b}[31\nb", "a\nb");
    check("a\u{1b}]52;c;ZXZpbA==\nrest", "a\nrest");
    check("a\u{1b}]0;half\u{1b}[31mb", "ab");
    check("a\u{9d}never", "a");
    check("\u{1b}\u{1b}[31mx", "x");
    check("\u{1b}é", "é");
}

#[test]
fn other_controls_go() {
    check(
        "a\u{0}b\u{7}c\u{8}d\u{b}e\u{c}f\u{7f}g\u{85}h\u{9f}",
        "abcdefgh",
    );
}

#[test]
fn carriage_returns_end_lines_or_show() {
    check("a\r\nb\r\r\nc", "a\nb\nc");
    check("10%\r20%\n", "10%␍20%\n");
    check("safe\rrm -rf", "safe␍rm -rf");
    check("end\r", "end␍");
}

#[test]
fn direction_and_zero_width_characters_show() {
    check("\u{202e}txt.exe", "<U+202E>txt.exe");
    check(
        "a\u{200b}b\u{feff}c\u{2066}d\u{ad}e",
        "a<U+200B>b<U+FEFF>c<U+2066>d<U+00AD>e",
    );
    check("x\u{200d}y", "x<U+200D>y");
    check("\u{e0041}\u{fe0f}", "<U+E0041><U+FE0F>");
    check("❤\u{fe0f}\u{fe0f}", "❤\u{fe0f}<U+FE0F>");
    check("line\u{2028}line", "line<U+2028>line");
}

#[test]
fn one_line_shows_everything_and_says_where_it_cut() {
    let cases = [
        ("", 10, ""),
        ("  two\nlines\t\u{1b}[31m \n", 40, "two␊lines␉␛[31m"),
        ("\u{202e}abc", 20, "<U+202E>abc"),
        ("\u{9b}\u{7f}", 20, "<U+009B>␡"),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("日本語です", 3, "日本…"),
        ("ab\u{202e}", 5, "ab…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ];
    for (text, max_chars, expect) in cases {
        assert_eq!(
            one_line(text, max_chars),
            expect,
            "from {text:?} in {max_chars}"
        );
    }
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        proptest::sample::select(vec![
            "\u{1b}", "[", "]", "31m", "\u{7}", "\u{9c}", "\u{9b}", "\u{9d}", "\u{90}", "\\", "\r",
            "\n", "\u{202e}", "\u{200d}", "\u{fe0f}", "👩", "<U+202E>", "P", "_", ";", "x",
            "\u{18}",
        ])
        .prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn safe_text_is_safe_and_stays_the_same(text in hostile()) {
        let safe = for_terminal(&text);
        prop_assert!(!safe.chars().any(|char| char.is_control() && char != '\n' && char != '\t'), "{safe:?}");
        prop_assert_eq!(for_terminal(&safe), safe);
    }

    #[test]
    fn one_line_is_one_short_line(text in hostile(), max_chars in 0_usize..40) {
        let line = one_line(&text, max_chars);
        prop_assert!(line.chars().count() <= max_chars);
        prop_assert!(!line.chars().any(char::is_control));
    }
}
