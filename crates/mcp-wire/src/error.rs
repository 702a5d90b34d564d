//! JSON-RPC errors and the codes that MCP gives a meaning.

use serde_json::Value;

use crate::Revision;
use crate::json::{JsonError, Object, Raw};

/// The text was no JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The JSON was no request.
pub const INVALID_REQUEST: i64 = -32600;
/// No such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// Arguments that do not fit; also an unknown tool, prompt, resource, cursor or task.
pub const INVALID_PARAMS: i64 = -32602;
/// The server failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// Modern: a header and the body disagree, or a header is missing.
pub const HEADER_MISMATCH: i64 = -32020;
/// Modern: the client did not declare what the request needs.
pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
/// Modern: the server does not speak the revision of the request.
pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
/// Legacy: no such resource. Accepted, never sent to a modern client.
pub const LEGACY_RESOURCE_NOT_FOUND: i64 = -32002;
/// 2025-11-25: the person has to visit a URL first. Accepted, never sent to a modern client.
pub const LEGACY_URL_ELICITATION_REQUIRED: i64 = -32042;

/// A JSON-RPC error as a peer sent it, or as it is about to be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct RpcError {
    /// One of the codes above, or the peer's own.
    pub code: i64,
    /// The peer's words; text from outside.
    pub message: String,
    /// `data`, when there was any.
    pub data: Option<Raw>,
    /// The whole error object, as it came; built from the fields above when it is ours.
    raw: Object,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        let message = message.into();
        let raw = Object::new()
            .with("code", code)
            .with("message", message.as_str());
        Self {
            code,
            message,
            data: None,
            raw,
        }
    }

    /// The same with `data`.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Raw>) -> Self {
        let data = data.into();
        self.raw.set("data", data.clone());
        self.data = Some(data);
        self
    }

    /// No such method.
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }

    /// Params that do not fit, with the reason.
    pub fn invalid_params(reason: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, reason)
    }

    /// The server does not speak `requested`; it speaks `supported`.
    #[must_use]
    pub fn unsupported_version(requested: &str, supported: &[Revision]) -> Self {
        let supported: Vec<Value> = supported
            .iter()
            .map(|revision| Value::from(revision.as_str()))
            .collect();
        Self::new(
            UNSUPPORTED_PROTOCOL_VERSION,
            format!("Unsupported protocol version: {requested}"),
        )
        .with_data(
            Object::new()
                .with("supported", Raw::from(Value::Array(supported)))
                .with("requested", requested),
        )
    }

    /// Reads an `error` member.
    ///
    /// # Errors
    /// When it is no object, or has no whole `code`. A missing message is taken as empty.
    pub fn parse(raw: &Raw) -> Result<Self, JsonError> {
        let object = raw.object()?;
        let code = object
            .get("code")
            .and_then(Raw::integer)
            .ok_or_else(|| JsonError::new("an error without a whole number as `code`"))?;
        Ok(Self {
            code,
            message: object.string("message").unwrap_or_default(),
            data: object.get("data").cloned(),
            raw: object,
        })
    }

    /// The whole error object.
    #[must_use]
    pub fn raw(&self) -> &Object {
        &self.raw
    }

    /// Whether this error says that its sender speaks the modern era: one of the three codes that only it has, with
    /// data of their shape where they define one.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        match self.code {
            HEADER_MISMATCH => true,
            MISSING_CLIENT_CAPABILITY => self.member("requiredCapabilities").is_some(),
            UNSUPPORTED_PROTOCOL_VERSION => self.supported_versions().is_some(),
            _ => false,
        }
    }

    /// `data.supported` of an unsupported version.
    #[must_use]
    pub fn supported_versions(&self) -> Option<Vec<String>> {
        self.member("supported")?
            .array()
            .ok()?
            .iter()
            .map(Raw::string)
            .collect()
    }

    fn member(&self, name: &str) -> Option<Raw> {
        self.data.as_ref()?.object().ok()?.get(name).cloned()
    }
}
