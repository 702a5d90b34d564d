//! Running a program to its end: all its output as it comes, a deadline, and the end of the whole tree.

use std::{
    future::{Future, poll_fn},
    io,
    pin::{Pin, pin},
    process::ExitStatus,
    task::Poll,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncWriteExt, ReadBuf},
    time::{sleep, timeout},
};

use crate::{LeftBehind, Program, StartError, Stdin, Wrap, start::PipeReader};

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the start until the tree is ended by force.
    pub deadline: Duration,
    /// Between asking to end and killing.
    pub grace: Duration,
    /// How long output is still read after everything has ended, when something holds the pipe.
    pub drain: Duration,
}

impl Limits {
    /// Makes limits with this deadline, two seconds of grace and half a second of draining.
    pub fn deadline(deadline: Duration) -> Self {
        Self {
            deadline,
            grace: Duration::from_secs(2),
            drain: Duration::from_millis(500),
        }
    }
}

/// Which pipe bytes came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// The output, or both streams when they are merged.
    Out,
    /// The errors.
    Err,
}

/// How a program came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It ended by itself with this code.
    Code(i32),
    /// A signal that we did not send ended it.
    Signal(i32),
    /// It was ended because its deadline passed.
    TimedOut,
    /// It was ended because the caller cancelled.
    Cancelled,
    /// It was killed because it and what it started had more processes than the limit.
    TooMany,
}

/// What is known of a program that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub exit: Exit,
    /// From start to end.
    pub elapsed: Duration,
    /// What it had left behind when it ended by itself, and that was ended with it.
    pub left_behind: LeftBehind,
    /// Process ids of what could not be ended, ascending.
    pub survivors: Vec<i32>,
}

enum Cause {
    Ended(io::Result<ExitStatus>),
    TimedOut,
    Cancelled,
    TooMany,
}

impl Program {
    /// Runs the program to its end, and with it everything it started.
    ///
    /// Output goes to `sink` as it comes and is not kept. When the program ends, is cancelled or passes its deadline,
    /// the whole tree is ended: a grandchild that holds the pipe never keeps this from returning.
    ///
    /// # Errors
    ///
    /// [`StartError`] when nothing ran.
    pub async fn run(
        self,
        limits: Limits,
        cancel: impl Future<Output = ()>,
        sink: &mut (dyn FnMut(Pipe, &[u8]) + Send),
    ) -> Result<Ended, StartError> {
        let begun = Instant::now();
        let input = match &self.stdin {
            Stdin::Bytes(bytes) => Some(bytes.clone()),
            Stdin::Null | Stdin::Pipe => None,
        };
        let mut running = self.start().await?;
        let mut pump = Pump::new(running.stdout.take(), running.stderr.take(), sink);
        let stdin = running.stdin.take();
        #[cfg(unix)]
        let keyboard = running.keyboard.take();
        let feed = async move {
            #[cfg(unix)]
            if let Some(keyboard) = keyboard {
                type_the_end(&keyboard).await;
            }
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // A program may close its input early; its exit code tells the rest.
                let _closed = stdin.write_all(&input).await;
            }
            std::future::pending::<()>().await;
        };
        let cause = {
            let ended = async {
                tokio::select! {
                    biased;
                    () = running.tree.outgrown() => Cause::TooMany,
                    status = running.child.wait() => match status {
                        Ok(status) if !status.success() && running.tree.was_outgrown() => Cause::TooMany,
                        status => Cause::Ended(status),
                    },
                    () = sleep(limits.deadline) => Cause::TimedOut,
                    () = cancel => Cause::Cancelled,
                    () = feed => unreachable!("feeding never completes"),
                }
            };
            pump.until(ended).await
        };
        let by_itself = matches!(cause, Cause::Ended(_));
        if by_itself {
            pump.until(running.tree.settle()).await;
        }
        if matches!(cause, Cause::TooMany) {
            // What is left after this is asked and killed once more below, and named if it cannot be ended.
            pump.until(running.tree.kill()).await;
        }
        let outcome = pump.until(running.tree.end(limits.grace)).await;
        let _still_held = timeout(limits.drain, pump.drained()).await;
        if !by_itself {
            // Where no tree can be seen, the program itself is what we can end.
            let _gone = running.child.start_kill();
            // Reaps the leader; it was killed, so this is short unless the kernel cannot let it go.
            let _reaped = timeout(Duration::from_secs(1), running.child.wait()).await;
        }
        let exit = match cause {
            Cause::Ended(Ok(status)) => match (status.code(), signal_of(status)) {
                (Some(code), _) => Exit::Code(code),
                (None, Some(signal)) => Exit::Signal(signal),
                (None, None) => Exit::Code(-1),
            },
            Cause::Ended(Err(_)) => Exit::Code(-1),
            Cause::TimedOut => Exit::TimedOut,
            Cause::Cancelled => Exit::Cancelled,
            Cause::TooMany => Exit::TooMany,
        };
        let mut left_behind = LeftBehind::default();
        if by_itself {
            // What a wrap ended inside is seen by nobody outside.
            let reported = running.wrap.as_ref().and_then(Wrap::reported);
            let reported = reported.unwrap_or_default();
            left_behind.count = reported.count + outcome.ended.count;
            left_behind.names = reported.names;
            left_behind.names.extend(outcome.ended.names);
            left_behind.names.truncate(LeftBehind::NAMES);
        }
        Ok(Ended {
            exit,
            elapsed: begun.elapsed(),
            left_behind,
            survivors: outcome.survivors,
        })
    }
}

/// Types the end of input again and again: a program that asks for a password discards what was typed before.
#[cfg(unix)]
async fn type_the_end(keyboard: &std::os::fd::OwnedFd) {
    loop {
        // Full, or nobody there any more: both are no reason to wait for anything.
        let _full = rustix::io::write(keyboard, &[crate::terminal::END_OF_INPUT]);
        sleep(Duration::from_millis(50)).await;
    }
}

#[cfg(unix)]
fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal_of(_status: ExitStatus) -> Option<i32> {
    None
}

/// Moves bytes from the pipes to the sink while something else is waited for.
struct Pump<'a> {
    pipes: [(Pipe, Option<PipeReader>); 2],
    buffer: Box<[u8]>,
    sink: &'a mut (dyn FnMut(Pipe, &[u8]) + Send),
}

impl<'a> Pump<'a> {
    fn new(
        out: Option<PipeReader>,
        err: Option<PipeReader>,
        sink: &'a mut (dyn FnMut(Pipe, &[u8]) + Send),
    ) -> Self {
        let buffer = vec![0; 64 * 1024].into_boxed_slice();
        Self {
            pipes: [(Pipe::Out, out), (Pipe::Err, err)],
            buffer,
            sink,
        }
    }

    /// Pumps until `other` completes, and returns what it gave. `other` is polled before every read, so that a flood
    /// of output cannot keep a deadline from being seen.
    async fn until<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
        loop {
            let step = poll_fn(|cx| {
                if let Poll::Ready(value) = other.as_mut().poll(cx) {
                    return Poll::Ready(Some(value));
                }
                self.poll_once(cx).map(|()| None)
            });
            if let Some(value) = step.await {
                return value;
            }
            tokio::task::consume_budget().await;
        }
    }

    /// Pumps until every pipe has ended.
    async fn drained(&mut self) {
        while self.pipes.iter().any(|(_, pipe)| pipe.is_some()) {
            poll_fn(|cx| self.poll_once(cx)).await;
            tokio::task::consume_budget().await;
        }
    }

    /// Ready when some bytes were moved or a pipe has ended.
    fn poll_once(&mut self, cx: &mut std::task::Context<'_>) -> Poll<()> {
        let mut progress = Poll::Pending;
        for (name, slot) in &mut self.pipes {
            let Some(pipe) = slot else { continue };
            let mut buffer = ReadBuf::new(&mut self.buffer);
            match Pin::new(pipe).poll_read(cx, &mut buffer) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    (self.sink)(*name, buffer.filled());
                    progress = Poll::Ready(());
                }
                Poll::Ready(_) => {
                    *slot = None;
                    progress = Poll::Ready(());
                }
            }
        }
        progress
    }
}
