//! A program that speaks over its standard streams: one message a line.
//!
//! One task writes, one reads stdout, one reads stderr, one owns the process. Junk on stdout is skipped and quoted, a
//! line over the limit fails only its own request, and whatever happens to the process, every open request is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use child_process::{Output, Program, Running, Stdin};
use mcp_wire::lines::Lines;
use mcp_wire::{Frame, Id, Notification, Object, Response, Revision, method};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use untrusted_text::Untrusted;
use untrusted_text::redact::Redactor;

use super::{Broken, Exchange, MESSAGES, Outgoing, Stray, Transport, Underway};
use crate::failure::{Cause, Delivery};

mod door;
mod junk;
mod letter;
mod route;
mod tail;

use letter::Letter;
use route::{MAX_ANSWERS, Outbound, Pending, Shared};

/// How long the streams of a program that ended are still read.
const DRAIN: Duration = Duration::from_millis(500);

/// The connection.
pub(crate) struct Stdio {
    shared: Arc<Shared>,
    closing: mpsc::Sender<(Duration, oneshot::Sender<Vec<i32>>)>,
    shutdown: Duration,
    pid: i32,
    redactor: Redactor,
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
        redactor: Redactor,
    ) -> Result<Self, Broken> {
        let program = program.stdin(Stdin::Pipe).output(Output::Separate);
        let mut running = program.start().await.map_err(|error| {
            let source = std::error::Error::source(&error)
                .map(|source| format!(": {source}"))
                .unwrap_or_default();
            Broken::new(Delivery::NotSent, Cause::Start, format!("{error}{source}"))
        })?;
        let pid = running.id();
        let missing = || Broken::new(Delivery::NotSent, Cause::Start, "the system gave no pipe");
        let stdin = running.stdin.take().ok_or_else(missing)?;
        let stdout = running.stdout.take().ok_or_else(missing)?;
        let stderr = running.stderr.take().ok_or_else(missing)?;
        let (outbound, queue) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            outbound,
            door: Mutex::default(),
            strays,
            state: Mutex::default(),
            answers: Arc::new(Semaphore::new(MAX_ANSWERS)),
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
            pid,
            redactor,
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
    #[cfg(unix)]
    if let Ok(pipe) = std::os::fd::AsFd::as_fd(&stdin).try_clone_to_owned() {
        shared.door().open(pipe.into());
    }
    let all = async {
        while let Some(outbound) = queue.recv().await {
            let Outbound { line, room } = outbound;
            if let Some(line) = line.take() {
                stdin.write_all(&line).await?;
                stdin.flush().await?;
            }
            shared.door().written();
            drop(room);
        }
        Ok(())
    };
    let failed: Option<std::io::Result<()>> = tokio::select! {
        () = hang_up.cancelled() => None,
        failed = all => Some(failed),
    };
    // Input that ends is how a program is asked to go: nobody may hold the pipe open.
    shared.door().close();
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
        shared.state().junk.endless = lines.skipped();
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

/// Forgets a request, and cancels it when it was not answered.
struct Guard {
    shared: Arc<Shared>,
    id: Id,
    letter: Letter,
    cancels: bool,
}

impl Underway for Guard {
    fn may_have_arrived(&self) -> bool {
        self.letter.is_sent()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let was_open = self.shared.state().pending.remove(&self.id).is_some();
        // What the program never saw needs no cancelling.
        if !self.letter.withdraw() && was_open && self.cancels {
            let params = Object::new()
                .with("requestId", self.id.raw())
                .with("reason", "nobody waits for it any more");
            let cancelled = Frame::from(Notification::new(method::CANCELLED, params));
            let _gone_anyway = self.shared.queue(Letter::new(cancelled.to_line()));
        }
    }
}

/// Whether a program may ask something in the middle of it, or log about it: then it has to be the only one for that to
/// be attributed. Its lists are read while calls are open, and that changes nothing.
fn is_call(method: &str) -> bool {
    !matches!(
        method,
        method::LISTEN
            | method::SET_LEVEL
            | method::PING
            | method::DISCOVER
            | method::TOOLS_LIST
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCE_TEMPLATES_LIST
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_UNSUBSCRIBE
    )
}

#[async_trait]
impl Transport for Stdio {
    async fn send(&self, outgoing: Outgoing) -> Result<Exchange, Broken> {
        let id = outgoing.request.id.clone();
        // `initialize` must not be cancelled.
        let is_call = is_call(&outgoing.request.method);
        let cancels = outgoing.request.method != method::INITIALIZE;
        let (message_in, messages) = mpsc::channel(MESSAGES);
        let (answer_in, answer) = oneshot::channel();
        let letter = Letter::new(Frame::from(outgoing.request).to_line());
        {
            let mut state = self.shared.state();
            if let Some(closed) = &state.closed {
                return Err(closed.clone());
            }
            let pending = Pending {
                messages: message_in,
                answer: answer_in,
                letter: letter.clone(),
                is_call,
            };
            state.pending.insert(id.clone(), pending);
        }
        let guard = Guard {
            shared: Arc::clone(&self.shared),
            id,
            letter: letter.clone(),
            cancels,
        };
        self.shared.queue(letter)?;
        Ok(Exchange {
            messages,
            answer,
            guard: Box::new(guard),
        })
    }

    async fn notify(&self, notification: Notification) -> Result<(), Broken> {
        self.shared
            .queue(Letter::new(Frame::from(notification).to_line()))
    }

    async fn respond(&self, response: Response) -> Result<(), Broken> {
        self.shared.queue_answer(&Frame::from(response))
    }

    fn agreed(&self, _revision: Revision) {}

    fn stderr(&self) -> Option<Untrusted> {
        let state = self.shared.state();
        let text = format!("{}{}", state.junk.in_words(), state.stderr.text());
        let text = self.redactor.redact(text.trim_end()).text;
        (!text.is_empty()).then(|| Untrusted::new(text))
    }

    fn pid(&self) -> Option<i32> {
        Some(self.pid)
    }

    fn is_closed(&self) -> bool {
        self.shared.state().closed.is_some()
    }

    async fn close(&self) -> Vec<i32> {
        let (reply, survivors) = oneshot::channel();
        if self.closing.send((self.shutdown, reply)).await.is_err() {
            return Vec::new();
        }
        survivors.await.unwrap_or_default()
    }
}
