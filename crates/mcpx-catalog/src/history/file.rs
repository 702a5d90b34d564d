//! The content of `catalog-history.json`.
//!
//! ```json
//! {"version": 1, "servers": {"demo": {"read": "2026-09-20T10:00:00Z", "tools": {"echo": {
//!   "reads": 11, "hints": {"readOnlyHint": false, …}, "description": "1f…",
//!   "input": {"fields": [{"path": "message", "types": "string", "required": true}]},
//!   "changes": [{"when": "…", "kind": "argument-required", "field": "message", "what": "`message` became required"}]}}}}}
//! ```
//!
//! Members that this version does not know are kept where they stand. A higher `version` is refused, not guessed at.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::change::{Change, Difference, Kind};
use super::snapshot::{HINTS, Snapshot};
use super::{History, MAX_CHANGES, Record, Server};
use crate::shape::{Allowed, Cut, Field, Shape};

/// The version that is written and read.
const VERSION: u64 = 1;

/// Largest file that is read, in bytes.
pub const MAX_BYTES: usize = 256 << 20;

/// A record that cannot be used. Whoever reads it goes on without a history, and says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// It is larger than a record of ours gets.
    #[error(
        "the tool history has {bytes} bytes, at most {MAX_BYTES} are read\nhint: move the file away to begin a new one"
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It is no JSON, or only a part of it.
    #[error("the tool history is not JSON: {reason}\nhint: move the file away to begin a new one")]
    NotJson {
        /// What the parser says, with line and column.
        reason: String,
    },
    /// It is JSON and no record.
    #[error(
        "the tool history has no {expected} at `{at}`\nhint: move the file away to begin a new one"
    )]
    Malformed {
        /// Where, as names joined by `/`.
        at: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// A newer program wrote it.
    #[error(
        "the tool history has version {version}, this program reads {VERSION}\nhint: use the newer program, or move the file away"
    )]
    Newer {
        /// Its version.
        version: u64,
    },
}

impl History {
    /// Reads a record.
    ///
    /// # Errors
    /// When it is not whole, not one of ours, or too new. Another try does not help.
    pub fn parse(bytes: &[u8]) -> Result<Self, HistoryError> {
        if bytes.len() > MAX_BYTES {
            return Err(HistoryError::TooLarge { bytes: bytes.len() });
        }
        let value: Value =
            serde_json::from_slice(bytes).map_err(|error| HistoryError::NotJson {
                reason: error.to_string(),
            })?;
        let mut top = Node {
            at: String::new(),
            members: object(value, "")?,
        };
        let version = top.take("version").and_then(|version| version.as_u64());
        match version {
            Some(VERSION) => {}
            Some(version) if version > VERSION => return Err(HistoryError::Newer { version }),
            _ => return Err(top.lacks("version", "version")),
        }
        let mut history = Self::default();
        for (name, node) in top.children("servers")? {
            history.servers.insert(name, server(node)?);
        }
        history.rest = top.members;
        Ok(history)
    }

    /// Writes the record: one line of JSON, the same for the same record.
    #[must_use]
    pub fn to_json(&self) -> String {
        let servers: Map<String, Value> = self
            .servers
            .iter()
            .map(|(name, server)| (name.clone(), server_json(server)))
            .collect();
        let mut top = Map::from_iter([
            ("version".to_owned(), VERSION.into()),
            ("servers".to_owned(), servers.into()),
        ]);
        add_rest(&mut top, &self.rest);
        Value::Object(top).to_string()
    }
}

/// An object of the file and where it stands.
struct Node {
    at: String,
    members: Map<String, Value>,
}

fn object(value: Value, at: &str) -> Result<Map<String, Value>, HistoryError> {
    match value {
        Value::Object(members) => Ok(members),
        _ => Err(HistoryError::Malformed {
            at: at.to_owned(),
            expected: "object",
        }),
    }
}

impl Node {
    fn lacks(&self, name: &str, expected: &'static str) -> HistoryError {
        HistoryError::Malformed {
            at: self.path(name),
            expected,
        }
    }

    fn path(&self, name: &str) -> String {
        if self.at.is_empty() {
            name.to_owned()
        } else {
            format!("{}/{name}", self.at)
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.members.shift_remove(name)
    }

    /// The member `name`, read by `read`; nothing when it is not there or `null`.
    fn maybe<T>(
        &mut self,
        name: &str,
        expected: &'static str,
        read: impl FnOnce(Value) -> Option<T>,
    ) -> Result<Option<T>, HistoryError> {
        match self.take(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => read(value)
                .map(Some)
                .ok_or_else(|| self.lacks(name, expected)),
        }
    }

    fn must<T>(
        &mut self,
        name: &str,
        expected: &'static str,
        read: impl FnOnce(Value) -> Option<T>,
    ) -> Result<T, HistoryError> {
        self.maybe(name, expected, read)?
            .ok_or_else(|| self.lacks(name, expected))
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, HistoryError> {
        self.maybe(name, "string", text)
    }

    fn flag(&mut self, name: &str) -> Result<bool, HistoryError> {
        Ok(self
            .maybe(name, "boolean", |value| value.as_bool())?
            .unwrap_or(false))
    }

    fn child(&mut self, name: &str) -> Result<Option<Self>, HistoryError> {
        let at = self.path(name);
        match self.take(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => Ok(Some(Self {
                members: object(value, &at)?,
                at,
            })),
        }
    }

    /// The objects of the object `name`.
    fn children(&mut self, name: &str) -> Result<Vec<(String, Self)>, HistoryError> {
        let Some(child) = self.child(name)? else {
            return Err(self.lacks(name, "object"));
        };
        child
            .members
            .into_iter()
            .map(|(name, value)| {
                let at = format!("{}/{name}", child.at);
                Ok((
                    name,
                    Self {
                        members: object(value, &at)?,
                        at,
                    },
                ))
            })
            .collect()
    }

    /// The objects of the array `name`; none when it is not there.
    fn elements(&mut self, name: &str) -> Result<Vec<Self>, HistoryError> {
        let at = self.path(name);
        let elements = self.maybe(name, "array", |value| match value {
            Value::Array(elements) => Some(elements),
            _ => None,
        })?;
        let elements = elements.unwrap_or_default().into_iter().enumerate();
        elements
            .map(|(index, value)| {
                let at = format!("{at}/{index}");
                Ok(Self {
                    members: object(value, &at)?,
                    at,
                })
            })
            .collect()
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn texts(value: Value) -> Option<Vec<String>> {
    match value {
        Value::Array(values) => values.into_iter().map(text).collect(),
        _ => None,
    }
}

fn time(value: Value) -> Option<Timestamp> {
    text(value)?.parse().ok()
}

fn server(mut node: Node) -> Result<Server, HistoryError> {
    let read = node.must("read", "time", time)?;
    let tools = node.children("tools")?;
    let tools = tools
        .into_iter()
        .map(|(name, node)| Ok((name, record(node)?)))
        .collect::<Result<_, _>>()?;
    Ok(Server {
        read,
        tools,
        rest: node.members,
    })
}

fn record(mut node: Node) -> Result<Record, HistoryError> {
    let gone = node.maybe("gone", "time", time)?;
    let mut changes = node
        .elements("changes")?
        .into_iter()
        .map(change)
        .collect::<Result<Vec<_>, _>>()?;
    changes.truncate(MAX_CHANGES);
    let reads = node.must("reads", "number", |value| {
        usize::try_from(value.as_u64()?).ok()
    })?;
    let input = match node.child("input")? {
        Some(input) => shape(input)?,
        None => return Err(node.lacks("input", "object")),
    };
    let output = node.child("output")?.map(shape).transpose()?;
    let description = node.text("description")?;
    let mut hints = [false, true, false, true];
    if let Some(mut said) = node.child("hints")? {
        for (hint, name) in hints.iter_mut().zip(HINTS) {
            *hint = said.flag(name)?;
        }
    }
    let last = Snapshot {
        reads,
        input,
        output,
        description,
        hints,
    };
    Ok(Record {
        last,
        gone,
        changes,
        rest: node.members,
    })
}

fn change(mut node: Node) -> Result<Change, HistoryError> {
    let when = node.must("when", "time", time)?;
    let difference = Difference {
        kind: Kind::of(&node.must("kind", "string", text)?),
        field: node.text("field")?,
        from: node.text("from")?,
        what: node.must("what", "string", text)?,
    };
    Ok(Change {
        when,
        difference,
        rest: node.members,
    })
}

fn shape(mut node: Node) -> Result<Shape, HistoryError> {
    let mut fields = node
        .elements("fields")?
        .into_iter()
        .map(field)
        .collect::<Result<Vec<_>, _>>()?;
    fields.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Shape {
        fields,
        open: !node.flag("closed")?,
        cut: node.maybe("cut", "word", |value| match value.as_str()? {
            "top" => Some(Cut::Top),
            "below" => Some(Cut::Below),
            _ => None,
        })?,
        unread: node.text("unread")?,
    })
}

fn field(mut node: Node) -> Result<Field, HistoryError> {
    let values = node.maybe("enum", "array of strings", texts)?;
    let more = node.text("enumDigest")?;
    Ok(Field {
        path: node.must("path", "string", text)?,
        types: node.must("types", "string", text)?,
        required: node.flag("required")?,
        nullable: node.flag("nullable")?,
        allowed: values.map(|values| Allowed { values, more }),
        default: node.text("default")?,
        format: node.text("format")?,
        limits: node
            .maybe("limits", "array of strings", texts)?
            .unwrap_or_default(),
        description: node.text("description")?,
        rest: node.members,
    })
}

/// Puts what is not known behind what is; a name that both have stays ours.
fn add_rest(members: &mut Map<String, Value>, rest: &Map<String, Value>) {
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

fn server_json(server: &Server) -> Value {
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
