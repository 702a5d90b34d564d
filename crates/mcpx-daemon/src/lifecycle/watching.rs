//! What the daemon does by itself: looks for edited files, ends what is idle, saves what it knows, goes when nobody needs
//! it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use mcpx_api::Caller;
use mcpx_config::Scope;
use mcpx_config::files::{Where, search};
use mcpx_config::settings::key;
use mcpx_store::daemons::Daemons;
use mcpx_store::trust::TrustFile;

use super::reload::reload;
use crate::hub::Hub;
use crate::registry::scope::{Key, key_of};

/// How often edited files are looked for when nobody asks anything.
const LOOK: Duration = Duration::from_secs(1);
/// How long a look counts when requests come: shorter than the start of a command that comes after an edit.
const FRESH: Duration = Duration::from_millis(5);

/// When the files were looked at, and what they looked like.
#[derive(Debug, Default)]
pub struct Look {
    at: Option<Instant>,
    stamp: Option<Stamp>,
}

/// Remembers what the files look like now, as those that are in force.
pub fn remember(hub: &Hub) {
    let stamp = Stamp::of(hub);
    let mut look = hub.look.lock().unwrap_or_else(PoisonError::into_inner);
    *look = Look {
        at: Some(Instant::now()),
        stamp: Some(stamp),
    };
}

/// Takes up the files when they are not as they were, so that an edit counts for the request that comes next. Looks at
/// most five times a second.
pub async fn look(hub: &Arc<Hub>) {
    if !hub.settings().bool(key::DAEMON_WATCH_CONFIG) {
        return;
    }
    {
        let mut look = hub.look.lock().unwrap_or_else(PoisonError::into_inner);
        if look.at.is_some_and(|at| at.elapsed() < FRESH) {
            return;
        }
        look.at = Some(Instant::now());
    }
    let now = Stamp::of(hub);
    {
        let mut look = hub.look.lock().unwrap_or_else(PoisonError::into_inner);
        if look.stamp.as_ref() == Some(&now) {
            return;
        }
        look.stamp = Some(now);
    }
    // Why it failed is in the status and in the log.
    let _kept = reload(hub).await;
}

/// Runs until the daemon ends.
pub async fn watch(hub: Arc<Hub>) {
    let mut swept = Instant::now();
    let mut saved = Instant::now();
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = hub.stopping.cancelled() => return,
        }
        if is_superseded(&hub) {
            let text = "another daemon has taken the place of this one, which ends".to_owned();
            crate::telling::daemon::warned(&hub, "daemon.superseded", text);
            super::ending::begin(&hub, false);
            return;
        }
        look(&hub).await;
        let settings = hub.settings();
        if swept.elapsed() >= settings.duration(key::DAEMON_REAP_INTERVAL) {
            swept = Instant::now();
            hub.registry.sweep().await;
            release_silent(&hub, settings.duration(key::DAEMON_LEASE_TTL)).await;
            let _removed = hub.results.sweep();
            let _removed = hub.tasks.sweep(&hub);
            for problem in hub.registry.catalogue.problems() {
                crate::telling::daemon::warned(&hub, "catalog.problem", problem);
            }
        }
        if saved.elapsed() >= settings.duration(key::DAEMON_SAVE_INTERVAL) {
            saved = Instant::now();
            hub.registry.catalogue.save(hub.now());
        }
        let idle_exit = settings.duration(key::DAEMON_IDLE_EXIT);
        if !idle_exit.is_zero() && hub.activity.idle() >= idle_exit && is_unused(&hub) {
            hub.stopping.cancel();
            return;
        }
    }
}

/// Ends what belongs to sessions and processes that asked for nothing for so long; zero: never.
async fn release_silent(hub: &Hub, after: Duration) {
    if after.is_zero() {
        return;
    }
    // By key: whether somebody uses one of its instances, and how long none was used.
    let mut keys: HashMap<String, (bool, u64)> = HashMap::new();
    let backings = hub.registry.backings();
    for instance in backings
        .iter()
        .flat_map(|backing| backing.pool.status().instances)
    {
        let (used, idle) = keys.entry(instance.key).or_insert((false, u64::MAX));
        *used |= instance.holders > 0;
        *idle = (*idle).min(instance.idle_sec);
    }
    let silent: Vec<Key> = keys
        .into_iter()
        .filter(|(_, (used, idle))| !used && *idle >= after.as_secs())
        .filter_map(|(text, _)| silent_key(hub, &text, after))
        .collect();
    for backing in backings {
        backing.pool.release(&silent).await;
    }
}

/// The key of a caller that is silent, from its text.
fn silent_key(hub: &Hub, text: &str, after: Duration) -> Option<Key> {
    let (kind, id) = text.split_once(':')?;
    let heard_lately = hub
        .registry
        .notices
        .silent_for(id)
        .is_some_and(|silent| silent < after);
    let (scope, caller) = match kind {
        "session" if !heard_lately => (
            Scope::Session,
            Caller {
                session: Some(id.to_owned()),
                ..Caller::default()
            },
        ),
        "psession" if !heard_lately => (
            Scope::ParentSession,
            Caller {
                parent_session: Some(id.to_owned()),
                ..Caller::default()
            },
        ),
        "pid" => (
            Scope::Pid,
            Caller {
                pid: id.parse().ok(),
                ..Caller::default()
            },
        ),
        _ => return None,
    };
    let scoped = key_of(scope, &caller);
    scoped.degraded.is_none().then_some(scoped.key)
}

/// Whether another daemon serves these files now, because somebody took the lock of this one away.
fn is_superseded(hub: &Hub) -> bool {
    let record = Daemons::new(&hub.state).read(&hub.identity.key);
    matches!(record, Ok(Some(record)) if record.nonce != hub.identity.nonce)
}

fn is_unused(hub: &Hub) -> bool {
    hub.tasks.running() == 0
        && hub
            .registry
            .backings()
            .iter()
            .all(|backing| backing.pool.status().instances.is_empty())
}

/// What the files looked like. The files themselves count too: one that comes to be is a change.
#[derive(Debug, PartialEq, Eq)]
struct Stamp(Vec<(PathBuf, Option<Seen>)>);

/// What tells one state of a file from another.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    modified: SystemTime,
    bytes: u64,
    #[cfg(unix)]
    inode: u64,
}

impl Stamp {
    fn of(hub: &Hub) -> Self {
        let mut files = hub.config().files.clone();
        files.extend(candidates(hub));
        files.push(TrustFile::new(&hub.state).path().to_owned());
        files.sort();
        files.dedup();
        Self(
            files
                .into_iter()
                .map(|file| {
                    let seen = std::fs::metadata(&file).ok().and_then(|meta| {
                        Some(Seen {
                            modified: meta.modified().ok()?,
                            bytes: meta.len(),
                            #[cfg(unix)]
                            inode: std::os::unix::fs::MetadataExt::ino(&meta),
                        })
                    });
                    (file, seen)
                })
                .collect(),
        )
    }
}

/// The files that would be read now.
fn candidates(hub: &Hub) -> Vec<PathBuf> {
    if hub.choice.demo {
        return Vec::new();
    }
    search(&hub.surroundings, &place(hub))
        .unwrap_or_default()
        .into_iter()
        .map(|found| found.resolved)
        .collect()
}

/// Where this daemon's files are looked for.
pub(crate) fn place(hub: &Hub) -> Where {
    let settings = hub.settings();
    let named = settings.text(key::PATHS_CONFIG_FILE);
    Where {
        only: hub
            .choice
            .config_file
            .clone()
            .or_else(|| (!named.is_empty()).then(|| PathBuf::from(named))),
        listed: settings
            .list(key::PATHS_CONFIG)
            .iter()
            .map(PathBuf::from)
            .collect(),
    }
}
