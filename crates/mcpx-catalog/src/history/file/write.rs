//! From the record to the file.

use serde_json::{Map, Value, json};

use crate::history::change::{Change, Difference};
use crate::history::snapshot::{HINTS, Snapshot};
use crate::history::{Record, Server};
use crate::shape::{Cut, Field, Shape};

/// Puts what is not known behind what is; a name that both have stays ours.
pub(super) fn add_rest(members: &mut Map<String, Value>, rest: &Map<String, Value>) {
    for (name, value) in rest {
        members.entry(name.clone()).or_insert_with(|| value.clone());
    }
}

/// An object of the members that are there.
fn members<const N: usize>(pairs: [(&str, Option<Value>); N], rest: &Map<String, Value>) -> Value {
    let mut members: Map<String, Value> = pairs
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
    add_rest(&mut members, rest);
    members.into()
}

fn said(text: Option<&String>) -> Option<Value> {
    text.map(|text| text.as_str().into())
}

fn marked(flag: bool) -> Option<Value> {
    flag.then_some(Value::Bool(true))
}

pub(super) fn server_json(server: &Server) -> Value {
    let tools: Map<String, Value> = server
        .tools
        .iter()
        .map(|(name, record)| (name.clone(), record_json(record)))
        .collect();
    members(
        [
            ("read", Some(server.read.to_string().into())),
            ("tools", Some(tools.into())),
        ],
        &server.rest,
    )
}

fn record_json(record: &Record) -> Value {
    let Snapshot {
        reads,
        input,
        output,
        description,
        hints,
    } = &record.last;
    let hints: Map<String, Value> = HINTS
        .iter()
        .zip(hints)
        .map(|(name, hint)| ((*name).to_owned(), json!(hint)))
        .collect();
    let changes: Vec<Value> = record.changes.iter().map(change_json).collect();
    members(
        [
            ("reads", Some(json!(reads))),
            ("gone", record.gone.map(|gone| gone.to_string().into())),
            ("description", said(description.as_ref())),
            ("hints", Some(hints.into())),
            ("input", Some(shape_json(input))),
            ("output", output.as_ref().map(shape_json)),
            ("changes", (!changes.is_empty()).then(|| changes.into())),
        ],
        &record.rest,
    )
}

fn change_json(change: &Change) -> Value {
    let Difference {
        kind,
        field,
        from,
        what,
    } = &change.difference;
    members(
        [
            ("when", Some(change.when.to_string().into())),
            ("kind", Some(kind.word().into())),
            ("field", said(field.as_ref())),
            ("from", said(from.as_ref())),
            ("what", Some(what.as_str().into())),
        ],
        &change.rest,
    )
}

fn shape_json(shape: &Shape) -> Value {
    let cut = shape.cut.map(|cut| match cut {
        Cut::Top => "top".into(),
        Cut::Below => "below".into(),
    });
    let fields: Vec<Value> = shape.fields.iter().map(field_json).collect();
    members(
        [
            ("fields", Some(fields.into())),
            ("closed", marked(!shape.open)),
            ("cut", cut),
            ("unread", said(shape.unread.as_ref())),
        ],
        &Map::new(),
    )
}

fn field_json(field: &Field) -> Value {
    members(
        [
            ("path", Some(field.path.as_str().into())),
            ("types", Some(field.types.as_str().into())),
            ("required", marked(field.required)),
            ("nullable", marked(field.nullable)),
            (
                "enum",
                field.allowed.as_ref().map(|allowed| json!(allowed.values)),
            ),
            (
                "enumDigest",
                said(
                    field
                        .allowed
                        .as_ref()
                        .and_then(|allowed| allowed.more.as_ref()),
                ),
            ),
            ("default", said(field.default.as_ref())),
            ("format", said(field.format.as_ref())),
            (
                "limits",
                (!field.limits.is_empty()).then(|| json!(field.limits)),
            ),
            ("description", said(field.description.as_ref())),
        ],
        &field.rest,
    )
}
