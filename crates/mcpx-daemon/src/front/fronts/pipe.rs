//! The connections of `mcpx serve`: messages as over stdio, for one caller each.
//!
//! Such a connection does not keep the daemon: who is at its other end starts another one when it has something to ask.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use mcpx_api::pipe::{Ending, PROTOCOL};
use mcpx_api::{ApiError, Caller, Code};

use super::{Fronts, Served, lock};
use crate::front::who::Who;
use crate::front::{Front, Kind};
use crate::hub::Hub;
use crate::routes::{Body, refused, response};

impl Fronts {
    /// Whether a request wants its connection upgraded.
    #[must_use]
    pub fn wants_upgrade(head: &HeaderMap) -> bool {
        head.get(header::UPGRADE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.eq_ignore_ascii_case(PROTOCOL))
    }

    /// Turns a connection into one of `mcpx serve`, until either side ends it.
    pub async fn upgrade(
        &self,
        hub: &Arc<Hub>,
        mut request: Request<hyper::body::Incoming>,
    ) -> Response<Body> {
        let caller = Caller::from_headers(request.headers());
        let begun = async {
            if hub.is_ending() {
                let error = ApiError::new(Code::Unavailable, "the daemon is ending");
                return Err(error.hint("ask again: another daemon is started"));
            }
            let kind = Kind::read(hub, request.uri().query().unwrap_or_default())?;
            self.over_stdio(hub, kind, caller).await
        };
        let (number, served) = match begun.await {
            Ok(begun) => begun,
            Err(error) => return refused(&error),
        };
        let upgrading = hyper::upgrade::on(&mut request);
        let hub = Arc::clone(hub);
        tokio::spawn(async move {
            if let Ok(upgraded) = upgrading.await {
                serve(&hub, &served, TokioIo::new(upgraded)).await;
            }
            hub.fronts.end_stdio(&hub, number).await;
        });
        let mut switching = response(StatusCode::SWITCHING_PROTOCOLS, "", String::new());
        let headers = switching.headers_mut();
        headers.remove(header::CONTENT_TYPE);
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static(PROTOCOL));
        switching
    }

    /// How many connections of `mcpx serve` there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        lock(&self.stdio).len()
    }

    /// They take nothing more: what comes from now on is for the next daemon.
    pub(crate) fn end_connections(&self) {
        self.ending.cancel();
    }

    async fn over_stdio(
        &self,
        hub: &Arc<Hub>,
        kind: Kind,
        mut caller: Caller,
    ) -> Result<(u64, Served), ApiError> {
        let number = self.number();
        // The connection is one caller, whatever the command that opened it says of single calls.
        caller.ephemeral = false;
        caller.call = None;
        if caller.session.is_none() {
            // A process without a number is told apart by its connection.
            caller.session = Some(match caller.pid {
                Some(pid) => format!("mcp-{pid}"),
                None => format!("mcp-c{number}"),
            });
        }
        let who = Who {
            connected: Some(caller),
            prefix: String::new(),
        };
        let served = self.begin(hub, number, kind, who).await?;
        lock(&self.stdio).insert(number, served.clone());
        Ok((number, served))
    }

    async fn end_stdio(&self, hub: &Arc<Hub>, number: u64) {
        let served = lock(&self.stdio).remove(&number);
        let Some(Served { front, .. }) = served else {
            return;
        };
        front.end().await;
        if let Some(caller) = alone(&front) {
            front.release(hub, &caller).await;
        }
    }
}

/// Serves one connection. When the daemon ends first, it says how much it took.
async fn serve(hub: &Arc<Hub>, served: &Served, io: impl Io + 'static) {
    let (input, output) = tokio::io::split(io);
    let over = async {
        tokio::select! {
            () = hub.fronts.ending.cancelled() => {}
            () = hub.stopping.cancelled() => {}
        }
    };
    let ending = |taken| {
        let restart = hub.restarting.load(Ordering::SeqCst);
        Some(Ending { taken, restart }.to_notification())
    };
    let serving = mcp_server::stdio::serve_until(&served.server, input, output, over, ending);
    // How it ended is the client's affair.
    let _ended = serving.await;
}

trait Io: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send {}
impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send> Io for T {}

/// The caller of a connection as far as it is nobody else: a session that somebody else named may go on elsewhere.
fn alone(front: &Front) -> Option<Caller> {
    let mut caller = front.who.connected.clone()?;
    let is_ours = |session: &str| session.starts_with("mcp-");
    caller.session = caller.session.filter(|session| is_ours(session));
    Some(caller)
}
