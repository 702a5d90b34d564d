//! Whose a task of 2025-11-25 is: what its server asks about it goes to the call that it came from, whichever request is
//! open, and to nobody else.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_wire::{Object, meta};
use tokio::sync::Notify;

use crate::call::CallOptions;
use crate::clock::Clock;
use crate::connection::Inner;

/// How many tasks that are over are remembered, to tell them from those that were never seen.
const REMEMBERED: usize = 256;
/// How long a question may be here before the task that it names: one was read before the other was taken.
const AHEAD: Duration = Duration::from_secs(2);

/// The tasks that are waited for.
#[derive(Default)]
pub(crate) struct Owners {
    tasks: Mutex<Tasks>,
    came: Notify,
}

#[derive(Default)]
struct Tasks {
    waited_for: HashMap<String, Owner>,
    over: VecDeque<String>,
}

/// The call that waits for a task.
#[derive(Clone)]
pub(crate) struct Owner {
    pub(crate) options: CallOptions,
    pub(crate) clock: Arc<Clock>,
}

/// What is known of a task that a message names.
pub(crate) enum Named {
    /// It is waited for.
    Open(Owner),
    /// Nobody waits for it any more.
    Over,
    /// It was never seen.
    Unknown,
}

/// A task is waited for, until this is dropped.
pub(crate) struct Owned {
    inner: Arc<Inner>,
    id: String,
}

impl Drop for Owned {
    fn drop(&mut self) {
        let mut tasks = self.inner.owners.lock();
        tasks.waited_for.remove(&self.id);
        if tasks.over.len() >= REMEMBERED {
            tasks.over.pop_front();
        }
        tasks.over.push_back(std::mem::take(&mut self.id));
    }
}

impl Owners {
    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of a task.
    pub(crate) fn of(&self, id: &str) -> Named {
        let tasks = self.lock();
        match tasks.waited_for.get(id) {
            Some(owner) => Named::Open(owner.clone()),
            None if tasks.over.iter().any(|over| over == id) => Named::Over,
            None => Named::Unknown,
        }
    }

    /// Who waits for a task. One that was never seen may be about to come.
    pub(crate) async fn soon(&self, id: &str) -> Option<Owner> {
        let coming = async {
            loop {
                let came = self.came.notified();
                let mut came = std::pin::pin!(came);
                came.as_mut().enable();
                match self.of(id) {
                    Named::Open(owner) => return Some(owner),
                    Named::Over => return None,
                    Named::Unknown => came.await,
                }
            }
        };
        tokio::time::timeout(AHEAD, coming).await.ok().flatten()
    }

    /// Who waits for the only task there is.
    pub(crate) fn only(&self) -> Option<Owner> {
        let tasks = self.lock();
        let mut all = tasks.waited_for.values();
        let only = all.next()?.clone();
        all.next().is_none().then_some(only)
    }
}

impl Inner {
    /// From now on a task is this call's.
    pub(crate) fn own(
        self: &Arc<Self>,
        id: &str,
        options: &CallOptions,
        clock: &Arc<Clock>,
    ) -> Owned {
        let owner = Owner {
            options: options.clone(),
            clock: Arc::clone(clock),
        };
        self.owners.lock().waited_for.insert(id.to_owned(), owner);
        self.owners.came.notify_waiters();
        Owned {
            inner: Arc::clone(self),
            id: id.to_owned(),
        }
    }
}

/// The task that a message of a server is about, as it says.
pub(crate) fn related(params: &Object) -> Option<String> {
    let related = meta::get(params, meta::RELATED_TASK)?;
    related.object().ok()?.string("taskId")
}
