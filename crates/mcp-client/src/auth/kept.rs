//! The record of one server, read and replaced where waiting for a disk is allowed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::config::OAuthConfig;
use super::failure::AuthError;
use super::record::{Record, Tokens};
use super::store::{TokenStore, Version};

/// How often a lock that another holds is tried.
const TRY_AGAIN: Duration = Duration::from_millis(25);

/// A record as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The record, if there is one for this URL.
    pub record: Option<Record>,
    /// What is there, to be compared when it is replaced.
    pub version: Option<Version>,
}

impl Kept {
    pub(crate) fn tokens(&self) -> Option<&Tokens> {
        self.record.as_ref()?.tokens.as_ref()
    }

    /// The record without its tokens: who we are stays.
    pub(crate) fn without_tokens(&self) -> Option<Record> {
        self.record.clone().map(|mut record| {
            record.tokens = None;
            record
        })
    }
}

/// The lock on a record that holds among processes.
pub(crate) type Lock = Box<dyn Send + Sync>;

/// Reads the record. One that is of another URL is removed: its tokens were for somebody else.
pub(crate) async fn load(config: &OAuthConfig) -> Result<Kept, AuthError> {
    let read = |store: Arc<dyn TokenStore>, key: String| move || store.load(&key);
    let work = read(Arc::clone(&config.store), config.key.clone());
    let (record, version) = blocking(work).await?.map_err(failed(config, "read"))?;
    let mut kept = Kept { record, version };
    if kept
        .record
        .as_ref()
        .is_some_and(|record| !record.is_of(&config.server))
    {
        kept.record = None;
        if let Ok(version) = swap(config, kept.version.clone(), None).await? {
            kept.version = version;
        }
    }
    Ok(kept)
}

/// Replaces the record, if it is still what it was. `Err(())` inside when it is not.
pub(crate) async fn swap(
    config: &OAuthConfig,
    was: Option<Version>,
    new: Option<Record>,
) -> Result<Result<Option<Version>, ()>, AuthError> {
    let (store, key) = (Arc::clone(&config.store), config.key.clone());
    match blocking(move || store.swap(&key, was.as_ref(), new.as_ref())).await? {
        Ok(version) => Ok(Ok(version)),
        Err(None) => Ok(Err(())),
        Err(Some(why)) => Err(failed(config, "kept")(why)),
    }
}

/// Takes the lock, waiting for whoever holds it.
pub(crate) async fn lock(config: &OAuthConfig) -> Result<Lock, AuthError> {
    let until = Instant::now() + config.deadlines.lock;
    loop {
        let (store, key) = (Arc::clone(&config.store), config.key.clone());
        let tried = blocking(move || store.try_lock(&key)).await?;
        if let Some(lock) = tried.map_err(failed(config, "locked"))? {
            return Ok(lock);
        }
        if Instant::now() >= until {
            return Err(busy(config, config.deadlines.lock));
        }
        tokio::time::sleep(TRY_AGAIN).await;
    }
}

/// Somebody else has been at it for too long.
pub(crate) fn busy(config: &OAuthConfig, waited: Duration) -> AuthError {
    AuthError::Busy {
        server: config.name.clone(),
        waited,
    }
}

fn failed(config: &OAuthConfig, what: &'static str) -> impl FnOnce(String) -> AuthError {
    let server = config.name.clone();
    move |why| AuthError::Store { server, what, why }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, AuthError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| AuthError::Local(format!("the store of credentials failed: {error}")))
}
