//! Accepts connections, and ends those that do not move.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Http;

/// Where connections come from.
#[derive(Debug)]
pub enum Listener {
    /// A TCP port.
    Tcp(TcpListener),
    /// A Unix socket. Who may connect is decided by its file.
    #[cfg(unix)]
    Unix(tokio::net::UnixListener),
}

/// Serves connections until `until` is cancelled; open ones may then end within the grace.
pub async fn serve(http: Http, listener: Listener, until: CancellationToken) {
    let room = Arc::new(Semaphore::new(http.0.config.connections));
    let running = TaskTracker::new();
    loop {
        let accepted = async {
            let permit = Arc::clone(&room).acquire_owned().await.ok()?;
            Some((permit, accept(&listener).await))
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            () = until.cancelled() => None,
            () = http.0.server.closing.cancelled() => None,
        };
        match accepted {
            None => break,
            // Out of descriptors, or the peer was quicker: the next one may do better.
            Some((_, Err(_))) => tokio::time::sleep(Duration::from_millis(50)).await,
            Some((permit, Ok(io))) => {
                let (http, until) = (http.clone(), until.clone());
                running.spawn(async move {
                    connection(http, io, until).await;
                    drop(permit);
                });
            }
        }
    }
    running.close();
    let grace = http.0.server.limits().grace.saturating_mul(2);
    let _ended = tokio::time::timeout(grace, running.wait()).await;
}

trait Io: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

async fn accept(listener: &Listener) -> io::Result<Box<dyn Io>> {
    Ok(match listener {
        Listener::Tcp(listener) => {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
        #[cfg(unix)]
        Listener::Unix(listener) => Box::new(listener.accept().await?.0),
    })
}

async fn connection(http: Http, io: Box<dyn Io>, until: CancellationToken) {
    let limits = http.0.server.limits();
    let io = WriteDeadline::new(io, limits.write);
    let (grace, closing) = (limits.grace, http.0.server.closing.clone());
    let read = http.0.config.read;
    let service = service_fn(move |request| {
        let http = http.clone();
        async move { Ok::<_, std::convert::Infallible>(http.respond(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(read)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(io), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A broken connection is the client's affair.
        _ended = connection.as_mut() => return,
        () = until.cancelled() => {}
        () = closing.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ended = tokio::time::timeout(grace, connection).await;
}

/// A connection whose writes fail when the peer takes nothing for too long.
struct WriteDeadline {
    io: Box<dyn Io>,
    wait: Duration,
    stuck: Option<Pin<Box<Sleep>>>,
}

impl WriteDeadline {
    fn new(io: Box<dyn Io>, wait: Duration) -> Self {
        Self {
            io,
            wait,
            stuck: None,
        }
    }

    fn watch<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let wait = self.wait;
        let sleep = self
            .stuck
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + wait)));
        match sleep.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
        }
    }
}

impl AsyncRead for WriteDeadline {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl AsyncWrite for WriteDeadline {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(context, bytes);
        self.watch(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(context);
        self.watch(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.io).poll_shutdown(context);
        self.watch(shut, context)
    }
}
