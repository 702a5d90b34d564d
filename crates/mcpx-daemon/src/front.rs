//! The MCP server in front of the hub: its own tools, and servers that are passed through under their own names.
//!
//! Each call takes the one road of the registry. A client is asked what a server asks, in whichever era the two speak: a
//! call is held open while a person answers, or, between two modern ones, the question is handed through with the
//! server's state in ours.
//!
//! It speaks MCP through `mcp-server` alone, and reaches servers through the registry alone.

mod asker;
mod continuations;
mod finish;
mod fronts;
mod held;
mod kind;
mod names;
mod own;
mod plan;
mod state;
mod surface;
mod watches;
mod who;

use std::collections::HashMap;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use mcp_server::{Context, Incoming, Notifier, Offer, Reply, Service};
use mcp_wire::capability::TASKS_EXTENSION;
use mcp_wire::page::{CacheHint, CacheScope};
use mcp_wire::{
    Implementation, InputRequired, Object, Outcome, Raw, RpcError, ServerCapabilities, method,
};
use mcpx_api::Caller;
use mcpx_config::settings::key;

use self::continuations::Continuations;
use self::finish::{Finish, as_rpc};
pub use self::fronts::Fronts;
use self::held::{Again, HeldCall, Step};
pub use self::kind::Kind;
use self::names::Owned;
use self::plan::Plan;
use self::state::State;
use self::surface::{Surface, ToolOwner};
use self::watches::Watches;
pub use self::who::SESSION_KEY;
use self::who::Who;
use crate::hub::Hub;
use crate::registry::call::{CallError, Done};
use crate::registry::scope::key_of;

/// How long a client waits for the lists of servers that were never read; then it gets what there is.
const FIRST_LIST: Duration = Duration::from_secs(8);

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
}

/// The lists of one moment, as digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lists {
    tools: u64,
    prompts: u64,
    resources: u64,
}

/// Which lists changed.
#[derive(Debug, Clone, Copy, Default)]
struct Changed {
    tools: bool,
    prompts: bool,
    resources: bool,
}

impl Changed {
    fn add(&mut self, other: Self) {
        self.tools |= other.tools;
        self.prompts |= other.prompts;
        self.resources |= other.resources;
    }
}

/// What servers said to have changed.
#[derive(Debug, Default)]
struct Said {
    /// By the server, until it was read again: a client that came before would find the old list.
    unread: HashMap<String, Changed>,
    /// What clients can be told.
    read: Changed,
}

impl Front {
    fn new(hub: &Arc<Hub>, number: u64, kind: Kind, who: Who, common: Arc<Common>) -> Arc<Self> {
        let offer = RwLock::new(Arc::new(offer(hub, &kind)));
        Arc::new(Self {
            number,
            hub: Arc::downgrade(hub),
            kind,
            who,
            common,
            notifier: Notifier::new(),
            offer,
            told: Mutex::default(),
            said: Mutex::default(),
            watched: Mutex::default(),
        })
    }

    fn hub(&self) -> Result<Arc<Hub>, RpcError> {
        self.hub
            .upgrade()
            .ok_or_else(|| as_rpc(&CallError::Closing))
    }

    /// Reads the servers that are passed through and were never read, for a while; what takes longer goes on.
    async fn read(&self, hub: &Arc<Hub>) -> Result<(), CallError> {
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
        let all = futures::future::join_all(reading);
        let Ok(all) = tokio::time::timeout(FIRST_LIST, all).await else {
            return Ok(());
        };
        self.renew_offer(hub);
        let failed = all.into_iter().flatten().find_map(Result::err);
        match failed {
            // With others beside it, a server that fails spoils nothing.
            Some(error) if self.kind.sole().is_some() => Err(error),
            _ => Ok(()),
        }
    }

    fn renew_offer(&self, hub: &Hub) {
        let renewed = Arc::new(offer(hub, &self.kind));
        *self.offer.write().unwrap_or_else(PoisonError::into_inner) = renewed;
    }

    /// Tells clients which lists are not what they were.
    fn tell_what_changed(&self, hub: &Hub) {
        self.renew_offer(hub);
        let surface = Surface::new(hub, &self.kind);
        let mut resources = surface.resources();
        resources.extend(surface.templates());
        let now = Lists {
            tools: digest(&surface.tools()),
            prompts: digest(&surface.prompts()),
            resources: digest(&resources),
        };
        let before = self
            .told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(now);
        let Some(before) = before else { return };
        let said = std::mem::take(
            &mut self
                .said
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .read,
        );
        if said.tools || before.tools != now.tools {
            self.notifier.tools_changed();
        }
        if said.prompts || before.prompts != now.prompts {
            self.notifier.prompts_changed();
        }
        if said.resources || before.resources != now.resources {
            self.notifier.resources_changed();
        }
    }

    /// A server says that lists of its changed. Clients hear of it when it was read again, also when nothing is seen to be
    /// different.
    fn said_changed(&self, hub: &Hub, backing: &str, changed: Changed) {
        let surface = Surface::new(hub, &self.kind);
        if !surface.passed().any(|upstream| upstream.stands_on(backing)) {
            return;
        }
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.unread
            .entry(backing.to_owned())
            .or_default()
            .add(changed);
    }

    /// A server was read.
    fn was_read(&self, backing: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(changed) = said.unread.remove(backing) {
            said.read.add(changed);
        }
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
        let watched =
            std::mem::take(&mut *self.watched.lock().unwrap_or_else(PoisonError::into_inner));
        for owned in watched.into_values() {
            self.common.watches.remove(self.number, &owned).await;
        }
    }

    async fn list(&self, hub: &Arc<Hub>, incoming: &Incoming) -> Result<Reply, RpcError> {
        // All is on one page, so nobody was given a cursor.
        if incoming
            .params
            .get("cursor")
            .is_some_and(|raw| !raw.is_null())
        {
            return Err(RpcError::invalid_params(
                "`cursor` was given, and there is one page only",
            ));
        }
        self.read(hub).await.map_err(|error| as_rpc(&error))?;
        let surface = Surface::new(hub, &self.kind);
        let (member, elements) = match incoming.method.as_str() {
            method::TOOLS_LIST => ("tools", surface.tools()),
            method::PROMPTS_LIST => ("prompts", surface.prompts()),
            method::RESOURCES_LIST => ("resources", surface.resources()),
            _ => ("resourceTemplates", surface.templates()),
        };
        Ok(Reply::Complete {
            result: Object::new().with(member, Raw::of(&elements)),
            cache: Some(kept_for(
                hub.settings().duration(key::PROTO_MESSAGES_LIST_MAX_AGE),
            )),
        })
    }

    async fn call_tool(
        &self,
        hub: &Arc<Hub>,
        incoming: Incoming,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        let name = incoming
            .params
            .string("name")
            .ok_or_else(|| RpcError::invalid_params("`tools/call` without the string `name`"))?;
        let owner = Surface::new(hub, &self.kind).owner_of_tool(&name);
        match owner {
            ToolOwner::Server(server) => {
                let plan = Plan::tool(&server, &name, &incoming)?;
                self.see_through(hub, plan, incoming, context).await
            }
            ToolOwner::Own(operation) => self.own(hub, operation, incoming, context).await,
            ToolOwner::Several(servers) => Err(RpcError::invalid_params(format!(
                "`{}` and `{}` both have a tool of this name now",
                servers[0], servers[1]
            ))),
            ToolOwner::Nobody => Err(RpcError::invalid_params(format!(
                "Unknown tool: {}",
                untrusted_text::terminal::one_line(&name, 200)
            ))),
        }
    }

    /// Calls one of the hub's own tools.
    async fn own(
        &self,
        hub: &Arc<Hub>,
        operation: &'static mcpx_api::Operation,
        incoming: Incoming,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        let params = match own::params(operation, incoming.params.get("arguments")) {
            Ok(params) => params,
            Err(error) => return Ok(Reply::complete(finish::failed(&error))),
        };
        let caller = self.who.of(&incoming, context);
        if operation.id == mcpx_api::Op::Call && params.get("task").is_none() {
            return match Plan::own_call(caller, &params) {
                Ok(plan) => self.see_through(hub, plan, incoming, context).await,
                Err(error) => Ok(Reply::complete(finish::failed(&error))),
            };
        }
        let performed = tokio::select! {
            performed = crate::ops::perform(hub, operation, caller, params) => performed,
            () = context.cancelled.cancelled() => return Err(as_rpc(&CallError::Cancelled)),
        };
        Ok(Reply::complete(match performed {
            Ok(reply) => own::result(reply),
            Err(error) => finish::failed(&error),
        }))
    }

    /// Makes the call of a request, or goes on with the one that its client was asked in.
    async fn see_through(
        &self,
        hub: &Arc<Hub>,
        plan: Plan,
        incoming: Incoming,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        let as_task = incoming.method == method::TOOLS_CALL && context.takes_tasks();
        let finish = plan.finish.clone();
        let mut call = plan.call(self.who.of(&incoming, context), &incoming, context);
        // A task that was asked for in so many words asks in its own way.
        call.hand_back &= !context.task_requested;
        let again = Again {
            call: call.clone(),
            context: context.clone(),
            names_server: self.names_server(),
        };
        let mut held = match incoming.state.as_deref().map(State::read).transpose()? {
            Some(State::Held(id)) => {
                let mut held = self.common.continuations.take(&id)?;
                held.follow(context);
                held.answer(incoming.answers);
                held
            }
            state => {
                match state {
                    Some(State::Handed(state)) => plan::answer(&mut call, incoming.answers, state),
                    Some(State::Visited) => plan::check_visited(&incoming.answers)?,
                    // Answers without a state are for a server that needs none.
                    _ if call.hand_back => plan::answer(&mut call, incoming.answers, None),
                    _ => {}
                }
                HeldCall::begin(hub, call, context, self.names_server())
            }
        };
        let patience = as_task.then(|| {
            if context.task_requested {
                Duration::ZERO
            } else {
                hub.settings().duration(key::PROTO_MESSAGES_TASK_AFTER)
            }
        });
        match held.next(patience).await {
            Step::Ended(ended) => self.ended(hub, *ended, &finish, context),
            Step::Asks if !as_task => self.ask(hub, held),
            Step::Asks | Step::Later => Ok(into_task(hub, held, again, finish)),
        }
    }

    fn ask(&self, hub: &Hub, held: HeldCall) -> Result<Reply, RpcError> {
        let questions = held.questions();
        let ttl = hub.settings().duration(key::PROTO_ASK_TTL);
        let id = self.common.continuations.hold(held, ttl)?;
        Ok(Reply::Ask {
            questions,
            state: State::Held(id).to_bytes(),
        })
    }

    fn ended(
        &self,
        hub: &Hub,
        ended: Result<Done, CallError>,
        finish: &Finish,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        if let Ok(Done {
            outcome: Outcome::InputRequired(round),
            server,
            ..
        }) = &ended
        {
            return self.hand_on(server, round);
        }
        if let Some(questions) = plan::urls_to_visit(&ended, context) {
            return Ok(Reply::Ask {
                questions,
                state: State::Visited.to_bytes(),
            });
        }
        let result = finish.tell(hub, ended)?;
        let cache = finish.is_read().then(|| {
            if result.contains("ttlMs") {
                CacheHint::parse(&result)
            } else {
                kept_for(hub.settings().duration(key::PROTO_MESSAGES_READ_MAX_AGE))
            }
        });
        Ok(Reply::Complete { result, cache })
    }

    /// Hands the questions of a modern server to a modern client, with the server's state in ours.
    fn hand_on(&self, server: &str, round: &InputRequired) -> Result<Reply, RpcError> {
        let questions = asker::readable(server, round, self.names_server())?;
        Ok(Reply::Ask {
            questions,
            state: State::Handed(round.state.clone()).to_bytes(),
        })
    }

    /// Whether a person has to be told which server asks: not when there is one only.
    fn names_server(&self) -> bool {
        self.kind.sole().is_none()
    }

    async fn forward(
        &self,
        hub: &Arc<Hub>,
        incoming: Incoming,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        self.read(hub).await.map_err(|error| as_rpc(&error))?;
        let surface = Surface::new(hub, &self.kind);
        let plan = match incoming.method.as_str() {
            method::PROMPTS_GET => Plan::prompt(&surface, &incoming)?,
            method::RESOURCES_READ => Plan::resource(&surface, &incoming)?,
            _ => Plan::completion(&surface, &incoming)?,
        };
        drop(surface);
        match plan {
            Some(plan) => self.see_through(hub, plan, incoming, context).await,
            // Its owner proposes nothing.
            None => Ok(Reply::complete(plan::no_completion())),
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

/// Work that goes on as a task of the client.
fn into_task(hub: &Arc<Hub>, held: HeldCall, again: Again, finish: Finish) -> Reply {
    let settings = hub.settings();
    let hub = Arc::clone(hub);
    let work = mcp_server::TaskWork::new(move |task| async move {
        let ended = again.in_task(&hub, held, &task).await?;
        finish.tell(&hub, ended)
    });
    Reply::Task(
        work.polled_every(settings.duration(key::PROTO_TASKS_POLL_INTERVAL))
            .kept_for(settings.duration(key::TASKS_TTL)),
    )
}

fn kept_for(age: Duration) -> CacheHint {
    CacheHint {
        ttl_ms: u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
        scope: CacheScope::Private,
    }
}

fn digest(elements: &[Raw]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    for element in elements {
        element.as_str().hash(&mut hasher);
    }
    hasher.finish()
}

/// What is offered: of the one server there is what it declared, as far as it can be passed on; else all of it.
fn offer(hub: &Hub, kind: &Kind) -> Offer {
    let surface = Surface::new(hub, kind);
    let info = surface
        .info()
        .and_then(|info| Implementation::parse(&Raw::from(info)).ok())
        .unwrap_or_else(|| Implementation::new("mcpx", &hub.identity.version));
    let capabilities = match surface.declared() {
        Some(declared) => narrowed(&declared),
        None => everything(!kind.passthrough.is_empty()),
    };
    let mut offer = Offer::new(info, capabilities);
    offer.instructions = surface.instructions();
    offer
}

/// The hub's own tools never change; those of servers do.
fn everything(tools_change: bool) -> ServerCapabilities {
    let lists = || Object::new().with("listChanged", true);
    let tools = if tools_change { lists() } else { Object::new() };
    ServerCapabilities::default()
        .with("tools", tools)
        .with("prompts", lists())
        .with("resources", lists().with("subscribe", true))
        .with("completions", Object::new())
        .with("logging", Object::new())
        .with("extensions", tasks())
}

fn tasks() -> Object {
    Object::new().with(TASKS_EXTENSION, Object::new())
}

/// What can be passed on of what a server declared.
fn narrowed(declared: &ServerCapabilities) -> ServerCapabilities {
    let mut capabilities = ServerCapabilities::default();
    for name in ["tools", "prompts", "resources", "completions", "logging"] {
        if let Some(value) = declared.raw().get(name) {
            capabilities = capabilities.with(name, value.clone());
        }
    }
    if declared.has("tasks") || declared.extension(TASKS_EXTENSION) {
        capabilities = capabilities.with("extensions", tasks());
    }
    capabilities
}
