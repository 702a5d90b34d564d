//! A second reader of JSON Schema, slow and plain, that shares nothing with the crate.

use serde_json::{Map, Value};

/// Says whether `content` satisfies `schema`; formats and patterns are left out.
pub(crate) fn satisfies(schema: &Value, root: &Value, content: &Value) -> bool {
    let Some(schema) = schema.as_object() else {
        return schema.as_bool().unwrap_or(false);
    };
    schema
        .iter()
        .all(|(keyword, stated)| keyword_holds(keyword, stated, schema, root, content))
}

fn keyword_holds(
    keyword: &str,
    stated: &Value,
    schema: &Map<String, Value>,
    root: &Value,
    content: &Value,
) -> bool {
    let number = content.as_f64().filter(|_| content.is_number());
    let limit = stated.as_f64().unwrap_or(0.0);
    let text = content.as_str().map(|text| text.chars().count() as f64);
    let items = content.as_array();
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    match keyword {
        "type" => match stated {
            Value::Array(names) => names
                .iter()
                .any(|name| is_of(name.as_str().unwrap_or(""), content)),
            name => is_of(name.as_str().unwrap_or(""), content),
        },
        "enum" => all(stated).iter().any(|value| equal(value, content)),
        "const" => equal(stated, content),
        "anyOf" | "oneOf" => all(stated)
            .iter()
            .any(|branch| satisfies(branch, root, content)),
        "allOf" => all(stated)
            .iter()
            .all(|branch| satisfies(branch, root, content)),
        "$ref" => {
            let target = root.pointer(stated.as_str().unwrap_or("").trim_start_matches('#'));
            target.is_some_and(|target| satisfies(target, root, content))
        }
        "minimum" => number.is_none_or(|number| number >= limit),
        "maximum" => number.is_none_or(|number| number <= limit),
        "exclusiveMinimum" => number.is_none_or(|number| number > limit),
        "exclusiveMaximum" => number.is_none_or(|number| number < limit),
        "multipleOf" => number.is_none_or(|number| (number / limit).fract() == 0.0),
        "minLength" => text.is_none_or(|length| length >= limit),
        "maxLength" => text.is_none_or(|length| length <= limit),
        "minItems" => items.is_none_or(|items| items.len() as f64 >= limit),
        "maxItems" => items.is_none_or(|items| items.len() as f64 <= limit),
        "uniqueItems" => items.is_none_or(|items| {
            stated == false
                || (0..items.len())
                    .all(|at| items[..at].iter().all(|other| !equal(other, &items[at])))
        }),
        "items" => items.is_none_or(|items| items.iter().all(|item| satisfies(stated, root, item))),
        "required" => all(stated)
            .iter()
            .all(|name| content.get(name.as_str().unwrap_or("")).is_some()),
        "properties" => content.as_object().is_none_or(|content| {
            content.iter().all(|(name, value)| {
                stated
                    .get(name)
                    .is_some_and(|property| satisfies(property, root, value))
            })
        }),
        _ => schema.contains_key(keyword),
    }
}

fn is_of(name: &str, content: &Value) -> bool {
    match name {
        "string" => content.is_string(),
        "boolean" => content.is_boolean(),
        "null" => content.is_null(),
        "array" => content.is_array(),
        "object" => content.is_object(),
        "number" => content.is_number(),
        "integer" => content.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => false,
    }
}

fn equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}
