//! What happens, as it happens: which events a listener wants, and from when on.

use mcpx_api::{ApiError, Caller, Params};

use super::Reply;
use super::refused::api_error;
use crate::events::kind;
use crate::hub::Hub;

/// Which events a listener wants.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// Only these kinds; empty: all. `server.*` takes all that begin so.
    pub kinds: Vec<String>,
    /// Only this server.
    pub server: Option<String>,
    /// Only this session.
    pub session: Option<String>,
    /// Only changes of this resource, of those that are told: the instance that is asked, and the resource's URI.
    pub resource: Option<(String, String)>,
}

impl EventFilter {
    /// Whether it wants this event.
    #[must_use]
    pub fn wants(&self, event: &crate::events::Event) -> bool {
        let kind = self.kinds.is_empty()
            || self.kinds.iter().any(|kind| match kind.strip_suffix('*') {
                Some(prefix) => event.kind.starts_with(prefix),
                None => event.kind == *kind,
            });
        let is = |wanted: &Option<String>, has: &Option<String>| wanted.is_none() || wanted == has;
        let resource = match &self.resource {
            Some((instance, uri)) if event.kind == kind::RESOURCE_UPDATED => {
                event.data.string("instance").as_ref() == Some(instance)
                    && event.data.string("uri").as_ref() == Some(uri)
            }
            _ => true,
        };
        kind && resource && is(&self.server, &event.server) && is(&self.session, &event.session)
    }
}

/// What happens, as it happens. With a `uri` the server is asked to tell of that resource, as long as somebody listens.
pub(super) async fn events(hub: &Hub, caller: &Caller, params: &Params) -> Result<Reply, ApiError> {
    let since = params.count("since")?.map(|since| since as u64);
    // Before the server is asked: what it tells at once is not missed.
    let subscription = hub.events.subscribe(since);
    let watching = match params.text("uri") {
        None => None,
        Some(text) => {
            let (server, uri) = text
                .split_once('/')
                .filter(|(server, uri)| !server.is_empty() && !uri.is_empty())
                .ok_or_else(|| {
                    ApiError::bad(format!(
                        "`uri` was `{}`, expected `namespace/uri`",
                        untrusted_text::terminal::one_line(&text, 80)
                    ))
                })?;
            let watching = hub.registry.watch(server, uri, caller).await;
            Some(watching.map_err(|error| api_error(&error))?)
        }
    };
    Ok(Reply::Events {
        subscription,
        filter: EventFilter {
            kinds: params.list("kinds"),
            server: params
                .text("server")
                .map(|name| match hub.registry.views().find(&name) {
                    Ok(upstream) => upstream.server.name.clone(),
                    Err(_) => name,
                }),
            session: params.text("session"),
            resource: watching
                .as_ref()
                .map(|one| (one.instance().to_owned(), one.uri.clone())),
        },
        watching,
    })
}
