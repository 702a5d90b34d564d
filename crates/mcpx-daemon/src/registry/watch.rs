//! Being told when a resource of a server changes.

use mcp_client::CallOptions;
use mcp_wire::{Object, ServerCapabilities};
use mcpx_api::Caller;
use tokio_util::sync::CancellationToken;

use super::Registry;
use super::call::{CallError, lease_failed, of_server};
use super::instance::Subscription;
use super::pool::Wait;
use super::scope::key_of;

/// Somebody is told when a resource changes. The instance stays as long as this lives.
#[derive(Debug)]
pub struct Watching {
    /// The server, by its configured name.
    pub server: String,
    /// The resource, as the server spells it.
    pub uri: String,
    subscription: Subscription,
}

impl Watching {
    /// Which instance tells.
    #[must_use]
    pub fn instance(&self) -> &str {
        self.subscription.instance().id()
    }

    /// No longer wants to be told.
    pub async fn end(self) {
        let connection = self.subscription.instance().connection();
        // A server that is gone tells nobody anything.
        let _gone = connection
            .unsubscribe(&self.uri, &CallOptions::default())
            .await;
    }
}

impl Registry {
    /// Subscribes to a resource. What the server then says comes as an event of the instance.
    ///
    /// # Errors
    /// When there is no such server, it does not announce changes, or it refuses.
    pub async fn watch(
        &self,
        server: &str,
        uri: &str,
        caller: &Caller,
    ) -> Result<Watching, CallError> {
        let upstream = self.views().find(server)?;
        let backing = self.usable(&upstream)?;
        let known = match backing.known() {
            Some(known) => known,
            None => self.read(&upstream, &backing, false).await?,
        };
        let declared: Object = known.capabilities.clone().unwrap_or_default();
        if !ServerCapabilities::from(declared).switch("resources", "subscribe") {
            return Err(CallError::Unavailable {
                server: upstream.server.name.clone(),
                why: "it does not announce when its resources change".to_owned(),
                hint: None,
            });
        }
        let scoped = key_of(upstream.server.scope, caller);
        let wait = Wait {
            queue: self.limits().queue,
            start: Some(upstream.server.start_timeout),
            cancelled: CancellationToken::new(),
        };
        let lease = backing
            .pool
            .lease(&scoped, wait)
            .await
            .map_err(|error| lease_failed(&upstream.server.name, error))?;
        let subscription = lease.instance().subscribe();
        lease
            .connection()
            .subscribe(uri, &CallOptions::default())
            .await
            .map_err(|failure| CallError::Failed {
                failure: of_server(&upstream.server.name, failure),
                findings: Vec::new(),
                verify_with: None,
            })?;
        Ok(Watching {
            server: upstream.server.name.clone(),
            uri: uri.to_owned(),
            subscription,
        })
    }
}
