//! Reads one field of a requested schema, in any of the spellings that servers use.

use serde_json::Value;

use crate::choice::Choices;
use crate::field::{Field, Kind};
use crate::keywords::{Keywords, is_null};
use crate::number::{NumberRule, is_whole, same};
use crate::shown::Shown;
use crate::text::TextRule;

/// Most choices that one field may offer.
pub const MAX_CHOICES: usize = 1_000;

/// Longest title, name or choice that is shown, in characters.
pub(crate) const MAX_LABEL: usize = 80;
/// Longest description that is shown, in characters.
const MAX_DESCRIPTION: usize = 500;

/// Why a field cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unaskable {
    /// Its schema is no JSON object.
    #[error("its schema is not an object")]
    NotASchema,
    /// It is none of the kinds that a form may hold.
    #[error("it is {received}; expected text, a number, yes or no, or a choice")]
    Kind {
        /// What it is instead.
        received: Shown,
    },
    /// A keyword has the wrong kind of value.
    #[error("its `{keyword}` is not {expected}")]
    Malformed {
        /// The keyword.
        keyword: &'static str,
        /// What its value should be.
        expected: &'static str,
    },
    /// A `$ref` to another document.
    #[error("its `$ref` leads to another document, `{reference}`")]
    Elsewhere {
        /// The reference.
        reference: Shown,
    },
    /// A `$ref` to nothing.
    #[error("its `$ref` leads nowhere, `{reference}`")]
    Dangling {
        /// The reference.
        reference: Shown,
    },
    /// Too many schemas that refer to each other, or a circle of them.
    #[error("its schema refers to others too many times")]
    TooDeep,
    /// A keyword that is stated in two places with different values.
    #[error("its `{keyword}` is stated twice")]
    Conflict {
        /// The keyword.
        keyword: Shown,
    },
    /// Several schemas at once.
    #[error("it combines several schemas with `{keyword}`")]
    Combined {
        /// The keyword that combines them.
        keyword: &'static str,
    },
    /// A choice among nothing that could be sent.
    #[error("it offers no choice that its own limits allow")]
    NoChoices,
    /// A choice among too many.
    #[error("it offers {count} choices, the most is {MAX_CHOICES}")]
    TooManyChoices {
        /// How many it offers.
        count: usize,
    },
    /// Limits that nothing satisfies.
    #[error("no answer can satisfy its limits")]
    Impossible,
}

/// Reads a field.
pub(crate) fn read(
    root: &Value,
    name: &str,
    schema: &Value,
    required: bool,
) -> Result<Field, Unaskable> {
    let keywords = Keywords::gather(root, schema)?;
    let types = types(&keywords)?;
    let mut unchecked = Vec::new();
    let kind = kind(root, &keywords, &types, &mut unchecked)?;
    for keyword in [
        "not",
        "if",
        "contains",
        "prefixItems",
        "contentEncoding",
        "contentMediaType",
    ] {
        if keywords.get(keyword).is_some() {
            unchecked.push(Shown::line(keyword, MAX_LABEL));
        }
    }
    // The values of an `enum` are all that is accepted, whatever the type says.
    let null_by_type = types.contains(&"null") && !matches!(kind, Kind::One(_));
    let shown = |keyword| keywords.text(keyword).unwrap_or_default();
    let mut field = Field {
        name: name.to_owned(),
        name_shown: Shown::line(name, MAX_LABEL),
        title: Shown::line(shown("title"), MAX_LABEL),
        description: Shown::paragraph(shown("description"), MAX_DESCRIPTION),
        is_required: required,
        is_nullable: keywords.or_null || null_by_type,
        is_secret: matches!(kind, Kind::Text(_)) && is_secret(name, &keywords),
        kind,
        default: None,
        unchecked,
    };
    field.default = keywords
        .get("default")
        .filter(|value| !value.is_null())
        .and_then(|value| field.accept(value).ok());
    Ok(field)
}

fn types<'a>(keywords: &Keywords<'a>) -> Result<Vec<&'a str>, Unaskable> {
    let malformed = Unaskable::Malformed {
        keyword: "type",
        expected: "a name or a list of names",
    };
    match keywords.get("type") {
        None => Ok(Vec::new()),
        Some(Value::String(name)) => Ok(vec![name]),
        Some(Value::Array(names)) if (1..=8).contains(&names.len()) => names
            .iter()
            .map(|name| name.as_str().ok_or(malformed.clone()))
            .collect(),
        Some(_) => Err(malformed),
    }
}

fn kind(
    root: &Value,
    keywords: &Keywords<'_>,
    types: &[&str],
    unchecked: &mut Vec<Shown>,
) -> Result<Kind, Unaskable> {
    if let Some(choices) = choices(keywords, types)? {
        return Ok(Kind::One(choices));
    }
    let named: Vec<&str> = types
        .iter()
        .copied()
        .filter(|name| *name != "null")
        .collect();
    let other = |received: &str| {
        Err(Unaskable::Kind {
            received: Shown::line(received, MAX_LABEL),
        })
    };
    match named.as_slice() {
        ["string"] => TextRule::read(keywords, unchecked).map(Kind::Text),
        ["integer"] => NumberRule::read(keywords, true).map(Kind::Number),
        ["number"] | ["number", "integer"] | ["integer", "number"] => {
            NumberRule::read(keywords, false).map(Kind::Number)
        }
        ["boolean"] => Ok(Kind::YesNo),
        ["array"] => several(root, keywords),
        ["object"] => other("a nested object"),
        [] if types.is_empty() => other("of no stated type"),
        [] => other("always null"),
        [name] => other(&format!("of the type `{}`", Shown::line(name, 20))),
        _ => other("of several types"),
    }
}

fn several(root: &Value, keywords: &Keywords<'_>) -> Result<Kind, Unaskable> {
    let list = || Unaskable::Kind {
        received: Shown::line("a list of anything", MAX_LABEL),
    };
    let items = Keywords::gather(root, keywords.get("items").ok_or_else(list)?)?;
    let choices = choices(&items, &types(&items)?)?.ok_or_else(list)?;
    let min = keywords.size("minItems")?.unwrap_or(0);
    let max = keywords.size("maxItems")?;
    if min > choices.list().len() as u64 || max.is_some_and(|max| max < min) {
        return Err(Unaskable::Impossible);
    }
    let is_unique = match keywords.get("uniqueItems") {
        None => false,
        Some(Value::Bool(is_unique)) => *is_unique,
        Some(_) => {
            return Err(Unaskable::Malformed {
                keyword: "uniqueItems",
                expected: "true or false",
            });
        }
    };
    Ok(Kind::Several {
        choices,
        min,
        max,
        is_unique,
    })
}

/// Returns the fixed values of a field, if it has any: those that satisfy everything it states.
fn choices(keywords: &Keywords<'_>, types: &[&str]) -> Result<Option<Choices>, Unaskable> {
    let mut sources = Vec::new();
    for keyword in ["oneOf", "anyOf"] {
        if let Some(branches) = keywords.get(keyword).and_then(Value::as_array) {
            let branches = branches.iter().filter(|branch| !is_null(branch));
            sources.push(branches.filter_map(titled).collect::<Vec<_>>());
        }
    }
    if let Some(values) = keywords.get("enum") {
        sources.push(enumerated(values, keywords.get("enumNames"))?);
    }
    if let Some(value) = keywords.get("const") {
        sources.push(vec![(value, None)]);
    }
    let mut sources = sources.into_iter();
    let Some(offered) = sources.next() else {
        return Ok(None);
    };
    if offered.len() > MAX_CHOICES {
        return Err(Unaskable::TooManyChoices {
            count: offered.len(),
        });
    }
    let others: Vec<_> = sources.collect();
    let text = TextRule::read(keywords, &mut Vec::new())?.without_format();
    let number = NumberRule::read(keywords, false)?;
    let mut kept: Vec<(Value, Option<&str>)> = Vec::new();
    for (value, title) in offered {
        let fits = match value {
            Value::String(string) => text.accept(string).is_ok(),
            Value::Number(_) => number.accept(value).is_ok(),
            Value::Bool(_) | Value::Null => true,
            Value::Array(_) | Value::Object(_) => false,
        };
        let is_known =
            |values: &Vec<(&Value, _)>| values.iter().any(|(other, _)| same(other, value));
        if fits
            && (types.is_empty() || types.iter().any(|name| is_of_type(value, name)))
            && others.iter().all(is_known)
            && !kept.iter().any(|(other, _)| same(other, value))
        {
            kept.push((value.clone(), title));
        }
    }
    if kept.is_empty() {
        return Err(Unaskable::NoChoices);
    }
    Ok(Some(Choices::new(&kept)))
}

type Titled<'a> = (&'a Value, Option<&'a str>);

fn titled(branch: &Value) -> Option<Titled<'_>> {
    let title = branch.get("title").and_then(Value::as_str);
    branch.get("const").map(|value| (value, title))
}

/// Reads an `enum`, with the names of the legacy spelling if there is one for each value.
fn enumerated<'a>(
    values: &'a Value,
    names: Option<&'a Value>,
) -> Result<Vec<Titled<'a>>, Unaskable> {
    let Some(values) = values.as_array() else {
        return Err(Unaskable::Malformed {
            keyword: "enum",
            expected: "a list",
        });
    };
    let names = names
        .and_then(Value::as_array)
        .filter(|names| names.len() == values.len());
    let name = |at: usize| {
        names
            .and_then(|names| names.get(at))
            .and_then(Value::as_str)
    };
    Ok(values
        .iter()
        .enumerate()
        .map(|(at, value)| (value, name(at)))
        .collect())
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match value {
        Value::String(_) => name == "string",
        Value::Bool(_) => name == "boolean",
        Value::Null => name == "null",
        Value::Number(number) => name == "number" || (name == "integer" && is_whole(number)),
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// Says whether a field asks for something that should not be seen while it is typed.
fn is_secret(name: &str, keywords: &Keywords<'_>) -> bool {
    const WORDS: [&str; 8] = [
        "password",
        "passphrase",
        "passwd",
        "secret",
        "token",
        "apikey",
        "credential",
        "privatekey",
    ];
    let plain = |text: &str| -> String {
        let letters = text.chars().take(200).filter(char::is_ascii_alphanumeric);
        letters.map(|char| char.to_ascii_lowercase()).collect()
    };
    let says_so = |text: &str| WORDS.iter().any(|word| plain(text).contains(word));
    keywords.text("format") == Some("password")
        || keywords.get("writeOnly") == Some(&Value::Bool(true))
        || says_so(name)
        || says_so(keywords.text("title").unwrap_or_default())
}
