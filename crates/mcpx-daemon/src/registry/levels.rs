//! From which severity on servers log: as low as any of those wants who may be told.
//!
//! A legacy server is told once for all; it hears of a lower level before the call that wants it, and of a higher one some
//! time after nobody wants the lower one any more. A modern one hears it with each call, and nothing here concerns it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_client::CallOptions;
use mcp_server::Level;
use mcp_wire::Era;
use mcpx_api::Caller;
use tokio::sync::Notify;

use super::instance::Instance;
use super::scope::key_of;
use super::upstream::Backing;
use super::{Registry, views::Views};

/// How long a server may take to hear of a level.
const PATIENCE: Duration = Duration::from_secs(2);
/// What a server goes back to that was told a level nobody wants any more: what a client gets that never said anything.
const USUAL: Level = Level::Info;

/// What is wanted at this moment.
#[derive(Default)]
pub struct Levels {
    wanted: Mutex<HashMap<u64, Wish>>,
    /// Grows with each change.
    version: AtomicU64,
    next: AtomicU64,
    changed: Notify,
}

/// Somebody wants log lines.
struct Wish {
    level: Level,
    caller: Caller,
    /// Of these servers, by their configured names; `None`: of all.
    servers: Option<Vec<String>>,
}

/// A level is wanted, until this is dropped.
pub struct Wanted {
    levels: Arc<Levels>,
    number: u64,
}

impl Drop for Wanted {
    fn drop(&mut self) {
        self.levels.lock().remove(&self.number);
        self.levels.change();
    }
}

impl Levels {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Wish>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) {
        self.version.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_one();
    }

    /// A caller wants lines from this level on, of these servers or of all.
    #[must_use]
    pub fn want(
        self: &Arc<Self>,
        level: Level,
        caller: Caller,
        servers: Option<Vec<String>>,
    ) -> Wanted {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let wish = Wish {
            level,
            caller,
            servers,
        };
        self.lock().insert(number, wish);
        self.change();
        Wanted {
            levels: Arc::clone(self),
            number,
        }
    }

    /// Returns when what is wanted has changed since the last time.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The lowest level that is wanted of an instance.
    fn of(&self, views: &Views, backing: &str, instance: &Instance) -> Option<Level> {
        let stands = |name: &String| {
            let upstream = views.by_name.get(name)?;
            upstream.stands_on(backing).then_some(upstream)
        };
        let wanted = self.lock();
        let concerned = wanted.values().filter(|wish| {
            let mut upstreams: Box<dyn Iterator<Item = _>> = match &wish.servers {
                Some(names) => Box::new(names.iter().filter_map(stands)),
                None => Box::new(views.by_name.keys().filter_map(stands)),
            };
            upstreams.any(|upstream| {
                key_of(upstream.server.scope, &wish.caller)
                    .key
                    .has_owner_of(instance.key())
            })
        });
        concerned.map(|wish| wish.level).min()
    }
}

/// What an instance was told.
#[derive(Default)]
pub(super) struct Told {
    level: tokio::sync::Mutex<Option<Level>>,
    /// The version of what is wanted that it was told of.
    version: AtomicU64,
}

impl Registry {
    /// What log levels are wanted.
    #[must_use]
    pub fn levels(&self) -> Arc<Levels> {
        Arc::clone(&self.levels)
    }

    /// Tells the instances that run what is wanted of them now.
    pub async fn tell_levels(&self) {
        let backings = self.backings();
        let all = backings.iter().flat_map(|backing| {
            let instances = backing.pool.running();
            instances.into_iter().map(move |instance| async move {
                self.tell_level(backing, &instance, false).await;
            })
        });
        futures::future::join_all(all).await;
    }

    /// Tells one instance, before a call on it: that it wants less can wait.
    pub(super) async fn tell_level(
        &self,
        backing: &Backing,
        instance: &Instance,
        only_lower: bool,
    ) {
        let version = self.levels.version.load(Ordering::SeqCst);
        let told = instance.told();
        if told.version.load(Ordering::SeqCst) == version {
            return;
        }
        let Some(connection) = instance.live_connection() else {
            return;
        };
        if connection.era() == Era::Modern || !connection.agreed().capabilities.has("logging") {
            told.version.store(version, Ordering::SeqCst);
            return;
        }
        let mut last = told.level.lock().await;
        let wanted = self.levels.of(&self.views(), &backing.name, instance);
        let level = match (wanted, *last) {
            (Some(wanted), last) if last != Some(wanted) => wanted,
            (None, Some(last)) if last != USUAL => USUAL,
            _ => {
                told.version.store(version, Ordering::SeqCst);
                return;
            }
        };
        if only_lower && last.is_some_and(|last| last < level) {
            return;
        }
        let options = CallOptions {
            max: Some(PATIENCE),
            ..CallOptions::default()
        };
        // One that refuses, or does not answer, is not asked the same again and again.
        let _refused = connection.set_log_level(level.word(), &options).await;
        *last = Some(level);
        told.version.store(version, Ordering::SeqCst);
    }
}
