//! A program that speaks over its standard streams: one message a line.
//!
//! One task writes, one reads stdout, one reads stderr, one owns the process. Junk on stdout is skipped and quoted, a
//! line over the limit fails only its own request, and whatever happens to the process, every open request is told.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use child_process::{Output, Program, Running, Stdin};
use mcp_wire::lines::{Line, Lines, TooLong};
use mcp_wire::{Frame, Id, Notification, Object, Response, Revision, method};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use untrusted_text::Untrusted;

use super::{Answered, Broken, Exchange, MESSAGES, Outgoing, Stray, Transport};
use crate::failure::{Cause, Delivery};

mod tail;

use tail::Tail;

/// How many lines of junk in a row end the connection.
const MAX_JUNK: usize = 1_000;
/// How much of a junk line is quoted.
const QUOTED: usize = 200;
/// How long the streams of a program that ended are still read.
const DRAIN: Duration = Duration::from_millis(500);

/// The connection.
pub(crate) struct Stdio {
    shared: Arc<Shared>,
    closing: mpsc::Sender<(Duration, oneshot::Sender<Vec<i32>>)>,
    shutdown: Duration,
}

struct Shared {
    outbound: mpsc::UnboundedSender<Outbound>,
    strays: mpsc::Sender<Stray>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pending: HashMap<Id, Pending>,
    /// Why the connection is gone, once it is.
    closed: Option<Broken>,
    stderr: Tail,
    junk: Junk,
}

#[derive(Default)]
struct Junk {
    first: Option<String>,
    lines: usize,
    in_a_row: usize,
}

struct Pending {
    messages: mpsc::Sender<Frame>,
    answer: oneshot::Sender<Answered>,
    written: Arc<AtomicBool>,
}

struct Outbound {
    line: Vec<u8>,
    /// Set as soon as the first byte may have left.
    written: Option<Arc<AtomicBool>>,
}

impl Stdio {
    /// Starts the program.
    ///
    /// # Errors
    /// When it cannot be started: nothing runs then.
    pub(crate) async fn start(
        program: Program,
        limit: usize,
        shutdown: Duration,
        strays: mpsc::Sender<Stray>,
    ) -> Result<Self, Broken> {
        let program = program.stdin(Stdin::Pipe).output(Output::Separate);
        let mut running = program.start().await.map_err(|error| {
            let source = std::error::Error::source(&error)
                .map(|source| format!(": {source}"))
                .unwrap_or_default();
            Broken::new(Delivery::NotSent, Cause::Start, format!("{error}{source}"))
        })?;
        let missing = || Broken::new(Delivery::NotSent, Cause::Start, "the system gave no pipe");
        let stdin = running.stdin.take().ok_or_else(missing)?;
        let stdout = running.stdout.take().ok_or_else(missing)?;
        let stderr = running.stderr.take().ok_or_else(missing)?;
        let (outbound, queue) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            outbound,
            strays,
            state: Mutex::default(),
        });
        let (ended_in, ended) = watch::channel(None);
        let (closing, close_requests) = mpsc::channel(1);
        let hang_up = CancellationToken::new();
        tokio::spawn(write(stdin, queue, hang_up.clone(), Arc::clone(&shared)));
        tokio::spawn(read_stderr(stderr, Arc::clone(&shared)));
        tokio::spawn(read_stdout(stdout, limit, ended, Arc::clone(&shared)));
        tokio::spawn(own(running, ended_in, close_requests, hang_up, shutdown));
        Ok(Self {
            shared,
            closing,
            shutdown,
        })
    }
}

/// Owns the process until it ends, or until somebody closes the connection or drops it; then ends it as a tree.
async fn own(
    mut running: Running,
    ended: watch::Sender<Option<String>>,
    mut closing: mpsc::Receiver<(Duration, oneshot::Sender<Vec<i32>>)>,
    hang_up: CancellationToken,
    shutdown: Duration,
) {
    let request = tokio::select! {
        status = running.wait() => {
            ended.send_replace(Some(status.map_or_else(|error| error.to_string(), |status| status.to_string())));
            // What it left behind is ended once nobody uses the connection.
            closing.recv().await
        }
        request = closing.recv() => request,
    };
    let (grace, reply) = request.map_or((shutdown, None), |(grace, reply)| (grace, Some(reply)));
    // Input that ends is how a server is asked to go.
    hang_up.cancel();
    let _ended_or_not = tokio::time::timeout(grace, running.wait()).await;
    let survivors = running.end(grace).await;
    ended.send_if_modified(|status| status.replace("ended by us".to_owned()).is_none());
    if let Some(reply) = reply {
        let _nobody_waits = reply.send(survivors);
    }
}

/// Writes until the process does not read any more, or the connection is closed.
async fn write(
    mut stdin: tokio::process::ChildStdin,
    mut queue: mpsc::UnboundedReceiver<Outbound>,
    hang_up: CancellationToken,
    shared: Arc<Shared>,
) {
    let all = async {
        while let Some(Outbound { line, written }) = queue.recv().await {
            if let Some(written) = written {
                written.store(true, Ordering::SeqCst);
            }
            stdin.write_all(&line).await?;
            stdin.flush().await?;
        }
        Ok(())
    };
    let failed: Option<std::io::Result<()>> = tokio::select! {
        () = hang_up.cancelled() => None,
        failed = all => Some(failed),
    };
    if let Some(Err(error)) = failed {
        shared.stdin_failed(&error);
    }
}

async fn read_stderr(mut stderr: child_process::start::PipeReader, shared: Arc<Shared>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read) = stderr.read(&mut buffer).await {
        if read == 0 {
            return;
        }
        shared.state().stderr.push(&buffer[..read]);
    }
}

async fn read_stdout(
    mut stdout: child_process::start::PipeReader,
    limit: usize,
    mut ended: watch::Receiver<Option<String>>,
    shared: Arc<Shared>,
) {
    let mut lines = Lines::new(limit);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            biased;
            read = stdout.read(&mut buffer) => read,
            () = gone(&mut ended) => Ok(0),
        };
        match read {
            Ok(0) | Err(_) => break,
            Ok(read) => lines.push(&buffer[..read]),
        }
        while let Some(line) = lines.next() {
            if let Err(broken) = shared.take_line(line) {
                shared.close(&broken);
                return;
            }
        }
    }
    lines.finish();
    while let Some(line) = lines.next() {
        let _closing_anyway = shared.take_line(line);
    }
    // Whoever closed stdout is usually about to end: its status says more.
    let status = match tokio::time::timeout(DRAIN, ended.wait_for(Option::is_some)).await {
        Ok(Ok(status)) => status.clone(),
        _ => None,
    };
    let why = status.map_or_else(
        || "it closed its stdout".to_owned(),
        |status| format!("its process ended ({status})"),
    );
    shared.close(&Broken::new(Delivery::OutcomeUnknown, Cause::Closed, why));
}

/// Waits until the process has ended, and then for what is still in the pipe; something it started may hold the pipe
/// open for ever.
async fn gone(ended: &mut watch::Receiver<Option<String>>) {
    if ended.wait_for(Option::is_some).await.is_err() {
        return;
    }
    tokio::time::sleep(DRAIN).await;
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stray(&self, stray: Stray) {
        // A server that talks faster than anybody listens loses what it said.
        let _full_or_gone = self.strays.try_send(stray);
    }

    /// Takes one line.
    ///
    /// # Errors
    /// When there is no point in reading on.
    fn take_line(&self, line: Line) -> Result<(), Broken> {
        match line {
            Line::Whole(bytes) => match Frame::parse_batch(&bytes) {
                Ok(frames) => {
                    self.state().junk.in_a_row = 0;
                    for frame in frames {
                        match frame {
                            Ok(frame) => self.take_frame(frame),
                            Err(error) => self.unreadable(
                                error.id.as_ref().filter(|_| error.is_response),
                                &error.reason,
                            ),
                        }
                    }
                }
                Err(error) if error.not_json => return self.junk(&bytes),
                Err(error) => self.unreadable(
                    error.id.as_ref().filter(|_| error.is_response),
                    &error.reason,
                ),
            },
            Line::TooLong(TooLong {
                bytes,
                id,
                names_method,
                ..
            }) => {
                let why = format!("a message of {bytes} bytes, more than the limit");
                self.unreadable(id.as_ref().filter(|_| !names_method), &why);
            }
        }
        Ok(())
    }

    fn junk(&self, bytes: &[u8]) -> Result<(), Broken> {
        let head: String = String::from_utf8_lossy(bytes)
            .chars()
            .take(QUOTED)
            .collect();
        let first = {
            let junk = &mut self.state().junk;
            junk.lines += 1;
            junk.in_a_row += 1;
            let first = junk.first.get_or_insert_with(|| head.clone()).clone();
            (junk.in_a_row > MAX_JUNK).then_some(first)
        };
        self.stray(Stray::Noise(head));
        match first {
            None => Ok(()),
            Some(first) => Err(Broken::new(
                Delivery::OutcomeUnknown,
                Cause::Unreadable,
                format!(
                    "more than {MAX_JUNK} lines in a row on its stdout are no messages; the first: {first}"
                ),
            )),
        }
    }

    /// An answer that cannot be read fails its own request; anything else is noise.
    fn unreadable(&self, id: Option<&Id>, why: &str) {
        let pending = id.and_then(|id| self.state().pending.remove(id));
        match pending {
            Some(pending) => {
                let why = format!("its answer cannot be read: {why}");
                let _nobody_waits = pending.answer.send(Err(Broken::new(
                    Delivery::OutcomeUnknown,
                    Cause::Unreadable,
                    why,
                )));
            }
            None => self.stray(Stray::Noise(why.to_owned())),
        }
    }

    fn take_frame(&self, frame: Frame) {
        match frame {
            Frame::Response(response) => self.take_response(response),
            Frame::Notification(notification) if notification.method == method::PROGRESS => {
                let token = notification
                    .params
                    .get("progressToken")
                    .and_then(|token| Id::parse(token).ok());
                let state = self.state();
                // Progress of something that is over is of no interest to anybody.
                if let Some(pending) = token.and_then(|token| state.pending.get(&token)) {
                    let _full_or_over =
                        pending.messages.try_send(Frame::Notification(notification));
                }
            }
            other => {
                // Only with one request open is it certain whose it is.
                let only = {
                    let state = self.state();
                    (state.pending.len() == 1)
                        .then(|| {
                            state
                                .pending
                                .values()
                                .next()
                                .map(|pending| pending.messages.clone())
                        })
                        .flatten()
                };
                let left = match only {
                    Some(messages) => match messages.try_send(other) {
                        Ok(()) => return,
                        Err(
                            mpsc::error::TrySendError::Full(frame)
                            | mpsc::error::TrySendError::Closed(frame),
                        ) => frame,
                    },
                    None => other,
                };
                self.stray(Stray::Message(left));
            }
        }
    }

    fn take_response(&self, response: Response) {
        let pending = {
            let mut state = self.state();
            match &response.id {
                Some(id) => state.pending.remove(id),
                // An error about a request whose id the server could not read: ours, when there is only one.
                None if state.pending.len() == 1 => {
                    state.pending.drain().next().map(|(_, pending)| pending)
                }
                None => None,
            }
        };
        match (pending, response) {
            (Some(pending), response) => {
                let _nobody_waits = pending.answer.send(Ok(response.outcome));
            }
            (None, Response { id: Some(id), .. }) => {
                self.stray(Stray::Noise(format!(
                    "an answer to {id}, which nobody waits for"
                )));
            }
            (
                None,
                Response {
                    outcome: Err(error),
                    ..
                },
            ) => {
                self.stray(Stray::Noise(format!("an error about no request: {error}")));
            }
            (None, _) => {}
        }
    }

    /// The program does not read any more. It may still answer what it has read, so only what was not sent fails.
    fn stdin_failed(&self, error: &std::io::Error) {
        let mut state = self.state();
        let unsent: Vec<Id> = state
            .pending
            .iter()
            .filter(|(_, pending)| !pending.written.load(Ordering::SeqCst))
            .map(|(id, _)| id.clone())
            .collect();
        let broken = Broken::new(
            Delivery::NotSent,
            Cause::Closed,
            format!("it does not read its stdin: {error}"),
        );
        for id in unsent {
            if let Some(pending) = state.pending.remove(&id) {
                let _nobody_waits = pending.answer.send(Err(broken.clone()));
            }
        }
        if state.closed.is_none() {
            state.closed = Some(broken);
        }
    }

    fn close(&self, broken: &Broken) {
        let pending = {
            let mut state = self.state();
            state.closed = Some(Broken {
                delivery: Delivery::NotSent,
                ..broken.clone()
            });
            std::mem::take(&mut state.pending)
        };
        for pending in pending.into_values() {
            let written = pending.written.load(Ordering::SeqCst);
            let delivery = if written {
                broken.delivery
            } else {
                Delivery::NotSent
            };
            let _nobody_waits = pending.answer.send(Err(Broken {
                delivery,
                ..broken.clone()
            }));
        }
        self.stray(Stray::Closed(broken.clone()));
    }

    fn queue(&self, frame: &Frame, written: Option<Arc<AtomicBool>>) -> Result<(), Broken> {
        if let Some(closed) = &self.state().closed {
            return Err(closed.clone());
        }
        let outbound = Outbound {
            line: frame.to_line(),
            written,
        };
        self.outbound.send(outbound).map_err(|_| {
            Broken::new(
                Delivery::NotSent,
                Cause::Closed,
                "it does not read its stdin",
            )
        })
    }
}

/// Forgets a request, and cancels it when it was not answered.
struct Guard {
    shared: Arc<Shared>,
    id: Id,
    cancels: bool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let was_open = self.shared.state().pending.remove(&self.id).is_some();
        if was_open && self.cancels {
            let params = Object::new()
                .with("requestId", self.id.raw())
                .with("reason", "nobody waits for it any more");
            let cancelled = Frame::from(Notification::new(method::CANCELLED, params));
            let _gone_anyway = self.shared.queue(&cancelled, None);
        }
    }
}

#[async_trait]
impl Transport for Stdio {
    async fn send(&self, outgoing: Outgoing) -> Result<Exchange, Broken> {
        let id = outgoing.request.id.clone();
        // `initialize` must not be cancelled.
        let cancels = outgoing.request.method != method::INITIALIZE;
        let (message_in, messages) = mpsc::channel(MESSAGES);
        let (answer_in, answer) = oneshot::channel();
        let written = Arc::new(AtomicBool::new(false));
        {
            let mut state = self.shared.state();
            if let Some(closed) = &state.closed {
                return Err(closed.clone());
            }
            let pending = Pending {
                messages: message_in,
                answer: answer_in,
                written: Arc::clone(&written),
            };
            state.pending.insert(id.clone(), pending);
        }
        let guard = Guard {
            shared: Arc::clone(&self.shared),
            id,
            cancels,
        };
        self.shared
            .queue(&Frame::from(outgoing.request), Some(written))?;
        Ok(Exchange {
            messages,
            answer,
            guard: Box::new(guard),
        })
    }

    async fn notify(&self, notification: Notification) -> Result<(), Broken> {
        self.shared.queue(&Frame::from(notification), None)
    }

    async fn respond(&self, response: Response) -> Result<(), Broken> {
        self.shared.queue(&Frame::from(response), None)
    }

    fn agreed(&self, _revision: Revision) {}

    fn stderr(&self) -> Option<Untrusted> {
        let state = self.shared.state();
        let mut text = state.stderr.text();
        if let Some(first) = &state.junk.first {
            let lines = state.junk.lines;
            text = format!(
                "(on its stdout: {lines} lines that are no messages, the first: {first})\n{text}"
            );
        }
        (!text.is_empty()).then(|| Untrusted::new(text))
    }

    async fn close(&self) -> Vec<i32> {
        let (reply, survivors) = oneshot::channel();
        if self.closing.send((self.shutdown, reply)).await.is_err() {
            return Vec::new();
        }
        survivors.await.unwrap_or_default()
    }
}
