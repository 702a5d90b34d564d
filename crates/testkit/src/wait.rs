//! Waiting on a condition instead of on time.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Returns as soon as `condition` holds.
///
/// # Panics
///
/// When it does not hold within `timeout`; the message names `what` was waited for.
#[track_caller]
pub fn wait_until(what: &str, timeout: Duration, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + timeout;
    while !condition() {
        assert!(Instant::now() < deadline, "waited {timeout:?} for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
