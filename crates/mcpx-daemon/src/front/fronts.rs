//! The fronts of a hub: one for each kind over HTTP, one for each connection of `mcpx serve`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use mcp_server::http::{Http, HttpConfig};
use mcp_server::{Config, Limits, Sealer, Server};
use mcpx_api::{ApiError, Caller, Code};
use mcpx_config::settings::key;

use super::follow::follow;
use super::who::{ByHeaders, Who};
use super::{Common, Front, Kind, Surface};
use crate::hub::Hub;
use crate::routes::{Body, refused, response};

/// The protocol of an upgraded connection: messages as over stdio.
const STDIO_PROTOCOL: &str = "mcpx-stdio";

/// Most kinds that are served over HTTP at the same time.
const KINDS: usize = 32;

/// The fronts of a hub.
#[derive(Default)]
pub struct Fronts {
    http: Mutex<HashMap<Kind, Served>>,
    stdio: Mutex<HashMap<u64, Served>>,
    next: AtomicU64,
    pub(super) common: Arc<Common>,
    sealer: OnceLock<Arc<Sealer>>,
    following: OnceLock<()>,
}

/// A front that is served.
#[derive(Clone)]
struct Served {
    front: Arc<Front>,
    server: Server,
    /// None over stdio.
    http: Option<Http>,
}

impl Fronts {
    /// Answers one request of the MCP path. Who may ask was decided before.
    pub async fn respond<B>(&self, hub: &Arc<Hub>, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = bytes::Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let kind = match Kind::read(hub, request.uri().query().unwrap_or_default()) {
            Ok(kind) => kind,
            Err(error) => return refused(&error),
        };
        match self.over_http(hub, kind).await {
            Ok(http) => http
                .respond(request)
                .await
                .map(|body| body.map_err(|never| match never {}).boxed_unsync()),
            Err(error) => refused(&error),
        }
    }

    /// Turns a connection into one of `mcpx serve`: messages as over stdio, for one caller, until either side ends it.
    pub async fn upgrade(
        &self,
        hub: &Arc<Hub>,
        mut request: Request<hyper::body::Incoming>,
    ) -> Response<Body> {
        let caller = Caller::from_headers(request.headers());
        let begun = async {
            let kind = Kind::read(hub, request.uri().query().unwrap_or_default())?;
            self.over_stdio(hub, kind, caller).await
        };
        let (number, served) = match begun.await {
            Ok(begun) => begun,
            Err(error) => return refused(&error),
        };
        let upgrading = hyper::upgrade::on(&mut request);
        let hub = Arc::clone(hub);
        tokio::spawn(async move {
            let _open = hub.activity.begin();
            if let Ok(upgraded) = upgrading.await {
                let (input, output) = tokio::io::split(TokioIo::new(upgraded));
                tokio::select! {
                    // How it ended is the client's affair.
                    _ended = mcp_server::stdio::serve(&served.server, input, output) => {}
                    () = async {
                        hub.stopping.cancelled().await;
                        served.server.shut_down().await;
                    } => {}
                }
            }
            hub.fronts.end_stdio(&hub, number).await;
        });
        let mut switching = response(StatusCode::SWITCHING_PROTOCOLS, "", String::new());
        let headers = switching.headers_mut();
        headers.remove(header::CONTENT_TYPE);
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static(STDIO_PROTOCOL));
        switching
    }

    /// Whether a request wants its connection upgraded.
    #[must_use]
    pub fn wants_upgrade(head: &http::HeaderMap) -> bool {
        head.get(header::UPGRADE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.eq_ignore_ascii_case(STDIO_PROTOCOL))
    }

    /// How many connections of `mcpx serve` there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        lock(&self.stdio).len()
    }

    async fn over_http(&self, hub: &Arc<Hub>, kind: Kind) -> Result<Http, ApiError> {
        if let Some(http) = lock(&self.http)
            .get(&kind)
            .and_then(|served| served.http.clone())
        {
            return Ok(http);
        }
        let number = self.number();
        let who = Who {
            connected: None,
            prefix: format!(
                "{}-{number}-",
                hub.identity.nonce.get(..6).unwrap_or_default()
            ),
        };
        let served = self.begin(hub, number, kind.clone(), who).await?;
        let http = Http::new(served.server.clone(), http_config(hub));
        let (http, unused) = {
            let mut all = lock(&self.http);
            if let Some(other) = all.get(&kind).and_then(|served| served.http.clone()) {
                return Ok(other);
            }
            let unused = make_room(&mut all)?;
            all.insert(
                kind,
                Served {
                    http: Some(http.clone()),
                    ..served
                },
            );
            (http, unused)
        };
        if let Some(unused) = unused {
            unused.server.shut_down().await;
            unused.front.end().await;
        }
        Ok(http)
    }

    async fn over_stdio(
        &self,
        hub: &Arc<Hub>,
        kind: Kind,
        mut caller: Caller,
    ) -> Result<(u64, Served), ApiError> {
        let number = self.number();
        // The connection is one caller, whatever the command that opened it says of single calls.
        caller.ephemeral = false;
        caller.call = None;
        if caller.session.is_none() {
            // A process without a number is told apart by its connection.
            caller.session = Some(match caller.pid {
                Some(pid) => format!("mcp-{pid}"),
                None => format!("mcp-c{number}"),
            });
        }
        let who = Who {
            connected: Some(caller),
            prefix: String::new(),
        };
        let served = self.begin(hub, number, kind, who).await?;
        lock(&self.stdio).insert(number, served.clone());
        Ok((number, served))
    }

    /// A front, with its servers read and looked at for clashes.
    async fn begin(
        &self,
        hub: &Arc<Hub>,
        number: u64,
        kind: Kind,
        who: Who,
    ) -> Result<Served, ApiError> {
        self.follow(hub);
        let front = Front::new(hub, number, kind, who, Arc::clone(&self.common));
        // A server that cannot be read says so when it is asked.
        let _told_later = front.read(hub).await;
        Surface::new(hub, &front.kind).check()?;
        front.tell_what_changed(hub);
        let server = Server::new(
            Arc::clone(&front) as Arc<dyn mcp_server::Service>,
            front.notifier.clone(),
            self.sealer(hub)?,
            config(hub, front.who.connected.is_some()),
        );
        Ok(Served {
            front,
            server,
            http: None,
        })
    }

    async fn end_stdio(&self, hub: &Arc<Hub>, number: u64) {
        let served = lock(&self.stdio).remove(&number);
        let Some(Served { front, .. }) = served else {
            return;
        };
        front.end().await;
        let Some(caller) = &front.who.connected else {
            return;
        };
        let mut caller = caller.clone();
        // A session that somebody else named may go on elsewhere.
        if !caller
            .session
            .as_deref()
            .is_some_and(|session| session.starts_with("mcp-"))
        {
            caller.session = None;
        }
        front.release(hub, &caller).await;
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// States outlive the daemon: a server that keeps nothing goes on with them, and any other says what was lost.
    fn sealer(&self, hub: &Hub) -> Result<Arc<Sealer>, ApiError> {
        if let Some(sealer) = self.sealer.get() {
            return Ok(Arc::clone(sealer));
        }
        let made = match mcpx_store::state_key::state_key(&hub.state) {
            Ok(key) => Sealer::with_keys(&[key]),
            // A full disk is no reason to ask nobody anything.
            Err(_) => Sealer::random(),
        };
        let made = made.map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(Arc::clone(self.sealer.get_or_init(|| Arc::new(made))))
    }

    pub(super) fn all(&self) -> Vec<Arc<Front>> {
        let mut all: Vec<_> = lock(&self.http)
            .values()
            .map(|served| Arc::clone(&served.front))
            .collect();
        let stdio = lock(&self.stdio);
        all.extend(stdio.values().map(|served| Arc::clone(&served.front)));
        all
    }

    /// Ends them: subscriptions end with their answer, calls that wait for a person are cancelled. What takes longer than
    /// `grace` is left.
    pub async fn shut_down(&self, grace: Duration) {
        self.common.continuations.clear();
        let servers: Vec<Server> = {
            let (http, stdio) = (lock(&self.http), lock(&self.stdio));
            let all = http.values().chain(stdio.values());
            all.map(|served| served.server.clone()).collect()
        };
        let ending = futures::future::join_all(servers.iter().map(Server::shut_down));
        let _left = tokio::time::timeout(grace, ending).await;
    }

    /// From the first front on, clients hear of what happens in the hub.
    fn follow(&self, hub: &Arc<Hub>) {
        self.following.get_or_init(|| {
            let live = hub.events.changes();
            tokio::spawn(follow(Arc::downgrade(hub), live, hub.stopping.clone()));
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes out a kind that nobody uses, when there are too many.
fn make_room(all: &mut HashMap<Kind, Served>) -> Result<Option<Served>, ApiError> {
    if all.len() < KINDS {
        return Ok(None);
    }
    let unused = all
        .iter()
        .find(|(_, served)| {
            served.server.running() == 0
                && served.http.as_ref().is_none_or(|http| http.sessions() == 0)
        })
        .map(|(kind, _)| kind.clone());
    match unused {
        Some(kind) => Ok(all.remove(&kind)),
        None => Err(ApiError::new(
            Code::Exhausted,
            format!("{KINDS} choices of servers to pass through are in use at the same time"),
        )
        .hint("try again later, or use one of those")),
    }
}

fn http_config(hub: &Hub) -> HttpConfig {
    let settings = hub.settings();
    HttpConfig {
        path: settings.text(key::PROTO_MCP_PATH).to_owned(),
        // Hosts, origins and tokens were looked at before.
        origins: vec!["*".to_owned()],
        check_host: false,
        gatekeeper: Some(Arc::new(ByHeaders)),
        keep_alive: settings.duration(key::TRANSPORT_SSE_KEEP_ALIVE),
        session_idle: settings.duration(key::PROTO_SESSION_IDLE),
        ..HttpConfig::default()
    }
}

/// `is_pipe`: what runs when the client has sent its last message is seen through.
fn config(hub: &Hub, is_pipe: bool) -> Config {
    let settings = hub.settings();
    let usual = Limits::default();
    let grace = if is_pipe {
        settings.duration(key::TRANSPORT_STDIO_DRAIN)
    } else {
        usual.grace
    };
    Config {
        clock: Arc::clone(&hub.clock),
        limits: Limits {
            message_bytes: usize::try_from(settings.bytes(key::HTTP_CALL_BODY_LIMIT))
                .unwrap_or(usize::MAX),
            answer: settings.duration(key::PROTO_ASK_TIMEOUT),
            rounds: settings.int(key::PROTO_ASK_ROUNDS).max(1),
            state: settings.duration(key::PROTO_STATE_TTL),
            task_ttl: settings.duration(key::TASKS_TTL),
            grace,
            ..usual
        },
    }
}
