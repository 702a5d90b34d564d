//! The schemas of tools in forms that other programs read: JSON Schema, `OpenAPI`, MCP.
//!
//! Schemas of many tools share a document here: each is put into the words of 2020-12, and its references are turned to
//! where their places are now. In the form of MCP a schema stays as its server wrote it.

mod portable;

use std::collections::BTreeSet;

use mcp_wire::{Raw, Tool};
use serde_json::{Map, Value, json};

use crate::names::{self, Names};
use crate::typescript::Namespace;
use portable::portable;

/// Every tool's arguments, and result where it declares one, as definitions of one JSON Schema of 2020-12.
///
/// The definitions are named `namespace.function` and `namespace.function.result`.
#[must_use]
pub fn json_schema(namespaces: &[Namespace<'_>]) -> Value {
    let definitions = definitions(namespaces, "#/$defs");
    json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions})
}

/// A document of `OpenAPI` 3.1 with an operation for each tool, as the hub serves them.
#[must_use]
pub fn openapi(namespaces: &[Namespace<'_>], version: &str) -> Value {
    let (paths, schemas) = openapi_parts(namespaces);
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Tools of mcpx", "version": version},
        "paths": paths,
        "components": {"schemas": schemas}
    })
}

/// The `paths` and the `components.schemas` of [`openapi`], to be put into another document.
#[must_use]
pub fn openapi_parts(namespaces: &[Namespace<'_>]) -> (Map<String, Value>, Map<String, Value>) {
    let mut paths = Map::new();
    for_each(namespaces, |namespace, name, tool| {
        let body = format!("#/components/schemas/{name}");
        let structured = tool
            .output_schema()
            .map(|_| json!({"$ref": format!("{body}.result")}));
        let mut result = json!({"type": "object", "properties": {
            "content": {"type": "array"}, "isError": {"type": "boolean"}}});
        if let Some(structured) = structured {
            result["properties"]["structuredContent"] = structured;
        }
        let (server, original) = (path_segment(namespace.server), path_segment(&tool.name));
        let operation = json!({
            "operationId": name,
            "summary": tool.title().unwrap_or_else(|| name.to_owned()),
            "description": tool.description().unwrap_or_default(),
            "tags": [namespace.identifier()],
            "requestBody": {"content": {"application/json": {"schema": {"$ref": body}}}},
            "responses": {"200": {"description": "What the tool answered.", "content": {"application/json": {
                "schema": {"type": "object", "properties": {"result": result}}}}}}
        });
        paths.insert(
            format!("/v1/call/{server}/{original}"),
            json!({"post": operation}),
        );
    });
    (paths, definitions(namespaces, "#/components/schemas"))
}

/// The tools as a server lists them, under one name each.
#[must_use]
pub fn mcp(namespaces: &[Namespace<'_>]) -> Value {
    let mut tools = Vec::new();
    for_each(namespaces, |namespace, name, tool| {
        let function = name.rsplit('.').next().unwrap_or(name);
        let mut raw = tool.raw().clone();
        raw.set("name", names::qualified(&namespace.identifier(), function));
        tools.extend(Raw::from(raw).value());
    });
    json!({ "tools": tools })
}

/// Each tool with the name that stands for it, `namespace.function`. Two of one name are one.
fn for_each(namespaces: &[Namespace<'_>], mut work: impl FnMut(&Namespace<'_>, &str, &Tool)) {
    let mut seen = BTreeSet::new();
    for namespace in namespaces {
        let identifier = namespace.identifier();
        let names = Names::of_tools(namespace.tools.iter().map(|tool| tool.name.clone()));
        for tool in namespace.tools {
            let name = format!("{identifier}.{}", names.identifier(&tool.name));
            if seen.insert(name.clone()) {
                work(namespace, &name, tool);
            }
        }
    }
}

fn definitions(namespaces: &[Namespace<'_>], above: &str) -> Map<String, Value> {
    let mut definitions = Map::new();
    for_each(namespaces, |_, name, tool| {
        let input = tool.input_schema().value().unwrap_or(Value::Bool(true));
        definitions.insert(name.to_owned(), portable(input, &format!("{above}/{name}")));
        if let Some(output) = tool.output_schema() {
            let name = format!("{name}.result");
            let output = output.value().unwrap_or(Value::Bool(true));
            let output = portable(output, &format!("{above}/{name}"));
            definitions.insert(name, output);
        }
    });
    definitions
}

/// A name as one segment of a path in a URL.
fn path_segment(name: &str) -> String {
    encoded(name, b"-._~")
}

/// Text as a part of a URL: letters, digits and what is `kept` stay.
fn encoded(text: &str, kept: &[u8]) -> String {
    use std::fmt::Write as _;

    text.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing into a string cannot fail.
            let _: std::fmt::Result = write!(text, "%{byte:02X}");
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::any_schema::any_schema;
    use crate::reference;

    fn tool(name: &str, input: &Value) -> Tool {
        let raw = json!({"name": name, "inputSchema": input, "outputSchema": {"type": "object"}});
        Tool::parse(&Raw::of(&raw)).unwrap()
    }

    fn tree() -> Value {
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {
            "root": {"$ref": "#/$defs/N"}, "self": {"$ref": "#"}, "$ref": {"type": "string"}, "far": {"$ref": "http://127.0.0.1/x"},
            "data": {"const": {"$ref": "#"}}}, "$defs": {"N": {"items": {"$ref": "#/$defs/N"}}}})
    }

    #[test]
    fn references_lead_to_where_their_place_is_now() {
        let tools = [tool("make-tree", &tree())];
        let space = [Namespace {
            server: "a-b",
            tools: &tools,
            ..Namespace::default()
        }];
        let document = json_schema(&space);
        let moved = &document["$defs"]["a_b.make_tree"];
        let place = "#/$defs/a_b.make_tree";
        assert_eq!(
            moved["properties"]["root"]["$ref"],
            format!("{place}/$defs/N")
        );
        assert_eq!(moved["properties"]["self"]["$ref"], place);
        assert_eq!(moved["properties"]["$ref"], json!({"type": "string"}));
        assert_eq!(moved["properties"]["far"]["$ref"], "http://127.0.0.1/x");
        assert_eq!(moved["properties"]["data"]["const"], json!({"$ref": "#"}));
        assert!(moved.get("$schema").is_none());
        assert!(document["$defs"]["a_b.make_tree.result"].is_object());
        let found = reference::resolve(&document, &format!("{place}/$defs/N")).unwrap();
        assert!(std::ptr::eq(
            found,
            &document["$defs"]["a_b.make_tree"]["$defs"]["N"]
        ));
    }

    #[test]
    fn each_tool_is_an_operation_and_a_listed_tool() {
        let tools = [tool("make-tree", &tree()), tool("a/b c", &json!({}))];
        let space = [Namespace {
            server: "my server",
            tools: &tools,
            ..Namespace::default()
        }];
        let document = openapi(&space, "1.2.3");
        let operation = &document["paths"]["/v1/call/my%20server/make-tree"]["post"];
        assert_eq!(operation["operationId"], "my_server.make_tree");
        assert!(document["paths"]["/v1/call/my%20server/a%2Fb%20c"].is_object());
        let body = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
        let schema = reference::resolve(&document, body.as_str().unwrap()).unwrap();
        assert_eq!(schema["properties"]["self"]["$ref"], *body);
        let listed = mcp(&space);
        assert_eq!(listed["tools"][0]["name"], "my_server__make_tree");
        assert_eq!(listed["tools"][0]["inputSchema"], tree());
    }

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                found.extend(
                    members
                        .get("$ref")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                );
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(elements) => elements.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn what_a_reference_found_before_it_finds_after(schema in any_schema()) {
            let input = json!({"type": "object", "properties": {"p": schema}});
            let tools = [tool("t", &input)];
            let space = [Namespace { server: "s", tools: &tools, ..Namespace::default() }];
            let document = json_schema(&space);
            let (mut before, mut after) = (Vec::new(), Vec::new());
            references(&reference::local(input.clone()), &mut before);
            before.retain(|old| !old.starts_with('#') || reference::resolve(&input, old).is_some_and(|found| found.is_object() || found.is_boolean()));
            references(&document["$defs"]["s.t"], &mut after);
            prop_assert_eq!(before.len(), after.len());
            for (old, new) in before.iter().zip(&after) {
                prop_assert_eq!(
                    reference::resolve(&input, old).is_some(),
                    reference::resolve(&document, new).is_some(),
                    "{} and {}", old, new
                );
            }
        }
    }
}
