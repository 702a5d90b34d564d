//! What a server is asked to announce: lists that change, resources that change, tasks.
//!
//! Legacy servers announce their lists unasked and take subscriptions to resources one by one. A modern one announces
//! what a `subscriptions/listen` asks for; that request stays open, and is made again when it breaks.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use mcp_wire::{Era, Frame, Notification, Object, Raw, Request, method};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::call::CallOptions;
use crate::connection::{Connection, Inner};
use crate::events::Event;
use crate::failure::{Cause, Delivery, Failure, FailureKind};
use crate::transport::{Broken, Exchange, Outgoing};

/// How long after a break the first new attempt is made; each further one waits twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// How long it waits at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What a server is asked to announce.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interest {
    /// Its tools change.
    pub tools: bool,
    /// Its prompts change.
    pub prompts: bool,
    /// Its resources change.
    pub resources: bool,
    /// These resources change.
    pub uris: BTreeSet<String>,
    /// These tasks change.
    pub tasks: BTreeSet<String>,
}

impl Interest {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn params(&self) -> Object {
        let mut wanted = Object::new();
        let lists = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        for (name, wants) in lists {
            if wants {
                wanted.set(name, true);
            }
        }
        for (name, names) in [
            ("resourceSubscriptions", &self.uris),
            ("taskIds", &self.tasks),
        ] {
            if !names.is_empty() {
                wanted.set(name, Raw::of(names));
            }
        }
        Object::new().with("notifications", wanted)
    }
}

/// What is listened to, and by which task.
#[derive(Default)]
pub(crate) struct Listening {
    interest: Interest,
    task: Option<AbortHandle>,
    /// Legacy: from which severity on the server was told to log.
    level: Option<String>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Connection {
    /// Listens to what the server says it can announce about its lists.
    ///
    /// # Errors
    /// When the server refuses it.
    pub async fn listen_to_lists(&self) -> Result<(), Failure> {
        let _alone = self.inner.changing_interest.lock().await;
        let capabilities = &self.agreed().capabilities;
        let mut interest = self.inner.interest();
        interest.tools = capabilities.switch("tools", "listChanged");
        interest.prompts = capabilities.switch("prompts", "listChanged");
        interest.resources = capabilities.switch("resources", "listChanged");
        self.inner.listen_to(interest).await
    }

    /// Asks for [`Event::ResourceUpdated`] of one resource.
    ///
    /// # Errors
    /// When the server refuses it.
    pub async fn subscribe(&self, uri: &str, options: &CallOptions) -> Result<(), Failure> {
        let _alone = self.inner.changing_interest.lock().await;
        let mut interest = self.inner.interest();
        interest.uris.insert(uri.to_owned());
        if self.era() == Era::Legacy {
            self.inner
                .request(
                    method::RESOURCES_SUBSCRIBE,
                    Object::new().with("uri", uri),
                    options,
                )
                .await?;
        }
        self.inner.listen_to(interest).await
    }

    /// No longer asks for it.
    ///
    /// # Errors
    /// When the server refuses it.
    pub async fn unsubscribe(&self, uri: &str, options: &CallOptions) -> Result<(), Failure> {
        let _alone = self.inner.changing_interest.lock().await;
        let mut interest = self.inner.interest();
        interest.uris.remove(uri);
        if self.era() == Era::Legacy {
            self.inner
                .request(
                    method::RESOURCES_UNSUBSCRIBE,
                    Object::new().with("uri", uri),
                    options,
                )
                .await?;
        }
        self.inner.listen_to(interest).await
    }
}

impl Inner {
    pub(crate) fn interest(&self) -> Interest {
        self.listening
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .interest
            .clone()
    }

    /// From now on a renewed session is told to log from this severity on.
    pub(crate) fn remember_level(&self, level: &str) {
        self.listening
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .level = Some(level.to_owned());
    }

    fn level(&self) -> Option<String> {
        self.listening
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .level
            .clone()
    }

    /// Legacy: tells a new session what the one before was told.
    pub(crate) async fn subscribe_again(self: &Arc<Self>) {
        if let Some(level) = self.level() {
            let params = Object::new().with("level", level);
            let options = CallOptions::default();
            // One that logs less than it was told is no worse for that.
            let _refused = self.exchange(method::SET_LEVEL, params, &options).await;
        }
        for uri in self.interest().uris {
            let params = Object::new().with("uri", uri.as_str());
            if let Err(failure) = self
                .exchange(method::RESOURCES_SUBSCRIBE, params, &CallOptions::default())
                .await
            {
                self.tell(Event::Noise {
                    head: format!("not subscribed again to {uri}: {failure}"),
                });
            }
        }
    }

    /// Changes what is listened to. Modern: the old request stays open until the new one is acknowledged.
    async fn listen_to(self: &Arc<Self>, interest: Interest) -> Result<(), Failure> {
        let modern = self.revision().era() == Era::Modern;
        let mut task = None;
        if modern && !interest.is_empty() {
            let (ready_in, ready) = oneshot::channel();
            let handle = tokio::spawn(keep_listening(
                Arc::downgrade(self),
                interest.clone(),
                ready_in,
            ))
            .abort_handle();
            task = Some(handle);
            let acknowledged = tokio::time::timeout(self.spec.timeouts.idle, ready).await;
            let why = match acknowledged {
                Ok(Ok(Ok(()))) => None,
                Ok(Ok(Err(failure))) => return Err(*failure),
                Ok(Err(_)) => Some("the connection was closed"),
                Err(_) => Some("it did not acknowledge in time"),
            };
            if let Some(why) = why {
                if let Some(task) = task {
                    task.abort();
                }
                return Err(self.no_answer(Broken::new(
                    Delivery::OutcomeUnknown,
                    Cause::Closed,
                    why,
                )));
            }
        }
        let mut listening = self
            .listening
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let level = listening.level.take();
        *listening = Listening {
            interest,
            task,
            level,
        };
        Ok(())
    }

    async fn open_listening(self: &Arc<Self>, interest: &Interest) -> Result<Exchange, Broken> {
        let mut params = interest.params();
        self.put_envelope(method::LISTEN, &mut params, &CallOptions::default());
        let request = Request::new(self.next_id(), method::LISTEN, params);
        self.transport
            .send(Outgoing {
                request,
                param_headers: Vec::new(),
            })
            .await
    }
}

type Ready = oneshot::Sender<Result<(), Box<Failure>>>;

/// Keeps one `subscriptions/listen` open until the connection is gone.
async fn keep_listening(inner: Weak<Inner>, interest: Interest, ready: Ready) {
    let mut ready = Some(ready);
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(strong) = inner.upgrade() else {
            return;
        };
        let opened = strong.open_listening(&interest).await;
        drop(strong);
        let ended = match opened {
            Ok(exchange) => follow(&inner, exchange, &mut ready, &mut pause).await,
            Err(broken) => Err(broken),
        };
        let Some(strong) = inner.upgrade() else {
            return;
        };
        if let Some(ready) = ready.take() {
            // The first attempt failed: whoever asked is told, and may ask again.
            let failure = match ended {
                Ok(Some(failure)) => failure,
                Ok(None) => {
                    strong.unreadable("it ended the subscription before it acknowledged it")
                }
                Err(broken) => strong.no_answer(broken),
            };
            let _nobody_waits = ready.send(Err(Box::new(failure)));
            return;
        }
        if let Ok(Some(failure)) = ended {
            strong.tell(Event::Noise {
                head: format!("no longer listening: {failure}"),
            });
            return;
        }
        drop(strong);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Follows one open request. `Some` when the server answered with an error, `None` when it ended it.
async fn follow(
    inner: &Weak<Inner>,
    mut exchange: Exchange,
    ready: &mut Option<Ready>,
    pause: &mut Duration,
) -> Result<Option<Failure>, Broken> {
    let mut open = true;
    loop {
        tokio::select! {
            biased;
            message = exchange.messages.recv(), if open => {
                let Some(inner) = inner.upgrade() else { return Ok(None) };
                match message.map(|frame| *frame) {
                    Some(Frame::Notification(notification)) => {
                        if notification.method == method::LISTEN_ACKNOWLEDGED {
                            *pause = FIRST_PAUSE;
                            if let Some(ready) = ready.take() {
                                let _nobody_waits = ready.send(Ok(()));
                            }
                        } else {
                            inner.announce(without_subscription(notification));
                        }
                    }
                    Some(_) => {}
                    // The answer, or why there is none, comes behind the last message.
                    None => open = false,
                }
            }
            answer = &mut exchange.answer => {
                return match answer {
                    Ok(Ok(Ok(_))) => Ok(None),
                    Ok(Ok(Err(error))) => Ok(inner.upgrade().map(|inner| inner.fail(FailureKind::Answered(error)))),
                    Ok(Err(broken)) => Err(broken),
                    Err(_) => Err(closed()),
                };
            }
        }
    }
}

/// The id of our own request says nothing to anybody else.
fn without_subscription(mut notification: Notification) -> Notification {
    mcp_wire::meta::strip(&mut notification.params, &[mcp_wire::meta::SUBSCRIPTION_ID]);
    notification
}

fn closed() -> Broken {
    Broken::new(
        Delivery::OutcomeUnknown,
        Cause::Closed,
        "the connection was closed",
    )
}
