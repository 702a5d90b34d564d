//! `AGENTS.md` and `CLAUDE.md`, read in order under a budget.

use std::path::PathBuf;

/// The instruction files of a session.
#[derive(Clone, Debug, Default)]
pub struct Instructions {
    /// The files that fit, in order.
    pub files: Vec<InstructionFile>,
    /// What was left out and why, for the person.
    pub notices: Vec<String>,
}

/// One instruction file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFile {
    /// Where it lies, absolute.
    pub path: PathBuf,
    /// Its text with its includes.
    pub text: String,
}
