//! Serves clients over Streamable HTTP, on a TCP port or a Unix socket, or as a part of somebody's own HTTP server.
//!
//! One path, both eras: a request with the metadata of the modern era is answered by itself; any other belongs to a
//! session that `initialize` began. Names of hosts and origins are checked before anything is read, because a browser can
//! be made to send requests to a loopback address.

mod answer;
mod batch;
mod body;
mod gate;
mod legacy;
mod listener;
mod modern;
mod resume;
mod sessions;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use mcp_wire::{Frame, RpcError, error};
use tokio::sync::Semaphore;

pub use answer::ResponseBody;
pub use listener::{Listener, serve};

use self::answer::{Refused, plain, refuse};
use self::sessions::Sessions;
use crate::Server;

/// How clients over HTTP are let in, and how much they may take.
#[derive(Clone)]
pub struct HttpConfig {
    /// The one path.
    pub path: String,
    /// Names of hosts beside the loopback ones, without port. `*` lets every name in.
    pub hosts: Vec<String>,
    /// Origins beside the loopback ones, as `https://name:port`. `*` lets every one in.
    pub origins: Vec<String>,
    /// Whether `Host` is checked. Not worth it on a Unix socket, where it means nothing.
    pub check_host: bool,
    /// Who is let in; `None`: everybody, under no name.
    pub gatekeeper: Option<Arc<dyn Gatekeeper>>,
    /// How long a client may take to send the head or the body of a request.
    pub read: Duration,
    /// Silence on a stream after which a comment is sent.
    pub keep_alive: Duration,
    /// How long a legacy request may run before its answer becomes a stream, which can be resumed.
    pub stream_after: Duration,
    /// What a legacy client is told to wait before it comes back, in milliseconds.
    pub retry_ms: u64,
    /// Legacy sessions at the same time. One more takes the place of the one that has been idle for longest.
    pub sessions: usize,
    /// How long a session may be idle.
    pub session_idle: Duration,
    /// Connections at the same time; further ones wait to be accepted.
    pub connections: usize,
    /// Large bodies that are read at the same time; small ones need no room.
    pub bodies: usize,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            hosts: Vec::new(),
            origins: Vec::new(),
            check_host: true,
            gatekeeper: None,
            read: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            stream_after: Duration::from_secs(1),
            retry_ms: 1_000,
            sessions: 1_000,
            session_idle: Duration::from_secs(30 * 60),
            connections: 1_024,
            bodies: 64,
        }
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConfig")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Decides who is let in.
#[async_trait]
pub trait Gatekeeper: Send + Sync + 'static {
    /// The principal of a request, by what stood behind `Bearer ` in `Authorization`, and its head.
    ///
    /// # Errors
    /// When it is not let in.
    async fn admit(
        &self,
        bearer: Option<&str>,
        head: &http::request::Parts,
    ) -> Result<Option<String>, Refusal>;
}

/// Why a request is not let in.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// 401 or 403.
    pub status: StatusCode,
    /// `WWW-Authenticate`, when there is something to say.
    pub challenge: Option<String>,
    /// For a person.
    pub message: String,
}

/// The HTTP side of a server. A clone is the same one.
#[derive(Clone)]
pub struct Http(Arc<Inner>);

struct Inner {
    server: Server,
    config: HttpConfig,
    sessions: Sessions,
    /// Whether a task looks for idle ones.
    sweeping: AtomicBool,
    bodies: Semaphore,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").finish_non_exhaustive()
    }
}

impl Http {
    /// Ready to answer.
    #[must_use]
    pub fn new(server: Server, config: HttpConfig) -> Self {
        Self(Arc::new(Inner {
            sessions: Sessions::new(config.sessions, config.session_idle),
            sweeping: AtomicBool::new(false),
            bodies: Semaphore::new(config.bodies),
            server,
            config,
        }))
    }

    /// How many legacy sessions there are.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.0.sessions.len()
    }

    /// Answers one HTTP request. Dropping the future, or the body of the response, is the client going away.
    pub async fn respond<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: fmt::Display,
    {
        let (head, body) = request.into_parts();
        match self.admit(&head).await {
            Err(refused) => *refused,
            Ok(principal) => match head.method {
                Method::POST => self.post(&head, body, principal).await,
                Method::GET => self.get(&head, principal).await,
                Method::DELETE => self.delete(&head, principal).await,
                _ => not_allowed(),
            },
        }
    }

    async fn admit(&self, head: &http::request::Parts) -> Result<Option<String>, Refused> {
        let config = &self.0.config;
        if head.uri.path() != config.path {
            return Err(Box::new(plain(
                StatusCode::NOT_FOUND,
                &format!("nothing here; the path is {}", config.path),
            )));
        }
        gate::check_names(config, head)?;
        let Some(gatekeeper) = &config.gatekeeper else {
            return Ok(None);
        };
        let bearer = head
            .headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| {
                let (scheme, token) = value.split_once(' ')?;
                scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
            });
        let admitted = gatekeeper.admit(bearer, head);
        match tokio::time::timeout(config.read, admitted).await {
            Ok(Ok(principal)) => Ok(principal),
            Ok(Err(refusal)) => {
                let mut response = plain(refusal.status, &refusal.message);
                if let Some(challenge) = refusal.challenge.and_then(|text| text.parse().ok()) {
                    response
                        .headers_mut()
                        .insert(header::WWW_AUTHENTICATE, challenge);
                }
                Err(Box::new(response))
            }
            Err(_) => Err(Box::new(plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "nobody decided in time who this is",
            ))),
        }
    }

    async fn post<B>(
        &self,
        head: &http::request::Parts,
        body: B,
        principal: Option<String>,
    ) -> Response<ResponseBody>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: fmt::Display,
    {
        let takes = match gate::check_types(head) {
            Ok(takes) => takes,
            Err(refused) => return *refused,
        };
        let limit = self.0.server.message_bytes();
        let bytes = match body::read(body, limit, self.0.config.read, &self.0.bodies).await {
            Ok(bytes) => bytes,
            Err(refused) => return *refused,
        };
        let is_batch = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        if is_batch {
            return self.post_batch(head, &bytes, principal, takes).await;
        }
        match Frame::parse(&bytes) {
            Ok(frame) => self.post_frame(head, frame, principal, takes).await,
            Err(broken) => {
                let code = if broken.not_json {
                    error::PARSE_ERROR
                } else {
                    error::INVALID_REQUEST
                };
                let error = RpcError::new(code, broken.reason);
                refuse(StatusCode::BAD_REQUEST, broken.id, &error)
            }
        }
    }

    async fn post_frame(
        &self,
        head: &http::request::Parts,
        frame: Frame,
        principal: Option<String>,
        takes: gate::Takes,
    ) -> Response<ResponseBody> {
        match frame {
            Frame::Request(request) => match modern::kind_of(head, &request) {
                Err(error) => refuse(StatusCode::BAD_REQUEST, Some(request.id), &error),
                Ok(crate::dispatch::Kind::Modern(envelope)) => {
                    self.post_modern(head, request, envelope, principal, takes)
                        .await
                }
                Ok(crate::dispatch::Kind::Legacy) => {
                    self.post_legacy(head, request, principal, takes).await
                }
            },
            Frame::Notification(notification) => {
                self.post_notification(head, notification, principal).await
            }
            Frame::Response(response) => self.post_answer(head, response, principal.as_deref()),
        }
    }
}

fn not_allowed() -> Response<ResponseBody> {
    let mut response = plain(
        StatusCode::METHOD_NOT_ALLOWED,
        "POST, GET and DELETE are taken here",
    );
    let allowed = header::HeaderValue::from_static("POST, GET, DELETE");
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}
