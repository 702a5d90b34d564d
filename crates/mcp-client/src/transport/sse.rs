//! The HTTP+SSE of 2024-11-05: one stream of events by GET, whose first event says where messages are posted.
//!
//! The stream is the session: when it ends, every open request is told, and the next `initialize` opens another one.

mod route;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use mcp_wire::sse::Event;
use mcp_wire::{Frame, Id, Notification, Object, Response, Revision, method};
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::http::{Endpoint, Events, Refusal, Sending, is_events, quoted};
use super::{Broken, Exchange, MESSAGES, Outgoing, Stray, Transport, Underway};
use crate::clock::Clocks;
use crate::clock::Expiry;
use crate::failure::{Cause, Delivery};
use crate::server::{HttpReach, ServerSpec};
use route::{Pending, Routes};

/// How long a message may take to be accepted.
const ACCEPTED: Duration = Duration::from_secs(30);
/// How long is tried to tell a server that nobody waits any more.
const CANCEL: Duration = Duration::from_secs(5);

/// The connection.
pub(crate) struct Sse {
    shared: Arc<Shared>,
    /// One stream is opened at a time.
    opening: tokio::sync::Mutex<()>,
    /// How long the stream may take to say where messages go.
    patience: Duration,
}

struct Shared {
    endpoint: Endpoint,
    routes: Routes,
    /// Where messages go, while the stream is open.
    place: Mutex<Option<Url>>,
    closed: CancellationToken,
    runtime: Handle,
    limit: usize,
}

impl Sse {
    /// Opens the stream.
    ///
    /// # Errors
    /// When there is none, or it does not say where messages go within the probe's time.
    pub(crate) async fn open(
        reach: &HttpReach,
        spec: &ServerSpec,
        strays: mpsc::Sender<Stray>,
        clocks: Arc<Clocks>,
    ) -> Result<Self, Broken> {
        let shared = Shared {
            endpoint: Endpoint::new(reach, clocks)?,
            routes: Routes::new(strays),
            place: Mutex::default(),
            closed: CancellationToken::new(),
            runtime: Handle::current(),
            limit: spec.limits.message,
        };
        let sse = Self {
            shared: Arc::new(shared),
            opening: tokio::sync::Mutex::default(),
            patience: spec.timeouts.probe,
        };
        sse.reopen().await?;
        Ok(sse)
    }

    /// Opens the stream if it is not open.
    async fn reopen(&self) -> Result<(), Broken> {
        let _one = self.opening.lock().await;
        if self.shared.place().is_some() {
            return Ok(());
        }
        let events = self.shared.open_stream(self.patience).await?;
        let (place, events) = tokio::time::timeout(self.patience, self.shared.first_event(events))
            .await
            .map_err(|_| {
                let expiry = Expiry::Max(self.patience);
                let why = format!("its stream did not say where messages go: {expiry}");
                Broken::new(Delivery::NotSent, Cause::Timeout(expiry), why)
            })??;
        *self.shared.lock_place() = Some(place);
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            let ending = tokio::select! {
                ending = shared.follow(events) => ending,
                () = shared.closed.cancelled() => "the connection was closed by this client".to_owned(),
            };
            shared.end_stream(&ending);
        });
        Ok(())
    }
}

impl Shared {
    fn lock_place(&self) -> MutexGuard<'_, Option<Url>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self) -> Option<Url> {
        self.lock_place().clone()
    }

    /// Expects an answer, unless the stream is closed: what is open when it ends is told so, and nothing else is.
    fn expect(&self, id: &Id, pending: Pending) -> Result<(), Broken> {
        let place = self.lock_place();
        if place.is_none() {
            return Err(lost());
        }
        self.routes.expect(id.clone(), pending);
        Ok(())
    }

    fn end_stream(&self, why: &str) {
        let mut place = self.lock_place();
        *place = None;
        let broken = Broken::new(Delivery::OutcomeUnknown, Cause::Closed, why);
        self.routes.fail_all(&broken);
    }

    async fn open_stream(&self, patience: Duration) -> Result<Events, Broken> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let sending = Sending {
            method: Method::GET,
            url: self.endpoint.url(),
            headers: &headers,
            body: None,
            patience: Some(patience),
        };
        let response = self.endpoint.send(sending).await?;
        if !response.status().is_success() {
            return Err(Refusal::read(response, self.limit).await.broken());
        }
        if !is_events(&response) {
            let why = "GET is answered with something other than a stream of events";
            return Err(Broken::new(Delivery::NotSent, Cause::Unreadable, why));
        }
        Ok(Events::new(response, self.limit))
    }

    /// Waits for the event that says where messages go.
    async fn first_event(&self, mut events: Events) -> Result<(Url, Events), Broken> {
        let fail = |why: String| Broken::new(Delivery::NotSent, Cause::Unreadable, why);
        while let Some(event) = events.next().await {
            if let Event::Message(message) = event
                && message.event == "endpoint"
            {
                let place = String::from_utf8_lossy(&message.data);
                let place = self.endpoint.own(self.endpoint.url(), place.trim());
                return match place {
                    Ok(place) => Ok((place, events)),
                    Err(why) => Err(fail(format!("its `endpoint` event cannot be used: {why}"))),
                };
            }
        }
        Err(fail(format!(
            "{} without an `endpoint` event",
            events.ending()
        )))
    }

    /// Takes messages until the stream ends, and says how it ended.
    async fn follow(&self, mut events: Events) -> String {
        while let Some(event) = events.next().await {
            match event {
                Event::Message(message) => {
                    let blank = message.data.iter().all(u8::is_ascii_whitespace);
                    if !blank && message.event == "message" {
                        self.routes.take(&message.data);
                    }
                }
                Event::TooLong { bytes, head } => self.routes.too_long(bytes, &head),
            }
        }
        events.ending()
    }

    /// Posts a message.
    async fn post(&self, frame: &Frame) -> Result<(), Broken> {
        let Some(place) = self.place() else {
            return Err(lost());
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        let sending = Sending {
            method: Method::POST,
            url: &place,
            headers: &headers,
            body: Some(frame.to_line()),
            patience: Some(ACCEPTED),
        };
        let response = self.endpoint.send(sending).await?;
        if response.status().is_success() {
            return Ok(());
        }
        let refusal = Refusal::read(response, self.limit).await;
        let mut broken = refusal.broken();
        if let Some((error, _)) = refusal.error {
            broken.why = format!("{} ({})", broken.why, quoted(error.message.as_bytes()));
        }
        Err(broken)
    }
}

/// The stream is gone, and with it the session. What was to be sent now was not.
fn lost() -> Broken {
    let why = "the stream that was the session is closed";
    Broken::new(Delivery::NotSent, Cause::SessionLost, why)
}

/// Forgets a request, and cancels it when it was not answered.
struct Guard {
    shared: Arc<Shared>,
    id: Id,
    cancels: bool,
}

impl Underway for Guard {}

impl Drop for Guard {
    fn drop(&mut self) {
        let was_open = self.shared.routes.forget(&self.id);
        if !was_open || !self.cancels || self.shared.closed.is_cancelled() {
            return;
        }
        let params = Object::new()
            .with("requestId", self.id.raw())
            .with("reason", "nobody waits for it any more");
        let shared = Arc::clone(&self.shared);
        self.shared.runtime.spawn(async move {
            let frame = Frame::from(Notification::new(method::CANCELLED, params));
            let _tried = tokio::time::timeout(CANCEL, shared.post(&frame)).await;
        });
    }
}

#[async_trait]
impl Transport for Sse {
    async fn send(&self, outgoing: Outgoing) -> Result<Exchange, Broken> {
        let request = outgoing.request;
        if self.shared.closed.is_cancelled() {
            let why = "the connection was closed by this client";
            return Err(Broken::new(Delivery::NotSent, Cause::Closed, why));
        }
        let initializes = request.method == method::INITIALIZE;
        if initializes {
            self.reopen().await?;
        }
        let id = request.id.clone();
        let (message_in, messages) = mpsc::channel(MESSAGES);
        let (answer_in, answer) = oneshot::channel();
        let pending = Pending {
            messages: message_in,
            answer: answer_in,
        };
        self.shared.expect(&id, pending)?;
        let guard = Guard {
            shared: Arc::clone(&self.shared),
            id: id.clone(),
            cancels: !initializes,
        };
        let shared = Arc::clone(&self.shared);
        // The answer may come on the stream before the POST is accepted.
        tokio::spawn(async move {
            if let Err(broken) = shared.post(&Frame::from(request)).await {
                shared.routes.fail(&id, broken);
            }
        });
        Ok(Exchange {
            messages,
            answer,
            guard: Box::new(guard),
        })
    }

    async fn notify(&self, notification: Notification) -> Result<(), Broken> {
        self.shared.post(&Frame::from(notification)).await
    }

    async fn respond(&self, response: Response) -> Result<(), Broken> {
        self.shared.post(&Frame::from(response)).await
    }

    fn agreed(&self, _revision: Revision) {}

    fn is_closed(&self) -> bool {
        self.shared.closed.is_cancelled()
    }

    async fn close(&self) -> Vec<i32> {
        self.shared.closed.cancel();
        Vec::new()
    }
}

impl Drop for Sse {
    fn drop(&mut self) {
        self.shared.closed.cancel();
    }
}
