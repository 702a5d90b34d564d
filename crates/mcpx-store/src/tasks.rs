//! Calls that became tasks, one file each under `tasks/KEY/`, so that they outlive the daemon that ran them.
//!
//! A folder belongs to the daemon of one key. After a restart a task that ran is *interrupted*: whether the server did
//! what it was asked is unknown, and that is what it says.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use mcp_wire::Raw;
use serde::{Deserialize, Serialize};
use untrusted_text::redact::Redactor;

use crate::{
    Problem, StateDir, StoreError, random,
    state_dir::{checked_name, entries, private_dir, read, remove, replace},
};

/// Largest task that is read, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// How a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// The call runs.
    Working,
    /// The call waits for an answer of a person.
    InputRequired,
    /// The server answered: see the result, whose `isError` may say that the tool failed.
    Completed,
    /// No answer came: see the failure.
    Failed,
    /// It was cancelled before an answer came.
    Cancelled,
    /// The hub ended while it ran. Whether the server did what it was asked is unknown.
    Interrupted,
}

impl TaskState {
    /// Says whether nothing more comes.
    #[must_use]
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Working | Self::InputRequired)
    }
}

/// A call that became a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// `task-` and 32 hex digits that nobody can guess.
    pub id: String,
    /// Who may see it: a session's name, or empty for everybody.
    #[serde(default)]
    pub owner: String,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// How it stands.
    pub state: TaskState,
    /// What the server answered, as it was spelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Raw>,
    /// Why there is no result, or what it says of itself while it runs. Text from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The trace of its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// When it began.
    #[serde(with = "crate::time")]
    pub created: Timestamp,
    /// When it last changed.
    #[serde(with = "crate::time")]
    pub updated: Timestamp,
    /// How long it is kept after it last changed, in milliseconds; nothing: as long as the store keeps any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

/// The tasks of one daemon's key.
#[derive(Clone, Debug)]
pub struct Tasks {
    folder: PathBuf,
    redactor: Redactor,
}

/// The tasks that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskListing {
    /// Oldest first.
    pub tasks: Vec<Task>,
    /// Files that are none.
    pub broken: Vec<Problem>,
}

/// Returns a new id.
///
/// # Errors
///
/// [`StoreError::NoRandomness`].
pub fn new_id() -> Result<String, StoreError> {
    Ok(format!("task-{}", random::hex()?))
}

impl Tasks {
    /// Opens the tasks of a key. Messages are written without the secrets that `redactor` finds; results as they came.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when the folder cannot be made; [`StoreError::BadName`].
    pub fn open(state: &StateDir, key: &str, redactor: Redactor) -> Result<Self, StoreError> {
        let folder = state.path("tasks").join(checked_name("daemon key", key)?);
        private_dir(&folder)?;
        Ok(Self { folder, redactor })
    }

    /// Keeps a task as it stands now.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] and [`StoreError::BadName`].
    pub fn put(&self, task: &Task) -> Result<(), StoreError> {
        let path = self.path(&task.id)?;
        let redacted = task.message.as_deref().map(|message| Task {
            message: Some(self.redactor.redact(message).text.into_owned()),
            ..task.clone()
        });
        let text = serde_json::to_vec(redacted.as_ref().unwrap_or(task))
            .map_err(|error| StoreError::io("write", &path, error.into()))?;
        replace(&path, &[&text, b"\n"])
    }

    /// Reads a task; nothing when there is none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`], also when the file is no task; [`StoreError::BadName`].
    pub fn get(&self, id: &str) -> Result<Option<Task>, StoreError> {
        let path = self.path(id)?;
        let Some(bytes) = read(&path, MAX_BYTES)? else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
            StoreError::io("understand the task", &path, source)
        })
    }

    /// Removes a task. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] and [`StoreError::BadName`].
    pub fn remove(&self, id: &str) -> Result<bool, StoreError> {
        remove(&self.path(id)?)
    }

    /// Lists the tasks. Never fails: what is broken is in the listing.
    #[must_use]
    pub fn list(&self) -> TaskListing {
        let mut listing = TaskListing::default();
        for path in entries(&self.folder) {
            let id = path
                .file_name()
                .and_then(|name| name.to_str())
                .filter(|name| !name.starts_with('.'))
                .and_then(|name| name.strip_suffix(".json"));
            let Some(id) = id else { continue };
            match self.get(id) {
                Ok(Some(task)) if task.id == id => listing.tasks.push(task),
                Ok(Some(task)) => listing.broken.push(Problem {
                    reason: format!("it is another task, `{}`", task.id.escape_debug()),
                    path,
                }),
                Ok(None) => {}
                Err(error) => listing.broken.push(Problem {
                    reason: error.to_string(),
                    path,
                }),
            }
        }
        listing
            .tasks
            .sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.id.cmp(&b.id)));
        listing
    }

    /// Marks what ran when the daemon ended as interrupted; called once at the start, by the only daemon of the key.
    /// Returns the tasks that were marked.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when one cannot be written.
    pub fn recover(&self, now: Timestamp) -> Result<Vec<Task>, StoreError> {
        let mut marked = Vec::new();
        for mut task in self.list().tasks {
            if task.state.is_over() {
                continue;
            }
            task.state = TaskState::Interrupted;
            task.message = Some(
                "interrupted: the hub ended while the call ran, its outcome is unknown".to_owned(),
            );
            task.updated = now;
            self.put(&task)?;
            marked.push(task);
        }
        Ok(marked)
    }

    /// Removes tasks that are over for longer than their time to live, or than `keep` when they have none. Returns their
    /// ids. What cannot be removed stays.
    pub fn sweep(&self, now: Timestamp, keep: SignedDuration) -> Vec<String> {
        let is_due = |task: &Task| {
            let ttl = task.ttl_ms.map_or(keep, |ms| {
                SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX))
            });
            task.state.is_over() && now.duration_since(task.updated) > ttl
        };
        self.list()
            .tasks
            .into_iter()
            .filter(is_due)
            .filter(|task| matches!(self.remove(&task.id), Ok(true)))
            .map(|task| task.id)
            .collect()
    }

    fn path(&self, id: &str) -> Result<PathBuf, StoreError> {
        Ok(self
            .folder
            .join(format!("{}.json", checked_name("task id", id)?)))
    }
}

#[cfg(test)]
mod tests;
