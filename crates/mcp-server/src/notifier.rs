//! Tells clients what changed. What a client has not fetched yet is kept once, however often it changed.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;

/// How many notes wait for one client. Beyond it new ones are left out.
const MAX_WAITING: usize = 4_096;

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Note {
    Tools,
    Prompts,
    Resources,
    Resource(String),
    Task(String),
    ElicitationDone(String),
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
        }
    }
}

/// What waits for one client.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    inner: Mutex<(Filter, BTreeSet<Note>)>,
    arrived: Notify,
}

impl Mailbox {
    /// Changes what is wanted.
    pub(crate) fn filter<T>(&self, change: impl FnOnce(&mut Filter) -> T) -> T {
        change(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner).0)
    }

    fn post(&self, note: &Note) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.0.wants(note) && inner.1.len() < MAX_WAITING {
            inner.1.insert(note.clone());
            drop(inner);
            self.arrived.notify_one();
        }
    }

    /// The next note, when it comes. For one reader at a time.
    pub(crate) async fn next(&self) -> Note {
        loop {
            let note = self
                .inner
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .1
                .pop_first();
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
