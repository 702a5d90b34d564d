use serde_json::{Value, json};

use crate::form::Form;

#[track_caller]
fn check(schema: &Value, good: &[&str], bad: &[&str], reason: &str) {
    let form = Form::parse("", &json!({ "properties": { "t": schema } })).unwrap();
    let field = form.field("t").expect("it can be asked");
    for typed in good {
        assert!(field.check(typed).is_ok(), "{typed:?} for {schema}");
    }
    for typed in bad {
        assert_eq!(
            field.check(typed).unwrap_err().as_str(),
            reason,
            "{typed:?} for {schema}"
        );
    }
}

#[test]
fn lengths_are_counted_in_characters() {
    let schema = json!({ "type": "string", "minLength": 3, "maxLength": 4 });
    check(
        &schema,
        &["abc", "żółw", "🦀🦀🦀"],
        &["ab", "", "abcde", "🦀🦀"],
        "expected text of 3 to 4 characters",
    );
    check(
        &json!({ "type": "string", "minLength": 1 }),
        &["a"],
        &[""],
        "expected text of at least 1 character",
    );
    check(
        &json!({ "type": "string", "maxLength": 2.0 }),
        &["", "ab"],
        &["abc"],
        "expected text of at most 2 characters",
    );
    check(
        &json!({ "type": "string", "minLength": 6, "maxLength": 6 }),
        &["123456"],
        &["1"],
        "expected text of 6 characters",
    );
    check(
        &json!({ "type": "string" }),
        &["", "  kept  ", "a\nb"],
        &[],
        "",
    );
}

#[test]
fn email_addresses_are_told_from_others() {
    check(
        &json!({ "type": "string", "format": "email" }),
        &[
            "ada@example.com",
            " ada@example.com ",
            "a.b+c@x-y.example",
            "o'neil@localhost",
            "a@1.example",
        ],
        &[
            "",
            "ada",
            "@example.com",
            "ada@",
            "a@b@c",
            "a..b@c.example",
            ".a@b.example",
            "a b@c.example",
            "a@-b.example",
            "a@b_c.example",
            "ż@b.example",
            "a@b..c",
        ],
        "expected an email address",
    );
}

#[test]
fn uris_are_told_from_others() {
    check(
        &json!({ "type": "string", "format": "uri" }),
        &[
            "https://example.com",
            "http://a.example:80/b?c=%20#d",
            "mailto:a@b.example",
            "urn:isbn:0451450523",
            "https://[::1]/",
        ],
        &[
            "",
            "example.com",
            "/a/b",
            "https://",
            "https://exa mple.com",
            "https://a.example/%zz",
            "https://a.example/%2",
            "1a:b",
            "https://a.example/ż",
            "https://a.example/\"",
            "https://[::1",
        ],
        "expected a whole address, such as `https://example.com`",
    );
}

#[test]
fn dates_are_told_from_others() {
    check(
        &json!({ "type": "string", "format": "date" }),
        &["2026-11-30", "2024-02-29", "2000-02-29", "0001-01-01"],
        &[
            "",
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-1-1",
            "30.11.2026",
            "2026-11-31",
            "2026-11-30T00:00:00Z",
            "+026-11-30",
            "2026-11-3٠",
        ],
        "expected a date, such as `2026-11-30`",
    );
}

#[test]
fn times_need_seconds_and_an_offset() {
    check(
        &json!({ "type": "string", "format": "date-time" }),
        &[
            "2026-11-30T12:00:00Z",
            "2026-11-30t12:00:00z",
            "2026-11-30T12:00:00.123456789123+01:00",
            "1990-12-31T23:59:60Z",
            "2026-11-30T12:00:00-23:59",
        ],
        &[
            "",
            "2026-11-30",
            "2026-11-30T12:00:00",
            "2026-11-30 12:00:00Z",
            "2026-11-30T12:00Z",
            "2026-11-30T24:00:00Z",
            "2026-11-30T12:60:00Z",
            "2026-11-30T12:00:61Z",
            "2026-11-30T12:00:00.Z",
            "2026-11-30T12:00:00+1:00",
            "2026-11-30T12:00:00+24:00",
            "2026-02-30T12:00:00Z",
            "2026-11-30T12:00:00Zx",
            "2026-11-30T12:00:00+",
            "2026-11-30T12:00:00+ż",
        ],
        "expected a time with its offset, such as `2026-11-30T12:00:00Z`",
    );
}

#[test]
fn patterns_are_honoured_or_named() {
    check(
        &json!({ "type": "string", "pattern": "^[a-z]+$" }),
        &["abc"],
        &["ABC", ""],
        "expected text that matches `^[a-z]+$`",
    );
    let unchecked = |schema: Value| {
        let form = Form::parse("", &json!({ "properties": { "t": schema } })).unwrap();
        form.fields()[0]
            .unchecked()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        unchecked(
            json!({ "type": "string", "pattern": "^(?=a)", "format": "host\u{1b}name", "not": {} })
        ),
        ["format host␛name", "pattern", "not"]
    );
    assert_eq!(
        unchecked(json!({ "type": "string", "pattern": 5 })),
        ["pattern"]
    );
    assert!(
        unchecked(json!({ "type": "string", "pattern": "^a", "format": "password" })).is_empty()
    );
}
