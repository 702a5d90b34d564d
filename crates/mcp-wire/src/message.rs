//! JSON-RPC frames: requests, notifications, responses; one line or one HTTP body each.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::json::{Kind, Object, Raw};
use crate::{JsonError, RpcError};

/// The id of a request: a string or a number, never null.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Id {
    /// A whole number; `3.0` is read as 3.
    Number(i64),
    /// Text.
    Text(String),
    /// A number that is not whole, or a string that is no Unicode text, as it was spelled.
    Odd(String),
}

impl Id {
    /// Reads an id.
    ///
    /// # Errors
    /// When it is neither a string nor a number.
    pub fn parse(raw: &Raw) -> Result<Self, JsonError> {
        match raw.kind() {
            Kind::String => Ok(raw
                .exact_string()
                .map_or_else(|| Self::Odd(raw.as_str().to_owned()), Self::Text)),
            Kind::Number => Ok(raw
                .integer()
                .map_or_else(|| Self::Odd(raw.as_str().to_owned()), Self::Number)),
            other => Err(JsonError::new(format!(
                "an id is a string or a number, got {}",
                other.word()
            ))),
        }
    }

    /// The id as JSON.
    #[must_use]
    pub fn raw(&self) -> Raw {
        match self {
            Self::Number(number) => Raw::from(*number),
            Self::Text(text) => Raw::from(text.as_str()),
            Self::Odd(spelled) => {
                Raw::parse(spelled).unwrap_or_else(|_| Raw::from(spelled.as_str()))
            }
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.raw().as_str())
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw().serialize(serializer)
    }
}

/// A message that wants an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the sender; unique among its requests.
    pub id: Id,
    /// `tools/call`, …
    pub method: String,
    /// The members of `params`; empty when there were none.
    pub params: Object,
    /// Members of the frame that JSON-RPC does not define.
    pub extra: Object,
}

/// A message that wants none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// `notifications/progress`, …
    pub method: String,
    /// The members of `params`; empty when there were none.
    pub params: Object,
    /// Members of the frame that JSON-RPC does not define.
    pub extra: Object,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The request's id; `None` for an error about a request whose id could not be read.
    pub id: Option<Id>,
    /// `result` as it was spelled, or `error`.
    pub outcome: Result<Raw, RpcError>,
    /// Members of the frame that JSON-RPC does not define.
    pub extra: Object,
}

/// One JSON-RPC message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A message that wants an answer.
    Request(Request),
    /// A message that wants none.
    Notification(Notification),
    /// The answer to a request.
    Response(Response),
}

/// A message that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct FrameError {
    /// Whether the text was no JSON at all (else it was JSON, but no message).
    pub not_json: bool,
    /// The id, when there was a readable one, so that only this request fails.
    pub id: Option<Id>,
    /// Whether it has the members of a response rather than those of a request.
    pub is_response: bool,
    /// What was received and what was expected.
    pub reason: String,
}

impl FrameError {
    fn of(object: &Object, reason: impl Into<String>) -> Self {
        Self {
            not_json: false,
            id: object.get("id").and_then(|id| Id::parse(id).ok()),
            is_response: !object.contains("method")
                && (object.contains("result") || object.contains("error")),
            reason: reason.into(),
        }
    }

    fn plain(not_json: bool, reason: impl Into<String>) -> Self {
        Self {
            not_json,
            id: None,
            is_response: false,
            reason: reason.into(),
        }
    }
}

const OWN: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

impl Frame {
    /// Reads one message.
    ///
    /// # Errors
    /// When the bytes are no JSON, no object, or an object that is no message.
    pub fn parse(bytes: &[u8]) -> Result<Self, FrameError> {
        let raw = Raw::parse_bytes(without_mark(bytes))
            .map_err(|error| FrameError::plain(true, error.reason))?;
        Self::from_raw(&raw)
    }

    /// Reads one message, or each message of a batch (a JSON array, as 2025-03-26 allows it).
    ///
    /// # Errors
    /// When the bytes are no JSON, or an empty array. A broken element of a batch is an error in its own place.
    pub fn parse_batch(bytes: &[u8]) -> Result<Vec<Result<Self, FrameError>>, FrameError> {
        let raw = Raw::parse_bytes(without_mark(bytes))
            .map_err(|error| FrameError::plain(true, error.reason))?;
        if raw.kind() != Kind::Array {
            return Self::from_raw(&raw).map(|frame| vec![Ok(frame)]);
        }
        let elements = raw
            .array()
            .map_err(|error| FrameError::plain(false, error.reason))?;
        if elements.is_empty() {
            return Err(FrameError::plain(false, "an empty batch"));
        }
        Ok(elements.iter().map(Self::from_raw).collect())
    }

    /// Reads a message out of a value.
    ///
    /// # Errors
    /// When it is no object, or an object that is no message.
    pub fn from_raw(raw: &Raw) -> Result<Self, FrameError> {
        let object = raw
            .object()
            .map_err(|error| FrameError::plain(false, format!("a message: {error}")))?;
        if let Some(name) = OWN
            .into_iter()
            .find(|name| object.iter().filter(|(other, _)| other == name).count() > 1)
        {
            return Err(FrameError::of(
                &object,
                format!("`{name}` occurs twice in one message"),
            ));
        }
        if object.string("jsonrpc").as_deref() != Some("2.0") {
            return Err(FrameError::of(
                &object,
                "a message without `\"jsonrpc\":\"2.0\"`",
            ));
        }
        match object.get("method") {
            Some(method) => Self::call(&object, method),
            None => Self::answer(&object),
        }
    }

    fn call(object: &Object, method: &Raw) -> Result<Self, FrameError> {
        let fail = |reason: String| FrameError::of(object, reason);
        let method = method.string().ok_or_else(|| {
            fail(format!(
                "`method` is a string, got {}",
                method.kind().word()
            ))
        })?;
        if let Some(name) = ["result", "error"]
            .into_iter()
            .find(|name| object.contains(name))
        {
            return Err(fail(format!("`method` and `{name}` in one message")));
        }
        let params = match object.get("params") {
            None => Object::new(),
            Some(params) if params.is_null() => Object::new(),
            Some(params) => params
                .object()
                .map_err(|error| fail(format!("`params`: {error}")))?,
        };
        let extra = object.without(&OWN);
        match object.get("id") {
            None => Ok(Self::Notification(Notification {
                method,
                params,
                extra,
            })),
            Some(id) => {
                let id = Id::parse(id).map_err(|error| fail(error.reason))?;
                Ok(Self::Request(Request {
                    id,
                    method,
                    params,
                    extra,
                }))
            }
        }
    }

    fn answer(object: &Object) -> Result<Self, FrameError> {
        let fail = |reason: String| FrameError::of(object, reason);
        let id = match object.get("id") {
            None => None,
            Some(id) if id.is_null() => None,
            Some(id) => Some(Id::parse(id).map_err(|error| fail(error.reason))?),
        };
        let error = object.get("error").filter(|error| !error.is_null());
        let outcome = match (object.get("result"), error) {
            (Some(_), Some(_)) => {
                return Err(fail("`result` and `error` in one message".to_owned()));
            }
            (Some(result), None) => Ok(result.clone()),
            (None, Some(error)) => {
                Err(RpcError::parse(error).map_err(|error| fail(format!("`error`: {error}")))?)
            }
            (None, None) => {
                return Err(fail(
                    "neither `method`, `result` nor `error` in a message".to_owned(),
                ));
            }
        };
        if id.is_none() && outcome.is_ok() {
            return Err(fail("a result without an id".to_owned()));
        }
        Ok(Self::Response(Response {
            id,
            outcome,
            extra: object.without(&OWN),
        }))
    }

    /// The message as a value.
    #[must_use]
    pub fn to_raw(&self) -> Raw {
        Raw::from(self.to_object())
    }

    fn to_object(&self) -> Object {
        let mut object = Object::new().with("jsonrpc", "2.0");
        let extra = match self {
            Self::Request(request) => {
                object.set("id", request.id.raw());
                object.set("method", request.method.as_str());
                set_params(&mut object, &request.params);
                &request.extra
            }
            Self::Notification(notification) => {
                object.set("method", notification.method.as_str());
                set_params(&mut object, &notification.params);
                &notification.extra
            }
            Self::Response(response) => {
                if let Some(id) = &response.id {
                    object.set("id", id.raw());
                }
                match &response.outcome {
                    Ok(result) => object.set("result", result.clone()),
                    Err(error) => object.set("error", error.raw().clone()),
                }
                &response.extra
            }
        };
        if !extra.is_empty() {
            object.append(extra.without(&OWN));
        }
        object
    }

    /// The message as one line, with its line end. White space between tokens that would break the line is left out.
    #[must_use]
    pub fn to_line(&self) -> Vec<u8> {
        let mut line = self.to_object().to_text().into_bytes();
        // A JSON string holds no raw line end, so each one here stands between two tokens.
        line.retain(|byte| !matches!(byte, b'\n' | b'\r'));
        line.push(b'\n');
        line
    }
}

/// Some runtimes begin what they write with a byte order mark, which a reader of JSON may ignore.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

fn set_params(object: &mut Object, params: &Object) {
    if !params.is_empty() {
        object.set("params", params.clone());
    }
}

impl Request {
    /// A request of ours.
    pub fn new(id: Id, method: impl Into<String>, params: Object) -> Self {
        Self {
            id,
            method: method.into(),
            params,
            extra: Object::new(),
        }
    }
}

impl Notification {
    /// A notification of ours.
    pub fn new(method: impl Into<String>, params: Object) -> Self {
        Self {
            method: method.into(),
            params,
            extra: Object::new(),
        }
    }
}

impl Response {
    /// An answer of ours.
    #[must_use]
    pub fn new(id: Id, outcome: Result<Raw, RpcError>) -> Self {
        Self {
            id: Some(id),
            outcome,
            extra: Object::new(),
        }
    }
}

impl From<Request> for Frame {
    fn from(request: Request) -> Self {
        Self::Request(request)
    }
}

impl From<Notification> for Frame {
    fn from(notification: Notification) -> Self {
        Self::Notification(notification)
    }
}

impl From<Response> for Frame {
    fn from(response: Response) -> Self {
        Self::Response(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str) -> String {
        let line = Frame::parse(text.as_bytes()).unwrap().to_line();
        String::from_utf8(line).unwrap().trim_end().to_owned()
    }

    #[test]
    fn what_we_do_not_own_passes_through_byte_for_byte() {
        for text in [
            r#"{"jsonrpc":"2.0","id":"a\u0062","method":"tools/call","params":{"name":"x","arguments":{"n":1.0,"big":12345678901234567890123},"_meta":{"x/y":[1e2]}},"vendor":{"k":0.10}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"\u0061":null}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"new","v":1.50}],"extra":true}}"#,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"m","data":[1.0],"more":{}}}"#,
        ] {
            assert_eq!(round(text).replace("\"ab\"", "\"a\\u0062\""), text);
        }
    }

    #[test]
    fn members_that_json_rpc_does_not_define_keep_their_spelling_and_number() {
        for text in [
            r#"{"jsonrpc":"2.0","method":"x","vend\u006fr":1.0,"k":1,"vendor":2,"k":[1e2]}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"k":1,"k":2}"#,
        ] {
            assert_eq!(round(text), text);
        }
    }

    #[test]
    fn an_id_that_is_no_unicode_goes_back_as_it_came() {
        let text = r#"{"jsonrpc":"2.0","id":"\ud800","method":"x"}"#;
        assert_eq!(round(text), text);
    }

    #[test]
    fn a_pretty_printed_message_becomes_one_line() {
        let text =
            "{\n \"jsonrpc\": \"2.0\",\r\n \"id\": 1, \"result\": {\n  \"a\": \"x\\ny\"\n }\n}";
        assert_eq!(
            round(text),
            r#"{"jsonrpc":"2.0","id":1,"result":{  "a": "x\ny" }}"#
        );
    }

    #[test]
    fn a_broken_message_says_what_is_wrong_and_whose_it_is() {
        for (text, reason, id) in [
            (
                r#"{"jsonrpc":"2.0","id":5,"result":1,"error":{"code":1,"message":""}}"#,
                "`result` and `error`",
                Some(5),
            ),
            (r#"{"id":5,"result":{}}"#, "without `\"jsonrpc\"", Some(5)),
            (
                r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
                "without an id",
                None,
            ),
            (
                r#"{"jsonrpc":"2.0","id":5,"method":7}"#,
                "`method` is a string, got a number",
                Some(5),
            ),
            (
                r#"{"jsonrpc":"2.0","id":5,"id":6,"method":"x"}"#,
                "`id` occurs twice",
                Some(6),
            ),
            (
                r#"{"jsonrpc":"2.0","id":5,"method":"x","params":[1]}"#,
                "expected an object, got an array",
                Some(5),
            ),
            (
                r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#,
                "a string or a number, got an object",
                None,
            ),
            (r"[1]", "expected an object, got an array", None),
        ] {
            let error = Frame::parse(text.as_bytes()).unwrap_err();
            assert!(error.reason.contains(reason), "{text}: {}", error.reason);
            assert_eq!(error.id, id.map(Id::Number), "{text}");
            assert!(!error.not_json);
        }
        assert!(
            Frame::parse(b"Server listening on 3000")
                .unwrap_err()
                .not_json
        );
        assert!(
            Frame::parse(b"\xff\xfe{}")
                .unwrap_err()
                .reason
                .contains("not UTF-8 after byte 0")
        );
    }

    #[test]
    fn a_batch_is_read_message_by_message() {
        let frames = Frame::parse_batch(br#"[{"jsonrpc":"2.0","id":1,"result":{}},7]"#).unwrap();
        assert!(frames[0].is_ok() && frames[1].is_err());
        assert!(Frame::parse_batch(b"[]").is_err());
    }

    #[test]
    fn an_error_may_have_no_id() {
        let frame =
            Frame::parse(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#)
                .unwrap();
        assert!(matches!(
            frame,
            Frame::Response(Response {
                id: None,
                outcome: Err(_),
                ..
            })
        ));
    }

    #[test]
    fn a_byte_order_mark_before_a_message_is_ignored() {
        for text in [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "[{}]"] {
            let marked = format!("\u{feff}{text}");
            assert_eq!(
                Frame::parse_batch(marked.as_bytes()),
                Frame::parse_batch(text.as_bytes())
            );
            assert_eq!(
                Frame::parse(marked.as_bytes()),
                Frame::parse(text.as_bytes())
            );
        }
        assert!(Frame::parse("\u{feff}\u{feff}{}".as_bytes()).is_err());
    }
}
