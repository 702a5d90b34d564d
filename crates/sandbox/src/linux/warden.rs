//! Stands between this program's parent and the command, so that nothing of the command outlives the parent.
//!
//! The kernel tells a child of its parent's death, not a grandchild. Bubblewrap has a process namespace for that; where
//! there is none, the helper stays as the parent of everything the command starts, sleeps, and kills all of it when its
//! own parent is gone. It ends as the command does and is in no one's way: it holds no pipe and heeds no signal.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::fd::AsRawFd,
};

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
    set_parent_process_death_signal, wait,
};

/// How often everything is killed again: what is killed may have forked just before.
const ROUNDS: usize = 100;

/// Splits this process: returns in the child, which becomes the command. The parent never returns.
pub(super) fn split() -> Result<(), String> {
    let parent = getppid();
    // SAFETY: the process has one thread, so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => Err(format!("cannot fork: {}", std::io::Error::last_os_error())),
        0 => set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|error| format!("cannot follow the parent: {error}")),
        child => watch(child, parent),
    }
}

/// Waits for the end of the command or of the parent.
fn watch(child: libc::pid_t, parent: Option<Pid>) -> ! {
    let signals = all_signals();
    // SAFETY: the sets live through the calls, which change nothing but the mask of this thread.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut()) };
    // SAFETY: a flag by value; orphans of the command become ours.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    let followed = set_parent_process_death_signal(Some(Signal::TERM)).is_ok();
    let_go_of_pipes();
    loop {
        if !followed || getppid() != parent {
            kill_all();
            end(1);
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == child => end_like(status),
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

/// Puts nothing in the place of every descriptor: a pipe ends when its last holder has gone.
fn let_go_of_pipes() {
    if let Ok(nothing) = fs::File::options().read(true).write(true).open("/dev/null") {
        for number in 0..3 {
            // SAFETY: replaces one of our own descriptors.
            unsafe { libc::dup2(nothing.as_raw_fd(), number) };
        }
    }
    // SAFETY: closes descriptors that nothing here uses any more. Kernels that do not know the call keep them.
    unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
}

/// Kills every descendant.
fn kill_all() {
    for _ in 0..ROUNDS {
        let members = descendants();
        if members.is_empty() {
            return;
        }
        for pid in members {
            if let Some(pid) = Pid::from_raw(pid) {
                let _gone = kill_process(pid, Signal::KILL);
            }
        }
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Returns the processes that descend from this one.
fn descendants() -> BTreeSet<i32> {
    let own = getpid().as_raw_nonzero().get();
    let Ok(entries) = fs::read_dir("/proc") else {
        return BTreeSet::new();
    };
    let parents: BTreeMap<i32, i32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name may hold anything, parentheses too: the last one ends it.
            let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
            let is_dead = fields.next()? == "Z";
            let parent = fields.next()?.parse().ok()?;
            (!is_dead).then_some((pid, parent))
        })
        .collect();
    let mut found = BTreeSet::from([own]);
    loop {
        let before = found.len();
        for (&pid, parent) in &parents {
            if found.contains(parent) {
                found.insert(pid);
            }
        }
        if found.len() == before {
            break;
        }
    }
    found.remove(&own);
    found
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
