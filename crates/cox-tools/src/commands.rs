//! How this session runs commands: the sandbox, the environment and the shell.

/// How this session runs commands.
#[derive(Debug)]
pub struct Commands {}
