use proptest::prelude::*;

use super::*;

/// The new file and how the old text was found, or the error's first word.
fn outcome(content: &str, old: &str, new: &str, all: bool) -> String {
    match edit(content.as_bytes(), old, new, all) {
        Ok(edited) => {
            let lines: Vec<String> = edited
                .places
                .iter()
                .map(|place| format!("{}-{}", place.first_line, place.last_line))
                .collect();
            let text = String::from_utf8(edited.bytes).unwrap();
            format!("{:?} {}: {text:?}", edited.strictness, lines.join(","))
        }
        Err(EditError::Ambiguous {
            strictness, lines, ..
        }) => {
            format!("Ambiguous {strictness:?} {lines:?}")
        }
        Err(error) => {
            let name = format!("{error:?}");
            name.chars().take_while(|c| c.is_alphanumeric()).collect()
        }
    }
}

fn check(cases: &[(&str, &str, &str, &str)]) {
    for (content, old, new, expected) in cases {
        assert_eq!(
            outcome(content, old, new, false),
            *expected,
            "{content:?} {old:?} → {new:?}"
        );
    }
}

#[test]
fn an_exact_match_is_replaced_byte_for_byte() {
    check(&[
        ("a b c\n", "b", "x", r#"Exact 1-1: "a x c\n""#),
        ("a\nb\nc\n", "b\n", "", r#"Exact 2-2: "a\nc\n""#),
        (
            "a\nb\nc\n",
            "a\nb",
            "1\n2\n3",
            r#"Exact 1-3: "1\n2\n3\nc\n""#,
        ),
        ("trail  \nb\n", "b", "b  ", r#"Exact 2-2: "trail  \nb  \n""#),
        ("a\nb", "b", "b2", r#"Exact 2-2: "a\nb2""#),
        ("a", "a", "a", "Same"),
        ("a", "b", "c", "NotFound"),
    ]);
}

#[test]
fn a_match_must_be_the_only_one_and_overlaps_count() {
    check(&[
        ("x\ny\nx\n", "x", "z", "Ambiguous Exact [1, 3]"),
        ("aaa", "aa", "b", "Ambiguous Exact [1, 1]"),
        (
            "  x\n\tx\n",
            "    x\n",
            "y\n",
            "Ambiguous Indentation [1, 2]",
        ),
        ("x \nx\t\n", "x\n", "y\n", "Ambiguous LineEnds [1, 2]"),
    ]);
    assert_eq!(outcome("aaaaa", "aa", "b", true), r#"Exact 1-1,1-1: "bba""#);
    assert_eq!(
        outcome("x\ny\nx\n", "x", "z", true),
        r#"Exact 1-1,3-3: "z\ny\nz\n""#
    );
    assert_eq!(
        outcome("a \nb\na\t\nb\n", "a\nb\n", "c\nb\n", true),
        r#"LineEnds 1-2,3-4: "c \nb\nc\t\nb\n""#
    );
}

#[test]
fn an_empty_old_text_only_fills_an_empty_file() {
    check(&[
        ("", "", "new\n", r#"Exact 1-1: "new\n""#),
        ("\u{FEFF}", "", "new", r#"Exact 1-1: "\u{feff}new""#),
        ("a", "", "new", "EmptyOld"),
        ("", "", "", "Same"),
        ("", "x", "y", "NotFound"),
    ]);
}

#[test]
fn new_lines_take_the_ending_of_their_neighbours() {
    check(&[
        ("a\r\nb\r\n", "a", "a\nx", r#"Exact 1-2: "a\r\nx\r\nb\r\n""#),
        ("a\r\nb", "b", "b\nc", r#"Exact 2-3: "a\r\nb\r\nc""#),
        (
            "a\r\nb\r\nc\r\n",
            "a\nb\n",
            "a\nx\nb\n",
            r#"LineEnds 1-3: "a\r\nx\r\nb\r\nc\r\n""#,
        ),
        (
            "a\r\nb\nc\r\n",
            "a\nb\nc",
            "a\nB\nc",
            r#"LineEnds 1-3: "a\r\nB\nc\r\n""#,
        ),
        (
            "a\nb\n",
            "a\r\nb\r\n",
            "a\r\nc\r\n",
            r#"LineEnds 1-2: "a\nc\n""#,
        ),
        ("a\r\nb\r\n", "a\r\nb", "a\nb", r#"Exact 1-2: "a\nb\r\n""#),
        (
            "a\r\nb\r\n",
            "a",
            "a\r\nx",
            r#"Exact 1-2: "a\r\nx\r\nb\r\n""#,
        ),
        ("one", "one", "one\ntwo\n", r#"Exact 1-2: "one\ntwo\n""#),
    ]);
}

#[test]
fn what_is_forgiven_only_locates() {
    check(&[
        // White space at line ends stays on lines that stay.
        (
            "keep  \nold\n",
            "keep\nold",
            "keep\nnew",
            r#"LineEnds 1-2: "keep  \nnew\n""#,
        ),
        ("a\nb", "b\n", "c\n", r#"LineEnds 2-2: "a\nc""#),
        ("a\nb", "a\nb\n", "c\n", r#"LineEnds 1-1: "c""#),
        // A byte order mark is before the first line.
        (
            "\u{FEFF}a\r\nb\r\n",
            "\u{FEFF}a\nb",
            "\u{FEFF}x\nb",
            r#"LineEnds 1-2: "\u{feff}x\r\nb\r\n""#,
        ),
        // Indentation is the file's, in new lines too.
        (
            "if x:\n\ty()\n\tif z:\n\t\tw()\n",
            "if x:\n    y()\n    if z:\n        w()\n",
            "if x:\n    y()\n    q()\n    if z:\n        v()\n            deep\n",
            r#"Indentation 1-6: "if x:\n\ty()\n\tq()\n\tif z:\n\t\tv()\n\t\t\tdeep\n""#,
        ),
        (
            "fn f() {\n    g();\n}\n",
            "      g();\n",
            "      g();\n      h();\n",
            r#"Indentation 2-3: "fn f() {\n    g();\n    h();\n}\n""#,
        ),
        // A changed line keeps its own indentation, whatever that of the others teaches.
        (
            "a\n  b\nc\n",
            "a\nb\nc\n",
            "a\nb\nC\n",
            r#"Indentation 1-3: "a\n  b\nC\n""#,
        ),
        // Quotes and dashes stay where the line is not changed.
        (
            "say \u{201C}hi\u{201D} \u{2014} it\u{2019}s me, bob\n",
            "say \"hi\" - it's me, bob",
            "say \"hi\" - it's me, ann",
            "Quotes 1-1: \"say \u{201C}hi\u{201D} \u{2014} it\u{2019}s me, ann\\n\"",
        ),
        // A space of another kind before the first word stays the file's too.
        (
            "x w\n",
            "\u{A0}w\n",
            "\u{A0}w2\n",
            r#"Quotes 1-1: "x w2\n""#,
        ),
        (
            "x \u{201C}a\u{201D} y\n",
            "\"a\"",
            "\"b\"",
            "Quotes 1-1: \"x \u{201C}b\u{201D} y\\n\"",
        ),
    ]);
}

#[test]
fn a_text_may_begin_and_end_inside_lines() {
    check(&[
        (
            "let a = f(1, \n  2);\n",
            "f(1,\n  2)",
            "g(1,\n  3)",
            r#"LineEnds 1-2: "let a = g(1, \n  3);\n""#,
        ),
        (
            "a b\t\nc d\n",
            "b\nc",
            "B\nC",
            r#"LineEnds 1-2: "a B\t\nC d\n""#,
        ),
    ]);
}

#[test]
fn a_text_that_is_nowhere_is_shown_beside_the_nearest_places() {
    let content = "fn main() {\n\tprintln!(\"hello\");\n}\n";
    let error = edit(content.as_bytes(), "    println!(\"hallo\");", "x", false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`old` does not stand in the file, also not when white space at line ends, indentation and quotes are ignored; \
         the most similar places (· is a space, → a tab, ␍ a carriage return):\n\
         line 2: file has `→println!(\"hello\");`\n        \
         `old` has `····println!(\"hallo\");`\n\
         hint: read these lines again and copy `old` from the file"
    );
    let error = edit(content.as_bytes(), "1\tfn main() {\n2\t}", "x", false).unwrap_err();
    assert!(
        error.to_string().contains("leave number and tab out"),
        "{error}"
    );
}

#[test]
fn looking_for_similar_places_ends_in_time() {
    let content = "some line of text that is quite like the others\n".repeat(400_000);
    let start = Instant::now();
    let error = edit(
        content.as_bytes(),
        "some line of text that is not there",
        "x",
        false,
    );
    assert!(matches!(error, Err(EditError::NotFound { .. })));
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
}

fn word() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        "a", "b", "foo", "  ", "\t", "é", "\u{201C}", "'", "\u{2014}", "-", "x = 1;", "{", "}",
    ])
    .prop_map(|word| word.as_bytes().to_vec())
}

fn odd_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![&b"\xFF"[..], b"\xE9", b"\x80\x81", b"\xC3"]).prop_map(<[u8]>::to_vec)
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![8 => word(), 1 => odd_bytes()];
    let ending = prop::sample::select(vec!["\n", "\r\n", "  \n", "\t\r\n"]);
    (prop::collection::vec(part, 0..5), ending).prop_map(|(parts, ending)| {
        let mut line = parts.concat();
        line.extend_from_slice(ending.as_bytes());
        line
    })
}

/// A file of any encoding, with or without a byte order mark and a final newline.
fn file() -> impl Strategy<Value = Vec<u8>> {
    (
        any::<bool>(),
        prop::collection::vec(line(), 0..12),
        any::<bool>(),
    )
        .prop_map(|(has_bom, lines, has_final_newline)| {
            let mut file = if has_bom { BOM.to_vec() } else { Vec::new() };
            file.extend(lines.concat());
            if !has_final_newline && file.ends_with(b"\n") {
                file.pop();
            }
            file
        })
}

fn plain_text() -> impl Strategy<Value = String> {
    prop::collection::vec(line(), 0..4)
        .prop_map(|lines| String::from_utf8_lossy(&lines.concat()).into_owned())
}

/// Part of a file as a model would write it: decoded, with plain endings, quotes and indentation of its own.
fn as_written(file: &[u8], from: usize, to: usize, forgiving: bool) -> String {
    let text = Text::new(file);
    let last = text.lines.len() - 1;
    let (from, to) = (from.min(last), to.min(last));
    let range = text.lines[from.min(to)].start..text.lines[from.max(to)].next;
    let part = String::from_utf8_lossy(&file[range]).into_owned();
    if !forgiving {
        return part;
    }
    part.split('\n')
        .map(|line| {
            line.trim_end()
                .replace(['\u{201C}', '\u{201D}'], "\"")
                .replace('\u{2014}', "-")
        })
        .collect::<Vec<_>>()
        .join("\n")
}

proptest! {
    #[test]
    fn bytes_outside_the_edited_places_stay(
        file in file(), from in 0usize..12, to in 0usize..12, new in plain_text(),
        forgiving: bool, all: bool,
    ) {
        let old = as_written(&file, from, to, forgiving);
        let Ok(edited) = edit(&file, &old, &new, all) else { return Ok(()) };
        let (mut before, mut after) = (0, 0);
        for place in &edited.places {
            prop_assert_eq!(&file[before..place.old.start], &edited.bytes[after..place.new.start]);
            before = place.old.end;
            after = place.new.end;
        }
        prop_assert_eq!(&file[before..], &edited.bytes[after..]);
        prop_assert!(all || edited.places.len() == 1);
    }

    #[test]
    fn an_edit_and_its_reverse_are_no_edit(file in file(), from in 0usize..12, new in plain_text()) {
        let old = as_written(&file, from, from, false);
        let Ok(edited) = edit(&file, &old, &new, false) else { return Ok(()) };
        let [place] = edited.places.as_slice() else { panic!("one place") };
        let (Ok(was), Ok(is)) = (
            std::str::from_utf8(&file[place.old.clone()]),
            std::str::from_utf8(&edited.bytes[place.new.clone()]),
        ) else { return Ok(()) };
        // The reverse is the caller's to make unique; where it is, it undoes exactly.
        if let Ok(back) = edit(&edited.bytes, is, was, false)
            && back.places[0].old == place.new && was.contains('\r') == is.contains('\r')
        {
            prop_assert_eq!(back.bytes, file);
        }
    }

    #[test]
    fn a_line_put_back_as_it_was_changes_nothing(file in file(), from in 0usize..12, to in 0usize..12) {
        // Old lines that come again in the new text are the file's own bytes, whatever was forgiven to find them.
        let old = as_written(&file, from, to, true);
        let new = format!("{old}appended");
        if let Ok(edited) = edit(&file, &old, &new, false) {
            let text = String::from_utf8_lossy(&edited.bytes).replacen("appended", "", 1);
            prop_assert_eq!(text, String::from_utf8_lossy(&file));
        }
    }

    #[test]
    fn no_input_panics(file: Vec<u8>, old: String, new: String, all: bool) {
        drop(edit(&file, &old, &new, all));
    }
}
