//! Types put together: unions, intersections, lists and literals, each within a limit.

use serde_json::Value;

use super::text::{comment, quoted};

/// Most types that a union lists, or that an intersection multiplies to.
const MAX_MEMBERS: usize = 200;

/// Longest text that is a literal type, in characters.
const MAX_LITERAL_CHARS: usize = 200;

pub(super) const UNKNOWN: &str = "unknown";
pub(super) const RECORD: &str = "{ [key: string]: unknown }";

pub(super) const NOTHING: &str = "{ [key: string]: never }";

/// A type, and how many alternatives it has.
pub(super) struct Type {
    pub(super) text: String,
    pub(super) members: usize,
}

pub(super) fn single(text: impl Into<String>) -> Type {
    Type {
        text: text.into(),
        members: 1,
    }
}

pub(super) fn list_of(element: &Type) -> String {
    if element
        .text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
    {
        format!("{}[]", element.text)
    } else {
        format!("Array<{}>", element.text)
    }
}

pub(super) fn literals(values: &[Value]) -> Type {
    let literal = |value: &Value| match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) if text.chars().nth(MAX_LITERAL_CHARS).is_none() => quoted(text),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "unknown[]".to_owned(),
        Value::Object(_) => RECORD.to_owned(),
    };
    if values.len() <= MAX_MEMBERS {
        return union(values.iter().map(literal).map(single).collect());
    }
    let kind = |value: &Value| match value {
        Value::String(_) => "string".to_owned(),
        Value::Number(_) => "number".to_owned(),
        other => literal(other),
    };
    union(values.iter().map(kind).map(single).collect())
}

pub(super) fn union(types: Vec<Type>) -> Type {
    let mut texts: Vec<String> = Vec::new();
    let mut members = 0;
    for part in types {
        if part.text == UNKNOWN {
            return part;
        }
        if part.text != "never" && !texts.contains(&part.text) {
            members += part.members;
            texts.push(part.text);
        }
        if members > MAX_MEMBERS {
            return single(UNKNOWN);
        }
    }
    match texts.len() {
        0 => single("never"),
        _ => Type {
            text: texts.join(" | "),
            members,
        },
    }
}

pub(super) fn intersection(types: Vec<Type>) -> Type {
    let mut kept: Vec<Type> = Vec::new();
    for part in types {
        let product = kept.iter().map(|part| part.members).product::<usize>() * part.members;
        if part.text != UNKNOWN
            && product <= MAX_MEMBERS
            && !kept.iter().any(|known| known.text == part.text)
        {
            kept.push(part);
        }
    }
    match kept.len() {
        0 => single(UNKNOWN),
        1 => kept.remove(0),
        _ => {
            let members = kept.iter().map(|part| part.members).product();
            let parts: Vec<String> = kept
                .into_iter()
                .map(|part| {
                    if part.members > 1 {
                        format!("({})", part.text)
                    } else {
                        part.text
                    }
                })
                .collect();
            // In brackets, so that it stands in a union and before `[]` as one.
            Type {
                text: format!("({})", parts.join(" & ")),
                members,
            }
        }
    }
}

/// An object type; on one line when nothing is said about its members and it is short.
pub(super) fn braces(rows: &[(Vec<String>, String)], indent: usize) -> String {
    let is_short = rows
        .iter()
        .all(|(lines, row)| lines.is_empty() && !row.contains('\n'))
        && rows.iter().map(|(_, row)| row.len() + 1).sum::<usize>() < 100;
    if is_short {
        let rows: Vec<_> = rows.iter().map(|(_, row)| row.as_str()).collect();
        return format!("{{ {} }}", rows.join(" ").trim_end_matches(';'));
    }
    let pad = " ".repeat(indent + 2);
    let body: String = rows
        .iter()
        .map(|(lines, row)| format!("{}{pad}{row}\n", comment(lines, indent + 2)))
        .collect();
    format!("{{\n{body}{}}}", " ".repeat(indent))
}
