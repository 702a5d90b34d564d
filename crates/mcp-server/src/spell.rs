//! Spells what a service answered for the revision of its client.

use mcp_wire::page::CacheHint;
use mcp_wire::{Era, Object, Raw, Revision, RpcError, Tool, error, meta, method, result};

use crate::Offer;

/// The keys of `_meta` that this crate alone sets. Whoever is behind the service cannot speak in their name.
const OURS: [&str; 7] = [
    meta::PROTOCOL_VERSION,
    meta::CLIENT_CAPABILITIES,
    meta::CLIENT_INFO,
    meta::SERVER_INFO,
    meta::LOG_LEVEL,
    meta::SUBSCRIPTION_ID,
    meta::RELATED_TASK,
];

/// Takes our keys out of `_meta`.
pub(crate) fn strip_ours(object: &mut Object) {
    let Some(members) = object.object(meta::META) else {
        return;
    };
    if OURS.iter().any(|key| members.contains(key)) {
        meta::strip(object, &OURS);
    }
}

/// Spells a complete result.
pub(crate) fn complete(
    mut result: Object,
    method: &str,
    revision: Revision,
    cache: Option<CacheHint>,
    offer: &Offer,
) -> Object {
    strip_ours(&mut result);
    let is_task = offer.keeps_tasks && result.string("resultType").as_deref() == Some("task");
    if !is_task {
        result.remove("resultType");
    }
    if revision.era() == Era::Modern {
        let cache = cache.or_else(|| wants_cache_hint(method).then_some(CacheHint::NONE));
        result::spell(&mut result, revision, cache);
        meta::set(&mut result, meta::SERVER_INFO, offer.info.raw().clone());
        return result;
    }
    result::spell(&mut result, revision, None);
    if method == method::TOOLS_LIST {
        spell_tools(&mut result, revision);
    }
    result
}

/// The results that say how long they may be kept.
fn wants_cache_hint(method: &str) -> bool {
    matches!(
        method,
        method::TOOLS_LIST
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCE_TEMPLATES_LIST
            | method::RESOURCES_READ
    )
}

fn spell_tools(result: &mut Object, revision: Revision) {
    let Some(Ok(tools)) = result.get("tools").map(Raw::array) else {
        return;
    };
    let spelled: Vec<Raw> = tools
        .into_iter()
        .map(|raw| match Tool::parse(&raw) {
            Ok(tool) => Raw::from(tool.spelled_for(revision)),
            // Not ours to judge: the client sets it aside by itself.
            Err(_) => raw,
        })
        .collect();
    result.set("tools", Raw::of(&spelled));
}

/// Spells an error: codes that a revision does not have become ones that it has.
pub(crate) fn error(received: RpcError, revision: Revision) -> RpcError {
    let code = match (revision.era(), received.code) {
        (Era::Modern, error::LEGACY_RESOURCE_NOT_FOUND) => error::INVALID_PARAMS,
        (Era::Modern, error::LEGACY_URL_ELICITATION_REQUIRED) => error::INTERNAL_ERROR,
        (
            Era::Legacy,
            error::HEADER_MISMATCH
            | error::MISSING_CLIENT_CAPABILITY
            | error::UNSUPPORTED_PROTOCOL_VERSION,
        ) => error::INVALID_REQUEST,
        _ => return received,
    };
    let spelled = RpcError::new(code, received.message.clone());
    match received.data {
        Some(data) => spelled.with_data(data),
        None => spelled,
    }
}

/// A message as text on one line: line ends stand between tokens only, and go.
pub(crate) fn one_line(message: &Raw) -> Vec<u8> {
    message
        .as_str()
        .bytes()
        .filter(|byte| !matches!(byte, b'\n' | b'\r'))
        .collect()
}

/// An error about a request whose id could not be read: `id` is null where the revision wants one, else left out.
pub(crate) fn error_without_id(error: &RpcError, null: bool) -> Raw {
    let mut object = Object::new().with("jsonrpc", "2.0");
    if null {
        object.set("id", Raw::null());
    }
    Raw::from(object.with("error", error.raw().clone()))
}

#[cfg(test)]
mod tests {
    use mcp_wire::{Implementation, ServerCapabilities};

    use super::*;

    #[test]
    fn what_is_behind_a_service_cannot_forge_our_keys_or_the_type_of_a_result() {
        let offer = Offer::new(
            Implementation::new("us", "1"),
            ServerCapabilities::default(),
        );
        let result = r#"{"resultType":"input_required","requestState":"x","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"evil"},"io.modelcontextprotocol/subscriptionId":1,"a.b/c":1.0}}"#;
        let result = Raw::parse(result).unwrap().object().unwrap();
        let modern = complete(
            result.clone(),
            "tools/call",
            Revision::V2026_07_28,
            None,
            &offer,
        );
        assert_eq!(
            Raw::from(modern).as_str(),
            r#"{"requestState":"x","_meta":{"a.b/c":1.0,"io.modelcontextprotocol/serverInfo":{"name":"us","version":"1"}},"resultType":"complete"}"#
        );
        let legacy = complete(result, "tools/call", Revision::V2025_11_25, None, &offer);
        assert_eq!(
            Raw::from(legacy).as_str(),
            r#"{"requestState":"x","_meta":{"a.b/c":1.0}}"#
        );
    }

    #[test]
    fn codes_of_the_other_era_are_not_sent() {
        let spelled = |code, revision| error(RpcError::new(code, "m").with_data(true), revision);
        let modern = spelled(error::LEGACY_RESOURCE_NOT_FOUND, Revision::V2026_07_28);
        assert_eq!(
            (modern.code, modern.data),
            (error::INVALID_PARAMS, Some(Raw::from(true)))
        );
        assert_eq!(
            spelled(error::MISSING_CLIENT_CAPABILITY, Revision::V2025_06_18).code,
            error::INVALID_REQUEST
        );
        assert_eq!(spelled(7, Revision::V2026_07_28).code, 7);
    }
}
