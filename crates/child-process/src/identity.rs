//! Which process it was: its id together with when it started, because ids are given again.

#[cfg(target_os = "linux")]
use crate::tree::table;

/// One process, told apart from every other one that had or will have its id since the machine was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The process id.
    pub pid: i32,
    /// When it started, in the kernel's ticks since boot: a number to compare, not a time.
    pub started: u64,
}

impl Identity {
    /// Returns the identity of this process; none where it cannot be told.
    pub fn own() -> Option<Self> {
        Self::of(i32::try_from(std::process::id()).ok()?)
    }

    /// Returns who has this process id now; none when nobody has, or where it cannot be told.
    pub fn of(pid: i32) -> Option<Self> {
        #[cfg(target_os = "linux")]
        {
            let started = table::start_of(pid)?;
            Some(Self { pid, started })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = pid;
            None
        }
    }

    /// Says whether this very process still runs; none where it cannot be told.
    pub fn lives(self) -> Option<bool> {
        #[cfg(target_os = "linux")]
        {
            Self::own()?;
            let stat = table::stat(self.pid);
            Some(stat.is_some_and(|stat| stat.started == self.started && stat.runs()))
        }
        #[cfg(not(target_os = "linux"))]
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Identity;

    #[test]
    fn an_id_that_was_given_again_is_another_process() {
        let own = Identity::own().unwrap();
        assert_eq!(own.lives(), Some(true));
        let before = Identity {
            started: own.started - 1,
            ..own
        };
        assert_eq!(before.lives(), Some(false));
        let nobody = Identity { pid: -1, ..own };
        assert_eq!(nobody.lives(), Some(false));
        assert_eq!(Identity::of(-1), None);
    }
}
