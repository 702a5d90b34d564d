//! A server on a port of its own, with a service that notes what it was handed.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use mcp_server::http::{Gatekeeper, Http, HttpConfig, Listener, Refusal};
use mcp_server::{Config, Context, Incoming, Notifier, Offer, Reply, Sealer, Server, Service};
use mcp_wire::{Notification, Object, Question, Raw, RpcError};
use tokio_util::sync::CancellationToken;

use crate::fixture::Everything;

/// Notes what comes in, answers a few tools of its own, and hands the rest to the fixture.
pub(crate) struct Probe {
    fixture: Everything,
    /// The params of each request, as text.
    pub(crate) seen: Mutex<Vec<String>>,
    /// How many requests saw their cancellation.
    pub(crate) cancelled: AtomicUsize,
    /// The context of the last request that asked.
    pub(crate) held: Mutex<Option<Context>>,
    pub(crate) notified: Mutex<Vec<String>>,
    pub(crate) unwatched: Mutex<Vec<String>>,
}

#[async_trait]
impl Service for Probe {
    fn offer(&self) -> Arc<Offer> {
        self.fixture.offer()
    }

    async fn handle(&self, incoming: Incoming, context: Context) -> Result<Reply, RpcError> {
        let text = Raw::from(incoming.params.clone()).as_str().to_owned();
        self.seen.lock().unwrap().push(text);
        let arguments = incoming.params.object("arguments").unwrap_or_default();
        match incoming.params.string("name").as_deref() {
            Some("until_cancelled") => {
                context.progress(1.0, None, None);
                context.cancelled.cancelled().await;
                self.cancelled.fetch_add(1, Ordering::SeqCst);
                Ok(Reply::complete(Object::new()))
            }
            Some("hold") if incoming.answers.is_empty() => {
                *self.held.lock().unwrap() = Some(context);
                Ok(Reply::Ask {
                    questions: vec![(
                        "k".to_owned(),
                        Question::Form {
                            message: "Sure?".to_owned(),
                            schema: Raw::parse(r#"{"type":"object","properties":{}}"#).unwrap(),
                        },
                    )],
                    state: b"held".to_vec(),
                })
            }
            Some("hold") => Ok(Reply::complete(
                Object::new().with("state", incoming.state.is_some()),
            )),
            Some("give") => Ok(Reply::complete(arguments)),
            Some("fail") => {
                let code = arguments
                    .get("code")
                    .and_then(Raw::integer)
                    .unwrap_or_default();
                Err(RpcError::new(code, "as you wish"))
            }
            Some("forge") => {
                context.notify(Notification::new("notifications/x", arguments.clone()));
                Ok(Reply::complete(arguments))
            }
            Some("chatty") => {
                for number in 0..5_000 {
                    context.progress(f64::from(number), None, None);
                }
                Ok(Reply::complete(Object::new()))
            }
            _ => self.fixture.handle(incoming, context).await,
        }
    }

    async fn notified(&self, notification: Notification, _context: Context) {
        self.notified.lock().unwrap().push(notification.method);
    }

    async fn input_schema(&self, tool: &str, context: &Context) -> Option<Raw> {
        self.fixture.input_schema(tool, context).await
    }

    async fn watch(&self, uri: &str, _context: &Context) -> Result<(), RpcError> {
        match uri {
            "test://secret" => Err(RpcError::invalid_params("not yours")),
            _ => Ok(()),
        }
    }

    async fn unwatch(&self, uri: &str) {
        self.unwatched.lock().unwrap().push(uri.to_owned());
    }
}

/// A clock that a test moves.
#[derive(Clone, Default)]
pub(crate) struct Moved(Arc<Mutex<SignedDuration>>);

impl Moved {
    pub(crate) fn by(&self, time: Duration) {
        *self.0.lock().unwrap() += SignedDuration::try_from(time).unwrap();
    }
}

pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) http: HttpConfig,
    pub(crate) clock: Moved,
}

impl Default for Setup {
    fn default() -> Self {
        let clock = Moved::default();
        let moved = clock.clone();
        let config = Config::new(move || Timestamp::UNIX_EPOCH + *moved.0.lock().unwrap());
        Self {
            config,
            http: HttpConfig::default(),
            clock,
        }
    }
}

/// A server that listens until this is dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) probe: Arc<Probe>,
    pub(crate) notifier: Notifier,
    pub(crate) server: Server,
    pub(crate) http: Http,
    pub(crate) clock: Moved,
    pub(crate) runtime: tokio::runtime::Runtime,
    stop: CancellationToken,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn probe() -> (Arc<Probe>, Notifier) {
    let notifier = Notifier::new();
    let probe = Probe {
        fixture: Everything::new(notifier.clone()),
        seen: Mutex::default(),
        cancelled: AtomicUsize::new(0),
        held: Mutex::default(),
        notified: Mutex::default(),
        unwatched: Mutex::default(),
    };
    (Arc::new(probe), notifier)
}

pub(crate) fn server(config: Config) -> (Server, Arc<Probe>, Notifier) {
    let (probe, notifier) = probe();
    let sealer = Arc::new(Sealer::random().unwrap());
    let service = Arc::clone(&probe) as Arc<dyn Service>;
    let server = Server::new(service, notifier.clone(), sealer, config);
    (server, probe, notifier)
}

impl Served {
    pub(crate) fn new() -> Self {
        Self::with(Setup::default())
    }

    pub(crate) fn with(setup: Setup) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (server, probe, notifier) = server(setup.config);
        let http = Http::new(server.clone(), setup.http);
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        runtime.spawn(mcp_server::http::serve(
            http.clone(),
            Listener::Tcp(listener),
            stop.clone(),
        ));
        Self {
            address,
            probe,
            notifier,
            server,
            http,
            clock: setup.clock,
            runtime,
            stop,
        }
    }

    pub(crate) fn last_seen(&self) -> String {
        self.probe.seen.lock().unwrap().last().cloned().unwrap()
    }
}

/// Lets in whoever gives a name as a token.
pub(crate) struct ByToken;

#[async_trait]
impl Gatekeeper for ByToken {
    async fn admit(
        &self,
        bearer: Option<&str>,
        _head: &http::request::Parts,
    ) -> Result<Option<String>, Refusal> {
        match bearer {
            Some(name @ ("ann" | "bob")) => Ok(Some(name.to_owned())),
            _ => Err(Refusal {
                status: http::StatusCode::UNAUTHORIZED,
                challenge: Some("Bearer realm=\"test\"".to_owned()),
                message: "who are you?".to_owned(),
            }),
        }
    }
}

pub(crate) fn with_tokens() -> Served {
    let mut setup = Setup::default();
    setup.http.gatekeeper = Some(Arc::new(ByToken));
    Served::with(setup)
}
