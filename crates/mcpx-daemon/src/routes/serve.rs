//! Connections of both listeners, until the daemon ends.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use mcpx_config::settings::key;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::access::Access;
use super::repoll::repoll;
use super::{Body, refused, respond};
use crate::front::Fronts;
use crate::hub::Hub;

/// Connections of one listener at the same time; further ones wait to be accepted. Each listener has its own room: who
/// may only knock at the port cannot keep anybody from the socket.
const CONNECTIONS: usize = 1_024;

/// Where connections come from.
enum Door {
    Unix(UnixListener),
    Tcp(TcpListener, Arc<Access>),
}

trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

impl Door {
    async fn accept(&self) -> std::io::Result<Box<dyn Io>> {
        Ok(match self {
            Self::Unix(listener) => Box::new(listener.accept().await?.0),
            Self::Tcp(listener, _) => {
                let (stream, _) = listener.accept().await?;
                let _slower_without = stream.set_nodelay(true);
                Box::new(stream)
            }
        })
    }

    /// What is asked of those who come this way.
    fn access(&self) -> Option<Arc<Access>> {
        match self {
            Self::Unix(_) => None,
            Self::Tcp(_, access) => Some(Arc::clone(access)),
        }
    }
}

/// Answers requests of both listeners until the daemon ends; open ones may then end within the grace.
pub async fn serve(hub: &Arc<Hub>, unix: UnixListener, tcp: Option<(TcpListener, Access)>) {
    let running = TaskTracker::new();
    let tcp = tcp.map(|(listener, access)| Door::Tcp(listener, Arc::new(access)));
    let doors = [Some(Door::Unix(unix)), tcp].into_iter().flatten();
    futures::future::join_all(doors.map(|door| accept(hub, door, &running))).await;
    let grace = hub.settings().duration(key::HTTP_SHUTDOWN_GRACE);
    hub.fronts.shut_down(grace).await;
    running.close();
    let _ended = tokio::time::timeout(grace, running.wait()).await;
}

async fn accept(hub: &Arc<Hub>, door: Door, running: &TaskTracker) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            accepted = door.accept() => accepted,
            () = hub.stopping.cancelled() => return,
        };
        match accepted {
            Ok(io) => {
                let (hub, access) = (Arc::clone(hub), door.access());
                running.spawn(async move {
                    connection(hub, io, access).await;
                    drop(permit);
                });
            }
            // Out of descriptors, or the peer was quicker: the next one may do better.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn connection(hub: Arc<Hub>, io: Box<dyn Io>, access: Option<Arc<Access>>) {
    let head = hub.settings().duration(key::HTTP_READ_HEADER_TIMEOUT);
    let stopping = hub.stopping.clone();
    let grace = hub.settings().duration(key::HTTP_SHUTDOWN_GRACE);
    let service = service_fn(move |request: Request<Incoming>| {
        let (hub, access) = (Arc::clone(&hub), access.clone());
        async move { Ok::<_, std::convert::Infallible>(route(&hub, access.as_deref(), request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(io), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A broken connection is the client's affair.
        _ended = repoll(connection.as_mut()) => return,
        () = stopping.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ended = tokio::time::timeout(grace, connection).await;
}

async fn route(
    hub: &Arc<Hub>,
    access: Option<&Access>,
    request: Request<Incoming>,
) -> Response<Body> {
    let _open = hub.activity.begin();
    let (head, body) = request.into_parts();
    if let Some(access) = access
        && let Err(error) = access.check(&head)
    {
        return refused(&error);
    }
    let request = Request::from_parts(head, body);
    if Fronts::wants_upgrade(request.headers()) {
        return hub.fronts.upgrade(hub, request).await;
    }
    if is_mcp(hub, request.uri().path()) {
        return hub.fronts.respond(hub, request).await;
    }
    respond(hub, request).await
}

/// Whether the MCP server is there, for clients over HTTP.
fn is_mcp(hub: &Hub, path: &str) -> bool {
    let settings = hub.settings();
    settings.bool(key::PROTO_SERVE_MCP) && path == settings.text(key::PROTO_MCP_PATH)
}
