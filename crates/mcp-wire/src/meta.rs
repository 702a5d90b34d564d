//! `_meta`: what the modern era puts on every message, and who owns which key.

use crate::json::{JsonError, Object, Raw};
use crate::{ClientCapabilities, Implementation, Revision};

/// The member that carries it.
pub const META: &str = "_meta";
/// The revision of a request.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What the client can answer.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Who the client is.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// Who the server is; for showing only.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// From which severity on the server may log during this request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The listen request that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// 2025-11-25: the task that a message belongs to.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// Under which token the server reports progress.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The trace keys of W3C, which are passed on.
pub const TRACE: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// What a modern request says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The revision as it was spelled; it may be one that this build does not know.
    pub protocol_version: String,
    /// What the client can answer.
    pub client_capabilities: ClientCapabilities,
    /// Who the client says it is.
    pub client_info: Option<Implementation>,
    /// From which severity on it wants log messages.
    pub log_level: Option<String>,
}

impl Envelope {
    /// Reads the envelope out of a request's params. `None` when no key of it is there: then the request is legacy.
    ///
    /// # Errors
    /// When one of the two required keys is missing, or a key has another kind of value than it should.
    pub fn parse(params: &Object) -> Result<Option<Self>, JsonError> {
        let meta = match params.get(META) {
            None => return Ok(None),
            Some(raw) => raw
                .object()
                .map_err(|error| JsonError::new(format!("`_meta`: {error}")))?,
        };
        let (version, capabilities) = (meta.get(PROTOCOL_VERSION), meta.get(CLIENT_CAPABILITIES));
        if version.is_none() && capabilities.is_none() {
            return Ok(None);
        }
        let missing = |key: &str| JsonError::new(format!("`_meta` without `{key}`"));
        let wrong =
            |key: &str, expected: &str| JsonError::new(format!("`_meta[\"{key}\"]` is {expected}"));
        let version = version.ok_or_else(|| missing(PROTOCOL_VERSION))?;
        let capabilities = capabilities.ok_or_else(|| missing(CLIENT_CAPABILITIES))?;
        Ok(Some(Self {
            protocol_version: version
                .string()
                .ok_or_else(|| wrong(PROTOCOL_VERSION, "a string"))?,
            client_capabilities: ClientCapabilities::from(
                capabilities
                    .object()
                    .map_err(|_| wrong(CLIENT_CAPABILITIES, "an object"))?,
            ),
            client_info: meta
                .get(CLIENT_INFO)
                .and_then(|raw| Implementation::parse(raw).ok()),
            log_level: meta.string(LOG_LEVEL),
        }))
    }

    /// Puts the envelope into `params`, beside the keys of `_meta` that are there.
    pub fn put(&self, params: &mut Object) {
        let mut meta = params.object(META).unwrap_or_default();
        meta.set(PROTOCOL_VERSION, self.protocol_version.as_str());
        meta.set(CLIENT_CAPABILITIES, self.client_capabilities.raw().clone());
        if let Some(info) = &self.client_info {
            meta.set(CLIENT_INFO, info.raw().clone());
        }
        if let Some(level) = &self.log_level {
            meta.set(LOG_LEVEL, level.as_str());
        }
        params.set(META, meta);
    }

    /// The revision, when it is one that this build knows.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        Revision::parse(&self.protocol_version)
    }
}

/// Whether a key belongs to the protocol: its prefix's second label is `modelcontextprotocol` or `mcp`.
#[must_use]
pub fn is_reserved(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else {
        return false;
    };
    matches!(
        prefix.split('.').nth(1),
        Some("modelcontextprotocol" | "mcp")
    )
}

/// The value of one key of `_meta`.
#[must_use]
pub fn get(object: &Object, key: &str) -> Option<Raw> {
    object.object(META)?.get(key).cloned()
}

/// Sets one key of `_meta`, which is made when it is not there.
pub fn set(object: &mut Object, key: &str, value: impl Into<Raw>) {
    let mut meta = object.object(META).unwrap_or_default();
    meta.set(key, value);
    object.set(META, meta);
}

/// Takes the given keys out of `_meta`, and `_meta` itself when nothing is left.
pub fn strip(object: &mut Object, keys: &[&str]) {
    let Some(mut meta) = object.object(META) else {
        return;
    };
    for key in keys {
        meta.remove(key);
    }
    if meta.is_empty() {
        object.remove(META);
    } else {
        object.set(META, meta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_reads_back_and_leaves_other_keys_alone() {
        let mut params = Raw::parse(r#"{"_meta":{"traceparent":"00-1","a.b/c":1.0}}"#)
            .unwrap()
            .object()
            .unwrap();
        assert_eq!(Envelope::parse(&params).unwrap(), None);
        let envelope = Envelope {
            protocol_version: "2026-07-28".into(),
            client_capabilities: ClientCapabilities::default().with_elicitation(true, false),
            client_info: Some(Implementation::new("cox", "1")),
            log_level: Some("info".into()),
        };
        envelope.put(&mut params);
        assert_eq!(Envelope::parse(&params).unwrap(), Some(envelope));
        assert_eq!(get(&params, "a.b/c").unwrap().as_str(), "1.0");
    }

    #[test]
    fn a_missing_half_of_the_envelope_is_named() {
        let params = Object::new().with(META, Object::new().with(PROTOCOL_VERSION, "2026-07-28"));
        assert!(
            Envelope::parse(&params)
                .unwrap_err()
                .reason
                .contains("clientCapabilities")
        );
    }

    #[test]
    fn reserved_prefixes_are_known_by_their_second_label() {
        for (key, reserved) in [
            ("io.modelcontextprotocol/x", true),
            ("dev.mcp/x", true),
            ("com.mcp.tools/x", true),
            ("dev.mcpx/x", false),
            ("com.example.mcp/x", false),
            ("progressToken", false),
        ] {
            assert_eq!(is_reserved(key), reserved, "{key}");
        }
    }
}
