//! JSON as people write it, in the style of the file around it.

use serde_json::Value;

use crate::files::Node;

/// How a file is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    /// One step of indentation.
    pub(super) unit: String,
    pub(super) line_end: &'static str,
}

impl Style {
    /// The step of the first member that begins a line, two spaces without one; the line end that most lines have.
    pub(super) fn of(text: &str, root: &Node) -> Self {
        let unit = root
            .entries()
            .iter()
            .find_map(|entry| {
                let line = text[..entry.start].rfind('\n')? + 1;
                let indent = &text[line..entry.start];
                (!indent.is_empty() && indent.trim().is_empty()).then(|| indent.to_owned())
            })
            .unwrap_or_else(|| "  ".to_owned());
        let breaks = text.matches('\n').count();
        let line_end = if text.matches("\r\n").count() * 2 > breaks {
            "\r\n"
        } else {
            "\n"
        };
        Self { unit, line_end }
    }
}

/// On one line.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Array(elements) => {
            let inner: Vec<String> = elements.iter().map(inline).collect();
            format!("[{}]", inner.join(", "))
        }
        Value::Object(members) => {
            let inner: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}: {}", Value::String(name.clone()), inline(value)))
                .collect();
            format!("{{{}}}", inner.join(", "))
        }
        other => other.to_string(),
    }
}

/// Objects over several lines, a list of plain values on one. `indent` is that of the line the value begins in.
pub(super) fn block(value: &Value, indent: &str, style: &Style) -> String {
    let line = style.line_end;
    let deeper = format!("{indent}{}", style.unit);
    let wrapped = |open: char, parts: Vec<String>, close: char| {
        let inner: Vec<String> = parts
            .into_iter()
            .map(|part| format!("{deeper}{part}"))
            .collect();
        let inner = inner.join(&format!(",{line}"));
        format!("{open}{line}{inner}{line}{indent}{close}")
    };
    match value {
        Value::Object(members) if !members.is_empty() => wrapped(
            '{',
            members
                .iter()
                .map(|(name, value)| {
                    format!(
                        "{}: {}",
                        Value::String(name.clone()),
                        block(value, &deeper, style)
                    )
                })
                .collect(),
            '}',
        ),
        Value::Array(elements)
            if elements
                .iter()
                .any(|element| element.is_object() || element.is_array()) =>
        {
            wrapped(
                '[',
                elements
                    .iter()
                    .map(|element| block(element, &deeper, style))
                    .collect(),
                ']',
            )
        }
        other => inline(other),
    }
}
