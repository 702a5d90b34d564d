//! Who a request is from.
//!
//! The session that the request names, else the connection over stdio or the headers it came with, else its legacy
//! session; a request that says nothing of all that is its own caller.

use mcp_server::http::{Gatekeeper, Refusal};
use mcp_server::{Context, Incoming};
use mcp_wire::{Object, Raw, meta};
use mcpx_api::Caller;

/// The key of `_meta` under which a client names its session.
pub const SESSION_KEY: &str = "dev.mcpx/session";
/// What begins the keys of `_meta` that are the hub's.
const OURS: &str = "dev.mcpx/";
/// How much of a name is taken, in characters.
const LONGEST: usize = 200;

/// Names the callers of one front.
#[derive(Debug, Clone, Default)]
pub(super) struct Who {
    /// The one caller of a connection over stdio.
    pub(super) connected: Option<Caller>,
    /// Begins the names of legacy sessions over HTTP.
    pub(super) prefix: String,
}

impl Who {
    pub(super) fn of(&self, incoming: &Incoming, context: &Context) -> Caller {
        let named = meta::get(&incoming.params, SESSION_KEY).and_then(|raw| raw.string());
        let mut caller = self.of_connection(context);
        if let Some(session) = named.filter(|name| !name.is_empty()) {
            caller.session = Some(session.chars().take(LONGEST).collect());
        }
        caller
    }

    /// The caller of a connection, whatever the request says.
    pub(super) fn of_connection(&self, context: &Context) -> Caller {
        let said = context.principal.as_deref().map(read);
        let mut caller = self.connected.clone().or(said).unwrap_or_default();
        if caller.session.is_none()
            && let Some(connection) = context.connection
        {
            caller.session = Some(self.session(connection));
        }
        caller
    }

    /// The name of a legacy session.
    pub(super) fn session(&self, connection: u64) -> String {
        format!("mcp-{}{connection}", self.prefix)
    }
}

/// What of a request's `_meta` goes on to a server.
pub(super) fn forwarded(incoming: &Incoming) -> Object {
    let given = incoming.params.object(meta::META).unwrap_or_default();
    given
        .iter()
        .filter(|(key, _)| !key.starts_with(OURS))
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect()
}

/// Lets everybody in, under what the headers say of them: who may connect at all was decided before.
pub(super) struct ByHeaders;

#[async_trait::async_trait]
impl Gatekeeper for ByHeaders {
    async fn admit(
        &self,
        _bearer: Option<&str>,
        head: &http::request::Parts,
    ) -> Result<Option<String>, Refusal> {
        let caller = Caller::from_headers(&head.headers);
        Ok((caller != Caller::default()).then(|| spell(&caller)))
    }
}

/// A caller as the name of a principal.
fn spell(caller: &Caller) -> String {
    let fields: Vec<(&str, String)> = caller.headers();
    Raw::of(&fields).as_str().to_owned()
}

fn read(principal: &str) -> Caller {
    let fields = Raw::parse(principal).and_then(|raw| raw.read::<Vec<(String, String)>>());
    let mut headers = http::HeaderMap::new();
    for (name, value) in fields.unwrap_or_default() {
        let name = http::HeaderName::try_from(name);
        let value = http::HeaderValue::try_from(value);
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.insert(name, value);
        }
    }
    Caller::from_headers(&headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_of_headers_comes_out_of_its_principal() {
        let caller = Caller {
            cwd: Some("/tmp/ä b".into()),
            session: Some("s".to_owned()),
            pid: Some(7),
            ..Caller::default()
        };
        assert_eq!(read(&spell(&caller)), caller);
        assert_eq!(read("no JSON"), Caller::default());
    }
}
