//! Serves one client over a pair of pipes: a message a line.
//!
//! Nothing but messages is written. A line that is no message gets an error; one over the limit costs only its own request.
//! When the input ends, what runs may finish within the grace.

mod own;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::join_all;
use mcp_wire::lines::{Line, Lines, TooLong};
use mcp_wire::{
    Era, Frame, FrameError, Notification, Raw, Request, Response, Revision, RpcError, error,
};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::call::Caller;
use crate::connection::Connection;
use crate::dispatch::{Kind, kind_of};
use crate::stream::{CallStream, Sink};
use crate::{Server, spell};

pub use self::own::{stdin, stdout};

/// How many messages wait for the client to read.
const QUEUE: usize = 1_024;
const READ_BYTES: usize = 64 * 1024;

/// Why a connection over stdio ended.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The client could not be read.
    #[error("the client could not be read")]
    Read(#[source] std::io::Error),
    /// The client could not be written to.
    #[error("the client could not be written to")]
    Write(#[source] std::io::Error),
    /// The client left what we wrote unread for too long.
    #[error("the client does not read what the server writes")]
    Stuck,
}

/// Serves until the input ends, or the server is shut down.
///
/// # Errors
/// When a pipe breaks, or the client does not read for [`crate::Limits::write`].
pub async fn serve<R, W>(server: &Server, input: R, output: W) -> Result<(), StdioError>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let never = std::future::pending();
    serve_until(server, input, output, never, |_| None).await
}

/// The same, and no message is read any more when `over` is done. When the server ends it, by `over` or because it is shut
/// down, `farewell` is told how many messages were taken, by their lines, and what it says goes out at once.
///
/// # Errors
/// As [`serve`].
pub async fn serve_until<R, W>(
    server: &Server,
    mut input: R,
    output: W,
    over: impl Future<Output = ()> + Send,
    farewell: impl FnOnce(u64) -> Option<Notification> + Send,
) -> Result<(), StdioError>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (out, queue) = mpsc::channel(QUEUE);
    let write_wait = server.limits().write;
    let mut writer = tokio::spawn(write(output, queue, write_wait));
    let pipe = Pipe {
        server: server.clone(),
        connection: server.connect(None),
        out,
        running: TaskTracker::new(),
        taken: Arc::default(),
    };
    let notes = tokio::spawn(pipe.clone().tell_what_changed());
    let (read, is_ours) = tokio::select! {
        read = pipe.read(&mut input) => (read, false),
        () = server.closing.cancelled() => (Ok(()), true),
        () = over => (Ok(()), true),
        ended = &mut writer => {
            notes.abort();
            server.disconnect(&pipe.connection).await;
            return ended.unwrap_or(Ok(()));
        }
    };
    if is_ours && let Some(farewell) = farewell(pipe.taken.load(Ordering::Relaxed)) {
        pipe.send_raw(Frame::from(farewell).to_raw()).await;
    }
    pipe.end().await;
    notes.abort();
    let connection = Arc::clone(&pipe.connection);
    drop(pipe);
    // Whatever still holds a way out was cancelled; what it says now has nobody to read it.
    let written = tokio::time::timeout(server.limits().grace, &mut writer).await;
    writer.abort();
    server.disconnect(&connection).await;
    match (read, written) {
        (Err(error), _) => Err(error),
        (_, Ok(Ok(written))) => written,
        _ => Ok(()),
    }
}

async fn write<W: AsyncWrite + Unpin>(
    mut output: W,
    mut queue: mpsc::Receiver<Raw>,
    wait: std::time::Duration,
) -> Result<(), StdioError> {
    while let Some(message) = queue.recv().await {
        let mut line = spell::one_line(&message);
        line.push(b'\n');
        let write = async {
            output.write_all(&line).await?;
            output.flush().await
        };
        match tokio::time::timeout(wait, write).await {
            Err(_) => return Err(StdioError::Stuck),
            Ok(Err(error)) => return Err(StdioError::Write(error)),
            Ok(Ok(())) => {}
        }
    }
    Ok(())
}

#[derive(Clone)]
struct Pipe {
    server: Server,
    connection: Arc<Connection>,
    out: mpsc::Sender<Raw>,
    /// The requests of this client.
    running: TaskTracker,
    /// How many lines were looked at.
    taken: Arc<AtomicU64>,
}

impl Pipe {
    async fn read<R: AsyncRead + Unpin>(&self, input: &mut R) -> Result<(), StdioError> {
        let mut lines = Lines::new(self.server.message_bytes());
        let mut buffer = vec![0; READ_BYTES];
        loop {
            // No deadline: a client may say nothing for days.
            let count = input.read(&mut buffer).await.map_err(StdioError::Read)?;
            lines.set_limit(self.server.message_bytes());
            match buffer.get(..count) {
                Some(bytes) if !bytes.is_empty() => lines.push(bytes),
                _ => lines.finish(),
            }
            while let Some(line) = lines.next() {
                self.taken.fetch_add(1, Ordering::Relaxed);
                match line {
                    Line::Whole(line) => self.take(&line).await,
                    Line::TooLong(line) => self.refuse_long(&line).await,
                }
            }
            if count == 0 {
                return Ok(());
            }
        }
    }

    async fn refuse_long(&self, line: &TooLong) {
        let limit = self.server.message_bytes();
        let message = format!("a message of {} bytes; the limit is {limit}", line.bytes);
        match (&line.id, line.names_method) {
            (Some(id), true) => {
                let error = RpcError::new(error::INVALID_REQUEST, message);
                self.send(Response::new(id.clone(), Err(error))).await;
            }
            (Some(id), false) => {
                let error = RpcError::new(error::INVALID_REQUEST, message);
                self.connection
                    .answered(Response::new(id.clone(), Err(error)));
            }
            (None, _) => {
                self.refuse_unread(RpcError::new(error::INVALID_REQUEST, message))
                    .await;
            }
        }
    }

    async fn take(&self, line: &[u8]) {
        let is_batch = line.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        let takes_batches = self
            .connection
            .handshake()
            .is_some_and(|handshake| handshake.revision.batches());
        if is_batch && takes_batches {
            return self.take_batch(line).await;
        }
        match Frame::parse(line) {
            Ok(frame) => {
                if let Some(work) = self.take_frame(frame).await {
                    let pipe = self.clone();
                    self.spawn(async move {
                        if let Some(response) = work.await {
                            pipe.send(response).await;
                        }
                    });
                }
            }
            Err(error) => {
                if let Some(message) = self.refusal(&error) {
                    self.send_raw(message).await;
                }
            }
        }
    }

    async fn take_batch(&self, line: &[u8]) {
        let frames = match Frame::parse_batch(line) {
            Ok(frames) => frames,
            Err(error) => {
                if let Some(message) = self.refusal(&error) {
                    self.send_raw(message).await;
                }
                return;
            }
        };
        let (mut refused, mut works) = (Vec::new(), Vec::new());
        for frame in frames {
            match frame {
                Ok(frame) => works.extend(self.take_frame(frame).await),
                Err(error) => refused.extend(self.refusal(&error)),
            }
        }
        let pipe = self.clone();
        self.spawn(async move {
            let answers = join_all(works).await;
            let answers = answers
                .into_iter()
                .flatten()
                .map(|response| Frame::from(response).to_raw());
            refused.extend(answers);
            if !refused.is_empty() {
                pipe.send_raw(Raw::of(&refused)).await;
            }
        });
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.running.spawn(self.server.running.track_future(work));
    }

    /// The work that a message makes, when it makes any.
    async fn take_frame(
        &self,
        frame: Frame,
    ) -> Option<impl Future<Output = Option<Response>> + Send + 'static> {
        match frame {
            Frame::Response(response) => {
                self.connection.answered(response);
                None
            }
            Frame::Notification(notification) => {
                let caller = self.caller(CallStream::default());
                if is_quick(&notification.method) {
                    self.server.take_notification(notification, &caller).await;
                } else {
                    let server = self.server.clone();
                    self.spawn(
                        async move { server.take_notification(notification, &caller).await },
                    );
                }
                None
            }
            Frame::Request(request) => {
                let pipe = self.clone();
                let Some(in_flight) = self.connection.begin(&request.id) else {
                    let message = format!(
                        "the id {} is in use by a request that still runs",
                        request.id
                    );
                    let error = RpcError::new(error::INVALID_REQUEST, message);
                    self.send(Response::new(request.id, Err(error))).await;
                    return None;
                };
                // The handshake is settled before the next line is read.
                let settled = if request.method == mcp_wire::method::INITIALIZE {
                    pipe.answer(&request, &in_flight.cancelled).await
                } else {
                    None
                };
                Some(async move {
                    let response = match settled {
                        Some(response) => Some(response),
                        None => pipe.answer(&request, &in_flight.cancelled).await,
                    };
                    // No answer to what the client does not want any more.
                    response.filter(|_| !in_flight.cancelled.is_cancelled())
                })
            }
        }
    }

    async fn answer(
        &self,
        request: &Request,
        cancelled: &tokio_util::sync::CancellationToken,
    ) -> Option<Response> {
        let mut caller = self.caller(CallStream::new(Sink::Channel(self.out.clone())));
        caller.cancelled = cancelled.clone();
        let outcome = match kind_of(request) {
            Err(error) => Err(error),
            Ok(Kind::Modern(envelope)) => {
                self.server.answer_modern(request, &envelope, &caller).await
            }
            Ok(Kind::Legacy) => self.server.answer_legacy(request, &caller).await,
        };
        caller.stream.close();
        Some(Response::new(request.id.clone(), outcome.map(Raw::from)))
    }

    fn caller(&self, stream: CallStream) -> Caller {
        Caller {
            principal: None,
            connection: Some(Arc::clone(&self.connection)),
            stream,
            cancelled: self.connection.closed.clone(),
        }
    }

    /// The error for a message that could not be read; none for a broken answer, which fails the question it is for.
    fn refusal(&self, broken: &FrameError) -> Option<Raw> {
        let code = if broken.not_json {
            error::PARSE_ERROR
        } else {
            error::INVALID_REQUEST
        };
        let error = RpcError::new(code, broken.reason.clone());
        match &broken.id {
            Some(id) if broken.is_response => {
                self.connection
                    .answered(Response::new(id.clone(), Err(error)));
                None
            }
            None if broken.is_response => None,
            Some(id) => Some(Frame::from(Response::new(id.clone(), Err(error))).to_raw()),
            None => Some(spell::error_without_id(&error, self.wants_null())),
        }
    }

    /// Before 2025-11-25 an error had an id in any case.
    fn wants_null(&self) -> bool {
        self.connection
            .handshake()
            .is_some_and(|handshake| handshake.revision < Revision::V2025_11_25)
    }

    async fn refuse_unread(&self, error: RpcError) {
        self.send_raw(spell::error_without_id(&error, self.wants_null()))
            .await;
    }

    async fn send(&self, response: Response) {
        self.send_raw(Frame::from(response).to_raw()).await;
    }

    async fn send_raw(&self, message: Raw) {
        let wait = self.server.limits().write;
        let _sent = tokio::time::timeout(wait, self.out.send(message)).await;
    }

    /// Legacy: what changed, once there was a handshake.
    async fn tell_what_changed(self) {
        loop {
            let Some(mailbox) = self.connection.mailbox() else {
                self.connection.until_settled().await;
                continue;
            };
            let note = mailbox.next().await;
            if let Some(notification) = self.server.spell_note(&note, Era::Legacy) {
                self.send_raw(Frame::from(notification).to_raw()).await;
            }
        }
    }

    /// The input is over: what runs may finish, what waits for an answer will get none.
    async fn end(&self) {
        self.connection.silent.cancel();
        self.connection.no_more_answers();
        self.running.close();
        let grace = self.server.limits().grace;
        if tokio::time::timeout(grace, self.running.wait())
            .await
            .is_err()
        {
            self.connection.closed.cancel();
            let _ended = tokio::time::timeout(grace, self.running.wait()).await;
        }
    }
}

/// Whether a notification is for us alone, and taken in its place among the requests.
fn is_quick(method: &str) -> bool {
    matches!(
        method,
        mcp_wire::method::INITIALIZED | mcp_wire::method::CANCELLED
    )
}
