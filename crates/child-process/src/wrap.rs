//! What a sandbox put around a program.

use std::{any::Any, ffi::OsString, fmt, path::PathBuf, sync::Arc};

use crate::LeftBehind;

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
    /// The end to read of a pipe, on which the wrapping program says what the command left behind: a
    /// [report](crate::LeftBehind::to_report). It is whole when the wrapping program has ended.
    #[cfg(unix)]
    pub report: Option<Arc<std::os::fd::OwnedFd>>,
    /// How many generations of processes, the first one counted, are the wrap's own and end when what they hold has
    /// ended. They are not asked to end: they would take it along without a word.
    pub generations: usize,
    /// What must live until the child has ended; dropped then.
    pub keep: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Wrap {
    /// Returns what the wrapping program said was left behind, without waiting.
    pub(crate) fn reported(&self) -> Option<LeftBehind> {
        #[cfg(unix)]
        {
            let pipe = self.report.as_ref()?;
            let mut bytes = vec![0; 4096];
            // The other end may still be open somewhere: what is not there now never comes.
            rustix::io::ioctl_fionbio(pipe, true).ok()?;
            let read = rustix::io::read(pipe, &mut bytes).ok()?;
            LeftBehind::from_report(&String::from_utf8_lossy(bytes.get(..read)?))
        }
        #[cfg(not(unix))]
        None
    }
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
