//! The MCP server in front of the hub: its own tools, and servers that are passed through under their own names.
//!
//! Each call takes the one road of the registry. A client is asked what a server asks, in whichever era the two speak: a
//! call is held open while a person answers, or, between two modern ones, the question is handed through with the
//! server's state in ours.
//!
//! It speaks MCP through `mcp-server` alone, and reaches servers through the registry alone.

mod asker;
mod calls;
mod continuations;
mod finish;
mod follow;
mod fronts;
mod held;
mod kind;
mod lists;
mod logs;
mod names;
mod offer;
mod own;
mod plan;
mod state;
mod surface;
mod watches;
mod who;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use mcp_server::{Context, Incoming, Notifier, Offer, Reply, Service};
use mcp_wire::{Raw, RpcError, method};
use mcpx_api::Caller;

use self::continuations::Continuations;
use self::finish::as_rpc;
pub use self::fronts::Fronts;
pub use self::kind::Kind;
use self::lists::{Lists, Said};
use self::logs::Logs;
use self::names::Owned;
use self::offer::offer;
use self::surface::Surface;
use self::watches::Watches;
pub use self::who::SESSION_KEY;
use self::who::Who;
use crate::hub::Hub;
use crate::registry::call::CallError;
use crate::registry::scope::key_of;

/// How long a client waits in all for the lists of servers that were never read; then it gets what there is. Codex gives a
/// server ten seconds for its greeting and its first list together.
const FIRST_LIST: Duration = Duration::from_secs(8);
/// How long it waits for its greeting: a client of the newer era that hears nothing for longer tries the older one.
const GREETING: Duration = Duration::from_secs(3);
/// How long it waits after that: what was slow to come is announced when it is there.
const LATER_LIST: Duration = Duration::from_secs(1);

/// What all fronts of a hub share.
#[derive(Default)]
struct Common {
    continuations: Arc<Continuations>,
    watches: Watches,
}

/// The hub, as the clients of one kind see it.
pub struct Front {
    /// Its number among the fronts of the hub.
    number: u64,
    begun: Instant,
    hub: Weak<Hub>,
    kind: Kind,
    who: Who,
    common: Arc<Common>,
    notifier: Notifier,
    offer: RwLock<Arc<Offer>>,
    /// The lists that clients were last told of.
    told: Mutex<Option<Lists>>,
    /// What servers that are passed through said to have changed.
    said: Mutex<Said>,
    /// What clients watch, under their names for it.
    watched: Mutex<HashMap<String, Owned>>,
    logs: Logs,
}

impl Front {
    fn new(hub: &Arc<Hub>, number: u64, kind: Kind, who: Who, common: Arc<Common>) -> Arc<Self> {
        let offer = RwLock::new(Arc::new(offer(hub, &kind)));
        Arc::new(Self {
            number,
            begun: Instant::now(),
            hub: Arc::downgrade(hub),
            kind,
            who,
            common,
            notifier: Notifier::new(),
            offer,
            told: Mutex::default(),
            said: Mutex::default(),
            watched: Mutex::default(),
            logs: Logs::default(),
        })
    }

    fn hub(&self) -> Result<Arc<Hub>, RpcError> {
        self.hub
            .upgrade()
            .ok_or_else(|| as_rpc(&CallError::Closing))
    }

    /// Reads the servers that are passed through and were never read, for a while; what takes longer goes on. A client
    /// waits once: when it is greeted for a moment, and for its first lists until its patience may end.
    async fn read(&self, hub: &Arc<Hub>) -> Result<(), CallError> {
        let left = FIRST_LIST.saturating_sub(self.begun.elapsed());
        self.read_within(hub, left.max(LATER_LIST)).await
    }

    async fn read_within(&self, hub: &Arc<Hub>, limit: Duration) -> Result<(), CallError> {
        match tokio::time::timeout(limit, self.read_all(hub)).await {
            // With others beside it, a server that fails spoils nothing.
            Ok(Err(error)) if self.kind.sole().is_some() => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads the servers that are passed through and were never read.
    ///
    /// # Errors
    /// When one cannot be read.
    async fn read_all(&self, hub: &Arc<Hub>) -> Result<(), CallError> {
        let unread: Vec<_> = Surface::new(hub, &self.kind)
            .passed()
            .filter(|upstream| upstream.known().is_none())
            .cloned()
            .collect();
        if unread.is_empty() {
            return Ok(());
        }
        let reading = unread.into_iter().map(|upstream| {
            let hub = Arc::clone(hub);
            tokio::spawn(async move {
                let backing = hub.registry.usable(&upstream)?;
                hub.registry.read(&upstream, &backing, false).await
            })
        });
        let all = futures::future::join_all(reading).await;
        self.renew_offer(hub);
        let failed = all.into_iter().flatten().find_map(Result::err);
        failed.map_or(Ok(()), Err)
    }

    fn renew_offer(&self, hub: &Hub) {
        let renewed = Arc::new(offer(hub, &self.kind));
        *self.offer.write().unwrap_or_else(PoisonError::into_inner) = renewed;
    }

    /// Tells those who watch that a resource of a server, or of a view of it, changed.
    fn resource_updated(&self, hub: &Hub, backing: &str, uri: &str) {
        let views = hub.registry.views();
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        for (public, owned) in watched.iter() {
            let upstream = views.by_name.get(&owned.server);
            if owned.name == uri && upstream.is_some_and(|upstream| upstream.stands_on(backing)) {
                self.notifier.resource_updated(public);
            }
        }
    }

    /// Its clients are gone: what they watched is watched no more.
    async fn end(&self) {
        self.logs.clear();
        let watched =
            std::mem::take(&mut *self.watched.lock().unwrap_or_else(PoisonError::into_inner));
        for owned in watched.into_values() {
            self.common.watches.remove(self.number, &owned).await;
        }
    }

    /// Lets go of what belongs to the session of one connection alone.
    async fn release(&self, hub: &Hub, caller: &Caller) {
        let keys = [mcpx_config::Scope::Session, mcpx_config::Scope::Pid].map(|scope| {
            let scoped = key_of(scope, caller);
            scoped.degraded.is_none().then_some(scoped.key)
        });
        let keys: Vec<_> = keys.into_iter().flatten().collect();
        for backing in hub.registry.backings() {
            backing.pool.release(&keys).await;
        }
    }
}

#[async_trait]
impl Service for Front {
    fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer.read().unwrap_or_else(PoisonError::into_inner))
    }

    async fn handle(&self, incoming: Incoming, context: Context) -> Result<Reply, RpcError> {
        let hub = self.hub()?;
        let _open = hub.activity.begin();
        hub.registry.somebody.saw(asker::abilities(&context));
        match incoming.method.as_str() {
            method::TOOLS_LIST
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCE_TEMPLATES_LIST => self.list(&hub, &incoming).await,
            method::TOOLS_CALL => self.call_tool(&hub, incoming, &context).await,
            method::PROMPTS_GET | method::RESOURCES_READ | method::COMPLETE => {
                self.forward(&hub, incoming, &context).await
            }
            other => Err(RpcError::method_not_found(other)),
        }
    }

    async fn level_set(&self, level: mcp_server::Level, context: &Context) {
        if let Ok(hub) = self.hub() {
            self.want_level(&hub, level, context).await;
        }
    }

    async fn input_schema(&self, tool: &str, _context: &Context) -> Option<Raw> {
        Surface::new(&*self.hub.upgrade()?, &self.kind).input_schema(tool)
    }

    async fn watch(&self, uri: &str, context: &Context) -> Result<(), RpcError> {
        let hub = self.hub()?;
        let owned = Surface::new(&hub, &self.kind)
            .owner_of_resource(uri)
            .ok_or_else(|| plan::no_resource(uri))?;
        let caller = self.who.of_connection(context);
        self.common
            .watches
            .add(&hub, self.number, &owned, caller)
            .await
            .map_err(|error| as_rpc(&error))?;
        self.watched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(uri.to_owned(), owned);
        Ok(())
    }

    async fn unwatch(&self, uri: &str) {
        let owned = self
            .watched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(uri);
        if let Some(owned) = owned {
            self.common.watches.remove(self.number, &owned).await;
        }
    }

    async fn disconnected(&self, connection: u64) {
        self.logs.forget(connection);
        // The caller of a connection over stdio is let go of by who made it.
        let Ok(hub) = self.hub() else { return };
        if self.who.connected.is_some() {
            return;
        }
        let caller = Caller {
            session: Some(self.who.session(connection)),
            ..Caller::default()
        };
        self.release(&hub, &caller).await;
    }
}
