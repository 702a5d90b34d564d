//! A program to be started: what, with which arguments, where and wrapped in what.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{Env, Wrap};

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
}

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
