//! The places where the tests stop the process, to see what a killed one leaves behind, or have the system refuse something.
//! Nothing outside of tests.

/// Called before every act that changes something on the disk.
#[inline]
pub(crate) fn step() {
    #[cfg(test)]
    stopping::step();
}

/// Bytes of a file that are written at once: in tests so few that a process can be stopped in the middle of a file.
pub(crate) const CHUNK: usize = if cfg!(test) { 24 } else { 8 << 20 };

/// Says whether writes are put on the disk at once. A killed process loses nothing that the system has; a test that
/// kills a thousand of them need not wait for a disk.
#[inline]
pub(crate) fn waits_for_the_disk() -> bool {
    #[cfg(test)]
    return stopping::AT.is_none();
    #[cfg(not(test))]
    true
}

/// What a test can have the system refuse.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To rename one file over another, or to exchange two.
    Rename,
    /// To give a file to another owner.
    Owner,
}

/// Fails in a test that has the system refuse this.
#[cfg(unix)]
#[inline]
pub(crate) fn refused(asked: Asked) -> std::io::Result<()> {
    #[cfg(test)]
    if let Some((what, kind)) = refusing::REFUSED.get()
        && what == asked
    {
        return Err(kind.into());
    }
    let _ = asked;
    Ok(())
}

#[cfg(all(test, unix))]
pub(crate) mod refusing {
    use std::{cell::Cell, io::ErrorKind};

    use super::Asked;

    thread_local! {
        /// What is refused on this thread, and how.
        pub(super) static REFUSED: Cell<Option<(Asked, ErrorKind)>> = const { Cell::new(None) };
    }

    /// Runs something on this thread while the system refuses something.
    pub(crate) fn while_refused<T>(asked: Asked, kind: ErrorKind, act: impl FnOnce() -> T) -> T {
        REFUSED.set(Some((asked, kind)));
        let done = act();
        REFUSED.set(None);
        done
    }
}

#[cfg(test)]
pub(crate) mod stopping {
    use std::sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering},
    };

    /// The variable with the number of the step, from 1, before which the process ends.
    pub(crate) const VARIABLE: &str = "COX_STOP_BEFORE_STEP";

    pub(super) static AT: LazyLock<Option<usize>> =
        LazyLock::new(|| std::env::var(VARIABLE).ok()?.parse().ok());
    static STEPS: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn step() {
        let Some(at) = *AT else { return };
        if STEPS.fetch_add(1, Ordering::SeqCst) + 1 == at {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::KILL).unwrap();
        }
    }
}
