//! What takes a guardian out of its owner's reach: a session of its own, no descriptors, no ears for signals.
#![allow(
    unsafe_code,
    reason = "the lines between fork and exec, and ignoring a signal, have no safe binding"
)]

use std::{os::unix::process::CommandExt, process::Command};

/// What a guardian does not hear: each is meant to end its owner, or comes from its pipe.
const UNHEARD: [libc::c_int; 5] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGPIPE,
];

/// Arranges what happens in a guardian between fork and exec.
pub(super) fn before_exec(command: &mut Command) {
    // SAFETY: between fork and exec only async-signal-safe calls may be made: the closure makes plain system calls,
    // allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            ignore_signals();
            crate::start::keep(&[])
        });
    }
}

/// Makes this process deaf to what is meant for its owner; what it becomes by exec stays so.
pub(super) fn ignore_signals() {
    for signal in UNHEARD {
        // SAFETY: sets a disposition that runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Lets the kernel end this process after so many seconds, even while it waits for the kernel itself.
pub(super) fn end_after(seconds: u32) {
    // SAFETY: takes a number and touches no memory.
    unsafe { libc::alarm(seconds) };
}
