//! A small JSON file that several processes change: read, changed and replaced under a lock; set aside when broken.

use std::path::Path;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Problem, StoreError, lock,
    state_dir::{read, replace, set_aside},
};

/// Largest file that is read, in bytes.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// Version of the files that are written, and the newest that is read.
const VERSION: u64 = 1;

#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    version: u64,
    #[serde(flatten)]
    content: T,
}

/// What the version of any file is read with.
#[derive(Deserialize)]
struct AnyVersion {
    version: u64,
}

/// Why a file's content is not there.
enum Unusable {
    /// Nothing reads it: it may be set aside.
    Broken(String),
    /// It is whole, for another program or another person: it is left as it is.
    NotOurs(String),
}

impl Unusable {
    fn into_problem(self, path: &Path) -> Problem {
        let (Self::Broken(reason) | Self::NotOurs(reason)) = self;
        Problem {
            path: path.to_owned(),
            reason,
        }
    }
}

/// Reads the file. What cannot be used is empty, and told.
pub(crate) fn load<T: DeserializeOwned + Default>(path: &Path) -> (T, Option<Problem>) {
    match parse(path) {
        Ok(content) => (content, None),
        Err(unusable) => (T::default(), Some(unusable.into_problem(path))),
    }
}

/// Changes the file under its lock. A broken one is set aside, told and begun anew.
///
/// # Errors
///
/// [`StoreError::Io`] when it cannot be written; also when what is there is of a newer version or cannot be read: then
/// it is left as it is.
pub(crate) fn update<T: Serialize + DeserializeOwned + Default, R>(
    path: &Path,
    now: jiff::Timestamp,
    change: impl FnOnce(&mut T) -> R,
) -> Result<(R, Option<Problem>), StoreError> {
    lock::with(path, || {
        let (mut content, problem) = match parse(path) {
            Ok(content) => (content, None),
            Err(Unusable::Broken(reason)) => {
                let aside = set_aside(path, now)?;
                let reason = format!("{reason}; it was moved to {}", aside.display());
                let problem = Unusable::Broken(reason).into_problem(path);
                (T::default(), Some(problem))
            }
            Err(Unusable::NotOurs(reason)) => {
                let source = std::io::Error::other(reason);
                return Err(StoreError::io("change", path, source));
            }
        };
        let done = change(&mut content);
        let content = Versioned {
            version: VERSION,
            content,
        };
        let text = serde_json::to_vec(&content)
            .map_err(|error| StoreError::io("write", path, error.into()))?;
        replace(path, &[&text, b"\n"])?;
        Ok((done, problem))
    })
}

fn parse<T: DeserializeOwned + Default>(path: &Path) -> Result<T, Unusable> {
    let bytes = match read(path, MAX_BYTES) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(T::default()),
        Err(error @ StoreError::TooLarge { .. }) => {
            return Err(Unusable::Broken(error.to_string()));
        }
        Err(error) => return Err(Unusable::NotOurs(error.to_string())),
    };
    let broken = |error: serde_json::Error| {
        Unusable::Broken(format!("it is not a file of the hub: {error}"))
    };
    let AnyVersion { version } = serde_json::from_slice(&bytes).map_err(broken)?;
    if version > VERSION {
        return Err(Unusable::NotOurs(format!(
            "it has version {version}, this program reads {VERSION}; use the newer program, or move it away"
        )));
    }
    let file: Versioned<T> = serde_json::from_slice(&bytes).map_err(broken)?;
    Ok(file.content)
}
