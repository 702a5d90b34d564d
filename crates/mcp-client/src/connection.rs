//! A connection: what was agreed, the calls on it, what it says by itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use mcp_wire::{
    Era, Frame, Id, Implementation, Notification, Object, Outcome, Raw, Request, Revision,
    ServerCapabilities, Tool, header, method,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, mpsc};

use crate::ask::{Abilities, Ask};
use crate::call::{CallOptions, Watched};
use crate::clock::{Clock, Clocks};
use crate::connect::Verdict;
use crate::events::Event;
use crate::failure::Failure;
use crate::handshake;
use crate::listen::Listening;
use crate::questions;
use crate::server::ServerSpec;
use crate::tasks::owners::Owners;
use crate::transport::{Stray, Transport};

/// How many events wait for a slow listener; it is told how many it missed.
const EVENTS: usize = 256;
/// How big a notification may be that waits for listeners, in bytes.
const MAX_EVENT: usize = 256 * 1024;

/// How many requests of a server are answered at the same time; further ones are dropped.
const ANSWERING: usize = 256;

/// A connection to a server. Cheap to clone; the server ends when the last one is dropped.
#[derive(Clone)]
pub struct Connection {
    pub(crate) inner: Arc<Inner>,
    verdict: Option<Verdict>,
}

/// What the handshake found.
#[derive(Debug, Clone)]
pub struct Agreed {
    /// The revision that is spoken.
    pub revision: Revision,
    /// Who the server says it is; for showing only.
    pub server_info: Option<Implementation>,
    /// What it offers.
    pub capabilities: ServerCapabilities,
    /// What it wants a model to know about it; text from outside.
    pub instructions: Option<String>,
    /// The whole answer.
    pub raw: Object,
    /// Legacy: what was said to be answered here, once and for all calls.
    pub declared: Abilities,
}

impl Agreed {
    pub(crate) fn modern(revision: Revision) -> Self {
        Self {
            revision,
            server_info: None,
            capabilities: ServerCapabilities::default(),
            instructions: None,
            raw: Object::new(),
            declared: Abilities::default(),
        }
    }

    /// Whether it came from a whole answer rather than from an error that named a revision.
    pub(crate) fn is_complete(&self) -> bool {
        !self.raw.is_empty()
    }
}

/// What all clones of a connection share.
pub(crate) struct Inner {
    pub(crate) spec: ServerSpec,
    pub(crate) transport: Box<dyn Transport>,
    pub(crate) ask: Option<Arc<dyn Ask>>,
    agreed: RwLock<Arc<Agreed>>,
    next_id: AtomicI64,
    events: broadcast::Sender<Event>,
    tools: Mutex<HashMap<String, Tool>>,
    pub(crate) clocks: Arc<Clocks>,
    generation: AtomicU64,
    renewing: tokio::sync::Mutex<()>,
    pub(crate) listening: Mutex<Listening>,
    /// Whose each task is that is waited for.
    pub(crate) owners: Owners,
    /// Held while what is listened to changes: each change builds on the last one.
    pub(crate) changing_interest: tokio::sync::Mutex<()>,
    /// Room for requests of the server that are being answered.
    answering: Arc<Semaphore>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    pub(crate) fn new(
        spec: ServerSpec,
        transport: Box<dyn Transport>,
        ask: Option<Arc<dyn Ask>>,
        strays: mpsc::Receiver<Stray>,
        clocks: Arc<Clocks>,
    ) -> Arc<Self> {
        let inner = Arc::new(Self {
            spec,
            transport,
            ask,
            agreed: RwLock::new(Arc::new(Agreed::modern(Revision::NEWEST))),
            // A server that answers before it is asked cannot guess where we begin.
            next_id: AtomicI64::new(fastrand::i64(1_000..1 << 30)),
            events: broadcast::Sender::new(EVENTS),
            tools: Mutex::default(),
            clocks,
            generation: AtomicU64::new(0),
            renewing: tokio::sync::Mutex::new(()),
            listening: Mutex::default(),
            owners: Owners::default(),
            changing_interest: tokio::sync::Mutex::new(()),
            answering: Arc::new(Semaphore::new(ANSWERING)),
        });
        tokio::spawn(take_strays(Arc::downgrade(&inner), strays));
        inner
    }

    pub(crate) fn next_id(&self) -> Id {
        Id::Number(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn agreed(&self) -> Arc<Agreed> {
        Arc::clone(&self.agreed.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn agree(&self, agreed: Agreed) {
        *self.agreed.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(agreed);
    }

    pub(crate) fn revision(&self) -> Revision {
        self.agreed().revision
    }

    /// From now on messages are spelled for this revision.
    pub(crate) fn speak(&self, revision: Revision) {
        let agreed = Agreed {
            revision,
            ..(*self.agreed()).clone()
        };
        self.agree(agreed);
        self.transport.agreed(revision);
    }

    pub(crate) fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    pub(crate) fn tell(&self, event: Event) {
        let _nobody_listens = self.events.send(event);
    }

    /// One request without rounds and repeats, for the handshake.
    pub(crate) async fn exchange(
        self: &Arc<Self>,
        method: &str,
        params: Object,
        options: &CallOptions,
    ) -> Result<Raw, Failure> {
        let watched = Watched {
            inner: self,
            options,
            clock: self.clock(options),
        };
        watched.once(method, params).await
    }

    pub(crate) fn remember_clock(&self, clock: &Arc<Clock>) {
        self.clocks.add(clock);
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Tool> {
        lock(&self.tools).get(name).cloned()
    }

    pub(crate) fn remember_tools(&self, tools: &[Tool]) {
        *lock(&self.tools) = tools
            .iter()
            .map(|tool| (tool.name.clone(), tool.clone()))
            .collect();
    }

    pub(crate) fn forget_tools(&self) {
        lock(&self.tools).clear();
    }

    /// The headers that mirror arguments of this call. The tools are read first when that is needed to know.
    pub(crate) async fn param_headers(
        self: &Arc<Self>,
        method: &str,
        params: &Object,
        options: &CallOptions,
    ) -> Result<Vec<(String, String)>, Failure> {
        if method != method::TOOLS_CALL
            || !self.transport.mirrors_headers()
            || self.revision().era() == Era::Legacy
        {
            return Ok(Vec::new());
        }
        let name = params.string("name").unwrap_or_default();
        let known = match self.tool(&name) {
            Some(tool) => Some(tool),
            None => {
                Box::pin(self.read_tools(options)).await?;
                self.tool(&name)
            }
        };
        let Some(tool) = known else {
            return Ok(Vec::new());
        };
        let headers = tool
            .param_headers()
            .map_err(|error| self.refuse(format!("`{name}`: {}", error.reason)))?;
        let arguments = params.object("arguments").unwrap_or_default();
        let mut values = Vec::new();
        for header in headers {
            let value = header::param_value(&header, &arguments)
                .map_err(|error| self.refuse(error.reason))?;
            values.extend(value.map(|value| (header.header.clone(), value)));
        }
        Ok(values)
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Begins a new session after one was lost. However many calls noticed it, one handshake is made.
    pub(crate) async fn renew(self: &Arc<Self>, noticed_at: u64) -> Result<(), Failure> {
        let _single = self.renewing.lock().await;
        if self.generation() != noticed_at {
            return Ok(());
        }
        let agreed = Box::pin(handshake::initialize(self)).await?;
        self.agree(agreed);
        self.generation.fetch_add(1, Ordering::SeqCst);
        Box::pin(self.subscribe_again()).await;
        self.tell(Event::SessionRenewed);
        Ok(())
    }

    /// Passes on a notification that belongs to no call.
    pub(crate) fn announce(&self, notification: Notification) {
        self.pass_on(notification, false);
    }

    /// Passes on a notification that came with a call.
    pub(crate) fn announce_of_call(&self, notification: Notification) {
        self.pass_on(notification, true);
    }

    fn pass_on(&self, notification: Notification, in_call: bool) {
        let Notification { method, params, .. } = notification;
        let bytes: usize = params
            .iter()
            .map(|(name, value)| name.len() + value.as_str().len())
            .sum();
        if bytes > MAX_EVENT {
            self.tell(Event::Noise {
                head: format!("a notification `{method}` of {bytes} bytes"),
            });
            return;
        }
        let event = match method.as_str() {
            method::TOOLS_CHANGED => {
                self.forget_tools();
                Event::ToolsChanged
            }
            method::PROMPTS_CHANGED => Event::PromptsChanged,
            method::RESOURCES_CHANGED => Event::ResourcesChanged,
            method::RESOURCE_UPDATED => Event::ResourceUpdated {
                uri: params.string("uri").unwrap_or_default(),
            },
            method::LOG_MESSAGE => Event::Log {
                level: params.string("level").unwrap_or_default(),
                logger: params.string("logger"),
                data: params.get("data").cloned().unwrap_or_else(Raw::null),
                in_call,
            },
            method::ELICITATION_COMPLETE => Event::ElicitationComplete {
                elicitation_id: params.string("elicitationId").unwrap_or_default(),
            },
            method::TASK_STATUS | method::TASK_CHANGED => Event::TaskChanged { params },
            _ => Event::Unknown { method, params },
        };
        self.tell(event);
    }

    /// Room to answer a request of the server. `None` when it asks too much at once: this one is dropped.
    pub(crate) fn room_to_answer(&self, request: &Request) -> Option<OwnedSemaphorePermit> {
        let room = Arc::clone(&self.answering).try_acquire_owned().ok();
        if room.is_none() {
            let method: String = request.method.chars().take(100).collect();
            self.tell(Event::Noise {
                head: format!(
                    "`{method}` is not answered: {ANSWERING} requests of this server are open already"
                ),
            });
        }
        room
    }

    pub(crate) async fn end(&self) {
        self.transport.close().await;
    }
}

/// Takes what belongs to no call, until the connection is gone.
async fn take_strays(inner: Weak<Inner>, mut strays: mpsc::Receiver<Stray>) {
    while let Some(stray) = strays.recv().await {
        let Some(inner) = inner.upgrade() else { return };
        match stray {
            Stray::Message(Frame::Notification(notification)) => inner.announce(notification),
            Stray::Message(Frame::Request(request)) => {
                let Some(room) = inner.room_to_answer(&request) else {
                    continue;
                };
                tokio::spawn(async move {
                    let _room = room;
                    questions::answer_stray(&inner, request).await;
                });
            }
            Stray::Message(Frame::Response(_)) => {}
            Stray::Noise(head) => inner.tell(Event::Noise { head }),
            Stray::Closed(broken) => inner.tell(Event::Closed { why: broken.why }),
        }
    }
}

impl Connection {
    pub(crate) fn new(inner: Arc<Inner>, agreed: Agreed, verdict: Option<Verdict>) -> Self {
        inner.speak(agreed.revision);
        inner.agree(agreed);
        Self { inner, verdict }
    }

    /// What was agreed.
    #[must_use]
    pub fn agreed(&self) -> Arc<Agreed> {
        self.inner.agreed()
    }

    /// The server's name and where it is, for messages.
    #[must_use]
    pub fn label(&self) -> crate::Label {
        self.inner.spec.label()
    }

    /// The era that is spoken.
    #[must_use]
    pub fn era(&self) -> Era {
        self.inner.revision().era()
    }

    /// What to remember for the next connection with this configuration; `None` when what was seen proves nothing.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// What the server says without being asked, from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.inner.events()
    }

    /// The process, when the server is a program. It may have ended.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.inner.transport.pid()
    }

    /// Whether the connection is known to be gone. Of a server over HTTP only the next call can tell.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.transport.is_closed()
    }

    /// Makes any request, as it is; for passing on what another client sent.
    ///
    /// # Errors
    /// When there is no result.
    pub async fn request(
        &self,
        method: &str,
        params: Object,
        options: &CallOptions,
    ) -> Result<Outcome, Failure> {
        self.inner.outcome(method, params, options).await
    }

    /// Ends the connection, and a server that is a program with all it started. Returns the process ids of what could
    /// not be ended.
    pub async fn close(&self) -> Vec<i32> {
        self.inner.transport.close().await
    }
}
