//! Reads any JSON as the schemas of a tool, with any name and description: what is generated is of sound structure, a
//! listing stays within its budget, and a call that is advised fits on one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_wire::{Object, Raw, Tool};
use mcpx_catalog::explain::{Call, Refusal, explain, render};
use mcpx_catalog::history::History;
use mcpx_catalog::listing::listing;
use mcpx_catalog::published;
use mcpx_catalog::typescript::{Namespace, client, globals, types};
use serde_json::{Value, json};

fuzz_target!(|data: &[u8]| {
    // Behind the schema and a NUL: the name of the tool and of its server; behind another: its description.
    let text = String::from_utf8_lossy(data);
    let mut parts = text.splitn(3, '\0');
    let schema = parts.next().unwrap_or_default();
    let name = parts.next().unwrap_or("t");
    let description = parts.next().unwrap_or_default();
    let Ok(schema) = serde_json::from_str::<Value>(schema) else {
        return;
    };
    let field = json!({"type": "object", "properties": {"p": schema}, "required": ["p"]});
    // A list with one name twice is one tool: another one is wanted here.
    let other = format!("{name} field");
    let tools: Vec<Tool> = [(name, &schema), (other.as_str(), &field)]
        .into_iter()
        .filter_map(|(name, input)| {
            let raw = json!({"name": name, "description": description, "inputSchema": input, "outputSchema": input});
            Tool::parse(&Raw::from(raw)).ok()
        })
        .collect();
    let spaces = [Namespace {
        server: name,
        description: Some(description),
        instructions: Some(description),
        tools: &tools,
        ..Namespace::default()
    }];
    for text in [types(&spaces), client(&spaces), globals(&spaces)] {
        structure(&text).unwrap_or_else(|wrong| panic!("{wrong} in {text}"));
    }
    let whole = listing(&spaces, 100_000, &[description]);
    assert_eq!((whole.shown, whole.total), (tools.len(), tools.len()));
    let none = listing(&spaces, 0, &[]);
    assert_eq!(none.text.lines().count(), 3);
    let _published = (
        published::json_schema(&spaces),
        published::openapi(&spaces, "1"),
        published::mcp(&spaces),
    );
    advice(&tools, description);
});

fn advice(tools: &[Tool], message: &str) {
    let arguments = Object::new().with("p", Raw::null());
    for tool in tools {
        let call = Call {
            server: "s",
            namespace: "s",
            tool: &tool.name,
            tools: Some(tools),
            arguments: &arguments,
        };
        let refusals = [
            Refusal::Error {
                code: -32_602,
                message,
            },
            Refusal::Result { text: message },
        ];
        for refusal in refusals {
            let found = explain(&call, refusal, &History::default());
            for finding in &found {
                assert!(!finding.message.contains(['\n', '\u{1b}']));
                if let Some(fix) = &finding.fix {
                    assert!(!fix.contains('\n'));
                    structure(fix).unwrap_or_else(|wrong| panic!("{wrong} in {fix}"));
                }
            }
            let _text = render(&found);
        }
    }
}

/// Comments and literals end, brackets match.
fn structure(text: &str) -> Result<(), String> {
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '/' if after.starts_with('*') => rest[2..].split_once("*/").ok_or("an open comment")?.1,
            '/' if after.starts_with('/') => rest.split_once('\n').map_or("", |(_, rest)| rest),
            // The one pattern of the client.
            '/' if after.starts_with("^\\s*") => {
                after.split_once("/.test").ok_or("an open pattern")?.1
            }
            '"' | '`' => {
                let mut chars = after.char_indices();
                loop {
                    match chars.next().ok_or("an open literal")? {
                        (_, '\\') => drop(chars.next()),
                        (_, '\n' | '\r' | '\u{2028}' | '\u{2029}') if c == '"' => {
                            return Err("a literal over lines".to_owned());
                        }
                        (at, end) if end == c => break &after[at + 1..],
                        _ => {}
                    }
                }
            }
            '(' | '[' | '{' => {
                open.push(c);
                after
            }
            ')' | ']' | '}' => {
                let begun = match c {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                if open.pop() != Some(begun) {
                    return Err(format!("an unexpected {c}"));
                }
                after
            }
            '\0' => return Err("a NUL".to_owned()),
            _ => after,
        };
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("{open:?} left open"))
    }
}
