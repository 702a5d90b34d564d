//! The streams that this process was started with.

use tokio::io::{AsyncRead, AsyncWrite};

/// Its stdin. A pipe is waited for by the runtime, anything else by a thread of its own.
#[must_use]
pub fn stdin() -> Box<dyn AsyncRead + Unpin + Send> {
    #[cfg(target_os = "linux")]
    if let Ok(pipe) = pipes().open_receiver("/proc/self/fd/0") {
        return Box::new(pipe);
    }
    Box::new(tokio::io::stdin())
}

/// Its stdout, in the same way.
#[must_use]
pub fn stdout() -> Box<dyn AsyncWrite + Unpin + Send> {
    #[cfg(target_os = "linux")]
    if let Ok(pipe) = pipes().open_sender("/proc/self/fd/1") {
        return Box::new(pipe);
    }
    Box::new(tokio::io::stdout())
}

/// Opens a pipe anew: that it does not block then is our affair alone, and nobody's who shares the old opening. What is
/// no pipe, or another user's, is refused.
#[cfg(target_os = "linux")]
fn pipes() -> tokio::net::unix::pipe::OpenOptions {
    tokio::net::unix::pipe::OpenOptions::new()
}
