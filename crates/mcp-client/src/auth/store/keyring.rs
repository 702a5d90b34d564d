//! Records in the keyring of the person's session, through `secret-tool` of libsecret (Linux, BSD).
//!
//! A program and no library: what speaks to the Secret Service brings a message bus of some forty packages. The record
//! goes over its input and output, never by an argument. A keyring compares nothing and locks nothing, so the lock files
//! of a [`FileStore`] stand beside it, without a record.

use std::path::PathBuf;
use std::time::Duration;

use child_process::run::{Exit, Limits, Pipe};
use child_process::{Env, Output, Program, Stdin};

use super::{FileStore, TokenStore, Version};
use crate::auth::record::Record;

/// How long the keyring may take. It may ask the person to open it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Largest output that is read, in bytes.
const LARGEST: usize = 1024 * 1024;

/// Keeps records in the keyring. Its functions are called from a thread of a runtime where waiting is allowed.
#[derive(Debug, Clone)]
pub struct KeyringStore {
    service: String,
    env: Env,
    locks: FileStore,
}

impl KeyringStore {
    /// Keeps records under the attribute `service`. `env` is what `secret-tool` gets: it has to have the `PATH` and the
    /// session's message bus. Locks are in `locks`.
    pub fn new(service: impl Into<String>, env: Env, locks: impl Into<PathBuf>) -> Self {
        Self {
            service: service.into(),
            env,
            locks: FileStore::new(locks),
        }
    }

    /// Runs `secret-tool`. Returns its output, or `None` when it found nothing.
    fn ask(&self, verb: &[&str], key: &str, input: Option<&str>) -> Result<Option<String>, String> {
        let stdin = input.map_or(Stdin::Null, |text| Stdin::Bytes(text.as_bytes().to_vec()));
        let program = Program::new("secret-tool")
            .args(verb.iter().copied())
            .args(["service", &self.service, "key", key])
            .env(self.env.clone())
            .stdin(stdin)
            .output(Output::Separate);
        let (mut out, mut errors) = (Vec::new(), Vec::new());
        let mut sink = |pipe: Pipe, bytes: &[u8]| {
            let kept = if pipe == Pipe::Out {
                &mut out
            } else {
                &mut errors
            };
            let room = LARGEST.saturating_sub(kept.len());
            kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        };
        let run = program.run(
            Limits::deadline(PATIENCE),
            std::future::pending(),
            &mut sink,
        );
        let runtime = tokio::runtime::Handle::try_current()
            .map_err(|error| format!("`secret-tool` needs a runtime: {error}"))?;
        let ended = runtime
            .block_on(run)
            .map_err(|error| format!("the keyring cannot be asked: {error}"))?;
        let said = String::from_utf8_lossy(&errors);
        match ended.exit {
            Exit::Code(0) => Ok(Some(String::from_utf8_lossy(&out).into_owned())),
            Exit::Code(1) if said.trim().is_empty() => Ok(None),
            exit => Err(format!(
                "`secret-tool {}` ended with {exit:?}: {}",
                verb.first().copied().unwrap_or_default(),
                crate::auth::failure::said(&said)
            )),
        }
    }

    fn written(&self, key: &str) -> Result<Option<String>, String> {
        let found = self.ask(&["lookup"], key, None)?;
        Ok(found.filter(|written| !written.is_empty()))
    }
}

impl TokenStore for KeyringStore {
    fn load(&self, key: &str) -> Result<(Option<Record>, Option<Version>), String> {
        let Some(written) = self.written(key)? else {
            return Ok((None, None));
        };
        Ok((Record::from_json(&written), Some(Version::of(&written))))
    }

    fn swap(
        &self,
        key: &str,
        was: Option<&Version>,
        new: Option<&Record>,
    ) -> Result<Option<Version>, Option<String>> {
        let _swap = self
            .locks
            .hold_swap(key)
            .map_err(|error| Some(format!("the keyring's lock: {error}")))?;
        let is = self.written(key).map_err(Some)?;
        let is = is.as_deref().map(Version::of);
        if is.as_ref() != was {
            return Err(None);
        }
        let Some(record) = new else {
            self.ask(&["clear"], key, None).map_err(Some)?;
            return Ok(None);
        };
        let written = record.to_json();
        let label = format!("--label={}: {key}", self.service);
        self.ask(&["store", &label], key, Some(&written))
            .map_err(Some)?;
        // It ends with 0 now and then when the person did not open the keyring.
        match self.written(key) {
            Ok(Some(kept)) if kept == written => Ok(Some(Version::of(&written))),
            Ok(_) => Err(Some("the keyring did not keep it".to_owned())),
            Err(why) => Err(Some(why)),
        }
    }

    fn try_lock(&self, key: &str) -> Result<Option<Box<dyn Send + Sync>>, String> {
        self.locks.try_lock(key)
    }
}
