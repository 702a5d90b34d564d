//! Where records are kept: in memory, in files, or where a product wants them.

mod file;
#[cfg(feature = "keyring")]
mod keyring;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use file::FileStore;
#[cfg(feature = "keyring")]
pub use keyring::KeyringStore;

use super::record::Record;
use super::secret::sha256;

/// What a record was when it was read, to be compared when it is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(String);

impl Version {
    /// The version of a record in its written form.
    #[must_use]
    pub fn of(written: &str) -> Self {
        Self(sha256(written))
    }
}

/// Keeps records. Its functions may wait for a disk, and are called where that is allowed.
///
/// A key names one configured server, and is the product's choice. Errors are in words and hold no secret.
pub trait TokenStore: Send + Sync {
    /// Reads a record. One that cannot be understood is none, with the version of what is there.
    ///
    /// # Errors
    ///
    /// When what is kept cannot be read.
    fn load(&self, key: &str) -> Result<(Option<Record>, Option<Version>), String>;

    /// Replaces a record, or removes it, if it is still what it was: `was` is `None` when there was none. Returns the new
    /// version, or `Err(None)` when it has changed meanwhile. On return it is durable.
    ///
    /// # Errors
    ///
    /// `Some` when it could not be written; what was there before is there still.
    fn swap(
        &self,
        key: &str,
        was: Option<&Version>,
        new: Option<&Record>,
    ) -> Result<Option<Version>, Option<String>>;

    /// Takes the lock of a key, that holds among processes, without waiting. `None` while another holds it. It ends with
    /// what is returned, and with the process.
    ///
    /// # Errors
    ///
    /// When there can be no lock.
    fn try_lock(&self, key: &str) -> Result<Option<Box<dyn Send + Sync>>, String>;
}

/// Keeps records as long as the process lives.
#[derive(Default)]
pub struct MemoryStore {
    records: Mutex<HashMap<String, String>>,
    locks: Mutex<HashMap<String, Arc<()>>>,
}

impl TokenStore for MemoryStore {
    fn load(&self, key: &str) -> Result<(Option<Record>, Option<Version>), String> {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(written) = records.get(key) else {
            return Ok((None, None));
        };
        Ok((Record::from_json(written), Some(Version::of(written))))
    }

    fn swap(
        &self,
        key: &str,
        was: Option<&Version>,
        new: Option<&Record>,
    ) -> Result<Option<Version>, Option<String>> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let is = records.get(key).map(|written| Version::of(written));
        if is.as_ref() != was {
            return Err(None);
        }
        let written = new.map(Record::to_json);
        let version = written.as_deref().map(Version::of);
        match written {
            Some(written) => records.insert(key.to_owned(), written),
            None => records.remove(key),
        };
        Ok(version)
    }

    fn try_lock(&self, key: &str) -> Result<Option<Box<dyn Send + Sync>>, String> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = locks.entry(key.to_owned()).or_default();
        // Held as long as somebody else has a share in it.
        let is_free = Arc::strong_count(lock) == 1;
        Ok(is_free.then(|| Box::new(Arc::clone(lock)) as Box<dyn Send + Sync>))
    }
}

#[cfg(test)]
mod tests;
