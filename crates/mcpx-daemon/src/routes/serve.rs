//! Connections of both listeners, until the daemon ends.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use mcpx_api::ApiError;
use mcpx_config::settings::key;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::access::Access;
use super::pages;
use super::repoll::repoll;
use super::{Body, refused, respond};
use crate::front::Fronts;
use crate::hub::Hub;

/// Connections of one listener at the same time; further ones wait to be accepted. Each listener has its own room: who
/// may only knock at the port cannot keep anybody from the socket.
const CONNECTIONS: usize = 1_024;
/// How long the rest of a body is taken in that nobody wants.
const LINGER: Duration = Duration::from_secs(5);

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
    let Some(access) = access else {
        return answer(hub, request).await;
    };
    let (head, body) = request.into_parts();
    if let Err(error) = access.check_names(&head) {
        return refused_early(&error, &head, body).await;
    }
    let page = head.headers.get(header::ORIGIN).cloned();
    let mut response = if pages::is_preflight(&head) {
        pages::preflight(&head)
    } else if let Err(error) = access.check(&head) {
        refused_early(&error, &head, body).await
    } else {
        answer(hub, Request::from_parts(head, body)).await
    };
    if let Some(page) = page {
        pages::show(&page, response.headers_mut());
    }
    response
}

async fn answer(hub: &Arc<Hub>, request: Request<Incoming>) -> Response<Body> {
    if Fronts::wants_upgrade(request.headers()) {
        return hub.fronts.upgrade(hub, request).await;
    }
    let (head, mut body) = request.into_parts();
    let waits = will_wait(&head);
    let is_mcp = is_mcp(hub, head.uri.path());
    let request = Request::from_parts(head, &mut body);
    let response = if is_mcp {
        hub.fronts.respond(hub, request).await
    } else {
        respond(hub, request).await
    };
    if !waits {
        take_in(body).await;
    }
    response
}

async fn refused_early(error: &ApiError, head: &Parts, body: Incoming) -> Response<Body> {
    if !will_wait(head) {
        take_in(body).await;
    }
    refused(error)
}

/// Whether the client sends its body only when it is told to.
fn will_wait(head: &Parts) -> bool {
    head.headers.contains_key(header::EXPECT)
}

/// Takes what is still to come of a body that nobody read: a client that is busy sending would otherwise meet a broken
/// connection instead of what is wrong.
async fn take_in(mut body: Incoming) {
    let rest = async { while let Some(Ok(_)) = body.frame().await {} };
    let _too_slow = tokio::time::timeout(LINGER, rest).await;
}

/// Whether the MCP server is there, for clients over HTTP.
fn is_mcp(hub: &Hub, path: &str) -> bool {
    let settings = &hub.at_start;
    settings.bool(key::PROTO_SERVE_MCP) && path == settings.text(key::PROTO_MCP_PATH)
}
