//! What the modern era mirrors into HTTP headers: the method, the name, and chosen arguments.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::json::{JsonError, Kind, Object, Raw};
use crate::method;

/// The revision of the request.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The method.
pub const METHOD: &str = "mcp-method";
/// The tool, prompt, resource or task that the request names.
pub const NAME: &str = "mcp-name";
/// What an argument's header begins with.
pub const PARAM_PREFIX: &str = "mcp-param-";
/// Legacy: the session.
pub const SESSION_ID: &str = "mcp-session-id";
/// Legacy: where to go on in a stream.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// How many schemas are looked into for annotations.
const MAX_SCHEMAS: usize = 10_000;
/// How deep annotations may be.
const MAX_LEVELS: usize = 32;

/// The value of [`NAME`] for a request, before it is encoded; `None` when the method has none.
#[must_use]
pub fn name_of(method: &str, params: &Object) -> Option<String> {
    match method {
        method::TOOLS_CALL | method::PROMPTS_GET => params.string("name"),
        method::RESOURCES_READ => params.string("uri"),
        _ if method.starts_with("tasks/") => params.string("taskId"),
        _ => None,
    }
}

/// Spells a value for a header: as it is, or in the base64 form when it holds what a header cannot, has blanks at an
/// end, or looks like that form already.
#[must_use]
pub fn encode(value: &str) -> String {
    let sentinel = value.starts_with("=?base64?") && value.ends_with("?=");
    let blank_end = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    let plain = value
        .bytes()
        .all(|byte| (0x20..0x7f).contains(&byte) || byte == b'\t')
        && !blank_end
        && !sentinel;
    if plain {
        value.to_owned()
    } else {
        format!("=?base64?{}?=", STANDARD.encode(value))
    }
}

/// Reads a header's value back.
///
/// # Errors
/// When it has the base64 form and is no base64 of UTF-8, or holds a character that a header cannot.
pub fn decode(value: &str) -> Result<String, JsonError> {
    let inner = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match inner {
        Some(inner) => {
            let bytes = STANDARD
                .decode(inner)
                .map_err(|error| JsonError::new(format!("not base64: {error}")))?;
            String::from_utf8(bytes)
                .map_err(|_| JsonError::new("base64 of something that is not UTF-8"))
        }
        None if value
            .bytes()
            .all(|byte| (0x20..0x7f).contains(&byte) || byte == b'\t') =>
        {
            Ok(value.to_owned())
        }
        None => Err(JsonError::new("a character that a header cannot hold")),
    }
}

/// An argument that is mirrored into a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamHeader {
    /// The header's name after [`PARAM_PREFIX`], as the schema spells it.
    pub header: String,
    /// The names on the way to the argument.
    pub path: Vec<String>,
    /// Whether it is a number, which is compared as one.
    pub numeric: bool,
}

/// Finds the annotations of a tool's input schema.
///
/// # Errors
/// When one is forbidden: not a token, twice the same name, on something other than a string, an integer or a boolean,
/// or in a place that `properties` alone do not reach.
pub fn param_headers(schema: &Raw) -> Result<Vec<ParamHeader>, JsonError> {
    let mut found = Vec::new();
    let mut walk = Walk {
        found: &mut found,
        schemas: 0,
        annotated: 0,
    };
    walk.properties(schema, &mut Vec::new())?;
    let reached = walk.annotated;
    if count_annotations(schema)? > reached {
        return Err(JsonError::new(
            "`x-mcp-header` in a place that `properties` alone do not reach",
        ));
    }
    let mut names = std::collections::HashSet::new();
    for header in &found {
        if !names.insert(header.header.to_ascii_lowercase()) {
            return Err(JsonError::new(format!(
                "two arguments for the header `{}`",
                header.header
            )));
        }
    }
    Ok(found)
}

struct Walk<'a> {
    found: &'a mut Vec<ParamHeader>,
    schemas: usize,
    annotated: usize,
}

impl Walk<'_> {
    fn properties(&mut self, schema: &Raw, path: &mut Vec<String>) -> Result<(), JsonError> {
        let Ok(schema) = schema.object() else {
            return Ok(());
        };
        let Some(properties) = schema.object("properties") else {
            return Ok(());
        };
        if path.len() >= MAX_LEVELS {
            return Err(JsonError::new(format!(
                "`properties` nested deeper than {MAX_LEVELS} levels"
            )));
        }
        for (name, property) in properties.iter() {
            self.schemas += 1;
            if self.schemas > MAX_SCHEMAS {
                return Err(JsonError::new(format!(
                    "more than {MAX_SCHEMAS} properties"
                )));
            }
            path.push(name.to_owned());
            if let Ok(object) = property.object()
                && let Some(header) = object.get("x-mcp-header")
            {
                self.annotated += 1;
                self.found.push(annotation(header, &object, path)?);
            }
            self.properties(property, path)?;
            path.pop();
        }
        Ok(())
    }
}

fn annotation(header: &Raw, property: &Object, path: &[String]) -> Result<ParamHeader, JsonError> {
    let place = path.join(".");
    let header = header
        .string()
        .filter(|header| is_token(header))
        .ok_or_else(|| {
            JsonError::new(format!(
                "`x-mcp-header` of `{place}` is no header name: {}",
                header.as_str().chars().take(60).collect::<String>()
            ))
        })?;
    let kind = property.string("type").unwrap_or_default();
    if !matches!(kind.as_str(), "string" | "integer" | "boolean") {
        return Err(JsonError::new(format!(
            "`x-mcp-header` of `{place}`: only a string, an integer or a boolean has one"
        )));
    }
    Ok(ParamHeader {
        header,
        path: path.to_vec(),
        numeric: kind == "integer",
    })
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// How many schemas carry the annotation, wherever they stand. Values under `default`, `const`, `enum` and `examples`
/// are data, and names under `properties` are names.
fn count_annotations(schema: &Raw) -> Result<usize, JsonError> {
    if !schema.as_str().contains("x-mcp-header") && !schema.as_str().contains("\\u") {
        return Ok(0);
    }
    Ok(count(&schema.value()?))
}

fn count(schema: &serde_json::Value) -> usize {
    use serde_json::Value;
    match schema {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| match (name.as_str(), value) {
                ("x-mcp-header", _) => 1,
                ("default" | "const" | "enum" | "examples", _) => 0,
                (
                    "properties" | "patternProperties" | "$defs" | "definitions"
                    | "dependentSchemas",
                    Value::Object(named),
                ) => named.values().map(count).sum(),
                (_, value) => count(value),
            })
            .sum(),
        Value::Array(elements) => elements.iter().map(count).sum(),
        _ => 0,
    }
}

/// The header's value for these arguments, before it is encoded; `None` when the argument is null or not there.
///
/// # Errors
/// When the argument is no string, boolean, or integer that every peer reads the same.
pub fn param_value(header: &ParamHeader, arguments: &Object) -> Result<Option<String>, JsonError> {
    let mut at = Raw::from(arguments.clone());
    for name in &header.path {
        let Ok(object) = at.object() else {
            return Ok(None);
        };
        match object.get(name) {
            Some(next) => at = next.clone(),
            None => return Ok(None),
        }
    }
    let place = header.path.join(".");
    match at.kind() {
        Kind::Null => Ok(None),
        Kind::String => Ok(at.string()),
        Kind::Boolean => Ok(Some(at.as_str().to_owned())),
        Kind::Number => match at
            .integer()
            .filter(|number| number.unsigned_abs() < (1 << 53))
        {
            Some(number) => Ok(Some(number.to_string())),
            None => Err(JsonError::new(format!(
                "`{place}` goes into a header and is no whole number within 53 bits"
            ))),
        },
        other => Err(JsonError::new(format!(
            "`{place}` goes into a header and is {}",
            other.word()
        ))),
    }
}

/// Whether a header says the same as an argument: numbers are compared as numbers, all else character by character.
#[must_use]
pub fn same_value(header: &ParamHeader, received: &str, expected: &str) -> bool {
    if header.numeric
        && let (Ok(received), Ok(expected)) = (received.parse::<f64>(), expected.parse::<f64>())
    {
        #[allow(
            clippy::float_cmp,
            reason = "both are whole numbers within 53 bits, or they differ"
        )]
        return received == expected;
    }
    received == expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_header_cannot_hold_goes_as_base64_and_comes_back() {
        for value in [
            "plain",
            "with space inside",
            "Grüße",
            " lead",
            "trail ",
            "a\nb",
            "=?base64?x?=",
            "",
            "tab\tinside",
        ] {
            let encoded = encode(value);
            assert!(encoded.is_ascii());
            assert_eq!(decode(&encoded).unwrap(), value);
        }
        assert_eq!(encode("get_weather"), "get_weather");
        assert_eq!(encode("Grüße"), "=?base64?R3LDvMOfZQ==?=");
        assert!(decode("=?base64?***?=").is_err());
        assert!(decode("gr\u{fc}n").is_err());
    }

    fn headers(schema: &str) -> Result<Vec<ParamHeader>, JsonError> {
        param_headers(&Raw::parse(schema).unwrap())
    }

    #[test]
    fn annotations_are_found_through_properties_alone() {
        let found = headers(
            r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
                "a":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}"#,
        )
        .unwrap();
        assert_eq!(
            found
                .iter()
                .map(|header| header.path.join("."))
                .collect::<Vec<_>>(),
            ["region", "a.n"]
        );
        for (schema, reason) in [
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":"has space"}}}"#,
                "no header name",
            ),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#,
                "no header name",
            ),
            (
                r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
                "only a string",
            ),
            (
                r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#,
                "do not reach",
            ),
            (
                r#"{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#,
                "do not reach",
            ),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
                "two arguments",
            ),
        ] {
            assert!(
                headers(schema).unwrap_err().reason.contains(reason),
                "{schema}"
            );
        }
        assert!(
            headers(
                r#"{"properties":{"x-mcp-header":{"type":"string","default":{"x-mcp-header":1}}}}"#
            )
            .unwrap()
            .is_empty()
        );
    }

    #[test]
    fn null_and_absent_arguments_have_no_header() {
        let header = ParamHeader {
            header: "N".into(),
            path: vec!["a".into(), "n".into()],
            numeric: true,
        };
        let value = |text: &str| param_value(&header, &Raw::parse(text).unwrap().object().unwrap());
        assert_eq!(value(r#"{"a":{"n":null}}"#).unwrap(), None);
        assert_eq!(value("{}").unwrap(), None);
        assert_eq!(value(r#"{"a":{"n":3.0}}"#).unwrap().as_deref(), Some("3"));
        assert!(value(r#"{"a":{"n":9007199254740993}}"#).is_err());
        assert!(same_value(&header, "3.0", "3"));
        assert!(!same_value(&header, "4", "3"));
    }
}
