use mcp_wire::Raw;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::any_schema::any_schema;

fn tool(name: &str, input: &Value) -> Tool {
    Tool::parse(&Raw::of(
        &json!({"name": name, "description": "Does it.", "inputSchema": input}),
    ))
    .unwrap()
}

fn signature(input: &Value) -> String {
    let tools = [tool("t", input)];
    let text = types(&[Namespace {
        server: "demo",
        tools: &tools,
        ..Namespace::default()
    }]);
    text.split_once("  t: ")
        .unwrap()
        .1
        .rsplit_once(";\n};")
        .unwrap()
        .0
        .to_owned()
}

#[test]
fn the_object_is_optional_exactly_when_nothing_is_required() {
    for (input, expected) in [
        (
            json!({}),
            "(args?: { [key: string]: unknown }) => Promise<ToolResult>",
        ),
        (
            json!({"type": "object", "additionalProperties": false}),
            "(args?: { [key: string]: never }) => Promise<ToolResult>",
        ),
        (
            json!({"properties": {"a": {"type": "string"}}}),
            "(args?: { a?: string }) => Promise<ToolResult>",
        ),
        (
            json!({"properties": {"a": {"type": "string"}}, "required": ["a"]}),
            "(args: { a: string }) => Promise<ToolResult>",
        ),
        (
            json!({"properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            "(args: ({ a?: unknown } & ({ a: unknown } | { b: unknown }))) => Promise<ToolResult>",
        ),
        (
            json!({"allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"required": ["q"]}}}),
            "(args: { q: unknown }) => Promise<ToolResult>",
        ),
        (
            json!({"oneOf": [{"required": ["q"]}, {"type": "object"}]}),
            "(args?: { q: unknown } | { [key: string]: unknown }) => Promise<ToolResult>",
        ),
        (
            json!({"minProperties": 1}),
            "(args: { [key: string]: unknown }) => Promise<ToolResult>",
        ),
    ] {
        assert_eq!(signature(&input), expected, "{input}");
    }
}

#[test]
fn keywords_become_types() {
    for (schema, expected) in [
        (json!({"type": "integer"}), "number"),
        (json!({"type": ["string", "null"]}), "string | null"),
        (
            json!({"enum": ["a\"`${", 1, null, true]}),
            r#""a\"`${" | 1 | null | true"#,
        ),
        (json!({"enum": []}), "never"),
        (json!({"const": 3}), "3"),
        (json!({"type": "string", "nullable": true}), "string | null"),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            "string[]",
        ),
        (
            json!({"type": "array", "items": {"enum": ["a", "b"]}}),
            r#"Array<"a" | "b">"#,
        ),
        (json!({"type": "array"}), "unknown[]"),
        (
            json!({"prefixItems": [{"type": "number"}, {"type": "string"}], "minItems": 1, "items": {"type": "null"}}),
            "[(number), (string)?, ...null[]]",
        ),
        (
            json!({"additionalProperties": {"type": "number"}}),
            "{ [key: string]: number }",
        ),
        (
            json!({"properties": {"a-b": {"type": "number"}}, "additionalProperties": true}),
            r#"{ "a-b"?: number; [key: string]: unknown }"#,
        ),
        (json!({"$ref": "https://example.com/x"}), "unknown"),
        (
            json!({"type": "object", "oneOf": [{"properties": {"k": {"const": 1}}, "required": ["k"]}, {"type": "null"}]}),
            "{ k: 1 } | null",
        ),
        (json!(false), "never"),
        (json!("nonsense"), "unknown"),
    ] {
        let whole = signature(&json!({"properties": {"p": schema}}));
        assert_eq!(
            whole,
            format!("(args?: {{ p?: {expected} }}) => Promise<ToolResult>")
        );
    }
}

#[test]
fn what_holds_itself_is_a_named_type_and_what_is_only_itself_is_unknown() {
    let tools = [tool(
        "t",
        &json!({"properties": {"tree": {"$ref": "#/$defs/Node"}, "loop": {"$ref": "#/$defs/Loop"}},
        "$defs": {"Node": {"properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}, "Loop": {"$ref": "#/$defs/Loop"}}}),
    )];
    let text = types(&[Namespace {
        server: "demo",
        tools: &tools,
        ..Namespace::default()
    }]);
    assert!(
        text.contains(
            "type demo$t$in$Loop = unknown;\ntype demo$t$in$Node = { kids?: demo$t$in$Node[] };\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("(args?: { loop?: demo$t$in$Loop; tree?: demo$t$in$Node })"),
        "{text}"
    );
}

#[test]
fn a_member_says_what_its_name_does_not() {
    let whole = signature(&json!({"properties": {
        "max_count": {"title": "Max Count", "type": "integer", "default": 10},
        "since": {"title": "Since", "type": ["string", "null"], "default": null},
        "depth": {"title": "How deep", "description": "levels below", "type": "integer", "default": 2},
    }}));
    assert_eq!(
        whole,
        "(args?: {\n    /** levels below (default: 2) */\n    depth?: number;\n    /** default: 10 */\n    max_count?: number;\n    since?: string | null;\n  }) => Promise<ToolResult>"
    );
}

#[test]
fn a_whole_namespace_reads_like_this() {
    let tools = [
        Tool::parse(&Raw::of(&json!({"name": "create-issue", "description": "Creates an issue.\nNot twice. */ @ts-ignore",
            "inputSchema": {"properties": {"title": {"type": "string", "description": "one line"}, "draft": {"type": "boolean", "default": false}}, "required": ["title"]},
            "outputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}}))).unwrap(),
        tool("new", &json!({})),
    ];
    let text = types(&[Namespace {
        server: "issue-tracker",
        instructions: Some("Ask before closing."),
        tools: &tools,
        ..Namespace::default()
    }]);
    let (space, function) = ("issue_tracker", "create_issue");
    assert_eq!(
        text,
        format!(
            r#"type ToolResult = any;
type Envelope = {{ content?: unknown[]; structuredContent?: unknown; isError?: boolean }};
type Attached<T> = T extends object ? "raw" extends keyof T ? Envelope extends T["raw"] ? T & {{ readonly raw: Envelope }} : T : T & {{ readonly raw: Envelope }} : T;

/**
 * The server "issue-tracker".
 * Ask before closing.
 */
declare const {space}: {{
  /**
   * Creates an issue.
   * Not twice. *\/ @ ts-ignore
   * The server's name for it is "create-issue".
   */
  {function}: (args: {{
    /** default: false */
    draft?: boolean;
    /** one line */
    title: string;
  }}) => Promise<Attached<{{ number: number }}>>;
  /** Does it. */
  new: (args?: {{ [key: string]: unknown }}) => Promise<ToolResult>;
}};
"#
        )
    );
    let client = client(&[Namespace {
        server: "issue-tracker",
        tools: &tools,
        ..Namespace::default()
    }]);
    for line in [
        "  create_issue: $tool0,\n  \"create-issue\": $tool0,\n".to_owned(),
        "export const issue_tracker = {\n".to_owned(),
        "=> $call(\"issue-tracker\", \"create-issue\", args);\n".to_owned(),
    ] {
        assert!(client.contains(&line), "{line} in {client}");
    }
}

#[test]
fn a_megabyte_of_description_and_a_schema_bomb_stay_small() {
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(
            format!("d{level}"),
            json!({"properties": {"a": next, "b": next}}),
        );
    }
    let raw = json!({"name": "t", "description": "x*/".repeat(400_000), "inputSchema": {"properties": {"bomb": {"$ref": "#/$defs/d0"}}, "$defs": definitions}});
    let tools = [Tool::parse(&Raw::of(&raw)).unwrap()];
    let spaces = [Namespace {
        server: "demo",
        tools: &tools,
        ..Namespace::default()
    }];
    assert!(types(&spaces).len() < 80_000);
    structure(&client(&spaces)).unwrap();
}

#[test]
fn a_type_that_is_too_long_is_left_out_and_the_tool_stays() {
    let wide: serde_json::Map<String, Value> = (0..3_000)
        .map(|at| {
            (
                format!("a_member_with_a_long_name_{at}"),
                json!({"type": "string"}),
            )
        })
        .collect();
    let tools = [tool("t", &json!({"properties": wide}))];
    let text = types(&[Namespace {
        server: "demo",
        tools: &tools,
        ..Namespace::default()
    }]);
    assert!(
        text.contains("The type of its arguments is left out: it has "),
        "{text}"
    );
    assert!(
        text.len() < 1_000 && text.contains("  t: (args?: { [key: string]: unknown })"),
        "{text}"
    );
}

#[test]
fn a_type_that_is_too_long_is_cut_where_it_is_deepest() {
    let members = |of: &Value, count: usize| -> Value {
        let all = (0..count).map(|at| (format!("a_member_with_a_long_name_{at}"), of.clone()));
        json!({"type": "object", "properties": all.collect::<serde_json::Map<_, _>>()})
    };
    let mut schema = json!({"type": "string"});
    for _ in 0..6 {
        schema = members(&schema, 5);
    }
    let whole = signature(&schema);
    assert!(whole.len() < MAX_TYPE_BYTES, "{}", whole.len());
    assert!(whole.contains("a_member_with_a_long_name_4?: unknown"));
    assert!(!whole.starts_with("(args?: { [key: string]: unknown })"));
}

#[test]
fn a_schema_that_cannot_be_read_leaves_a_record_and_says_why() {
    let deep = format!(
        "{{\"name\":\"t\",\"inputSchema\":{{\"a\":{}1{}}}}}",
        "[".repeat(110),
        "]".repeat(110)
    );
    let tools = [Tool::parse(&Raw::parse(&deep).unwrap()).unwrap()];
    let text = types(&[Namespace {
        server: "demo",
        tools: &tools,
        ..Namespace::default()
    }]);
    assert!(
        text.contains(
            "  /** The type of its arguments is left out: nested deeper than 100 levels. */\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("  t: (args?: { [key: string]: unknown }) => Promise<ToolResult>;"),
        "{text}"
    );
}

#[test]
fn named_types_of_two_tools_never_share_a_name() {
    let tree = json!({"properties": {"a": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"properties": {"n": {"$ref": "#/$defs/N"}}}}});
    let (one, other) = ([tool("b_c", &tree)], [tool("c", &tree)]);
    let text = types(&[
        Namespace {
            server: "a",
            tools: &one,
            ..Namespace::default()
        },
        Namespace {
            server: "a_b",
            tools: &other,
            ..Namespace::default()
        },
    ]);
    assert!(
        text.contains("type a$b_c$in$N = ") && text.contains("type a_b$c$in$N = "),
        "{text}"
    );
}

/// A cheap look at the structure of generated text: comments and literals end, brackets match.
pub(crate) fn structure(text: &str) -> Result<(), String> {
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '/' if after.starts_with('*') => rest[2..].split_once("*/").ok_or("an open comment")?.1,
            '/' if after.starts_with('/') => rest.split_once('\n').map_or("", |(_, rest)| rest),
            '/' if after.starts_with("^\\s*") => {
                after.split_once("/.test").ok_or("an open pattern")?.1
            }
            '"' | '`' => {
                let mut chars = after.char_indices();
                loop {
                    match chars.next().ok_or("an open literal")? {
                        (_, '\\') => drop(chars.next()),
                        (_, '\n' | '\u{2028}' | '\u{2029}') if c == '"' => {
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
                let expected = match c {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                if open.pop() != Some(expected) {
                    return Err(format!(
                        "an unexpected {c} before {}",
                        after.chars().take(40).collect::<String>()
                    ));
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

proptest! {
    #[test]
    fn any_schema_gives_code_of_sound_structure(schema in any_schema(), name in ".{1,20}", description in "(\\*/|`|\\$\\{|\"|\\\\|\u{2028}|\0|@ts-ignore|a|\n){0,30}") {
        let raw = json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": {"p": schema, name.clone(): {"description": description}}}, "outputSchema": {"properties": {"o": schema}}});
        let tools = [Tool::parse(&Raw::of(&raw)).unwrap()];
        let spaces = [Namespace { server: &name, prelude: Some(&description), tools: &tools, ..Namespace::default() }];
        prop_assert_eq!(structure(&types(&spaces)), Ok(()));
        prop_assert_eq!(structure(&client(&spaces)), Ok(()));
        prop_assert_eq!(structure(&globals(&spaces)), Ok(()));
    }
}
