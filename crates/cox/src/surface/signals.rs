//! The signals that stop a run, and the watch that a second one ends the process whatever else it is doing.
//!
//! A signal that was ignored when the process started stays ignored: `nohup` and a shell that starts a job in the
//! background say so that way.

use std::time::Duration;

use tokio::sync::mpsc;

use crate::exit::Exit;

/// How long a run may take to end after a second signal. A reader of stdout that stands still must not keep it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Who stops a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A person, by SIGINT.
    Person,
    /// A supervisor, by SIGTERM.
    Terminate,
    /// The terminal went away: SIGHUP.
    HangUp,
}

impl Stop {
    /// Returns how the process ends when nothing else says so.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Self::Person => Exit::Interrupted,
            Self::Terminate => Exit::Terminated,
            Self::HangUp => Exit::HungUp,
        }
    }
}

/// The signals of this process, from now on.
#[derive(Debug)]
pub(crate) struct Signals {
    received: mpsc::Receiver<Stop>,
}

impl Signals {
    /// Listens, on a task of its own: the run may stand still in a write to stdout.
    pub(crate) fn listen() -> Self {
        // Two are all that is ever told.
        let (told, received) = mpsc::channel(2);
        let mut listeners = Listeners::start();
        tokio::spawn(async move {
            let mut count = 0;
            loop {
                let stop = listeners.next().await;
                count += 1;
                let _run_has_ended = told.try_send(stop);
                if count == 2 {
                    tokio::time::sleep(LAST_WORDS).await;
                    end_now(stop);
                }
            }
        });
        Self { received }
    }

    /// Waits for the next one; for ever when there are none.
    pub(crate) async fn next(&mut self) -> Stop {
        match self.received.recv().await {
            Some(stop) => stop,
            None => std::future::pending().await,
        }
    }
}

#[expect(
    clippy::exit,
    reason = "a second signal must end the process whatever it is doing"
)]
fn end_now(stop: Stop) -> ! {
    std::process::exit(stop.exit().code().into())
}

#[cfg(unix)]
use unix::Listeners;

#[cfg(unix)]
mod unix {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::Stop;

    #[derive(Debug)]
    pub(super) struct Listeners {
        interrupt: Option<Signal>,
        terminate: Option<Signal>,
        hang_up: Option<Signal>,
    }

    impl Listeners {
        pub(super) fn start() -> Self {
            // Before the first listener, which changes it.
            let ignored = ignored();
            // Where a handler cannot be set the signal keeps its default: it ends the process.
            let listen = |kind: SignalKind| {
                let bit = 1_u64 << (kind.as_raw_value() - 1);
                (ignored & bit == 0).then(|| signal(kind).ok()).flatten()
            };
            Self {
                interrupt: listen(SignalKind::interrupt()),
                terminate: listen(SignalKind::terminate()),
                hang_up: listen(SignalKind::hangup()),
            }
        }

        pub(super) async fn next(&mut self) -> Stop {
            async fn one(signal: &mut Option<Signal>) {
                let received = match signal {
                    Some(signal) => signal.recv().await,
                    None => None,
                };
                if received.is_none() {
                    std::future::pending::<()>().await;
                }
            }
            tokio::select! {
                () = one(&mut self.interrupt) => Stop::Person,
                () = one(&mut self.terminate) => Stop::Terminate,
                () = one(&mut self.hang_up) => Stop::HangUp,
            }
        }
    }

    /// Returns the signals that this process ignores, bit 0 for signal 1; none where the system does not tell.
    fn ignored() -> u64 {
        std::fs::read_to_string("/proc/self/status")
            .ok()
            .and_then(|status| {
                let line = status
                    .lines()
                    .find_map(|line| line.strip_prefix("SigIgn:"))?;
                u64::from_str_radix(line.trim(), 16).ok()
            })
            .unwrap_or(0)
    }
}

#[cfg(not(unix))]
#[derive(Debug)]
struct Listeners;

#[cfg(not(unix))]
impl Listeners {
    fn start() -> Self {
        Self
    }

    async fn next(&mut self) -> Stop {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Stop::Person
    }
}
