//! Stands between this program's parent and the command: nothing of the command outlives either of them.
//!
//! The kernel tells a child of its parent's death, not a grandchild; and where there is a process namespace, what is in
//! it goes with its first process, uncounted. So the helper stays as the parent of everything the command starts. When
//! its own parent is gone it kills all of it. When the command has ended, it gives what was left behind a moment, ends
//! it, says what that was, and ends as the command did. It is in no one's way: it holds no pipe but the one it reports
//! on, and heeds no signal.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Write,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    time::{Duration, Instant},
};

use child_process::LeftBehind;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getppid, kill_process, set_parent_process_death_signal,
    wait,
};
use serde::{Deserialize, Serialize};

mod table;

use self::table::{descendants, name, others};

/// How long what is left may take to go by itself before it counts as left behind.
const SETTLE: Duration = Duration::from_millis(50);

/// Between asking what is left to end and killing it.
const GRACE: Duration = Duration::from_secs(2);

/// How long it is killed again and again: what is killed may have forked just before.
const KILL: Duration = Duration::from_secs(5);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// What the warden has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Duty {
    /// The number of the pipe on which it says what was left behind.
    pub(crate) report: Option<RawFd>,
    /// What can be seen of the processes.
    pub(crate) sight: Sight,
}

/// What can be seen of the processes that the command started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Sight {
    /// They and the machine's others, in one table: ours are those that descend from the warden.
    Machine,
    /// They alone: all in the table but the first process and the warden.
    Namespace,
    /// They are alone in a namespace, but the table shows other numbers: they can be counted when they end.
    Blind,
}

/// Splits this process: returns in the child, which becomes the command. The parent never returns.
pub(super) fn split(duty: Duty) -> Result<(), String> {
    let parent = getppid();
    // Before there is a child: what loses its parent first would go to another. The child does not inherit it.
    // SAFETY: a flag by value; orphans of the command become ours.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    let before = be_deaf();
    // SAFETY: the process has one thread, so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => Err(format!("cannot fork: {}", std::io::Error::last_os_error())),
        0 => {
            hear_again(&before);
            if let Some(report) = duty.report {
                // SAFETY: closes a descriptor that nothing in this process uses: the command has nothing to report.
                unsafe { libc::close(report) };
            }
            set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(|error| format!("cannot follow the parent: {error}"))
        }
        child => watch(child, parent, duty),
    }
}

/// Splits this process where the child is the first of a process namespace: the parent waits outside, with nothing to
/// count, and whatever is inside ends with the child.
pub(super) fn stay_outside() -> Result<(), String> {
    let parent = getppid();
    let before = be_deaf();
    // SAFETY: the process has one thread, so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => Err(format!("cannot fork: {}", std::io::Error::last_os_error())),
        0 => {
            hear_again(&before);
            set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(|error| format!("cannot follow the parent: {error}"))
        }
        child => {
            follow(
                child,
                parent,
                None,
                |status| end_like(status),
                || {
                    // SAFETY: a signal to a child that was not waited for, so the number is still its own.
                    unsafe { libc::kill(child, libc::SIGKILL) };
                },
            )
        }
    }
}

/// Waits for the end of the command or of the parent.
fn watch(child: libc::pid_t, parent: Option<Pid>, duty: Duty) -> ! {
    let mut report = duty.report.map(|number| {
        // SAFETY: the number was handed to this process for this, and nothing else here uses it.
        File::from(unsafe { OwnedFd::from_raw_fd(number) })
    });
    follow(
        child,
        parent,
        duty.report,
        move |status| {
            let left = end_what_is_left(duty.sight);
            if let Some(report) = &mut report
                && left.count > 0
            {
                // Whoever asked for it may be gone.
                let _unread = report.write_all(left.to_report().as_bytes());
            }
            end_like(status)
        },
        || {
            kill_all(duty.sight);
        },
    )
}

/// Holds all signals back, and returns which were held back before. It comes before the fork: a signal to both right after
/// it must not end the warden.
fn be_deaf() -> libc::sigset_t {
    let signals = all_signals();
    // SAFETY: all zero is a valid value of this plain structure; the sets live through the call, which changes nothing
    // but the mask of this thread.
    unsafe {
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, &raw mut before);
        before
    }
}

/// Lets through what is not in the set.
fn hear_again(before: &libc::sigset_t) {
    // SAFETY: the set lives through the call, which changes nothing but the mask of this thread.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
}

/// Waits without a pipe, deaf to signals as it was made, until the child has ended or the parent is gone, and does what is told then.
fn follow(
    child: libc::pid_t,
    parent: Option<Pid>,
    kept: Option<RawFd>,
    mut at_end: impl FnMut(WaitStatus),
    orphaned: impl Fn(),
) -> ! {
    // The command must not read or write the memory of its warden, which is less confined than it.
    // SAFETY: a flag by value.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    let signals = all_signals();
    let followed = set_parent_process_death_signal(Some(Signal::TERM)).is_ok();
    let_go_of_pipes(kept);
    loop {
        if !followed || getppid() != parent {
            orphaned();
            end(1);
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == child => {
                    at_end(status);
                    end(1);
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        let mut number = 0;
        // SAFETY: the set and the number live through the call, which only waits.
        unsafe { libc::sigwait(&raw const signals, &raw mut number) };
    }
}

fn all_signals() -> libc::sigset_t {
    // SAFETY: all zero is a valid value of this plain structure, and it lives through the call.
    unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut signals);
        signals
    }
}

/// Puts nothing in the place of input, output and errors, and closes the rest but one: a pipe ends when its last holder
/// has gone.
fn let_go_of_pipes(kept: Option<RawFd>) {
    if let Ok(nothing) = fs::File::options().read(true).write(true).open("/dev/null") {
        for number in 0..3 {
            // SAFETY: replaces one of our own descriptors.
            unsafe { libc::dup2(nothing.as_raw_fd(), number) };
        }
    }
    let close = |from: u32, to: u32| {
        if from <= to {
            // SAFETY: closes descriptors that nothing here uses. Kernels that do not know the call keep them.
            unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
        }
    };
    match kept
        .and_then(|kept| u32::try_from(kept).ok())
        .filter(|&kept| kept >= 3)
    {
        Some(kept) => {
            close(3, kept - 1);
            close(kept + 1, u32::MAX);
        }
        None => close(3, u32::MAX),
    }
}

/// Ends what the command left running, and returns what it was.
fn end_what_is_left(sight: Sight) -> LeftBehind {
    let until = Instant::now() + SETTLE;
    while let (true, _) = reap() {
        if Instant::now() >= until {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    if !reap().0 {
        return LeftBehind::default();
    }
    let members = seen(sight);
    let mut left = LeftBehind {
        count: members.len(),
        names: members
            .iter()
            .filter_map(|&pid| name(pid))
            .take(LeftBehind::NAMES)
            .collect(),
    };
    // A stopped process sees the first signal only when it goes on.
    for signal in [Signal::TERM, Signal::CONT] {
        tell(sight, &members, signal);
    }
    let mut ended = 0;
    let until = Instant::now() + GRACE;
    loop {
        let (some_left, reaped) = reap();
        ended += reaped;
        if !some_left || Instant::now() >= until {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    ended += kill_all(sight);
    if sight == Sight::Blind {
        left.count = ended;
    }
    left
}

/// Kills everything that the command started. Returns how many ended.
fn kill_all(sight: Sight) -> usize {
    let until = Instant::now() + KILL;
    let mut ended = 0;
    loop {
        let members = if sight == Sight::Machine {
            seen(sight)
        } else {
            BTreeSet::new()
        };
        tell(sight, &members, Signal::KILL);
        let (some_left, reaped) = reap();
        ended += reaped;
        if !some_left || Instant::now() >= until {
            return ended;
        }
        std::thread::sleep(PAUSE);
    }
}

fn tell(sight: Sight, members: &BTreeSet<i32>, signal: Signal) {
    if sight == Sight::Machine {
        for pid in members.iter().filter_map(|&pid| Pid::from_raw(pid)) {
            let _gone = kill_process(pid, signal);
        }
    } else {
        // Everything in the namespace but its first process and this one, at once: what forks meanwhile is told too.
        // SAFETY: a signal to processes of which each is the command's.
        unsafe { libc::kill(-1, signal.as_raw()) };
    }
}

/// Returns the living processes that the command started, as far as they can be seen.
fn seen(sight: Sight) -> BTreeSet<i32> {
    match sight {
        Sight::Machine => descendants(),
        Sight::Namespace => others(),
        Sight::Blind => BTreeSet::new(),
    }
}

/// Takes the status of what has ended. Returns whether something is left, and how many it were.
fn reap() -> (bool, usize) {
    let mut ended = 0;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => ended += 1,
            Ok(None) => return (true, ended),
            // There is no child, or nobody can tell.
            Err(_) => return (false, ended),
        }
    }
}

/// Ends as the command did.
fn end_like(status: WaitStatus) -> ! {
    if let Some(signal) = status.terminating_signal() {
        // SAFETY: plain calls on this process alone. The core of the command is the one to keep.
        unsafe {
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
            let signals = all_signals();
            libc::sigprocmask(libc::SIG_UNBLOCK, &raw const signals, std::ptr::null_mut());
        }
        // The first process of a namespace cannot end by a signal of its own.
        end(128 + signal);
    }
    end(status.exit_status().unwrap_or(1))
}

#[expect(
    clippy::exit,
    reason = "a process of its own that has nothing left to do"
)]
fn end(code: i32) -> ! {
    std::process::exit(code)
}
