use proptest::prelude::*;
use serde_json::json;

use super::*;

fn error(text: &str) -> String {
    parse(text, Path::new("/a.json")).unwrap_err().to_string()
}

#[test]
fn comments_trailing_commas_and_a_byte_order_mark_are_read() {
    let text =
        "\u{feff}// one\n{ /* two */ \"a\": [1, 2,], // three\n \"b\": \"// no comment\",\n}\n";
    let node = parse(text, Path::new("/a.json")).unwrap();
    assert_eq!(node.to_json(), json!({"a": [1, 2], "b": "// no comment"}));
    let b = node.entry("b").unwrap();
    assert_eq!((b.line, b.column), (3, 2));
    assert_eq!((b.value.line, b.value.column), (3, 7));
}

#[test]
fn an_empty_file_is_an_empty_object() {
    for text in ["", "  \n", "// nothing\n", "\u{feff}"] {
        assert_eq!(
            parse(text, Path::new("/a.json")).unwrap().to_json(),
            json!({}),
            "{text:?}"
        );
    }
}

#[test]
fn an_error_says_line_column_what_was_found_and_what_was_expected() {
    assert_eq!(
        error("{\n  \"a\": 1\n  \"b\": 2\n}"),
        "/a.json:2:9: the end of the line; expected comma"
    );
    assert!(
        error("{\"a\": }").starts_with("/a.json:1:7: "),
        "{}",
        error("{\"a\": }")
    );
    assert!(error("{'a': 1}").starts_with("/a.json:1:2: "));
    assert!(error("{a: 1}").starts_with("/a.json:1:2: "));
    assert!(error("{\"ä\": 1, x}").starts_with("/a.json:1:10: "));
    assert_eq!(error("[1 2]"), "/a.json:1:3: `2`; expected comma");
    assert_eq!(
        error("[}"),
        "/a.json:1:2: `}`; expected JSON, with comments if you like (unexpected close brace)"
    );
    assert!(error("{} {}").starts_with("/a.json:1:4: "));
}

#[test]
fn an_error_quotes_nothing_that_may_be_a_secret() {
    for (text, found) in [
        ("{\"A\": \"x\" \"hunter2-hunter2\": 1}", "a text"),
        ("{\"TOKEN\": hunter2-hunter2}", "a word"),
        ("{\"TOKEN\": 'hunter2-hunter2'}", "a text"),
        ("{\"TOKEN\": \"hunter2-hunter2\n}", "a text"),
        ("{\"A\": undefined}", "`undefined`"),
        ("{\"A\" = 1}", "`=`"),
    ] {
        let error = error(text);
        assert!(
            error.contains(found) && !error.contains("hunter2"),
            "{error}"
        );
    }
}

#[test]
fn a_name_that_is_there_twice_is_an_error_with_both_lines() {
    assert_eq!(
        error("{\"a\": 1,\n\n\"a\": 2}"),
        "/a.json:3:1: `a` for the second time; it is in line 1 already; expected each name once"
    );
}

#[test]
fn deep_nesting_is_an_error() {
    let text = format!("{}{}", "[".repeat(500), "]".repeat(500));
    assert!(
        parse(&text, Path::new("/a.json"))
            .unwrap()
            .to_json()
            .is_array()
    );
    let text = "[".repeat(100_000);
    assert!(error(&text).contains("nesting depth"), "{}", error(&text));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,60}") {
        drop(parse(&text, Path::new("/a.json")));
    }

    #[test]
    fn text_that_looks_like_json_is_read_or_refused(
        text in r#"([{}\[\],:"]|//|/\*|\*/|\\u|\\|[a0 \n\r\-]|ä|true){0,40}"#
    ) {
        drop(parse(&text, Path::new("/a.json")));
    }
}
