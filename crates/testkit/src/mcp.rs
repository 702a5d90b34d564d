//! MCP servers that misbehave on purpose, and the official conformance suite.
//!
//! [`Chaos`] is a server whose every answer, delay, close and byte a test chooses, and which writes down what it received.
//! Real peers that nobody of us wrote are in [`crate::peers::mcp`].

mod behaviour;
mod chaos;
pub mod conformance;
mod question;
mod received;
mod reply;
mod running;
#[cfg(test)]
mod tests;

pub use behaviour::{Behaviour, Script};
pub use chaos::{Chaos, Cursors};
pub use question::Question;
pub use received::{Entry, Received};
pub use reply::Reply;
pub use running::{HttpChaos, StdioChaos};

use std::process::Command;

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The program, a name or an absolute path.
    pub program: String,
    /// Its arguments, without the program.
    pub args: Vec<String>,
}

impl CommandLine {
    /// Returns a command line.
    pub fn new(program: impl Into<String>, args: &[&str]) -> Self {
        Self {
            program: program.into(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Returns it ready to be started.
    pub fn to_command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        command
    }
}
