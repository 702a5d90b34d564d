//! Tells clients what changed, and legacy sessions what is logged for them. What a client has not fetched yet is kept once,
//! however often it changed.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mcp_wire::{Object, Raw};
use tokio::sync::Notify;

use crate::Level;

/// How many notes wait for one client. Beyond it new ones are left out.
const MAX_WAITING: usize = 4_096;
/// How many log lines wait for one client. Beyond it new ones are left out.
const MAX_LINES: usize = 256;

/// Something that changed, or was logged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Note {
    Tools,
    Prompts,
    Resources,
    Resource(String),
    Task(String),
    ElicitationDone(String),
    /// A log line, as JSON.
    Line(String),
}

/// What one client wants to hear of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) uris: BTreeSet<String>,
    pub(crate) tasks: BTreeSet<String>,
    pub(crate) elicitations: BTreeSet<String>,
    /// The number of a legacy session, and from which level on it wants log lines.
    pub(crate) lines: Option<(u64, Level)>,
}

impl Filter {
    fn wants(&self, note: &Note) -> bool {
        match note {
            Note::Tools => self.tools,
            Note::Prompts => self.prompts,
            Note::Resources => self.resources,
            Note::Resource(uri) => self.uris.contains(uri),
            Note::Task(id) => self.tasks.contains(id),
            Note::ElicitationDone(id) => self.elicitations.contains(id),
            Note::Line(_) => self.lines.is_some(),
        }
    }
}

/// What waits for one client.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    inner: Mutex<Inner>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    filter: Filter,
    notes: BTreeSet<Note>,
    lines: VecDeque<String>,
}

impl Mailbox {
    /// Changes what is wanted.
    pub(crate) fn filter<T>(&self, change: impl FnOnce(&mut Filter) -> T) -> T {
        change(&mut self.lock().filter)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(&self, note: &Note) {
        let mut inner = self.lock();
        if inner.filter.wants(note) && inner.notes.len() < MAX_WAITING {
            inner.notes.insert(note.clone());
            drop(inner);
            self.arrived.notify_one();
        }
    }

    fn line(&self, session: u64, level: Level, text: &str) {
        let mut inner = self.lock();
        let is_wanted = inner
            .filter
            .lines
            .is_some_and(|(number, least)| number == session && level >= least);
        if is_wanted && inner.lines.len() < MAX_LINES {
            inner.lines.push_back(text.to_owned());
            drop(inner);
            self.arrived.notify_one();
        }
    }

    /// The next note, when it comes. For one reader at a time.
    pub(crate) async fn next(&self) -> Note {
        loop {
            let note = {
                let mut inner = self.lock();
                let line = inner.lines.pop_front().map(Note::Line);
                line.or_else(|| inner.notes.pop_first())
            };
            match note {
                Some(note) => return note,
                None => self.arrived.notified().await,
            }
        }
    }
}

/// Tells clients what changed. A clone speaks to the same clients.
#[derive(Debug, Clone, Default)]
pub struct Notifier(Arc<Boxes>);

#[derive(Debug, Default)]
struct Boxes {
    next: AtomicU64,
    boxes: Mutex<HashMap<u64, Weak<Mailbox>>>,
}

impl Notifier {
    /// One without clients, to be given to a [`crate::Server`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The list of tools changed.
    pub fn tools_changed(&self) {
        self.post(&Note::Tools);
    }

    /// The list of prompts changed.
    pub fn prompts_changed(&self) {
        self.post(&Note::Prompts);
    }

    /// The list of resources changed.
    pub fn resources_changed(&self) {
        self.post(&Note::Resources);
    }

    /// A resource changed; those who watch it hear of it.
    pub fn resource_updated(&self, uri: &str) {
        self.post(&Note::Resource(uri.to_owned()));
    }

    /// 2025-11-25: a person is done at the URL of a question. The session that was asked hears of it.
    pub fn elicitation_done(&self, elicitation_id: &str) {
        self.post(&Note::ElicitationDone(elicitation_id.to_owned()));
    }

    /// Logs to one legacy session, by the [`crate::Context::connection`] of its requests, outside of any of them. Left out
    /// when the session wants no lines of this level, or does not keep up.
    pub fn log(&self, session: u64, params: Object) {
        let level = params.string("level").and_then(|word| Level::parse(&word));
        let Some(level) = level else { return };
        let text = Raw::from(params);
        for mailbox in self.all() {
            mailbox.line(session, level, text.as_str());
        }
    }

    /// A task changed that the service keeps itself; those who listen to it hear of it. Tasks that the crate keeps
    /// announce themselves.
    pub fn task_changed(&self, id: &str) {
        self.post(&Note::Task(id.to_owned()));
    }

    /// Whether anybody watches a resource.
    #[must_use]
    pub fn is_watched(&self, uri: &str) -> bool {
        self.all()
            .iter()
            .any(|mailbox| mailbox.filter(|filter| filter.uris.contains(uri)))
    }

    /// How many clients can be told something.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.all().len()
    }

    /// A mailbox, as long as somebody holds it.
    pub(crate) fn open(&self, filter: Filter) -> Arc<Mailbox> {
        let mailbox = Arc::new(Mailbox::default());
        mailbox.filter(|empty| *empty = filter);
        let mut boxes = self.0.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        boxes.retain(|_, mailbox| mailbox.strong_count() > 0);
        boxes.insert(
            self.0.next.fetch_add(1, Ordering::Relaxed),
            Arc::downgrade(&mailbox),
        );
        mailbox
    }

    fn all(&self) -> Vec<Arc<Mailbox>> {
        let boxes = self.0.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        boxes.values().filter_map(Weak::upgrade).collect()
    }

    fn post(&self, note: &Note) {
        for mailbox in self.all() {
            mailbox.post(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_goes_to_the_session_it_is_for_from_its_own_level_on_in_order() {
        let notifier = Notifier::new();
        let open = |session, level| {
            notifier.open(Filter {
                lines: Some((session, level)),
                ..Filter::default()
            })
        };
        let (first, second) = (open(1, Level::Warning), open(2, Level::Debug));
        let line = |level: &str| Object::new().with("level", level).with("data", "x");
        for level in ["info", "error", "warning", "loud"] {
            notifier.log(1, line(level));
        }
        notifier.log(2, line("debug"));
        let text = |level: &str| Note::Line(format!(r#"{{"level":"{level}","data":"x"}}"#));
        assert_eq!(first.next().await, text("error"));
        assert_eq!(first.next().await, text("warning"));
        assert_eq!(second.next().await, text("debug"));
        assert!(first.lock().lines.is_empty() && second.lock().lines.is_empty());
    }

    #[tokio::test]
    async fn what_changed_often_is_told_once_and_only_to_those_who_want_it() {
        let notifier = Notifier::new();
        let tools = notifier.open(Filter {
            tools: true,
            uris: ["a:b".to_owned()].into(),
            ..Filter::default()
        });
        let prompts = notifier.open(Filter {
            prompts: true,
            ..Filter::default()
        });
        for _ in 0..1_000 {
            notifier.tools_changed();
            notifier.resource_updated("a:b");
            notifier.resource_updated("a:c");
        }
        notifier.prompts_changed();
        assert_eq!(tools.next().await, Note::Tools);
        assert_eq!(tools.next().await, Note::Resource("a:b".into()));
        assert_eq!(prompts.next().await, Note::Prompts);
        assert!(notifier.is_watched("a:b") && !notifier.is_watched("a:c"));
        drop(tools);
        assert!(!notifier.is_watched("a:b"));
        assert_eq!(notifier.listeners(), 1);
    }
}
