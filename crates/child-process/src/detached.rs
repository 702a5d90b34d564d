//! Starts a program that lives on when this one ends: a session of its own, no terminal, output into a file, and nobody's
//! [mark](crate::mark).

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A program to be left running.
#[derive(Clone, Debug)]
pub struct Detached {
    /// The program, as a path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Its folder.
    pub cwd: PathBuf,
}

impl Detached {
    /// Starts it. What it prints is appended to `output`, which only its owner may read. Returns its process id; nobody
    /// waits for it.
    ///
    /// # Errors
    /// When the file cannot be opened or the program cannot be started.
    pub fn start(&self, output: &Path) -> io::Result<u32> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(output)?;
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(&self.env)
            // Whoever owns this process does not own what outlives it.
            .env(crate::mark::VARIABLE, "")
            .current_dir(&self.cwd)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file);
        #[cfg(unix)]
        session::of_its_own(&mut command);
        Ok(command.spawn()?.id())
    }
}

#[cfg(unix)]
mod session {
    #![allow(
        unsafe_code,
        reason = "the lines between fork and exec have no safe binding"
    )]

    use std::{os::unix::process::CommandExt, process::Command};

    /// Arranges that the program leads a session of its own and holds no descriptor of ours.
    pub(super) fn of_its_own(command: &mut Command) {
        // SAFETY: between fork and exec only async-signal-safe calls may be made: the closure makes plain system calls,
        // allocates nothing and takes no lock.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                crate::start::keep(&[])
            });
        }
    }
}
