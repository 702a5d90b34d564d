use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::any_schema::{any_schema, turned};

fn shape(schema: &Value) -> Shape {
    Shape::of(&Raw::of(schema))
}

/// One line a row: path, types, marks.
fn lines(schema: &Value) -> String {
    let mut text = String::new();
    for field in shape(schema).fields {
        let mut line = format!("{} {}", field.path, field.types);
        for (mark, is_set) in [(" required", field.required), (" nullable", field.nullable)] {
            line.push_str(if is_set { mark } else { "" });
        }
        if let Some(allowed) = field.allowed {
            write!(line, " of {}", allowed.values.join(",")).unwrap();
        }
        if let Some(default) = field.default {
            write!(line, " ={default}").unwrap();
        }
        if let Some(format) = field.format {
            write!(line, " {format}").unwrap();
        }
        for limit in field.limits {
            write!(line, " {limit}").unwrap();
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

#[test]
fn a_schema_becomes_sorted_rows() {
    let schema = json!({"type": "object", "required": ["repo", "ghost"], "properties": {
        "state": {"enum": ["open", "closed", null], "default": "open"},
        "repo": {"type": "string", "pattern": "^a", "maxLength": 9},
        "since": {"type": ["string", "null"], "format": "date-time"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "at": {"prefixItems": [{"type": "number"}, {"type": "integer"}]},
        "a.b": {"properties": {"c": true, "d": false}},
        "env": {"additionalProperties": {"type": "string"}, "patternProperties": {"^X": {"type": "number"}}},
        "old": {"type": "string", "nullable": true},
        "n": {"type": ["integer", "number"]},
    }});
    assert_eq!(
        lines(&schema),
        "\"a.b\" object\n\"a.b\".c unknown\n\"a.b\".d never\nat array\nat[0] number\nat[1] integer\nenv object\nenv.* string\n\
         env.~\"^X\" number\nghost unknown required\nlabels array\nlabels[] string\nn number\nold string nullable\n\
         repo string required maxLength=9 pattern=\"^a\"\nsince string nullable date-time\n\
         state string nullable of \"closed\",\"open\" =\"open\"\n"
    );
}

#[test]
fn alternatives_join_and_parts_that_hold_together_narrow() {
    let schema = json!({"type": "object", "properties": {
        "v": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "k": {"oneOf": [{"const": "a"}, {"const": "b"}, {"type": "null"}]},
        "w": {"allOf": [{"type": ["string", "number"]}, {"type": "string", "enum": ["x", "y"]}, {"enum": ["y", "z"]}]},
    }, "anyOf": [
        {"properties": {"id": {"type": "string"}, "kind": {"const": 1}}, "required": ["id", "kind"]},
        {"properties": {"id": {"type": "integer"}}, "required": ["id"]},
    ], "allOf": [{"required": ["v"]}]});
    assert_eq!(
        lines(&schema),
        "id integer|string required\nk string nullable of \"a\",\"b\"\nkind integer of 1\nv string required nullable\n\
         w string of \"y\"\n"
    );
}

#[test]
fn references_are_followed_here_and_nowhere_else_and_a_cycle_is_a_name() {
    let schema = json!({"type": "object", "properties": {
        "tree": {"$ref": "#/$defs/Node", "description": "the tree"},
        "far": {"$ref": "https://example.com/x.json"},
        "twin": {"$ref": "#/properties/tree"},
        "self": {"$ref": "#"},
    }, "$defs": {"Node": {"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    }}}});
    assert_eq!(
        lines(&schema),
        "far unknown\nself $Root\ntree object\ntree.children array\ntree.children[] $Node\ntree.name string required\n\
         twin object\ntwin.children array\ntwin.children[] $Node\ntwin.name string required\n"
    );
    assert!(shape(&schema).get("tree").unwrap().description.is_some());
}

#[test]
fn a_reference_to_itself_alone_ends() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "allOf": [{"$ref": "#"}]}),
    ] {
        assert_eq!(shape(&schema).fields, []);
    }
}

#[test]
fn doubling_references_use_up_a_budget_and_say_so() {
    let mut definitions = Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({"anyOf": [next, next]}));
    }
    let schema = json!({"properties": {"a": {"type": "string"}, "bomb": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    let shape = shape(&schema);
    assert_eq!(shape.cut, Some(Cut::Top));
    assert_eq!(shape.fields.len(), 1);
}

#[test]
fn what_is_cut_is_the_deepest() {
    let wide: Map<String, Value> = (0..300)
        .map(|at| {
            (
                format!("p{at:03}"),
                json!({"properties": {"a": {}, "b": {}}}),
            )
        })
        .collect();
    let shape_of_wide = shape(&json!({"properties": wide}));
    assert_eq!(shape_of_wide.cut, Some(Cut::Below));
    assert_eq!(shape_of_wide.arguments().count(), 300);
    let wider: Map<String, Value> = (0..600).map(|at| (format!("p{at}"), json!({}))).collect();
    let shape_of_wider = shape(&json!({"properties": wider}));
    assert_eq!(
        (shape_of_wider.cut, shape_of_wider.fields.len()),
        (Some(Cut::Top), MAX_FIELDS)
    );
    let mut deep = json!({"type": "string"});
    for _ in 0..30 {
        deep = json!({"properties": {"d": deep}});
    }
    let shape_of_deep = shape(&deep);
    assert_eq!(
        (shape_of_deep.cut, shape_of_deep.fields.len()),
        (Some(Cut::Below), MAX_DEPTH + 1)
    );
}

#[test]
fn a_short_schema_makes_no_long_record() {
    let values: Vec<_> = (0..100)
        .map(|at| "v".repeat(70) + &at.to_string())
        .collect();
    let members: Map<String, Value> = (0..400)
        .map(|at| (format!("{at}").repeat(300), json!({"$ref": "#/$defs/e"})))
        .collect();
    let shape = shape(&json!({"properties": members, "$defs": {"e": {"enum": values}}}));
    assert_eq!(shape.cut, Some(Cut::Top));
    assert!(format!("{shape:?}").len() < 2 * MAX_BYTES);
    assert!(shape.fields.iter().all(|field| field.path.len() < 230));
}

#[test]
fn a_schema_that_cannot_be_read_says_why() {
    let deep = format!("{}1{}", "{\"items\":".repeat(200), "}".repeat(200));
    let shape = Shape::of(&Raw::parse(&deep).unwrap());
    assert_eq!(
        shape.unread.as_deref(),
        Some("nested deeper than 100 levels")
    );
}

#[test]
fn many_allowed_values_are_told_apart_by_a_digest() {
    let of = |last: usize| {
        let values: Vec<_> = (0..200)
            .chain([last])
            .map(|at| format!("v{at:05}"))
            .collect();
        shape(&json!({"properties": {"a": {"enum": values}}})).fields[0]
            .allowed
            .clone()
            .unwrap()
    };
    assert_eq!(of(300).values.len(), MAX_ALLOWED);
    assert_ne!(of(300), of(301));
}

#[test]
fn a_path_knows_its_parent() {
    for (path, above) in [
        ("a", None),
        ("a.b", Some("a")),
        ("a[]", Some("a")),
        ("a[].b", Some("a[]")),
        ("\"a.b\"", None),
        ("\"a.b\".\"c[\\\".\"", Some("\"a.b\"")),
        ("~\"^x.\"", None),
        ("*", None),
    ] {
        assert_eq!(parent(path), above, "{path}");
    }
}

proptest! {
    #[test]
    fn any_schema_has_a_bounded_shape_that_does_not_depend_on_its_order(schema in any_schema()) {
        let one = shape(&schema);
        prop_assert!(one.fields.len() <= MAX_FIELDS);
        prop_assert!(one.fields.windows(2).all(|pair| pair[0].path < pair[1].path));
        prop_assert_eq!(one.fields, shape(&turned(&schema)).fields);
    }
}
