//! The servers behind the hub: what runs of them, what is known of their tools, and the life of a call.
//!
//! [`Registry::call`] is the one road to an upstream. A configuration is taken up by [`Registry::apply`]: what stands
//! behind a server whose launch did not change keeps running.

pub mod asking;
pub mod call;
pub mod catalogue;
pub mod explain;
pub mod instance;
pub mod known;
pub mod launch;
pub mod lease;
pub mod levels;
pub mod notices;
pub mod pool;
pub mod scope;
pub mod trace;
pub mod upstream;
pub mod users;
pub mod views;
pub mod watch;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use mcpx_catalog::history::History;
use mcpx_config::{Config, Reach, Server, Shared, shared};

use self::asking::Somebody;
use self::catalogue::Catalogue;
use self::launch::Launch;
use self::levels::Levels;
use self::notices::Notices;
use self::pool::{Cap, Pool, PoolWatch};
use self::upstream::{Backing, Upstream};
use self::views::Views;
use crate::Clock;

/// Waits that the registry's own work has.
#[derive(Debug, Clone, Copy)]
pub struct RegistryLimits {
    /// How long a call waits for an instance.
    pub queue: Duration,
    /// How long reading a server's lists may take, its start not counted.
    pub list: Duration,
    /// Instances of all servers together; 0: no limit.
    pub instances: usize,
}

impl Default for RegistryLimits {
    fn default() -> Self {
        Self {
            queue: Duration::from_secs(30),
            list: Duration::from_secs(120),
            instances: 0,
        }
    }
}

/// The servers behind the hub.
pub struct Registry {
    views: RwLock<Arc<Views>>,
    /// By launch identity.
    backings: Mutex<HashMap<String, Arc<Backing>>>,
    limits: RwLock<RegistryLimits>,
    pub(crate) catalogue: Catalogue,
    launch: Arc<dyn Launch>,
    /// The most instances of all servers together; none when there is no such limit.
    cap: Option<Arc<Cap>>,
    watch: Arc<dyn PoolWatch>,
    pub(crate) notices: Arc<dyn Notices>,
    pub(crate) clock: Clock,
    /// What clients can answer.
    pub(crate) somebody: Arc<Somebody>,
    levels: Arc<Levels>,
    /// Servers and tools whose results are known to break their schemas: each is told of once a reading.
    unlike: Mutex<HashSet<(String, String)>>,
}

/// What taking up a configuration changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Servers that are new.
    pub added: Vec<String>,
    /// Servers that are gone.
    pub removed: Vec<String>,
    /// Servers whose launch changed: their instances ended.
    pub changed: Vec<String>,
    /// Servers that run on as they were.
    pub kept: Vec<String>,
}

impl Registry {
    /// A registry without servers.
    #[must_use]
    pub fn new(
        launch: Arc<dyn Launch>,
        watch: Arc<dyn PoolWatch>,
        notices: Arc<dyn Notices>,
        catalogue: Catalogue,
        clock: Clock,
    ) -> Self {
        Self {
            views: RwLock::default(),
            backings: Mutex::default(),
            limits: RwLock::default(),
            catalogue,
            launch,
            cap: None,
            watch,
            notices,
            clock,
            somebody: Arc::default(),
            levels: Arc::default(),
            unlike: Mutex::default(),
        }
    }

    /// For clients whose abilities are declared by the same `somebody` that the launch has.
    #[must_use]
    pub fn for_clients(mut self, somebody: Arc<Somebody>) -> Self {
        self.somebody = somebody;
        self
    }

    /// With at most so many instances of all servers together; 0: no limit.
    #[must_use]
    pub fn capped(mut self, max: usize) -> Self {
        self.cap = Some(Cap::new(max));
        self
    }

    /// The servers as they are now.
    #[must_use]
    pub fn views(&self) -> Arc<Views> {
        Arc::clone(&self.views.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is kept of the tools' changes.
    #[must_use]
    pub fn history(&self) -> Arc<History> {
        self.catalogue.history()
    }

    pub(crate) fn limits(&self) -> RegistryLimits {
        *self.limits.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the limits; the number of instances of all servers only where there was such a limit from the beginning.
    pub fn set_limits(&self, limits: RegistryLimits) {
        if let Some(cap) = &self.cap {
            cap.resize(limits.instances);
        }
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// The definition that starts what stands behind `server`: itself, or the server it is a view of.
    pub(crate) fn definition(&self, server: &Arc<Server>) -> Arc<Server> {
        let Reach::Alias { of } = &server.reach else {
            return Arc::clone(server);
        };
        self.views()
            .by_name
            .get(of)
            .map_or_else(|| Arc::clone(server), |base| Arc::clone(&base.server))
    }

    /// Takes up a configuration. What a server's launch, scope and sharing are made of decides whether it runs on; a
    /// change of sizes and deadlines does not end it.
    pub async fn apply(&self, config: &Config) -> Applied {
        let old = self.views();
        let mut applied = Applied::default();
        let mut gone: Vec<Arc<Backing>> = Vec::new();
        let mut upstreams = BTreeMap::new();
        {
            let mut backings = self.backings.lock().unwrap_or_else(PoisonError::into_inner);
            let used: HashMap<String, Arc<Backing>> = shared(&config.servers)
                .into_iter()
                .map(|(identity, shared)| {
                    let backing = self.back(backings.get(&identity), shared);
                    (identity, backing)
                })
                .collect();
            for (name, server) in &config.servers {
                let server = Arc::new(server.clone());
                let backing = base_of(config, &server)
                    .filter(|base| base.is_ready())
                    .and_then(|base| used.get(&base.identity()).cloned());
                note(&mut applied, &old, name, &server, backing.as_ref());
                upstreams.insert(name.clone(), Arc::new(Upstream { server, backing }));
            }
            let unused = backings
                .iter()
                .filter(|(identity, _)| !used.contains_key(*identity));
            gone.extend(unused.map(|(_, backing)| Arc::clone(backing)));
            *backings = used;
        }
        applied.removed = old
            .by_name
            .keys()
            .filter(|name| !config.servers.contains_key(*name))
            .cloned()
            .collect();
        let views = Arc::new(Views::new(upstreams));
        *self.views.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&views);
        self.catalogue.show(&views);
        for backing in gone {
            backing.pool.close().await;
        }
        applied
    }

    /// What stands behind servers of one identity: what runs already, with the sizes as they are now, or something new.
    fn back(&self, before: Option<&Arc<Backing>>, shared: Shared) -> Arc<Backing> {
        let mut server = shared.server;
        let Some(before) = before else {
            return self.back_anew(&server);
        };
        let backing = if shared.names.contains(&before.name) {
            server.name.clone_from(&before.name);
            Arc::clone(before)
        } else {
            // Whoever gave it its name is gone; what runs goes on.
            before.renamed(&server.name)
        };
        backing.pool.reconfigure(Arc::new(server));
        backing
    }

    fn back_anew(&self, server: &Server) -> Arc<Backing> {
        let (server_of_pool, launch, watch) = (
            Arc::new(server.clone()),
            Arc::clone(&self.launch),
            Arc::clone(&self.watch),
        );
        let pool = match &self.cap {
            Some(cap) => Pool::capped(server_of_pool, launch, watch, cap),
            None => Pool::new(server_of_pool, launch, watch),
        };
        if self.catalogue.asks(&server.identity()) {
            pool.learn_exclusive();
        }
        let backing = Backing::new(&server.name, pool);
        if let Some(known) = self.catalogue.cached(server) {
            backing.learn(known);
        }
        backing
    }

    /// A server was read: its tools can be searched, and what changed is written down.
    pub(crate) fn took(&self, server: &Arc<Server>, known: &Arc<known::Known>) {
        let told = self.catalogue.left_out(server);
        for problem in known.left_out() {
            if !told.contains(&problem) {
                self.watch.warned(&server.name, problem);
            }
        }
        self.unlike().retain(|(told_of, _)| *told_of != server.name);
        let changes = self.catalogue.observe(server, known, (self.clock)());
        self.catalogue.show(&self.views());
        self.notices.catalogue_changed(&server.name, &changes);
    }

    fn unlike(&self) -> MutexGuard<'_, HashSet<(String, String)>> {
        self.unlike.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A result is not as its tool declared it: it goes to the caller as it is, and the server's owner is told, once.
    pub(crate) fn broke_its_schema(&self, server: &Server, tool: &str, how: &str) {
        let is_news = self.unlike().insert((server.name.clone(), tool.to_owned()));
        if is_news {
            let tool = untrusted_text::terminal::one_line(tool, 120);
            let text = format!("a result of `{tool}` is not as its output schema says: {how}");
            self.watch.warned(&server.name, text);
        }
    }

    /// Whether that was told already.
    pub(crate) fn is_known_to_break(&self, server: &Server, tool: &str) -> bool {
        self.unlike()
            .contains(&(server.name.clone(), tool.to_owned()))
    }

    /// Everything that stands behind the servers, each once.
    #[must_use]
    pub fn backings(&self) -> Vec<Arc<Backing>> {
        let backings = self.backings.lock().unwrap_or_else(PoisonError::into_inner);
        backings.values().cloned().collect()
    }

    /// Ends what is idle, starts what is kept, remembers which servers ask.
    pub async fn sweep(&self) {
        self.remember_who_asks();
        for backing in self.backings() {
            backing.pool.sweep().await;
        }
    }

    /// Remembers the servers whose questions need a caller of their own, for pools that come.
    fn remember_who_asks(&self) {
        let asking: Vec<String> = {
            let backings = self.backings.lock().unwrap_or_else(PoisonError::into_inner);
            backings
                .iter()
                .filter(|(_, backing)| backing.pool.has_learned_exclusive())
                .map(|(identity, _)| identity.clone())
                .collect()
        };
        for identity in asking {
            self.catalogue.learn_asks(&identity, (self.clock)());
        }
    }

    /// Ends everything.
    pub async fn close(&self) {
        self.remember_who_asks();
        let closing = self.backings();
        futures::future::join_all(closing.iter().map(|backing| backing.pool.close())).await;
    }
}

/// The server that starts what stands behind this one.
fn base_of<'a>(config: &'a Config, server: &'a Server) -> Option<&'a Server> {
    match &server.reach {
        Reach::Alias { of } => config.servers.get(of),
        _ => Some(server),
    }
}

fn note(
    applied: &mut Applied,
    old: &Views,
    name: &str,
    server: &Server,
    backing: Option<&Arc<Backing>>,
) {
    let Some(before) = old.by_name.get(name) else {
        applied.added.push(name.to_owned());
        return;
    };
    let same = match (&before.backing, backing) {
        (Some(before), Some(now)) => Arc::ptr_eq(&before.pool, &now.pool),
        (None, None) => before.server.availability == server.availability,
        _ => false,
    };
    if same {
        applied.kept.push(name.to_owned());
    } else {
        applied.changed.push(name.to_owned());
    }
}
