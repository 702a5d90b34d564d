//! Selects one value of a JSON text by a pointer (RFC 6901), without changing how anything is spelled.

use std::borrow::Cow;

use mcp_wire::Raw;

/// A pointer that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PointerError {
    /// The result is no JSON.
    #[error(
        "the result is not JSON, a pointer selects nothing in it: {0}\nhint: read it without a pointer"
    )]
    NotJson(String),
    /// It does not begin with a slash, or escapes what it may not.
    #[error(
        "`{0}` is no JSON pointer: expected nothing, or parts that each begin with `/`, in which `~` is `~0` and `/` is `~1`"
    )]
    NotAPointer(String),
    /// There is no such member.
    #[error("`{at}` has no member `{name}`: {there}")]
    NoMember {
        /// The pointer up to there; `` for the whole.
        at: String,
        /// The member.
        name: String,
        /// What is there instead.
        there: String,
    },
    /// There is no such element.
    #[error("`{at}` has no element `{index}`: it has {len}, counted from 0")]
    NoElement {
        /// The pointer up to there.
        at: String,
        /// What was asked for.
        index: String,
        /// How many there are.
        len: usize,
    },
    /// It leads into a value that has no parts.
    #[error("`{at}` is {kind}, which has no parts")]
    NoParts {
        /// The pointer up to there.
        at: String,
        /// What is there.
        kind: &'static str,
    },
}

/// Returns what the pointer selects: a string's text, or another value as it is spelled.
pub(super) fn select(json: &[u8], pointer: &str) -> Result<String, PointerError> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(PointerError::NotAPointer(short(pointer)));
    }
    let mut value =
        Raw::parse_bytes(json).map_err(|error| PointerError::NotJson(error.to_string()))?;
    let mut at = String::new();
    for part in pointer.split('/').skip(1) {
        let name = unescaped(part).ok_or_else(|| PointerError::NotAPointer(short(pointer)))?;
        value = step(&value, &name, &at)?;
        at.push('/');
        at.push_str(part);
    }
    Ok(value.string().unwrap_or_else(|| value.as_str().to_owned()))
}

fn step(value: &Raw, name: &str, at: &str) -> Result<Raw, PointerError> {
    let not_json = |error: mcp_wire::JsonError| PointerError::NotJson(error.to_string());
    match value.kind() {
        mcp_wire::json::Kind::Object => {
            let object = value.object().map_err(not_json)?;
            object.get(name).cloned().ok_or_else(|| {
                let names: Vec<String> = object
                    .iter()
                    .take(20)
                    .map(|(name, _)| short(name))
                    .collect();
                PointerError::NoMember {
                    at: short(at),
                    name: short(name),
                    there: match names.is_empty() {
                        true => "it is empty".to_owned(),
                        false => format!("it has `{}`", names.join("`, `")),
                    },
                }
            })
        }
        mcp_wire::json::Kind::Array => {
            let elements = value.array().map_err(not_json)?;
            let is_index = name == "0"
                || (!name.starts_with('0') && name.bytes().all(|byte| byte.is_ascii_digit()));
            let index: Option<usize> = is_index.then(|| name.parse().ok()).flatten();
            let len = elements.len();
            index
                .and_then(|index| elements.into_iter().nth(index))
                .ok_or_else(|| PointerError::NoElement {
                    at: short(at),
                    index: short(name),
                    len,
                })
        }
        kind => Err(PointerError::NoParts {
            at: short(at),
            kind: kind.word(),
        }),
    }
}

/// Returns a part without its escapes; nothing for one with a wrong escape.
fn unescaped(part: &str) -> Option<Cow<'_, str>> {
    if !part.contains('~') {
        return Some(Cow::Borrowed(part));
    }
    let mut out = String::with_capacity(part.len());
    let mut chars = part.chars();
    while let Some(char) = chars.next() {
        out.push(match char {
            '~' => match chars.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            char => char,
        });
    }
    Some(Cow::Owned(out))
}

/// A name of somebody else in a message: without control characters, at most 80 characters.
fn short(text: &str) -> String {
    text.escape_debug().to_string().chars().take(80).collect()
}
