//! Streamable HTTP: one endpoint, a POST for each message, the answer as JSON or as a stream of events.
//!
//! Modern requests carry what they are in headers, and end with their stream: whoever drops one, cancels it. Legacy ones
//! belong to a session, may go on in another stream when theirs ends, and are cancelled by a notification. Nothing but a
//! session's id and the agreed revision is kept between two requests.

mod back_channel;
mod body;
mod client;
mod endpoint;
mod post;
mod refusal;
mod stream;

pub(crate) use body::{Events, is_events};
pub(crate) use endpoint::{Endpoint, Sending};
pub(crate) use refusal::{Refusal, quoted};
pub(crate) use stream::top_of;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use mcp_wire::{Era, Frame, Id, Notification, Object, Response, Revision, header, method};
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::{Answered, Broken, Exchange, MESSAGES, Outgoing, Stray, Transport, Underway};
use crate::clock::Clocks;
use crate::clock::Expiry;
use crate::failure::{Cause, Delivery};
use crate::server::{HttpReach, ServerSpec};

/// How long a message that wants no answer may take to be accepted.
const ACCEPTED: Duration = Duration::from_secs(30);
/// How long is tried to tell a server that nobody waits any more.
const CANCEL: Duration = Duration::from_secs(5);
/// How long a session's id may be.
const MAX_SESSION: usize = 1_024;

/// The connection.
pub(crate) struct Http {
    shared: Arc<Shared>,
    shutdown: Duration,
}

/// What all requests of a connection share.
struct Shared {
    endpoint: Endpoint,
    strays: mpsc::Sender<Stray>,
    state: Mutex<State>,
    closed: CancellationToken,
    runtime: Handle,
    /// Bytes of one message.
    limit: usize,
    /// How long `server/discover` may take.
    probe: Duration,
}

struct State {
    revision: Revision,
    session: Option<String>,
    /// The session that `initialize` began, while its handshake is not over: others still use the one before, and are
    /// told by the server that it is lost.
    begun: Option<Option<String>>,
    back_channel: Option<AbortHandle>,
    /// Whether the server has said if there is one; until a call has waited for that.
    back_channel_settled: Option<watch::Receiver<bool>>,
    /// Who waits for which answer: one may come on another stream than its own.
    waiting: HashMap<Id, mpsc::Sender<Answered>>,
}

impl Http {
    /// # Errors
    /// When the address or a header cannot be used. Nothing is sent yet.
    pub(crate) fn new(
        reach: &HttpReach,
        spec: &ServerSpec,
        strays: mpsc::Sender<Stray>,
        clocks: Arc<Clocks>,
    ) -> Result<Self, Broken> {
        let shared = Shared {
            endpoint: Endpoint::new(reach, clocks)?,
            strays,
            state: Mutex::new(State {
                revision: Revision::NEWEST,
                session: None,
                begun: None,
                back_channel: None,
                back_channel_settled: None,
                waiting: HashMap::new(),
            }),
            closed: CancellationToken::new(),
            runtime: Handle::current(),
            limit: spec.limits.message,
            probe: spec.timeouts.probe,
        };
        Ok(Self {
            shared: Arc::new(shared),
            shutdown: spec.timeouts.shutdown,
        })
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stray(&self, stray: Stray) {
        // A server that talks faster than anybody listens loses what it said.
        let _full_or_gone = self.strays.try_send(stray);
    }

    fn noise(&self, what: impl Into<String>) {
        self.stray(Stray::Noise(what.into()));
    }

    fn is_modern(&self) -> bool {
        self.state().revision.era() == Era::Modern
    }

    /// The headers of a message of this method, and whether they name a session.
    fn headers(&self, method: &str) -> (HeaderMap, bool) {
        let mut headers = HeaderMap::new();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let state = self.state();
        if state.revision >= Revision::V2025_06_18 && method != method::INITIALIZE {
            put(
                &mut headers,
                header::PROTOCOL_VERSION,
                state.revision.as_str(),
            );
        }
        if state.revision.era() == Era::Modern && method != method::INITIALIZE {
            put(&mut headers, header::METHOD, &header::encode(method));
            return (headers, false);
        }
        let session = match method {
            method::INITIALIZE => None,
            method::INITIALIZED => state.begun.clone().unwrap_or(state.session.clone()),
            _ => state
                .session
                .clone()
                .or_else(|| state.begun.clone().flatten()),
        };
        if let Some(session) = &session {
            put(&mut headers, header::SESSION_ID, session);
        }
        (headers, session.is_some())
    }

    async fn post(
        &self,
        headers: &HeaderMap,
        frame: &Frame,
        patience: Option<Duration>,
    ) -> Result<reqwest::Response, Broken> {
        let sending = Sending {
            method: Method::POST,
            url: self.endpoint.url(),
            headers,
            body: Some(frame.to_line()),
            patience,
        };
        self.endpoint.send(sending).await
    }

    /// Sends what wants no answer.
    async fn tell(&self, method: &str, frame: &Frame) -> Result<(), Broken> {
        if self.closed.is_cancelled() {
            return Err(closed(Delivery::NotSent));
        }
        let (headers, has_session) = self.headers(method);
        let response = self.post(&headers, frame, Some(ACCEPTED)).await?;
        if response.status().is_success() {
            return Ok(());
        }
        let refusal = Refusal::read(response, self.limit).await;
        if has_session && refusal.status.as_u16() == 404 {
            return Err(session_lost());
        }
        Err(refusal.broken())
    }

    /// Ends the session, if there is one.
    async fn end_session(&self) {
        let has_session = {
            let state = self.state();
            state.session.is_some() || matches!(state.begun, Some(Some(_)))
        };
        if !has_session || self.is_modern() {
            return;
        }
        let (headers, _) = self.headers("");
        let sending = Sending {
            method: Method::DELETE,
            url: self.endpoint.url(),
            headers: &headers,
            body: None,
            patience: None,
        };
        // A server may refuse it, and it ends all the same.
        let _tried = self.endpoint.send(sending).await;
    }
}

fn put(headers: &mut HeaderMap, name: &'static str, value: &str) {
    // What is put here was encoded for a header, or came out of one.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

fn closed(delivery: Delivery) -> Broken {
    Broken::new(
        delivery,
        Cause::Closed,
        "the connection was closed by this client",
    )
}

impl Shared {
    /// Hands an answer to who waits for it, whatever stream it came on. Whether somebody did.
    fn deliver(&self, response: &Response) -> bool {
        let Some(id) = &response.id else { return false };
        let waiting = self.state().waiting.get(id).cloned();
        waiting.is_some_and(|waiting| waiting.try_send(Ok(response.outcome.clone())).is_ok())
    }
}

/// The server no longer knows the session. It cannot be told apart from a gateway that lost it after it passed the
/// request on, so the outcome counts as unknown.
fn session_lost() -> Broken {
    let why = "the server no longer knows the session (HTTP 404)";
    Broken::new(Delivery::OutcomeUnknown, Cause::SessionLost, why)
}

fn too_late(patience: Duration) -> Broken {
    let expiry = Expiry::Max(patience);
    Broken::new(
        Delivery::OutcomeUnknown,
        Cause::Timeout(expiry),
        expiry.to_string(),
    )
}

/// Ends a request that nobody waits for any more.
struct Guard {
    shared: Arc<Shared>,
    id: Id,
    task: AbortHandle,
    answered: Arc<AtomicBool>,
    /// Legacy: what has to be cancelled by a message, since a stream that ends cancels nothing.
    cancels: Option<Id>,
}

impl Underway for Guard {}

impl Drop for Guard {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.state().waiting.remove(&self.id);
        if self.answered.load(Ordering::SeqCst) || self.shared.closed.is_cancelled() {
            return;
        }
        let Some(id) = self.cancels.take() else {
            return;
        };
        let params = Object::new()
            .with("requestId", id.raw())
            .with("reason", "nobody waits for it any more");
        let shared = Arc::clone(&self.shared);
        self.shared.runtime.spawn(async move {
            let frame = Frame::from(Notification::new(method::CANCELLED, params));
            let telling = shared.tell(method::CANCELLED, &frame);
            let _tried = tokio::time::timeout(CANCEL, telling).await;
        });
    }
}

#[async_trait]
impl Transport for Http {
    async fn send(&self, outgoing: Outgoing) -> Result<Exchange, Broken> {
        let shared = Arc::clone(&self.shared);
        if shared.closed.is_cancelled() {
            return Err(closed(Delivery::NotSent));
        }
        let legacy = !shared.is_modern();
        if legacy && method::may_ask(&outgoing.request.method) {
            back_channel::wait(&shared).await;
        }
        let cancels = (legacy && outgoing.request.method != method::INITIALIZE)
            .then(|| outgoing.request.id.clone());
        let (message_in, messages) = mpsc::channel(MESSAGES);
        let (answer_in, answer) = oneshot::channel();
        let answered = Arc::new(AtomicBool::new(false));
        let id = outgoing.request.id.clone();
        let (elsewhere_in, mut elsewhere) = mpsc::channel(1);
        shared.state().waiting.insert(id.clone(), elsewhere_in);
        let task = tokio::spawn({
            let (shared, answered) = (Arc::clone(&shared), Arc::clone(&answered));
            async move {
                let outcome = tokio::select! {
                    outcome = post::exchange(&shared, outgoing, &message_in) => outcome,
                    Some(outcome) = elsewhere.recv() => outcome,
                    () = shared.closed.cancelled() => Err(closed(Delivery::OutcomeUnknown)),
                };
                answered.store(true, Ordering::SeqCst);
                let _nobody_waits = answer_in.send(outcome);
            }
        });
        let guard = Guard {
            shared,
            id,
            task: task.abort_handle(),
            answered,
            cancels,
        };
        Ok(Exchange {
            messages,
            answer,
            guard: Box::new(guard),
        })
    }

    async fn notify(&self, notification: Notification) -> Result<(), Broken> {
        let method = notification.method.clone();
        self.shared
            .tell(&method, &Frame::from(notification))
            .await?;
        if method == method::INITIALIZED {
            let mut state = self.shared.state();
            if let Some(session) = state.begun.take() {
                state.session = session;
            }
        }
        Ok(())
    }

    async fn respond(&self, response: Response) -> Result<(), Broken> {
        self.shared.tell("", &Frame::from(response)).await
    }

    fn agreed(&self, revision: Revision) {
        self.shared.state().revision = revision;
    }

    fn open_back_channel(&self) {
        back_channel::open(&self.shared);
    }

    fn mirrors_headers(&self) -> bool {
        true
    }

    async fn close(&self) -> Vec<i32> {
        if !self.shared.closed.is_cancelled() {
            self.shared.closed.cancel();
            let _in_time = tokio::time::timeout(self.shutdown, self.shared.end_session()).await;
            self.shared
                .stray(Stray::Closed(closed(Delivery::OutcomeUnknown)));
        }
        Vec::new()
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        if self.shared.closed.is_cancelled() {
            return;
        }
        self.shared.closed.cancel();
        let (shared, shutdown) = (Arc::clone(&self.shared), self.shutdown);
        // Sessions that nobody ends pile up on servers.
        self.shared.runtime.spawn(async move {
            let _in_time = tokio::time::timeout(shutdown, shared.end_session()).await;
        });
    }
}
