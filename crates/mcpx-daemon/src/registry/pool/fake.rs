//! For tests: instances without a server behind them, and what starts them as it is told.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt as _, future::BoxFuture};
use mcp_client::{Cause, Delivery, Event, Failure, FailureKind, Label};
use mcpx_config::{Choice, Scope, Server, Sharing, Surroundings, Trust};
use tokio::{sync::broadcast, time::sleep};

use super::{Cap, Ending, Lease, LeaseError, Pool, PoolWatch, Wait, life::Starter};
use crate::registry::{
    instance::{Instance, Link},
    launch::EraSource,
    scope::{Key, Scoped},
};
use mcpx_api::Caller;

/// An instance without a server.
#[derive(Clone)]
pub(crate) struct FakeLink(Arc<Inner>);

struct Inner {
    fake: Arc<Fake>,
    events: broadcast::Sender<Event>,
    closed: AtomicBool,
    counted: AtomicBool,
    users: AtomicUsize,
    /// Whose state is in it: that of its first user.
    state: Mutex<Option<String>>,
}

impl FakeLink {
    pub(crate) fn events(&self) -> broadcast::Receiver<Event> {
        self.0.events.subscribe()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::SeqCst)
    }

    pub(crate) async fn close(&self) -> Vec<i32> {
        self.0.closed.store(true, Ordering::SeqCst);
        let takes = self.0.fake.lock().end_takes;
        sleep(takes).await;
        self.0.fake.gone(&self.0);
        Vec::new()
    }

    /// The server ends by itself, or says something.
    pub(crate) fn say(&self, event: Event) {
        if matches!(event, Event::Closed { .. }) {
            self.0.closed.store(true, Ordering::SeqCst);
        }
        let _nobody_listens = self.0.events.send(event);
    }

    /// The connection is gone, and nobody was told.
    pub(crate) fn break_silently(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
    }

    /// A call of `who` begins; ends when the value is dropped. Panics when the state in it is another's.
    pub(crate) fn call(&self, who: &str) -> Using {
        let users = self.0.users.fetch_add(1, Ordering::SeqCst) + 1;
        let mut state = lock(&self.0.state);
        let state = state.get_or_insert_with(|| who.to_owned());
        assert_eq!(state, who, "somebody else's state");
        Using {
            link: self.clone(),
            users,
        }
    }
}

/// A call that is under way.
pub(crate) struct Using {
    link: FakeLink,
    /// How many there are with it.
    pub(crate) users: usize,
}

impl Drop for Using {
    fn drop(&mut self) {
        self.link.0.users.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How starts and ends go.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) start_takes: Duration,
    pub(crate) end_takes: Duration,
    pub(crate) fails: bool,
    pub(crate) panics: bool,
    /// It ends by itself as soon as it was started.
    pub(crate) is_stillborn: bool,
}

/// Starts fake instances, and counts.
#[derive(Default)]
pub(crate) struct Fake {
    script: Mutex<Script>,
    pub(crate) starts: Mutex<Vec<(String, Option<PathBuf>)>>,
    /// Instances that are being started, run or are being ended.
    pub(crate) there: AtomicUsize,
    /// The most there ever were at a time.
    pub(crate) most: AtomicUsize,
    links: Mutex<HashMap<String, FakeLink>>,
}

impl Fake {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Script> {
        lock(&self.script)
    }

    pub(crate) fn started(&self) -> usize {
        lock(&self.starts).len()
    }

    pub(crate) fn there(&self) -> usize {
        self.there.load(Ordering::SeqCst)
    }

    fn gone(&self, inner: &Inner) {
        if !inner.counted.swap(true, Ordering::SeqCst) {
            self.there.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

pub(crate) struct FakeStarter(pub(crate) Arc<Fake>);

/// Counts an instance until it has ended, or its start was given up.
struct Counted(Arc<Fake>, bool);

impl Drop for Counted {
    fn drop(&mut self) {
        if self.1 {
            self.0.there.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Starter for FakeStarter {
    fn start(
        &self,
        _server: Arc<Server>,
        id: String,
        key: Key,
    ) -> BoxFuture<'static, Result<(Link, EraSource), Failure>> {
        let fake = Arc::clone(&self.0);
        let folder = key.folder().map(ToOwned::to_owned);
        async move {
            let there = fake.there.fetch_add(1, Ordering::SeqCst) + 1;
            fake.most.fetch_max(there, Ordering::SeqCst);
            let mut counted = Counted(Arc::clone(&fake), true);
            lock(&fake.starts).push((id.clone(), folder));
            let (takes, fails, panics) = {
                let script = fake.lock();
                (script.start_takes, script.fails, script.panics)
            };
            sleep(takes).await;
            assert!(!panics, "the launch breaks");
            if fails {
                return Err(failure());
            }
            counted.1 = false;
            let is_stillborn = fake.lock().is_stillborn;
            let link = FakeLink(Arc::new(Inner {
                fake: Arc::clone(&fake),
                events: broadcast::Sender::new(16),
                closed: AtomicBool::new(is_stillborn),
                counted: AtomicBool::new(false),
                users: AtomicUsize::new(0),
                state: Mutex::default(),
            }));
            lock(&fake.links).insert(id, link.clone());
            Ok((Link::Fake(link), EraSource::Probed))
        }
        .boxed()
    }
}

pub(crate) fn failure() -> Failure {
    Failure {
        server: Label {
            name: "notes".to_owned(),
            resolved: "notes --serve".to_owned(),
        },
        kind: FailureKind::NoAnswer {
            delivery: Delivery::NotSent,
            cause: Cause::Start,
            why: "no such program".to_owned(),
        },
        stderr: None,
    }
}

/// Keeps what a pool tells.
#[derive(Default)]
pub(crate) struct Seen {
    told: Mutex<Vec<String>>,
}

impl Seen {
    pub(crate) fn told(&self) -> Vec<String> {
        lock(&self.told).clone()
    }

    fn tell(&self, text: String) {
        lock(&self.told).push(text);
    }
}

impl PoolWatch for Seen {
    fn started(&self, instance: &Instance, _ready: Duration) {
        self.tell(format!("{} started", instance.id()));
    }

    fn ended(&self, instance: &Instance, why: Ending) {
        self.tell(format!("{} ended: {why}", instance.id()));
    }

    fn warned(&self, _server: &str, text: String) {
        self.tell(format!("warned: {text}"));
    }

    fn event(&self, instance: &Instance, event: Event) {
        self.tell(format!("{} said {event:?}", instance.id()));
    }

    fn start_failed(&self, server: &str, _failure: &Failure) {
        self.tell(format!("{server} failed to start"));
    }
}

/// A pool with everything around it.
pub(crate) struct Bench {
    pub(crate) pool: Arc<Pool>,
    pub(crate) fake: Arc<Fake>,
    pub(crate) seen: Arc<Seen>,
}

impl Bench {
    pub(crate) fn new(change: impl FnOnce(&mut Server)) -> Self {
        Self::with(change, Arc::default(), None)
    }

    pub(crate) fn with(
        change: impl FnOnce(&mut Server),
        fake: Arc<Fake>,
        cap: Option<&Arc<Cap>>,
    ) -> Self {
        let seen: Arc<Seen> = Arc::default();
        let starter = Arc::new(FakeStarter(Arc::clone(&fake)));
        let watch: Arc<dyn PoolWatch> = Arc::<Seen>::clone(&seen);
        let pool = Pool::build(Arc::new(server(change)), starter, watch, cap);
        Self { pool, fake, seen }
    }

    pub(crate) async fn lease(&self, session: &str) -> Result<Lease, LeaseError> {
        self.pool.lease(&session_key(session), patient()).await
    }

    /// The end of it: nobody waits, nothing is held, nothing is left after the close.
    pub(crate) async fn ends_clean(&self) {
        let status = self.pool.status();
        assert_eq!(status.waiting, 0);
        for instance in &status.instances {
            assert_eq!(instance.holders, 0, "{}", instance.id);
        }
        self.pool.close().await;
        assert_eq!(self.fake.there(), 0, "instances are left");
    }
}

/// A server by its entry, with what the test changes: scope `session`, shared, at most two.
pub(crate) fn server(change: impl FnOnce(&mut Server)) -> Server {
    let mut server = entry(r#"{"command": "notes"}"#);
    server.scope = Scope::Session;
    server.sharing = Sharing::Shared;
    server.max = 2;
    server.idle_timeout = Duration::from_secs(300);
    server.start_timeout = Duration::from_secs(60);
    change(&mut server);
    server
}

/// A server by its entry alone, named `notes`.
pub(crate) fn entry(json: &str) -> Server {
    let home = testkit::TempHome::new();
    let file = home.write(
        "servers.json",
        format!("{{\"mcpServers\": {{\"notes\": {json}}}}}"),
    );
    let surroundings = Surroundings {
        cwd: home.path().to_owned(),
        env: std::collections::BTreeMap::new(),
        home: Some(home.path().to_owned()),
        exe: "/nowhere/mcpx".into(),
    };
    let choice = Choice {
        config_file: Some(file),
        ..Choice::default()
    };
    let config = mcpx_config::load(&surroundings, &choice, &Trust::none()).unwrap();
    config.servers["notes"].clone()
}

pub(crate) fn session_key(session: &str) -> Scoped {
    let caller = Caller {
        session: Some(session.to_owned()),
        ..Caller::default()
    };
    crate::registry::scope::key_of(Scope::Session, &caller)
}

pub(crate) fn everybody() -> Scoped {
    Scoped {
        key: Key::global(),
        ends_with_caller: false,
        degraded: None,
    }
}

pub(crate) fn patient() -> Wait {
    wait(Duration::from_secs(3_600))
}

pub(crate) fn wait(queue: Duration) -> Wait {
    Wait {
        queue,
        start: None,
        cancelled: tokio_util::sync::CancellationToken::new(),
    }
}

pub(crate) fn link(lease: &Lease) -> &FakeLink {
    match lease.instance().link() {
        Link::Fake(fake) => fake,
        Link::Real(_) => panic!("a real connection"),
    }
}

/// Lets every other task come to where it waits, without moving a paused clock far.
pub(crate) async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// Waits until a condition holds; for runtimes with a real clock.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let all = async {
        while !condition() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all)
        .await
        .unwrap_or_else(|_| panic!("waited for {what}"));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
