//! The fronts of a hub: one for each kind over HTTP, one for each connection of `mcpx serve`; how they begin and end.

mod pipe;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use mcp_server::http::{Http, HttpConfig};
use mcp_server::{Config, Limits, Sealer, Server};
use mcpx_api::{ApiError, Code};
use mcpx_config::settings::key;
use tokio_util::sync::CancellationToken;

use super::follow::follow;
use super::who::{ByHeaders, Who};
use super::{Common, Front, Kind, Surface};
use crate::hub::Hub;
use crate::routes::{Body, refused};

/// Most kinds that are served over HTTP at the same time.
const KINDS: usize = 32;

/// The fronts of a hub.
#[derive(Default)]
pub struct Fronts {
    http: Mutex<HashMap<Kind, Served>>,
    stdio: Mutex<HashMap<u64, Served>>,
    /// Cancelled when the daemon is to end: connections of `mcpx serve` take no more.
    ending: CancellationToken,
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
        let _told_later = front.read_within(hub, super::GREETING).await;
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

    /// How many clients are connected: those of `mcpx serve`, and sessions over HTTP.
    #[must_use]
    pub fn clients(&self) -> usize {
        let http = lock(&self.http);
        let sessions = http.values().filter_map(|served| served.http.as_ref());
        lock(&self.stdio).len() + sessions.map(Http::sessions).sum::<usize>()
    }

    /// Takes up the settings that change while a front is served.
    pub(crate) fn take_up_settings(&self, hub: &Hub) {
        let limits = config(hub, false).limits;
        let (http, stdio) = (lock(&self.http), lock(&self.stdio));
        for served in http.values().chain(stdio.values()) {
            served.server.resize(limits.message_bytes, limits.task_ttl);
        }
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
    let settings = &hub.at_start;
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
    let (settings, at_start) = (hub.settings(), &hub.at_start);
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
            answer: at_start.duration(key::PROTO_ASK_TIMEOUT),
            rounds: at_start.int(key::PROTO_ASK_ROUNDS).max(1),
            state: at_start.duration(key::PROTO_STATE_TTL),
            task_ttl: settings.duration(key::TASKS_TTL),
            grace,
            ..usual
        },
    }
}
