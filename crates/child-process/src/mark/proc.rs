//! Finding and signalling what carries a mark, by the process table of Linux.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
};

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, kill_process, pidfd_open, pidfd_send_signal},
};

use super::{CannotTell, Found, Mark, VARIABLE};
use crate::{
    Identity,
    tree::table::{self, Stat},
};

/// Largest environment that is read, in bytes: more than the kernel lets a program be started with by default.
const ENVIRONMENT: u64 = 8 * 1024 * 1024;

/// What is said to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Please end, and go on if you were stopped.
    End,
    /// End now.
    Kill,
}

/// Whose mark a process carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carries {
    Ours,
    Foreign,
    Nothing,
}

/// Finds what is the owner's: by its mark, and by those that were found before.
pub(super) fn find(mark: &Mark, known: &BTreeSet<Identity>) -> Result<Vec<Found>, CannotTell> {
    let own = Identity::own().ok_or(CannotTell)?;
    let mut table = table::table(0);
    if !table.contains_key(&own.pid) {
        return Err(CannotTell);
    }
    // Whoever asks is not ended by its own hand, nor is what it started, unless that carries the mark.
    table.remove(&own.pid);
    let mut foreign = BTreeSet::new();
    let mut ours = BTreeSet::new();
    for (&pid, stat) in &table {
        let started = stat.started;
        match carries(Identity { pid, started }, mark) {
            Carries::Ours => _ = ours.insert(pid),
            Carries::Foreign => _ = foreign.insert(pid),
            Carries::Nothing if known.contains(&Identity { pid, started }) => _ = ours.insert(pid),
            Carries::Nothing => {}
        }
    }
    table.retain(|pid, _| !foreign.contains(pid));
    close_over_below(&table, &mut ours);
    let found = table
        .iter()
        .filter(|(pid, stat)| ours.contains(pid) && stat.runs());
    Ok(found
        .map(|(&pid, stat)| Found {
            identity: Identity {
                pid,
                started: stat.started,
            },
            command: table::name(pid).unwrap_or_default(),
        })
        .collect())
}

/// Adds what descends from `ours`, and what is in a session that one of them leads: a session is entered by birth only.
fn close_over_below(table: &BTreeMap<i32, Stat>, ours: &mut BTreeSet<i32>) {
    let mut below: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (&pid, stat) in table {
        below.entry(stat.parent).or_default().push(pid);
        if stat.session != stat.parent {
            below.entry(stat.session).or_default().push(pid);
        }
    }
    let mut open: Vec<i32> = ours.iter().copied().collect();
    while let Some(above) = open.pop() {
        let Some(stat) = table.get(&above) else {
            continue;
        };
        let leads = stat.session == above;
        let candidates = below.get(&above).into_iter().flatten().filter(|&pid| {
            table.get(pid).is_some_and(|one| {
                one.started >= stat.started
                    && (one.parent == above || (leads && one.session == above))
            })
        });
        let new: Vec<i32> = candidates
            .copied()
            .filter(|pid| !ours.contains(pid))
            .collect();
        // The table was not read in one moment. It was the one above that they named only if it is still there.
        if !new.is_empty() && table::start_of(above) == Some(stat.started) {
            ours.extend(&new);
            open.extend(new);
        }
    }
}

/// Says whose mark this very process carries; nobody's when its environment may not be read.
fn carries(one: Identity, mark: &Mark) -> Carries {
    let Ok(file) = fs::File::open(format!("/proc/{}/environ", one.pid)) else {
        return Carries::Nothing;
    };
    let mut environment = Vec::new();
    if file
        .take(ENVIRONMENT)
        .read_to_end(&mut environment)
        .is_err()
    {
        return Carries::Nothing;
    }
    let carries = read(&environment, mark);
    // The id may have been given again before the environment was read.
    if carries != Carries::Nothing && Identity::of(one.pid) != Some(one) {
        return Carries::Nothing;
    }
    carries
}

/// Reads an environment: variables, each ended by a zero.
fn read(environment: &[u8], mark: &Mark) -> Carries {
    let values = environment.split(|&byte| byte == 0).filter_map(|variable| {
        variable
            .strip_prefix(VARIABLE.as_bytes())?
            .strip_prefix(b"=")
    });
    let mut carries = Carries::Nothing;
    for value in values {
        if value != mark.as_str().as_bytes() {
            return Carries::Foreign;
        }
        carries = Carries::Ours;
    }
    carries
}

/// Sends a signal to this very process, and to no other that has its id by now.
pub(super) fn signal(to: Identity, signal: Signal) {
    let signals: &[rustix::process::Signal] = match signal {
        Signal::End => &[rustix::process::Signal::TERM, rustix::process::Signal::CONT],
        Signal::Kill => &[rustix::process::Signal::KILL],
    };
    let Some(pid) = Pid::from_raw(to.pid).filter(|_| to.pid > 1) else {
        return;
    };
    // The descriptor stands for one process. If that is the right one now, then it is when the signal arrives.
    let descriptor = pidfd_open(pid, PidfdFlags::empty());
    if matches!(descriptor, Err(Errno::SRCH)) || Identity::of(to.pid) != Some(to) {
        return;
    }
    for &signal in signals {
        let _gone = match &descriptor {
            Ok(descriptor) => pidfd_send_signal(descriptor, signal),
            // Kernels before 5.3, and sandboxes that do not know the call: as near to the check as can be.
            Err(_) => kill_process(pid, signal),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{Carries, Identity, Mark, Signal, read, signal};

    #[test]
    fn a_signal_reaches_only_the_very_process() {
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let one = Identity::of(child.id().try_into().unwrap()).unwrap();
        let started = one.started - 1;
        signal(Identity { started, ..one }, Signal::Kill);
        // Had it been sent, it would have been received by now: a signal that kills is acted on before the next one.
        assert_eq!(one.lives(), Some(true));
        signal(one, Signal::End);
        let status = child.wait().unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(signal, Some(libc::SIGTERM));
    }

    #[test]
    fn only_exactly_the_mark_is_ours() {
        let mark = Mark::new("0123456789abcdef").unwrap();
        let check = |environment: &str, expect| {
            assert_eq!(
                read(environment.as_bytes(), &mark),
                expect,
                "{environment:?}"
            );
        };
        check("A=b\0CHILD_PROCESS_OWNER=0123456789abcdef\0", Carries::Ours);
        check("CHILD_PROCESS_OWNER=0123456789abcdef", Carries::Ours);
        check("CHILD_PROCESS_OWNER=0123456789abcdef0\0", Carries::Foreign);
        check("CHILD_PROCESS_OWNER=\0", Carries::Foreign);
        check(
            "CHILD_PROCESS_OWNER=0123456789abcdef\0CHILD_PROCESS_OWNER=1123456789abcdef\0",
            Carries::Foreign,
        );
        check("XCHILD_PROCESS_OWNER=0123456789abcdef\0", Carries::Nothing);
        check("A=CHILD_PROCESS_OWNER=0123456789abcdef\0", Carries::Nothing);
        check("CHILD_PROCESS_OWNER\0", Carries::Nothing);
        check("", Carries::Nothing);
    }
}
