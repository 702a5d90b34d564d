//! Large schemas, and the argument objects that an independent validator accepts: `corpus/valid` has some for each schema
//! of the corpus.

use std::fs;

use mcpx_catalog::typescript::Namespace;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{assert_sound, check_types, corpus, corpus_files, write};

/// Schemas that are large, deep or wide.
pub(super) fn sizes() -> Value {
    let mut deep = json!({"type": "string"});
    let mut lists = deep.clone();
    for _ in 0..40 {
        deep = json!({"type": "object", "properties": {"d": deep}, "required": ["d"]});
        lists = json!({"type": "array", "items": lists});
    }
    let members = |count: usize| -> Value {
        let members = (0..count).map(|at| (format!("p{at}"), json!({"type": "string"})));
        members.collect::<serde_json::Map<_, _>>().into()
    };
    let ring: serde_json::Map<_, _> = (0..60)
        .map(|at| {
            let next = format!("#/$defs/d{}", (at + 1) % 60);
            (
                format!("d{at}"),
                json!({"properties": {"x": {"$ref": next}}}),
            )
        })
        .collect();
    let union = |name: &str| -> Value {
        (0..60)
            .map(|at| json!({"properties": {"k": {"const": format!("{name}{at}")}, "self": {"$ref": format!("#/$defs/{name}")}}}))
            .collect()
    };
    let wide: Vec<Value> = (0..300)
        .map(|at| json!({"properties": {"k": {"const": at}}}))
        .collect();
    json!([
        {"name": "many", "inputSchema": {"type": "object", "properties": members(10_000)}},
        {"name": "deep", "inputSchema": deep},
        {"name": "lists", "inputSchema": {"properties": {"l": lists}}},
        {"name": "wide", "inputSchema": {"properties": {"v": {"anyOf": wide}}}},
        {"name": "ring", "inputSchema": {"properties": {"v": {"$ref": "#/$defs/d0"}}, "$defs": ring}},
        {"name": "unions", "inputSchema": {
            "properties": {"v": {"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}, {"$ref": "#/$defs/C"}]}},
            "$defs": {"A": {"anyOf": union("A")}, "B": {"anyOf": union("B")}, "C": {"anyOf": union("C")}}}},
    ])
}

/// A value as a script writes it.
fn literal(value: &Value) -> String {
    // `__proto__` as it is would set one.
    value
        .to_string()
        .replace("\"__proto__\":", "[\"__proto__\"]:")
}

#[test]
fn what_a_schema_takes_its_type_takes() {
    let dir = TempDir::new().unwrap();
    let mut calls: Vec<(String, Vec<String>)> = Vec::new();
    for path in corpus_files() {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let valid = path.with_file_name(format!("../valid/{name}.json"));
        let valid: Value = serde_json::from_slice(&fs::read(valid).unwrap()).unwrap();
        let tools = corpus(&path);
        let space = Namespace {
            server: "n",
            tools: &tools,
            ..Namespace::default()
        };
        write(&dir, &name, &[space]);
        let lines: Vec<String> = valid
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(tool, all)| all.as_array().unwrap().iter().map(move |one| (tool, one)))
            .filter(|(tool, _)| tools.iter().any(|known| known.name == **tool))
            .map(|(tool, arguments)| format!("n[{}]({});", json!(tool), literal(arguments)))
            .collect();
        let text = format!(
            "import {{ n }} from \"./{name}.client.js\";\n{}\n",
            lines.join("\n")
        );
        fs::write(dir.path().join(format!("{name}.valid.ts")), text).unwrap();
        calls.push((name, lines));
    }
    let count: usize = calls.iter().map(|(_, lines)| lines.len()).sum();
    assert!(count > 1_500, "{count}");
    assert_sound(&check_types(&dir));
}
