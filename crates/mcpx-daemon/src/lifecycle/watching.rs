//! What the daemon does by itself: looks for edited files, ends what is idle, saves what it knows, goes when nobody needs
//! it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use mcpx_config::settings::key;
use mcpx_store::trust::TrustFile;

use super::reload::reload;
use crate::hub::Hub;

/// How often edited files are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// Runs until the daemon ends.
pub async fn watch(hub: Arc<Hub>) {
    let mut stamp = Stamp::of(&hub);
    let mut swept = Instant::now();
    let mut saved = Instant::now();
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = hub.stopping.cancelled() => return,
        }
        let settings = hub.settings();
        if settings.bool(key::DAEMON_WATCH_CONFIG) {
            let now = Stamp::of(&hub);
            if now != stamp {
                stamp = now;
                // Why it failed is in the status.
                let _kept = reload(&hub).await;
            }
        }
        if swept.elapsed() >= settings.duration(key::DAEMON_REAP_INTERVAL) {
            swept = Instant::now();
            hub.registry.sweep().await;
            let _removed = hub.results.sweep();
            let _removed = hub.tasks.sweep(&hub);
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

fn is_unused(hub: &Hub) -> bool {
    hub.tasks.running() == 0
        && hub
            .registry
            .backings()
            .iter()
            .all(|backing| backing.pool.status().instances.is_empty())
}

/// What the files looked like: path, time of change, size.
#[derive(Debug, PartialEq, Eq)]
struct Stamp(Vec<(PathBuf, Option<(SystemTime, u64)>)>);

impl Stamp {
    fn of(hub: &Hub) -> Self {
        let mut files = hub.config().files.clone();
        files.push(TrustFile::new(&hub.state).path().to_owned());
        Self(
            files
                .into_iter()
                .map(|file| {
                    let seen = std::fs::metadata(&file)
                        .ok()
                        .and_then(|meta| Some((meta.modified().ok()?, meta.len())));
                    (file, seen)
                })
                .collect(),
        )
    }
}
