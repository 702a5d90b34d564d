//! A guardian: a small process that ends what its owner started when the owner ends, however that ends.
//!
//! It is the owner's binary started again, with hidden arguments on which the binary calls [`run`] and nothing else. It
//! reads from a pipe that the owner holds. When the pipe closes, it gives what carries the owner's [`Mark`] a moment to
//! end by itself, ends the rest, and ends.
//!
//! It has a session, an environment and a folder of its own, no descriptor of the owner but the pipe, and does not carry
//! the mark; it does not hear the signals that are meant to end its owner, and is gone at its deadline whatever happens.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crate::{CannotTell, Mark, mark::EndLimits};

#[cfg(unix)]
mod detach;
#[cfg(target_os = "linux")]
mod lean;
mod run;

pub use run::run;

/// What the guardian writes when it watches.
const READY: &[u8] = b"guarding\n";

/// What the owner writes when nothing is to be ended.
const DISARM: &str = "disarm";

/// How long a guardian may take to be there.
const START: Duration = Duration::from_secs(10);

/// How long a guardian that was sent home may take to go.
const LEAVE: Duration = Duration::from_secs(2);

/// How a binary is started again as a guardian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardCommand {
    /// The binary, as an absolute path. On Linux `/proc/self/exe` is the one that runs now, even after it was replaced.
    pub program: PathBuf,
    /// The hidden arguments on which it calls [`run`].
    pub args: Vec<OsString>,
}

/// How long a guardian takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardLimits {
    /// How long after the owner what it started may end by itself, before anything is asked to.
    pub settle: Duration,
    /// How the rest is ended.
    pub end: EndLimits,
}

impl Default for GuardLimits {
    /// Two seconds to end by themselves (their input has ended), three to do as asked, 20 in all from then on.
    fn default() -> Self {
        Self {
            settle: Duration::from_secs(2),
            end: EndLimits {
                grace: Duration::from_secs(3),
                deadline: Duration::from_secs(20),
            },
        }
    }
}

/// A guardian that is not there.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// A guardian would see nothing here.
    #[error(transparent)]
    CannotTell(#[from] CannotTell),
    /// It could not be started.
    #[error("cannot start `{}` as a guardian", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// What was started is no guardian: it ended, or did not say in time that it watches.
    #[error(
        "`{}` did not become a guardian: expected it to say so within {} s",
        program.display(),
        START.as_secs()
    )]
    Silent {
        /// The program.
        program: PathBuf,
    },
}

/// The owner's side of a guardian. Dropping it, like the end of this process, makes the guardian end what is marked.
#[derive(Debug)]
pub struct Guardian {
    command: GuardCommand,
    mark: Mark,
    limits: GuardLimits,
    child: Child,
    /// Where it reads; closed when it is to act.
    pipe: Option<ChildStdin>,
}

impl Guardian {
    /// Starts a guardian and waits until it watches, a few milliseconds. Blocks this thread.
    ///
    /// # Errors
    ///
    /// [`GuardError`] when there is none then.
    pub fn start(
        command: GuardCommand,
        mark: Mark,
        limits: GuardLimits,
    ) -> Result<Self, GuardError> {
        let (child, pipe) = begin(&command, &mark, limits)?;
        Ok(Self {
            command,
            mark,
            limits,
            child,
            pipe: Some(pipe),
        })
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Starts another one if it has gone, for example because somebody killed it, and says whether it did. Blocks this
    /// thread when it does.
    ///
    /// # Errors
    ///
    /// [`GuardError`] when it has gone and there is no other.
    pub fn renew(&mut self) -> Result<bool, GuardError> {
        if matches!(self.child.try_wait(), Ok(None)) {
            return Ok(false);
        }
        forget(&self.child);
        let (child, pipe) = begin(&self.command, &self.mark, self.limits)?;
        self.child = child;
        self.pipe = Some(pipe);
        Ok(true)
    }

    /// Sends it home: nothing is ended. For an owner that has ended everything itself. Blocks this thread until it has
    /// gone, about a millisecond and at most two seconds.
    pub fn disarm(mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            let _gone = writeln!(pipe, "{DISARM}");
        }
        let until = Instant::now() + LEAVE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // One that still works is waited for by nobody: its status goes with this process.
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            forget(&self.child);
        }
    }
}

fn begin(
    command: &GuardCommand,
    mark: &Mark,
    limits: GuardLimits,
) -> Result<(Child, ChildStdin), GuardError> {
    // Where it would see nothing, a guardian would only seem to be one.
    crate::Identity::own().ok_or(CannotTell)?;
    let failed = |source| GuardError::Start {
        program: command.program.clone(),
        source,
    };
    let mut child = spawn(command).map_err(failed)?;
    let said = child.stdout.take().map(|stdout| first(stdout, READY.len()));
    let told = child.stdin.take().and_then(|mut pipe| {
        pipe.write_all(run::first_line(mark, limits).as_bytes())
            .ok()?;
        Some(pipe)
    });
    let is_ready =
        said.is_some_and(|said| said.recv_timeout(START).is_ok_and(|said| said == READY));
    match told {
        Some(pipe) if is_ready => Ok((child, pipe)),
        _ => {
            let _gone = child.kill();
            let _reaped = child.wait();
            forget(&child);
            Err(GuardError::Silent {
                program: command.program.clone(),
            })
        }
    }
}

/// Reads so many bytes, without keeping anybody waiting.
fn first(mut from: impl Read + Send + 'static, count: usize) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = vec![0; count];
        let read = from.read_exact(&mut bytes);
        let _unheard = send.send(read.map_or_else(|_| Vec::new(), |()| bytes));
    });
    receive
}

fn spawn(command: &GuardCommand) -> io::Result<Child> {
    let mut started = Command::new(&command.program);
    started
        .args(&command.args)
        .env_clear()
        // No tree takes a process that has another tree's mark.
        .env(crate::tree::MARK, crate::tree::new_mark())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    #[cfg(unix)]
    {
        started.current_dir("/");
        detach::before_exec(&mut started);
    }
    #[cfg(target_os = "linux")]
    {
        crate::tree::start_apart(|| started.spawn())
    }
    #[cfg(not(target_os = "linux"))]
    {
        started.spawn()
    }
}

fn forget(child: &Child) {
    #[cfg(target_os = "linux")]
    crate::tree::forget_apart(child);
    #[cfg(not(target_os = "linux"))]
    let _ = child;
}
