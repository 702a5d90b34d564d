//! What a sandbox put around a program.

use std::{any::Any, ffi::OsString, fmt, path::PathBuf, sync::Arc};

/// An argv prefix: the program that starts the real program, and what it needs.
#[derive(Clone, Default)]
pub struct Wrap {
    /// The program that is started instead.
    pub program: PathBuf,
    /// Its arguments; the real program and its arguments follow them.
    pub args: Vec<OsString>,
    /// Variables that are set over the child's own, such as `TMPDIR`.
    pub env: Vec<(OsString, OsString)>,
    /// Descriptors that the wrapping program finds open under the same numbers.
    #[cfg(unix)]
    pub descriptors: Vec<Arc<std::os::fd::OwnedFd>>,
    /// What must live until the child has ended; dropped then.
    pub keep: Vec<Arc<dyn Any + Send + Sync>>,
}

impl fmt::Debug for Wrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wrap")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env)
            .finish_non_exhaustive()
    }
}
