//! Running a small program to its end without a runtime: probes and version questions.

use std::{
    io::Read,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{Program, StartError};

/// What a brief run gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// The exit code; none when a signal or the deadline ended it.
    pub code: Option<i32>,
    /// What it printed to its output, at most 64 KiB.
    pub stdout: Vec<u8>,
    /// What it printed to its errors, at most 64 KiB.
    pub stderr: Vec<u8>,
}

/// Largest output of a brief run, in bytes per stream; a program that prints more is stuck and ends by its deadline.
const LIMIT: u64 = 64 * 1024;

/// Runs a program that ends at once, blocking this thread. Input and process group are not those of the caller.
///
/// # Errors
///
/// [`StartError`] when it could not be started.
pub fn run_briefly(program: &Program, deadline: Duration) -> Result<Brief, StartError> {
    let (path, args) = program.argv();
    let mut command = Command::new(&path);
    command.args(args).env_clear().envs(program.env.iter());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    if let Some(cwd) = &program.cwd {
        command.current_dir(cwd);
    }
    if let Some(wrap) = &program.wrap {
        command.envs(wrap.env.iter().map(|(name, value)| (name, value)));
        #[cfg(unix)]
        crate::start::keep_open(&mut command, wrap);
    }
    if let Some(mark) = &program.mark {
        command.env(crate::mark::VARIABLE, mark.as_str());
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| StartError::Program {
        program: path,
        source,
    })?;
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let until = Instant::now() + deadline;
    let code = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.code(),
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(1)),
            Ok(None) | Err(_) => {
                kill(&mut child);
                let _reaped = child.wait();
                break None;
            }
        }
    };
    // A grandchild may hold the pipes; what has not come by the deadline is not waited for.
    let take = |reader: Option<std::sync::mpsc::Receiver<Vec<u8>>>| {
        let left = until
            .saturating_duration_since(Instant::now())
            .max(Duration::from_millis(50));
        reader
            .and_then(|reader| reader.recv_timeout(left).ok())
            .unwrap_or_default()
    };
    Ok(Brief {
        code,
        stdout: take(stdout),
        stderr: take(stderr),
    })
}

fn collect(from: impl Read + Send + 'static) -> std::sync::mpsc::Receiver<Vec<u8>> {
    let (send, receive) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ended = from.take(LIMIT).read_to_end(&mut bytes);
        let _unheard = send.send(bytes);
    });
    receive
}

/// Kills the child, and with it what is in its group.
fn kill(child: &mut std::process::Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    {
        let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _gone = child.kill();
}
