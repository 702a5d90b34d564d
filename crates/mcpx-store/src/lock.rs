//! A lock that processes share, so that what several of them change is read and written by one at a time.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use crate::{
    StoreError,
    state_dir::{private_dir, private_file_or_open},
};

/// How long a lock is waited for. What is done under one takes milliseconds.
const WAIT: Duration = Duration::from_secs(10);

/// How long to wait between two tries.
const STEP: Duration = Duration::from_millis(5);

/// Runs `work` while nobody else holds the lock of `path`, which is the file `PATH.lock`. Threads exclude each other too.
pub(crate) fn with<T>(
    path: &Path,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let lock = path.with_file_name(name);
    if let Some(folder) = lock.parent() {
        private_dir(folder)?;
    }
    let file = private_file_or_open(&lock, OpenOptions::new().write(true))
        .map_err(|error| StoreError::io("open", &lock, error))?;
    take(&file, &lock)?;
    let done = work();
    drop(file);
    done
}

fn take(file: &File, path: &Path) -> Result<(), StoreError> {
    let deadline = Instant::now() + WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(STEP),
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked {
                    path: path.to_owned(),
                    waited: WAIT,
                });
            }
            Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", path, error)),
        }
    }
}
