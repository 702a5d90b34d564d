//! Reads arguments, and rejects what the schema does not take as servers do: with `-32602`, naming the argument.

use mcp_wire::{Object, Raw, RpcError};

fn wrong(name: &str, wanted: &str) -> RpcError {
    RpcError::invalid_params(format!("Invalid params: `{name}` must be {wanted}"))
}

fn given<'a>(arguments: &'a Object, name: &str) -> Option<&'a Raw> {
    arguments.get(name).filter(|raw| !raw.is_null())
}

/// A text that must be there.
pub(super) fn text(arguments: &Object, name: &str) -> Result<String, RpcError> {
    optional_text(arguments, name)?.ok_or_else(|| missing(name))
}

/// A text that may be left out.
pub(super) fn optional_text(arguments: &Object, name: &str) -> Result<Option<String>, RpcError> {
    given(arguments, name)
        .map(|raw| raw.string().ok_or_else(|| wrong(name, "a string")))
        .transpose()
}

/// A whole number that must be there.
pub(super) fn whole(
    arguments: &Object,
    name: &str,
    range: std::ops::RangeInclusive<i64>,
) -> Result<i64, RpcError> {
    optional_whole(arguments, name, range)?.ok_or_else(|| missing(name))
}

/// A whole number that may be left out.
pub(super) fn optional_whole(
    arguments: &Object,
    name: &str,
    range: std::ops::RangeInclusive<i64>,
) -> Result<Option<i64>, RpcError> {
    let number = given(arguments, name)
        .map(|raw| raw.integer().ok_or_else(|| wrong(name, "a whole number")))
        .transpose()?;
    match number {
        Some(number) if !range.contains(&number) => {
            let wanted = format!("from {} to {}", range.start(), range.end());
            Err(wrong(name, &wanted))
        }
        number => Ok(number),
    }
}

/// A yes or no that may be left out.
pub(super) fn optional_switch(arguments: &Object, name: &str) -> Result<Option<bool>, RpcError> {
    given(arguments, name)
        .map(|raw| raw.boolean().ok_or_else(|| wrong(name, "true or false")))
        .transpose()
}

/// Texts; none when they are left out.
pub(super) fn texts(arguments: &Object, name: &str) -> Result<Vec<String>, RpcError> {
    let Some(raw) = given(arguments, name) else {
        return Ok(Vec::new());
    };
    let elements = raw.array().map_err(|_| wrong(name, "a list of strings"))?;
    elements
        .iter()
        .map(|element| {
            element
                .string()
                .ok_or_else(|| wrong(name, "a list of strings"))
        })
        .collect()
}

/// One of a few words, the first when it is left out.
pub(super) fn one_of<'a>(
    arguments: &Object,
    name: &str,
    words: &[&'a str],
) -> Result<&'a str, RpcError> {
    let said = optional_text(arguments, name)?;
    let Some(said) = said else {
        return words.first().copied().ok_or_else(|| missing(name));
    };
    words
        .iter()
        .find(|word| **word == said)
        .copied()
        .ok_or_else(|| wrong(name, &format!("one of {}", words.join(", "))))
}

fn missing(name: &str) -> RpcError {
    RpcError::invalid_params(format!("Invalid params: `{name}` is required"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: &str) -> Object {
        Raw::parse(text).unwrap().object().unwrap()
    }

    #[test]
    fn what_the_schema_does_not_take_is_rejected_by_name() {
        let sent =
            sent(r#"{"text": 1, "whole": 1.5, "far": 9, "words": [1], "word": "x", "none": null}"#);
        for (result, message) in [
            (
                text(&sent, "gone").map(drop),
                "Invalid params: `gone` is required",
            ),
            (
                text(&sent, "none").map(drop),
                "Invalid params: `none` is required",
            ),
            (
                text(&sent, "text").map(drop),
                "Invalid params: `text` must be a string",
            ),
            (
                whole(&sent, "whole", 0..=5).map(drop),
                "Invalid params: `whole` must be a whole number",
            ),
            (
                whole(&sent, "far", 0..=5).map(drop),
                "Invalid params: `far` must be from 0 to 5",
            ),
            (
                texts(&sent, "words").map(drop),
                "Invalid params: `words` must be a list of strings",
            ),
            (
                one_of(&sent, "word", &["a", "b"]).map(drop),
                "Invalid params: `word` must be one of a, b",
            ),
            (
                optional_switch(&sent, "text").map(drop),
                "Invalid params: `text` must be true or false",
            ),
        ] {
            let error = result.unwrap_err();
            assert_eq!((error.code, error.message.as_str()), (-32_602, message));
        }
        assert_eq!(one_of(&sent, "gone", &["a", "b"]).unwrap(), "a");
        assert_eq!(optional_whole(&sent, "gone", 0..=1).unwrap(), None);
    }
}
