//! Makes every reference of a document a pointer from its root, whatever it was written as: relative to an `$id`, to an
//! anchor, dynamic.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// How the value of a keyword holds schemas.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Below {
    /// It is one, or a list of them.
    Schema,
    /// It names them.
    Named,
    /// It is data.
    Nothing,
}

/// What stands below a keyword. Of a keyword that is not known, schemas may be referred to.
pub(crate) fn below(keyword: &str) -> Below {
    match keyword {
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
        | "dependencies" => Below::Named,
        "enum" | "const" | "default" | "examples" | "example" | "required" => Below::Nothing,
        _ => Below::Schema,
    }
}

/// The document with every reference to a place in it as a pointer from its root, `#/$defs/Node`. One that leads out of
/// it, or to a place that depends on how it was entered, stays or leads nowhere.
pub(crate) fn local(mut document: Value) -> Value {
    let mut index = Index::default();
    index.resource(&document, "", "");
    if index.has_references {
        let base = index.root.clone();
        rewrite(&mut document, &base, &index);
    }
    document
}

/// What references may lead to.
#[derive(Default)]
struct Index {
    has_references: bool,
    /// What the root calls itself.
    root: String,
    /// Pointers of the schemas that have an `$id`, by what it means.
    resources: BTreeMap<String, String>,
    /// Pointers of anchors, by resource and name.
    anchors: BTreeMap<(String, String), String>,
    /// Pointers of dynamic anchors, by name.
    dynamic: BTreeMap<String, Vec<String>>,
    /// Pointers of schemas that say `$recursiveAnchor`.
    recursive: Vec<String>,
}

impl Index {
    /// Takes in `schema` at the pointer `at`, in a resource called `base`. The depth is that of what was parsed.
    fn resource(&mut self, schema: &Value, base: &str, at: &str) {
        match schema {
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.resource(element, base, &format!("{at}/{index}"));
                }
            }
            Value::Object(members) => {
                let own = own_base(members, base);
                let base = own.as_deref().unwrap_or(base);
                self.names(members, base, at, own.is_some() || at.is_empty());
                for (keyword, value) in members {
                    let at = format!("{at}/{}", token(keyword));
                    match (below(keyword), value) {
                        (Below::Nothing, _) => {}
                        (Below::Named, Value::Object(named)) => {
                            for (name, schema) in named {
                                self.resource(schema, base, &format!("{at}/{}", token(name)));
                            }
                        }
                        _ => self.resource(value, base, &at),
                    }
                }
            }
            _ => {}
        }
    }

    fn names(&mut self, members: &Map<String, Value>, base: &str, at: &str, is_resource: bool) {
        self.has_references |= super::of(members).is_some();
        if at.is_empty() {
            base.clone_into(&mut self.root);
            self.resources.insert(String::new(), String::new());
        }
        if is_resource {
            let first = self.resources.entry(base.to_owned());
            first.or_insert_with(|| at.to_owned());
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            let Some(name) = members.get(keyword).and_then(Value::as_str) else {
                continue;
            };
            let first = self.anchors.entry((base.to_owned(), name.to_owned()));
            first.or_insert_with(|| at.to_owned());
            if keyword == "$dynamicAnchor" {
                let all = self.dynamic.entry(name.to_owned()).or_default();
                all.push(at.to_owned());
            }
        }
        if members.get("$recursiveAnchor") == Some(&Value::Bool(true)) {
            self.recursive.push(at.to_owned());
        }
    }

    /// Where a reference from a resource called `base` leads.
    fn find(&self, base: &str, reference: &str) -> Option<String> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let uri = if uri.is_empty() {
            base.to_owned()
        } else {
            joined(base, uri)
        };
        let resource = self.resources.get(&uri)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return Some(format!("{resource}{fragment}"));
        }
        let fragment = super::percent_decoded(fragment).into_owned();
        self.anchors.get(&(uri, fragment)).cloned()
    }

    /// Where a dynamic reference leads: the outermost of the anchors that its name has. Where it is not plain which one
    /// that is, nowhere.
    fn find_dynamic(&self, base: &str, reference: &str) -> Option<String> {
        let fixed = self.find(base, reference)?;
        let name = reference.rsplit('#').next().unwrap_or_default();
        outermost(fixed, self.dynamic.get(name).map_or(&[], Vec::as_slice))
    }

    fn find_recursive(&self, base: &str, reference: &str) -> Option<String> {
        outermost(self.find(base, reference)?, &self.recursive)
    }
}

/// Of a place and those that may stand for it, the one that is met first on the way in.
fn outermost(fixed: String, all: &[String]) -> Option<String> {
    match all {
        _ if !all.contains(&fixed) => Some(fixed),
        [_] => Some(fixed),
        _ if all.iter().any(String::is_empty) => Some(String::new()),
        _ => None,
    }
}

fn rewrite(schema: &mut Value, base: &str, index: &Index) {
    match schema {
        Value::Array(elements) => {
            for element in elements {
                rewrite(element, base, index);
            }
        }
        Value::Object(members) => {
            let own = own_base(members, base);
            let base = own.as_deref().unwrap_or(base);
            for (keyword, value) in members {
                let find = match keyword.as_str() {
                    "$ref" => Index::find,
                    "$dynamicRef" => Index::find_dynamic,
                    "$recursiveRef" => Index::find_recursive,
                    _ => {
                        match (below(keyword), value) {
                            (Below::Nothing, _) => {}
                            (Below::Named, Value::Object(named)) => {
                                for schema in named.values_mut() {
                                    rewrite(schema, base, index);
                                }
                            }
                            (_, value) => rewrite(value, base, index),
                        }
                        continue;
                    }
                };
                let Value::String(reference) = value else {
                    continue;
                };
                match find(index, base, reference) {
                    Some(pointer) => *reference = format!("#{pointer}"),
                    // What is relative to another resource would be found, and be wrong.
                    None if reference.starts_with('#') => *reference = "#nowhere".to_owned(),
                    None => {}
                }
            }
        }
        _ => {}
    }
}

/// What a schema calls itself, when it does.
fn own_base(members: &Map<String, Value>, base: &str) -> Option<String> {
    let id = members.get("$id")?.as_str()?.trim_end_matches('#');
    // An `$id` of draft 6 and 7 may be an anchor alone.
    (!id.is_empty() && !id.contains('#')).then(|| joined(base, id))
}

/// A relative reference put behind its base.
fn joined(base: &str, reference: &str) -> String {
    if scheme(reference).is_some() {
        return reference.to_owned();
    }
    let (scheme, rest) = scheme(base).map_or(("", base), |scheme| base.split_at(scheme.len()));
    if let Some(authority) = reference.strip_prefix("//") {
        return format!("{scheme}//{authority}");
    }
    let (authority, path) = match rest.strip_prefix("//") {
        Some(after) => rest.split_at(2 + after.find('/').unwrap_or(after.len())),
        // `urn:…` has no folders.
        None if !scheme.is_empty() => return reference.to_owned(),
        None => ("", rest),
    };
    let folder = match reference.starts_with('/') {
        true => "",
        false => path.rfind('/').map_or("", |at| &path[..=at]),
    };
    let folder = if folder.is_empty() && !authority.is_empty() && !reference.starts_with('/') {
        "/"
    } else {
        folder
    };
    format!(
        "{scheme}{authority}{}",
        without_dots(&format!("{folder}{reference}"))
    )
}

/// The scheme with its colon.
fn scheme(uri: &str) -> Option<&str> {
    let end = uri.find(':')?;
    let is_scheme = uri[..end]
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        && uri.starts_with(|c: char| c.is_ascii_alphabetic());
    is_scheme.then(|| &uri[..=end])
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "." => {}
            // The empty one before the first `/` stays.
            ".." => kept.truncate(
                kept.len()
                    .saturating_sub(1)
                    .max(usize::from(path.starts_with('/'))),
            ),
            other => kept.push(other),
        }
    }
    kept.join("/")
}

/// A name as one step of a pointer within a fragment.
fn token(name: &str) -> String {
    use std::fmt::Write as _;

    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '~' => text.push_str("~0"),
            '/' => text.push_str("~1"),
            c if c.is_ascii_alphanumeric() || "-._!$&'()*+,;=:@?".contains(c) => text.push(c),
            c => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    // Writing into a string cannot fail.
                    let _: std::fmt::Result = write!(text, "%{byte:02X}");
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::reference::resolve;

    /// What each reference in `properties` leads to, as the constant that stands there.
    #[track_caller]
    fn check(document: Value, expected: &[(&str, Option<i64>)]) {
        let document = local(document);
        for (name, constant) in expected {
            let schema = &document["properties"][name];
            let reference = super::super::of(schema.as_object().unwrap()).unwrap();
            let found = resolve(&document, reference).and_then(|schema| schema["const"].as_i64());
            assert_eq!(found, *constant, "{name}: {reference}");
        }
    }

    #[test]
    fn every_spelling_of_a_reference_becomes_a_pointer() {
        check(
            json!({
                "$id": "https://example.com/schemas/tool.json",
                "$defs": {
                    "plain": {"const": 1},
                    "anchored": {"properties": {"deep": {"$anchor": "here", "const": 2}}},
                    "relative": {"$id": "item.json", "const": 3, "$defs": {"x": {"const": 4}, "y": {"$anchor": "here", "const": 5}}},
                    "rooted": {"$id": "/other/thing", "const": 6},
                    "far": {"$id": "urn:thing", "const": 7},
                    "odd / ~name%": {"const": 8},
                },
                "properties": {
                    "pointer": {"$ref": "#/$defs/plain"},
                    "whole": {"$ref": "tool.json#/$defs/plain"},
                    "absolute": {"$ref": "https://example.com/schemas/tool.json#/$defs/plain"},
                    "anchor": {"$ref": "#here"},
                    "item": {"$ref": "item.json"},
                    "dotted": {"$ref": "../schemas/./item.json#"},
                    "inside": {"$ref": "item.json#/$defs/x"},
                    "its_anchor": {"$ref": "item.json#here"},
                    "rooted": {"$ref": "https://example.com/other/thing"},
                    "urn": {"$ref": "urn:thing"},
                    "odd": {"$ref": "#/$defs/odd%20~1%20~0name%25"},
                    "nowhere": {"$ref": "#gone"},
                    "out": {"$ref": "https://example.com/elsewhere#/$defs/plain"},
                },
            }),
            &[
                ("pointer", Some(1)),
                ("whole", Some(1)),
                ("absolute", Some(1)),
                ("anchor", Some(2)),
                ("item", Some(3)),
                ("dotted", Some(3)),
                ("inside", Some(4)),
                ("its_anchor", Some(5)),
                ("rooted", Some(6)),
                ("urn", Some(7)),
                ("odd", Some(8)),
                ("nowhere", None),
                ("out", None),
            ],
        );
    }

    #[test]
    fn a_pointer_is_one_of_the_resource_in_which_it_stands() {
        let document = local(json!({
            "properties": {"a": {"$ref": "box"}},
            "$defs": {
                "box": {"$id": "box", "properties": {"inner": {"$ref": "#/$defs/x"}, "gone": {"$ref": "#/$defs/y"}}, "$defs": {"x": {"const": 1}}},
                "x": {"const": 2},
                "y": {"const": 3},
            },
        }));
        let inner = &document["$defs"]["box"]["properties"];
        let constant = |name: &str| {
            let reference = inner[name]["$ref"].as_str().unwrap();
            resolve(&document, reference).and_then(|schema| schema["const"].as_i64())
        };
        assert_eq!((constant("inner"), constant("gone")), (Some(1), None));
    }

    #[test]
    fn a_dynamic_reference_leads_to_the_outermost_place_or_nowhere() {
        let tree = |anchor: &str| json!({"$id": "tree", "$dynamicAnchor": anchor, "const": 1});
        check(
            json!({"$defs": {"tree": tree("node")}, "properties": {"a": {"$dynamicRef": "tree#node"}}}),
            &[("a", Some(1))],
        );
        check(
            json!({"$dynamicAnchor": "node", "const": 2, "$defs": {"tree": tree("node")}, "properties": {"a": {"$dynamicRef": "tree#node"}}}),
            &[("a", Some(2))],
        );
        check(
            json!({"$defs": {"tree": tree("node"), "other": {"$id": "o", "$dynamicAnchor": "node"}}, "properties": {"a": {"$dynamicRef": "tree#node"}, "b": {"$dynamicRef": "#node"}}}),
            &[("a", None), ("b", None)],
        );
        check(
            json!({"$recursiveAnchor": true, "const": 3, "properties": {"a": {"$recursiveRef": "#"}}}),
            &[("a", Some(3))],
        );
    }

    #[test]
    fn names_and_data_that_look_like_references_stay() {
        let document = json!({
            "properties": {"$ref": {"type": "string"}, "$id": {"const": {"$ref": "#here", "$id": "x"}}, "a": {"default": {"$ref": "#here"}, "$ref": "#/$defs/n"}},
            "$defs": {"n": {"$anchor": "here"}}, "enum": [{"$ref": "#here"}],
        });
        assert_eq!(local(document.clone()), document);
    }
}
