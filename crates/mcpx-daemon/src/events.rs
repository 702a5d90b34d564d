//! What happens in the hub, as numbered events for those who listen; a slow listener misses some and is told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_wire::{Object, Raw};
use tokio::sync::broadcast;

/// How many events wait for one listener.
const ROOM: usize = 256;

/// The kinds of events.
pub mod kind {
    /// An instance is ready: `{instance, key, pid?, protocol, readyMs, trace}`.
    pub const SERVER_START: &str = "server.start";
    /// An instance ends: `{instance, reason, why, calls, uptimeSec, trace}`.
    pub const SERVER_STOP: &str = "server.stop";
    /// A server did not start: `{error}`.
    pub const SERVER_FAILED: &str = "server.failed";
    /// Something that its owner should see: `{text}`.
    pub const SERVER_WARNING: &str = "server.warning";
    /// A server logged something that belongs to no call: `{instance, level, logger?, data}`.
    pub const SERVER_LOG: &str = "server.log";
    /// A server says that its tools changed: `{instance}`. They are read again; [`CATALOG_READ`] follows.
    pub const TOOLS_CHANGED: &str = "tools.changed";
    /// The same of its prompts.
    pub const PROMPTS_CHANGED: &str = "prompts.changed";
    /// The same of its resources.
    pub const RESOURCES_CHANGED: &str = "resources.changed";
    /// A subscribed resource changed: `{instance, uri}`.
    pub const RESOURCE_UPDATED: &str = "resource.updated";
    /// A person is done at the URL of a question: `{instance, elicitationId}`.
    pub const ELICITATION_COMPLETE: &str = "elicitation.complete";
    /// A server's lists were read, the first time or again: `{changes}`. From now on they can be searched and called.
    pub const CATALOG_READ: &str = "catalog.read";
    /// A tool is not what it was: `{tool, kind, field?, what}`.
    pub const CATALOG_CHANGED: &str = "catalog.changed";
    /// A call begins: `{trace, tool}`, the tool as it was spelled.
    pub const CALL_STARTED: &str = "call.started";
    /// A call ended: `{trace, tool?, instance?, ok, durationMs, code?}`.
    pub const CALL_ENDED: &str = "call.ended";
    /// A task changed: `{id, state}`.
    pub const TASK_UPDATED: &str = "task.updated";
    /// A configuration was taken up: `{added, removed, changed}`.
    pub const CONFIG_CHANGED: &str = "config.changed";
    /// The files cannot be taken up, the configuration from before stays: `{error}`.
    pub const CONFIG_BROKEN: &str = "config.broken";
    /// The daemon ends: `{restart}`.
    pub const DAEMON_STOP: &str = "daemon.stop";

    /// All of them.
    pub const ALL: &[&str] = &[
        SERVER_START,
        SERVER_STOP,
        SERVER_FAILED,
        SERVER_WARNING,
        SERVER_LOG,
        TOOLS_CHANGED,
        PROMPTS_CHANGED,
        RESOURCES_CHANGED,
        RESOURCE_UPDATED,
        ELICITATION_COMPLETE,
        CATALOG_READ,
        CATALOG_CHANGED,
        CALL_STARTED,
        CALL_ENDED,
        TASK_UPDATED,
        CONFIG_CHANGED,
        CONFIG_BROKEN,
        DAEMON_STOP,
    ];
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its number, from 1.
    pub seq: u64,
    /// `server.start`, `catalog.changed`, …
    pub kind: &'static str,
    /// The server it is about.
    pub server: Option<String>,
    /// The session it is about.
    pub session: Option<String>,
    /// More of it.
    pub data: Object,
}

impl Event {
    /// As it is written: `{seq, kind, server?, session?, data}`.
    #[must_use]
    pub fn to_document(&self) -> Object {
        Object::new()
            .with("seq", Raw::of(&self.seq))
            .with("kind", self.kind)
            .with_some("server", self.server.as_deref())
            .with_some("session", self.session.as_deref())
            .with("data", self.data.clone())
    }
}

/// The events of this daemon.
pub struct Events {
    kept: Mutex<Kept>,
    sender: broadcast::Sender<Arc<Event>>,
    /// The same without the calls, for the daemon's own work: a call wakes nobody who has no use for it.
    changes: broadcast::Sender<Arc<Event>>,
    history: usize,
}

struct Kept {
    next: u64,
    events: VecDeque<Arc<Event>>,
}

/// Listens from some number on.
pub struct Subscription {
    /// What is kept and was asked for.
    pub replay: Vec<Arc<Event>>,
    /// That some were missed: the number asked for, and the oldest that is kept. What an earlier daemon told after that
    /// number is gone too.
    pub gap: Option<(u64, u64)>,
    /// What comes.
    pub live: broadcast::Receiver<Arc<Event>>,
}

impl Events {
    /// Keeps the last `history` events.
    #[must_use]
    pub fn new(history: usize) -> Self {
        Self {
            kept: Mutex::new(Kept {
                next: 1,
                events: VecDeque::new(),
            }),
            sender: broadcast::Sender::new(ROOM),
            changes: broadcast::Sender::new(ROOM),
            history,
        }
    }

    /// Tells of something. Never blocks.
    pub fn publish(
        &self,
        kind: &'static str,
        server: Option<&str>,
        session: Option<&str>,
        data: Object,
    ) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let event = Arc::new(Event {
            seq: kept.next,
            kind,
            server: server.map(str::to_owned),
            session: session.map(str::to_owned),
            data,
        });
        kept.next += 1;
        kept.events.push_back(Arc::clone(&event));
        while kept.events.len() > self.history {
            kept.events.pop_front();
        }
        if !matches!(kind, kind::CALL_STARTED | kind::CALL_ENDED) {
            let _nobody_listens = self.changes.send(Arc::clone(&event));
        }
        // Under the lock, so that nobody sees an event twice or misses one between replay and live.
        let _nobody_listens = self.sender.send(event);
    }

    /// Listens to what comes, calls left out.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<Arc<Event>> {
        self.changes.subscribe()
    }

    /// Listens. `since`: what is kept after this number comes first; `None`: only what comes.
    #[must_use]
    pub fn subscribe(&self, since: Option<u64>) -> Subscription {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let live = self.sender.subscribe();
        let Some(since) = since else {
            return Subscription {
                replay: Vec::new(),
                gap: None,
                live,
            };
        };
        let oldest = kept.events.front().map_or(kept.next, |event| event.seq);
        // A number that was never given belongs to an earlier daemon: everything that is kept is new.
        let is_foreign = since >= kept.next;
        let is_gone = since > 0 && since + 1 < oldest;
        let gap = (is_foreign || is_gone).then_some((since, oldest));
        let since = if is_foreign { 0 } else { since };
        Subscription {
            replay: kept
                .events
                .iter()
                .filter(|event| event.seq > since)
                .cloned()
                .collect(),
            gap,
            live,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_back_gets_what_is_kept_and_is_told_what_is_not() {
        let events = Events::new(2);
        for at in 0..4 {
            events.publish("k", Some("s"), None, Object::new().with("at", at));
        }
        let all: Vec<u64> = events
            .subscribe(Some(3))
            .replay
            .iter()
            .map(|event| event.seq)
            .collect();
        assert_eq!(all, [4]);
        let back = events.subscribe(Some(1));
        assert_eq!(back.gap, Some((1, 3)));
        assert_eq!(back.replay.len(), 2);
        let mut changes = events.changes();
        events.publish(kind::CALL_STARTED, None, None, Object::new());
        events.publish(kind::SERVER_STOP, None, None, Object::new());
        assert_eq!(
            changes.try_recv().expect("a change").kind,
            kind::SERVER_STOP
        );
        assert!(changes.try_recv().is_err());
        assert!(events.subscribe(None).replay.is_empty());
        let foreign = events.subscribe(Some(99));
        assert_eq!((foreign.gap, foreign.replay.len()), (Some((99, 5)), 2));
        assert_eq!(events.subscribe(Some(6)).gap, None, "nothing was missed");
        assert_eq!(events.subscribe(Some(0)).gap, None);
    }
}
