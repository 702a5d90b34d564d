//! What is looked at of a message: whether it is a request, an answer or neither, its id, its method.

use mcp_wire::{Frame, Id, Notification, Object, Raw, Response, RpcError};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// A message, as far as it was looked at. What cannot be read is nobody's: the daemon says what is wrong with it.
#[derive(Debug)]
pub(super) enum Glance<'a> {
    Request {
        id: Id,
        method: String,
        params: Option<&'a RawValue>,
    },
    Notification {
        method: String,
        params: Option<&'a RawValue>,
    },
    Answer {
        id: Id,
        /// `None` for an error.
        result: Option<&'a RawValue>,
    },
    Other,
}

#[derive(Clone, Copy, Deserialize)]
struct Members<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Looks at a line: one message, or each of a batch.
pub(super) fn glance(line: &[u8]) -> Vec<Glance<'_>> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if !is_batch(line) {
        let members = serde_json::from_slice(line);
        return vec![members.map_or(Glance::Other, Glance::of)];
    }
    let Ok(all) = serde_json::from_slice::<Vec<&RawValue>>(line) else {
        return vec![Glance::Other];
    };
    let mut seen = Vec::with_capacity(all.len());
    for raw in all {
        let members = serde_json::from_str(raw.get());
        seen.push(members.map_or(Glance::Other, Glance::of));
    }
    seen
}

/// Whether a line is a batch, as 2025-03-26 allows it.
pub(super) fn is_batch(line: &[u8]) -> bool {
    line.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
}

impl<'a> Glance<'a> {
    fn of(members: Members<'a>) -> Self {
        let id = members.id.and_then(id_of);
        let method = members
            .method
            .and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        let params = members.params;
        match (method, id) {
            (Some(method), Some(id)) => Self::Request { id, method, params },
            (Some(method), None) if members.id.is_none() => Self::Notification { method, params },
            (None, Some(id)) if members.method.is_none() => Self::Answer {
                id,
                result: members.result.filter(|_| members.error.is_none()),
            },
            _ => Self::Other,
        }
    }
}

fn id_of(raw: &RawValue) -> Option<Id> {
    Id::parse(&Raw::parse(raw.get()).ok()?).ok()
}

/// The params of a request that say what it is about.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct About {
    pub(super) name: Option<String>,
    pub(super) uri: Option<String>,
    task: Option<IgnoredAny>,
    input_responses: Option<IgnoredAny>,
    request_state: Option<IgnoredAny>,
}

impl About {
    pub(super) fn read(params: Option<&RawValue>) -> Self {
        params
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default()
    }

    /// Whether it begins something, rather than going on with it or leaving something behind.
    pub(super) fn stands_alone(&self) -> bool {
        self.task.is_none() && self.input_responses.is_none() && self.request_state.is_none()
    }
}

/// The members of an object; none when it is something else.
pub(super) fn members(raw: Option<&RawValue>) -> Object {
    raw.and_then(|raw| Raw::parse(raw.get()).ok())
        .and_then(|raw| raw.object().ok())
        .unwrap_or_default()
}

/// The line with another id.
pub(super) fn with_id(line: &[u8], id: &Id) -> Option<Vec<u8>> {
    let mut object = Raw::parse_bytes(line).ok()?.object().ok()?;
    object.set("id", id.raw());
    Some(line_of(&Raw::from(object)))
}

/// A notification as a line.
pub(super) fn notification(method: &str, params: Object) -> Vec<u8> {
    Frame::from(Notification::new(method, params)).to_line()
}

/// An error as the answer to a request, as a line.
pub(super) fn refusal(id: Option<Id>, error: RpcError) -> Vec<u8> {
    let response = Response {
        id,
        outcome: Err(error),
        extra: Object::new(),
    };
    Frame::from(response).to_line()
}

/// A message as a line, with its end.
pub(super) fn line_of(message: &Raw) -> Vec<u8> {
    let mut line: Vec<u8> = message
        .as_str()
        .bytes()
        .filter(|byte| !matches!(byte, b'\n' | b'\r'))
        .collect();
    line.push(b'\n');
    line
}
