//! From the file to the record, with the place of what is wrong.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::HistoryError;
use crate::history::change::{Change, Difference, Kind};
use crate::history::snapshot::{HINTS, Snapshot};
use crate::history::{MAX_CHANGES, Record, Server};
use crate::shape::{Allowed, Cut, Field, Shape};

/// An object of the file and where it stands.
pub(super) struct Node {
    pub(super) at: String,
    pub(super) members: Map<String, Value>,
}

pub(super) fn object(value: Value, at: &str) -> Result<Map<String, Value>, HistoryError> {
    match value {
        Value::Object(members) => Ok(members),
        _ => Err(HistoryError::Malformed {
            at: at.to_owned(),
            expected: "object",
        }),
    }
}

impl Node {
    pub(super) fn lacks(&self, name: &str, expected: &'static str) -> HistoryError {
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

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
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
    pub(super) fn children(&mut self, name: &str) -> Result<Vec<(String, Self)>, HistoryError> {
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

pub(super) fn server(mut node: Node) -> Result<Server, HistoryError> {
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
