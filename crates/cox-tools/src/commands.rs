//! How this session runs commands: the sandbox, the environment and the shell.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use child_process::{Ended, Env, Exit, Limits, Output, Pipe, Program, Wrap, find_program};
use sandbox::{Choice, Denial, Detected, Mode, Policy};
use tokio_util::sync::CancellationToken;

use crate::{ToolError, tasks::Tasks};

mod denied;

pub use denied::{DeniedFiles, Expanded, Limit};

/// Folders that shells are found in. Never `PATH`: a workspace may be on it.
const SHELL_FOLDERS: [&str; 5] = [
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/run/current-system/sw/bin",
];

/// Shells that may be asked for.
pub const SHELLS: [&str; 5] = ["bash", "sh", "zsh", "dash", "fish"];

/// Between asking a command to end and killing it.
const GRACE: Duration = Duration::from_secs(2);

/// How much of the end of an output is kept to read a denial from, in bytes.
const TAIL: usize = 16 * 1024;

/// Most output of one command, in bytes; what prints more is stuck, and is ended before it fills the disk.
const MAX_OUTPUT: u64 = 4 << 30;

/// What commands are run with.
#[derive(Clone, Debug)]
pub struct CommandSettings {
    /// What a command may touch.
    pub policy: Policy,
    /// Which sandbox is wanted.
    pub choice: Choice,
    /// The program that confines itself: this binary, which calls [`sandbox::helper_main`] for its hidden subcommand.
    pub helper: PathBuf,
    /// The caller's whole environment; what passes to a command is on a short list.
    pub env: BTreeMap<OsString, OsString>,
    /// Where commands start. Absolute.
    pub cwd: PathBuf,
    /// The timeout of a call that names none.
    pub default_timeout: Duration,
    /// The longest timeout that a call may name.
    pub max_timeout: Duration,
}

/// How this session runs commands.
#[derive(Clone, Debug)]
pub struct Commands {
    settings: Arc<CommandSettings>,
    detected: Arc<OnceLock<Detected>>,
    /// At most the policy's, unless a person lifted it.
    mode: Mode,
    /// What is hidden besides the policy's, found whenever a command is about to run.
    denied: Option<DeniedFiles>,
    tasks: Arc<Tasks>,
}

/// A command that is ready to run.
pub(crate) struct Ready {
    program: Program,
    policy: Policy,
}

/// A command that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub ended: Ended,
    /// What the sandbox refused, where the output says so.
    pub denial: Option<Denial>,
    /// How much it printed, in bytes.
    pub bytes: u64,
    /// Whether a NUL was among it, which no text has.
    pub is_binary: bool,
    /// Whether the output's last byte is a line's end, or there was none.
    pub ends_with_newline: bool,
    /// Whether it was ended because it printed too much.
    pub is_flood: bool,
}

impl Commands {
    /// Makes commands that run so. Nothing is run, and no sandbox is looked for, until the first command.
    pub fn new(settings: CommandSettings) -> Self {
        let mode = settings.policy.mode;
        Self {
            settings: Arc::new(settings),
            detected: Arc::new(OnceLock::new()),
            mode,
            denied: None,
            tasks: Arc::default(),
        }
    }

    /// Returns the same with these files hidden too.
    #[must_use]
    pub fn hiding(self, denied: DeniedFiles) -> Self {
        Self {
            denied: Some(denied),
            ..self
        }
    }

    /// Returns what was asked to be hidden besides the policy's.
    pub fn denied(&self) -> Option<&DeniedFiles> {
        self.denied.as_ref()
    }

    /// Returns the commands that run in the background.
    pub fn tasks(&self) -> &Arc<Tasks> {
        &self.tasks
    }

    /// Returns the same without a sandbox. For a call that a person allowed to run so.
    #[must_use]
    pub fn bare(&self) -> Self {
        Self {
            mode: Mode::DangerFullAccess,
            ..self.clone()
        }
    }

    /// Returns the same under `mode`, or under the mode of the policy where that allows less.
    #[must_use]
    pub fn with_mode(&self, mode: Mode) -> Self {
        Self {
            mode: mode.min(self.settings.policy.mode),
            ..self.clone()
        }
    }

    /// Returns the same with nothing writable but a private temporary folder.
    #[must_use]
    pub fn read_only(&self) -> Self {
        self.with_mode(Mode::ReadOnly)
    }

    /// Returns the mode that commands run under.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns what commands are run with.
    pub fn settings(&self) -> &CommandSettings {
        &self.settings
    }

    /// Returns the sandbox of this machine. The first call runs a probe, about 12 ms.
    pub fn detected(&self) -> &Detected {
        self.detected
            .get_or_init(|| sandbox::detect(self.settings.choice, &self.settings.helper))
    }

    /// Returns the shell that a call asked for, or the usual one.
    ///
    /// # Errors
    ///
    /// [`ToolError::NotFound`] names the folders that were searched.
    pub fn shell(&self, name: Option<&str>) -> Result<PathBuf, ToolError> {
        let wanted = match &name {
            Some(name) => std::slice::from_ref(name),
            None => &SHELLS[..2],
        };
        wanted
            .iter()
            .filter(|name| SHELLS.contains(name))
            .find_map(|name| find_program(name, SHELL_FOLDERS))
            .ok_or_else(|| {
                ToolError::NotFound(format!(
                    "no shell `{}` in {}\nhint: leave `shell` out to use the one that is there",
                    wanted.join("` or `"),
                    SHELL_FOLDERS.join(", ")
                ))
            })
    }

    /// Runs a shell line to its end, and with it everything it started. Output goes to `sink` as it comes.
    ///
    /// # Errors
    ///
    /// [`ToolError::Refused`] when the sandbox cannot hold the command, [`ToolError::Io`] when it could not be
    /// started: nothing ran then.
    pub async fn run(
        &self,
        line: &str,
        shell: &Path,
        timeout: Duration,
        cancel: &CancellationToken,
        sink: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<Ran, ToolError> {
        let ready = self.ready(line, shell, false).await?;
        ready.run(timeout, cancel, sink).await
    }

    /// Wraps a shell line in the sandbox. Nothing runs yet; what is hidden is looked for now.
    pub(crate) async fn ready(
        &self,
        line: &str,
        shell: &Path,
        pty: bool,
    ) -> Result<Ready, ToolError> {
        let settings = &self.settings;
        let policy = Policy {
            mode: self.mode,
            ..settings.policy.clone()
        };
        let (policy, wrap) = if policy.mode == Mode::DangerFullAccess {
            (policy, None)
        } else {
            let commands = self.clone();
            // Looks at every folder of the workspace.
            let wrapping = tokio::task::spawn_blocking(move || commands.wrap(policy));
            wrapping.await.map_err(|error| {
                ToolError::Refused(format!("the sandbox could not be made: {error}"))
            })??
        };
        let program = Program::new(shell)
            .args(["-c", line])
            .env(if pty {
                self.environment().set("TERM", "dumb")
            } else {
                self.environment()
            })
            .cwd(&settings.cwd)
            .wrap(wrap)
            .output(if pty {
                Output::Terminal
            } else {
                Output::Merged
            });
        Ok(Ready { program, policy })
    }

    /// Returns the policy with what is hidden now, and the wrap that holds a command to it.
    fn wrap(&self, mut policy: Policy) -> Result<(Policy, Option<Wrap>), ToolError> {
        if let Some(denied) = &self.denied {
            let found = denied.expand();
            if let Some(limit) = found.stopped_by {
                return Err(ToolError::Refused(format!(
                    "no command can run: the files that `Read` denies with wildcards must be hidden from it, and {limit}\n                     hint: narrow those rules, for example to a folder; or run without a sandbox: `--sandbox danger-full-access`"
                )));
            }
            policy.hidden.extend(found.paths);
        }
        let wrap = sandbox::wrap(self.detected(), &policy, &self.settings.cwd)
            .map_err(|refused| ToolError::Refused(refused.to_string()))?;
        Ok((policy, wrap))
    }

    /// Returns what a command finds in its environment: no key of a provider, and nothing that waits for a person.
    fn environment(&self) -> Env {
        Env::allowlisted(&self.settings.env)
            .set("NO_COLOR", "1")
            .set("PAGER", "cat")
            .set("GIT_PAGER", "cat")
            .set("GIT_TERMINAL_PROMPT", "0")
    }
}

impl Ready {
    /// Runs the command to its end, and with it everything it started.
    pub(crate) async fn run(
        self,
        timeout: Duration,
        cancel: &CancellationToken,
        sink: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<Ran, ToolError> {
        let Self { program, policy } = self;
        let limits = Limits {
            grace: GRACE,
            ..Limits::deadline(timeout)
        };
        let flood = CancellationToken::new();
        let stop = async {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = flood.cancelled() => {}
            }
        };
        let mut tail = Tail::default();
        let (mut total, mut is_binary) = (0_u64, false);
        let ended = program
            .run(limits, stop, &mut |_: Pipe, bytes: &[u8]| {
                tail.push(bytes);
                total = total.saturating_add(bytes.len() as u64);
                is_binary |= bytes.contains(&0);
                if total > MAX_OUTPUT {
                    flood.cancel();
                } else {
                    sink(bytes);
                }
            })
            .await
            .map_err(|error| {
                let source = std::error::Error::source(&error);
                ToolError::Refused(match source {
                    Some(source) => format!("{error}: {source}"),
                    None => error.to_string(),
                })
            })?;
        let denial = match ended.exit {
            Exit::Code(code) => sandbox::denial(code, &tail.text(), &policy),
            Exit::Signal(_) | Exit::TimedOut | Exit::Cancelled | Exit::TooMany => None,
        };
        Ok(Ran {
            ended,
            denial,
            bytes: total,
            is_binary,
            is_flood: flood.is_cancelled(),
            ends_with_newline: tail.bytes.last().is_none_or(|&byte| byte == b'\n'),
        })
    }
}

/// The last bytes of an output, at most twice [`TAIL`].
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        let kept = bytes
            .get(bytes.len().saturating_sub(TAIL)..)
            .unwrap_or(bytes);
        self.bytes.extend_from_slice(kept);
        if self.bytes.len() > 2 * TAIL {
            self.bytes.drain(..self.bytes.len() - TAIL);
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
