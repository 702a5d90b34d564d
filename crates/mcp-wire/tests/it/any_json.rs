//! Any JSON as people and programs spell it: numbers that no type holds, escapes where none is needed, names that occur
//! twice, half surrogates; without white space between tokens, so that what passes through can be compared byte by byte.

use proptest::collection::vec;
use proptest::prelude::*;

/// A number in an odd spelling.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?",
        Just("-0".to_owned()),
        Just("1.0".to_owned()),
        Just("1E400".to_owned()),
    ]
}

/// A string with its quotes.
pub(crate) fn string() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[ !#-\\[\\]-~äß€😀]{0,8}",
        1 => r#"\\["\\/bfnrt]"#,
        1 => r"\\u[0-9a-fA-F]{4}",
        1 => Just(r"\ud83d".to_owned()),
    ];
    vec(part, 0..5).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

/// The name of a member, with its quotes; few of them, so that some occur twice.
pub(crate) fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-d]".prop_map(|name| format!("\"{name}\"")),
        1 => "[a-d]".prop_map(|name| format!("\"\\u{:04x}\"", u32::from(name.as_bytes()[0]))),
        1 => Just(r#""_meta""#.to_owned()),
        1 => string(),
    ]
}

/// Any value.
pub(crate) fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        number(),
        string(),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let array = vec(inner.clone(), 0..5);
        let members = vec((name(), inner), 0..5);
        prop_oneof![
            array.prop_map(|elements| format!("[{}]", elements.join(","))),
            members.prop_map(|members| object(&members)),
        ]
    })
}

/// Members as name and value, in order.
pub(crate) fn members() -> impl Strategy<Value = Vec<(String, String)>> {
    vec((name(), value()), 0..6)
}

pub(crate) fn object(members: &[(String, String)]) -> String {
    let members: Vec<_> = members
        .iter()
        .map(|(name, value)| format!("{name}:{value}"))
        .collect();
    format!("{{{}}}", members.join(","))
}
