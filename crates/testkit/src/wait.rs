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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_comes_true_is_waited_for() {
        let mut looks = 0;
        wait_until("three looks", Duration::from_secs(10), || {
            looks += 1;
            looks == 3
        });
        assert_eq!(looks, 3);
    }

    #[test]
    #[should_panic(expected = "waited 1ms for the impossible")]
    fn what_never_comes_is_named() {
        wait_until("the impossible", Duration::from_millis(1), || false);
    }
}
