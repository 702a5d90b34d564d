//! A program to be started: what, with which arguments, where and wrapped in what.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{Env, Mark, Wrap};

/// A program to be started. Until it is told otherwise: no arguments, no environment, no input, one pipe for all output.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Env,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) wrap: Option<Wrap>,
    pub(crate) stdin: Stdin,
    pub(crate) output: Output,
    pub(crate) max_processes: u64,
    pub(crate) mark: Option<Mark>,
}

/// Most processes and threads of one program and what it starts, unless told otherwise: far above any build, far below
/// what takes a machine with it.
pub const MAX_PROCESSES: u64 = 8_192;

/// What a child reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: `/dev/null`.
    #[default]
    Null,
    /// These bytes, then the end. Only [`Program::run`] writes them.
    Bytes(Vec<u8>),
    /// A pipe that the caller writes to.
    Pipe,
}

/// Where a child writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// Both streams into one pipe, in the order they were written.
    #[default]
    Merged,
    /// Each stream into its own pipe.
    Separate,
    /// Both streams onto a pseudo-terminal of its own, which is its input and controlling terminal too: 120 by 40, no
    /// echo, output as it was written. [`Program::run`] types the end of input now and then, so nothing waits for a
    /// person. Where the system has no pseudo-terminals, as [`Output::Merged`].
    Terminal,
}

impl Program {
    /// Makes a program from its path. A bare name is looked up on the `PATH` of the child's environment.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Env::empty(),
            cwd: None,
            wrap: None,
            stdin: Stdin::Null,
            output: Output::Merged,
            max_processes: MAX_PROCESSES,
            mark: None,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the whole environment.
    #[must_use]
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// Sets the folder it starts in.
    #[must_use]
    pub fn cwd(mut self, cwd: impl AsRef<Path>) -> Self {
        self.cwd = Some(cwd.as_ref().to_owned());
        self
    }

    /// Sets what it is wrapped in; none runs it bare.
    #[must_use]
    pub fn wrap(mut self, wrap: Option<Wrap>) -> Self {
        self.wrap = wrap;
        self
    }

    /// Sets what it reads.
    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Sets where it writes.
    #[must_use]
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Sets how many processes and threads it and what it starts may have at a time. The kernel holds root to it by a
    /// control group where one can be made, others by a limit of their user; elsewhere it is looked at now and then.
    #[must_use]
    pub fn max_processes(mut self, max: u64) -> Self {
        self.max_processes = max;
        self
    }

    /// Marks it, and what it starts, as its owner's: what is left of it can then be found when the owner is gone.
    #[must_use]
    pub fn mark(mut self, mark: Mark) -> Self {
        self.mark = Some(mark);
        self
    }

    /// Returns the program and its arguments as a person would type them, without what they are wrapped in. For
    /// messages: nothing is started from it.
    #[must_use]
    pub fn command_line(&self) -> String {
        let words = std::iter::once(self.program.as_os_str())
            .chain(self.args.iter().map(OsString::as_os_str));
        words
            .map(|word| quoted(&word.to_string_lossy()))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Returns the program and the arguments that are really started, the wrap in front.
    pub(crate) fn argv(&self) -> (PathBuf, Vec<OsString>) {
        match &self.wrap {
            None => (self.program.clone(), self.args.clone()),
            Some(wrap) => {
                let mut args = wrap.args.clone();
                args.push(self.program.clone().into_os_string());
                args.extend(self.args.iter().cloned());
                (wrap.program.clone(), args)
            }
        }
    }
}

/// A word as a shell would want it typed.
fn quoted(word: &str) -> String {
    let plain =
        |character: char| character.is_ascii_alphanumeric() || "-_./=:,@%+".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
