//! Calls that are held open while their clients answer, by names that nobody can guess.
//!
//! A name is good for one round. A call whose client does not come back in time is cancelled; all of them end with the
//! daemon, and a state that names none any more says so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_wire::{Object, RpcError};
use tokio::task::AbortHandle;

use super::held::HeldCall;

/// Most calls that are held at the same time.
const MOST: usize = 1_000;

/// The code of an error that says there is no room; not one of the protocol's.
const BUSY: i64 = 429;
/// The code of an error that says a state is of no use any more; not one of the protocol's.
const GONE: i64 = 410;

/// Calls that are held open while their clients answer.
#[derive(Default)]
pub(super) struct Continuations(Mutex<HashMap<String, Waiting>>);

struct Waiting {
    call: HeldCall,
    expires: AbortHandle,
}

impl Continuations {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds a call for so long, and gives its name.
    ///
    /// # Errors
    /// When there are too many; the call is cancelled.
    pub(super) fn hold(
        self: &Arc<Self>,
        call: HeldCall,
        ttl: Duration,
    ) -> Result<String, RpcError> {
        let id = format!("{:032x}", fastrand::u128(..));
        let (weak, name) = (Arc::downgrade(self), id.clone());
        let mut waiting = self.lock();
        if waiting.len() >= MOST {
            return Err(RpcError::new(
                BUSY,
                format!("{MOST} calls wait for answers already; try again later"),
            ));
        }
        let expires = tokio::spawn(async move {
            tokio::time::sleep(ttl).await;
            let expired = weak.upgrade().and_then(|all| all.lock().remove(&name));
            drop(expired);
        });
        let expires = expires.abort_handle();
        waiting.insert(id.clone(), Waiting { call, expires });
        Ok(id)
    }

    /// The call of this name. It has the name no more.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn take(&self, id: &str) -> Result<HeldCall, RpcError> {
        let waiting = self.lock().remove(id);
        let Some(Waiting { call, expires }) = waiting else {
            return Err(lost());
        };
        expires.abort();
        Ok(call)
    }

    /// Cancels all of them.
    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        for waiting in all.into_values() {
            waiting.expires.abort();
        }
    }
}

/// The call that a state belonged to is not held any more.
pub(super) fn lost() -> RpcError {
    RpcError::new(
        GONE,
        "state lost, outcome unknown: the call that asked this was answered before, waited too long, or was held by a daemon that ended; verify what it did before you repeat it",
    )
    .with_data(
        Object::new()
            .with("origin", "hub")
            .with("delivery", "outcome_unknown"),
    )
}
