//! Starting a program: its own session, its pipes, and the tie to the life of this process.
#![allow(
    unsafe_code,
    reason = "the lines between fork and exec can only be written as `pre_exec`"
)]

use std::{io, path::PathBuf, process::Stdio, time::Duration};

#[cfg(unix)]
use std::os::fd::{AsRawFd, RawFd};

use tokio::process::{Child, ChildStdin, Command};

use crate::{
    Output, Program, Stdin, Wrap,
    cap::Cap,
    spawner,
    tree::{MARK, Tree},
};

/// A program that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no such program, or it may not be executed.
    #[error("cannot start `{}`", program.display())]
    Program {
        /// The program that was to be started; the wrap's, when it is wrapped.
        program: PathBuf,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// The folder to start in is not there.
    #[error("cannot start in `{}`: it is not a folder", cwd.display())]
    Cwd {
        /// The folder.
        cwd: PathBuf,
    },
    /// The system gave no pipe.
    #[error("cannot make a pipe for a child process")]
    Pipe(#[source] io::Error),
    /// The system gave no pseudo-terminal.
    #[error("cannot open a pseudo-terminal for a child process")]
    Terminal(#[source] io::Error),
}

/// The end of a pipe that is read.
#[cfg(unix)]
pub type PipeReader = tokio::net::unix::pipe::Receiver;
/// The end of a pipe that is read. Read from a thread of its own: this system has no other way.
#[cfg(not(unix))]
pub type PipeReader = tokio::fs::File;

/// A program that runs. Dropping it ends the whole tree at once.
#[derive(Debug)]
pub struct Running {
    /// What it reads, when that is a pipe.
    pub stdin: Option<ChildStdin>,
    /// What it writes to its output, and to its errors when both are merged.
    pub stdout: Option<PipeReader>,
    /// What it writes to its errors, when that is separate.
    pub stderr: Option<PipeReader>,
    /// Where the end of input is typed, when it runs on a terminal.
    #[cfg(unix)]
    pub(crate) keyboard: Option<std::os::fd::OwnedFd>,
    pub(crate) child: Child,
    pub(crate) tree: Tree,
    pub(crate) wrap: Option<Wrap>,
}

impl Program {
    /// Starts the program, in a session of its own. It is killed when this process ends, however that ends.
    ///
    /// # Errors
    ///
    /// [`StartError`] when the program, its folder or a pipe is missing; nothing runs then.
    pub async fn start(self) -> Result<Running, StartError> {
        if let Some(cwd) = self.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
            return Err(StartError::Cwd { cwd: cwd.clone() });
        }
        let mark = crate::tree::new_mark();
        let cap = Cap::new(self.max_processes);
        let (program, args) = self.argv();
        let mut command = Command::new(&program);
        command
            .args(args)
            .env_clear()
            .envs(self.env.iter())
            .env(MARK, &mark)
            .kill_on_drop(true);
        if let Some(wrap) = &self.wrap {
            command.envs(wrap.env.iter().map(|(name, value)| (name, value)));
        }
        if let Some(mark) = &self.mark {
            command.env(crate::mark::VARIABLE, mark.as_str());
        }
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        command.stdin(if self.stdin == Stdin::Null {
            Stdio::null()
        } else {
            Stdio::piped()
        });
        #[cfg(unix)]
        let mut keyboard = None;
        let (stdout, stderr) = match self.output {
            #[cfg(unix)]
            Output::Terminal => {
                let terminal = crate::terminal::Terminal::open().map_err(StartError::Terminal)?;
                let copy = || terminal.program.try_clone().map_err(StartError::Terminal);
                command.stdin(copy()?).stdout(copy()?).stderr(copy()?);
                keyboard = Some(terminal.keyboard);
                let reader = PipeReader::from_owned_fd_unchecked(terminal.reader);
                (reader.map_err(StartError::Terminal)?, None)
            }
            #[cfg(not(unix))]
            Output::Terminal => merged(&mut command)?,
            Output::Merged => merged(&mut command)?,
            Output::Separate => {
                let (out, out_write) = make_pipe()?;
                let (err, err_write) = make_pipe()?;
                command.stdout(out_write).stderr(err_write);
                (out, Some(err))
            }
        };
        #[cfg(unix)]
        {
            let wrap = self.wrap.as_ref();
            let descriptors = wrap.map_or_else(Vec::new, descriptors);
            before_exec(&mut command, descriptors, keyboard.is_some(), cap.entry());
        }
        let mut child = spawner::spawn(command)
            .await
            .map_err(|source| StartError::Program { program, source })?;
        let unasked = self.wrap.as_ref().map_or(0, |wrap| wrap.generations);
        let tree = Tree::new(&child, mark, cap, unasked);
        Ok(Running {
            stdin: child.stdin.take(),
            stdout: Some(stdout),
            stderr,
            #[cfg(unix)]
            keyboard,
            child,
            tree,
            wrap: self.wrap,
        })
    }
}

impl Running {
    /// Returns the process id of the program, or of what it is wrapped in.
    pub fn id(&self) -> i32 {
        self.tree.leader()
    }

    /// Waits until the program itself has ended; what it left behind may still run.
    ///
    /// # Errors
    ///
    /// The system's, when it cannot tell.
    pub async fn wait(&mut self) -> io::Result<std::process::ExitStatus> {
        self.child.wait().await
    }

    /// Ends the whole tree: asks, waits up to `grace`, kills. Returns the process ids of what still runs.
    pub async fn end(mut self, grace: Duration) -> Vec<i32> {
        // Input that ends is how many programs are asked to go.
        drop(self.stdin.take());
        let outcome = self.tree.end(grace).await;
        let _reaped = tokio::time::timeout(Duration::from_secs(1), self.child.wait()).await;
        outcome.survivors
    }
}

/// Sends both streams of a command into one pipe, and returns its other end.
fn merged(command: &mut Command) -> Result<(PipeReader, Option<PipeReader>), StartError> {
    let (read, write) = make_pipe()?;
    command
        .stderr(write.try_clone().map_err(StartError::Pipe)?)
        .stdout(write);
    Ok((read, None))
}

fn make_pipe() -> Result<(PipeReader, io::PipeWriter), StartError> {
    let (read, write) = io::pipe().map_err(StartError::Pipe)?;
    #[cfg(unix)]
    let read = PipeReader::from_owned_fd(read.into()).map_err(StartError::Pipe)?;
    #[cfg(not(unix))]
    let read = PipeReader::from_std(std::os::windows::io::OwnedHandle::from(read).into());
    Ok((read, write))
}

#[cfg(unix)]
/// Arranges what happens in the child between fork and exec.
fn before_exec(
    command: &mut Command,
    descriptors: Vec<RawFd>,
    has_terminal: bool,
    entry: crate::cap::Entry,
) {
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only async-signal-safe calls may be made: the closure makes plain system calls,
    // allocates nothing and takes no lock. The descriptors stay open in the parent until the child has started,
    // because the wrap that owns them lives in the `Running`.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            if has_terminal {
                // The session is new, so the terminal that becomes its own is this one and never the caller's.
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            }
            #[cfg(target_os = "linux")]
            {
                use rustix::process::Signal;
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
                // The parent may have ended before the line above: then no signal will ever come.
                if rustix::process::getppid() != Some(parent) {
                    return Err(io::Error::from_raw_os_error(libc::ECANCELED));
                }
            }
            entry.enter();
            keep(&descriptors)
        });
    }
    let _ = parent;
}

#[cfg(unix)]
/// Arranges that the descriptors of a wrap are still open when its program starts.
pub(crate) fn keep_open(command: &mut std::process::Command, wrap: &Wrap) {
    use std::os::unix::process::CommandExt;
    let descriptors = descriptors(wrap);
    // SAFETY: as above; the wrap lives until the child has started because the caller holds it.
    unsafe {
        command.pre_exec(move || keep(&descriptors));
    }
}

#[cfg(unix)]
/// Lets exactly these descriptors pass, and input, output and errors. Runs between fork and exec.
pub(crate) fn keep(descriptors: &[RawFd]) -> io::Result<()> {
    // What this process was itself given without the close-on-exec flag would pass too: a lock, a socket, a pipe.
    // Kernels before 5.11 do not know the call; there only our own descriptors, which all have the flag, stay back.
    #[cfg(target_os = "linux")]
    // SAFETY: changes flags of descriptors and touches no memory.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
    for &fd in descriptors {
        // SAFETY: changes a flag of a descriptor and touches no memory.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(unix)]
fn descriptors(wrap: &Wrap) -> Vec<RawFd> {
    wrap.descriptors.iter().map(|fd| fd.as_raw_fd()).collect()
}
