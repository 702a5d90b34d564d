//! The client of a daemon, over its Unix socket or over TCP.

mod answer;
mod events;
mod spread;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use mcp_wire::Object;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;

pub use self::answer::Answer;
pub use self::events::{Event, Events};
pub use self::spread::spread;
use crate::operation::Operation;
use crate::operations::Op;
use crate::{ApiError, Caller};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);

/// Where a daemon listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A Unix socket; its file decides who may connect.
    Unix(PathBuf),
    /// `host:port`, and the token that it wants.
    Tcp {
        /// `host:port`.
        address: String,
        /// Sent as `Authorization: Bearer`.
        token: Option<String>,
    },
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens.
    #[error("no daemon answers at {0}: {1}")]
    NoDaemon(String, #[source] std::io::Error),
    /// The connection broke, or what came is no answer.
    #[error("{0}")]
    Broken(String),
    /// It took longer than the request may.
    #[error("the daemon did not answer within {0:?}")]
    Timeout(Duration),
    /// The daemon answered that it did not do it.
    #[error(transparent)]
    Api(#[from] ApiError),
}

/// A client. One connection is kept and used again; requests on one client go one after the other.
pub struct Client {
    endpoint: Endpoint,
    caller: Caller,
    timeout: Duration,
    /// For what is passed on to a server.
    for_calls: Duration,
    connection: Mutex<Option<SendRequest<Full<Bytes>>>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the token.
        let at = match &self.endpoint {
            Endpoint::Unix(path) => path.display().to_string(),
            Endpoint::Tcp { address, .. } => address.clone(),
        };
        f.debug_struct("Client").field("endpoint", &at).finish()
    }
}

/// What the daemon needs besides the time that a request names.
const GRACE: Duration = Duration::from_secs(10);

/// The time that a request names itself, such as that of a call: the daemon keeps to it, and is waited for as long.
fn named_time(params: &Object) -> Duration {
    let named = ["timeoutMs", "waitMs"].iter().filter_map(|name| {
        let milliseconds = params.get(name)?.as_str().parse().ok()?;
        Some(Duration::from_millis(milliseconds).saturating_add(GRACE))
    });
    named.max().unwrap_or_default()
}

trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

impl Client {
    /// A client of the daemon at `endpoint`, for `caller`. Nothing is connected yet.
    #[must_use]
    pub fn new(endpoint: Endpoint, caller: Caller, timeout: Duration) -> Self {
        Self {
            endpoint,
            caller,
            timeout,
            for_calls: timeout,
            connection: Mutex::new(None),
        }
    }

    /// Waits for what is passed on to a server at least as long as that may take by its own limits.
    #[must_use]
    pub fn for_calls(mut self, longest: Duration) -> Self {
        self.for_calls = self.timeout.max(longest.saturating_add(GRACE));
        self
    }

    /// How long the answer to a request is waited for.
    fn patience(&self, operation: &Operation, params: &Object) -> Duration {
        let usual = match operation.id {
            Op::Call
            | Op::CallPath
            | Op::ToolInvoke
            | Op::ResourceRead
            | Op::PromptGet
            | Op::Complete => self.for_calls,
            // One after the other, when it takes the longest.
            Op::Batch => {
                let calls = params.get("calls").and_then(|calls| calls.array().ok());
                let calls = calls.map_or(1, |calls| calls.len().max(1));
                let calls = u32::try_from(calls).unwrap_or(u32::MAX);
                self.for_calls.saturating_mul(calls)
            }
            _ => self.timeout,
        };
        usual.max(named_time(params))
    }

    /// A client over a Unix socket.
    #[must_use]
    pub fn unix(path: &Path, caller: Caller, timeout: Duration) -> Self {
        Self::new(Endpoint::Unix(path.to_owned()), caller, timeout)
    }

    /// Asks for one operation. `params` are by name, whatever place they travel in.
    ///
    /// # Errors
    /// When there is no answer, or it says no.
    pub async fn send(
        &self,
        operation: &Operation,
        params: &Object,
    ) -> Result<Answer, ClientError> {
        let request = self.request(operation, params)?;
        let exchange = async {
            let response = self.exchange(request, operation.idempotent).await?;
            answer::read(response).await
        };
        let patience = self.patience(operation, params);
        tokio::time::timeout(patience, exchange)
            .await
            .map_err(|_| ClientError::Timeout(patience))?
    }

    /// Asks for an operation that answers with a stream. The stream has no deadline of its own.
    ///
    /// # Errors
    /// When there is no answer, or it says no.
    pub async fn stream(
        &self,
        operation: &Operation,
        params: &Object,
    ) -> Result<Events, ClientError> {
        let request = self.request(operation, params)?;
        let response = tokio::time::timeout(self.timeout, self.exchange(request, true))
            .await
            .map_err(|_| ClientError::Timeout(self.timeout))??;
        if response.status() != StatusCode::OK {
            return Err(match answer::read(response).await {
                Ok(_) => ClientError::Broken("the daemon answered without a stream".to_owned()),
                Err(error) => error,
            });
        }
        Ok(Events::new(response.into_body()))
    }

    /// Turns a connection over to another protocol: whatever is written from then on goes to the daemon as it is.
    ///
    /// # Errors
    /// When nobody listens, or the daemon refuses.
    pub async fn upgrade(
        &self,
        path: &str,
        protocol: &str,
    ) -> Result<impl AsyncRead + AsyncWrite + Unpin + Send + use<>, ClientError> {
        let mut builder = Request::builder()
            .method("POST")
            .uri(path)
            .header(header::CONNECTION, "upgrade")
            .header(header::UPGRADE, protocol);
        builder = self.with_identity(builder);
        let request = builder
            .body(Full::default())
            .map_err(|error| ClientError::Broken(error.to_string()))?;
        let response = tokio::time::timeout(self.timeout, self.exchange(request, true))
            .await
            .map_err(|_| ClientError::Timeout(self.timeout))??;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(match answer::read(response).await {
                Ok(_) => ClientError::Broken(format!("the daemon does not speak {protocol}")),
                Err(error) => error,
            });
        }
        let upgraded = hyper::upgrade::on(response)
            .await
            .map_err(|error| ClientError::Broken(error.to_string()))?;
        Ok(TokioIo::new(upgraded))
    }

    fn with_identity(&self, mut builder: http::request::Builder) -> http::request::Builder {
        builder = builder.header(
            header::HOST,
            match &self.endpoint {
                Endpoint::Unix(_) => "mcpx",
                Endpoint::Tcp { address, .. } => address,
            },
        );
        if let Endpoint::Tcp {
            token: Some(token), ..
        } = &self.endpoint
        {
            builder = builder.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in self.caller.headers() {
            builder = builder.header(name, value);
        }
        builder
    }

    fn request(
        &self,
        operation: &Operation,
        params: &Object,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let (uri, body) = spread(operation, params);
        let mut builder = Request::builder()
            .method(operation.method.as_str())
            .uri(uri);
        builder = self.with_identity(builder);
        if body.is_some() {
            builder = builder.header(header::CONTENT_TYPE, "application/json");
        }
        builder
            .body(Full::from(body.unwrap_or_default()))
            .map_err(|error| ClientError::Broken(format!("the request cannot be made: {error}")))
    }

    /// `repeat`: whether the request may be sent again when nobody knows if it arrived.
    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        repeat: bool,
    ) -> Result<Response<Incoming>, ClientError> {
        let mut connection = self.connection.lock().await;
        let mut request = request;
        if let Some(mut sender) = connection.take() {
            // What happened to a connection that lay idle is seen by its own task, which gets its turn here.
            tokio::task::yield_now().await;
            let again = repeat.then(|| request.clone());
            match attempt(&mut sender, request).await {
                Ok(response) => {
                    *connection = Some(sender);
                    return Ok(response);
                }
                Err(lost) => match lost.unsent.map(|unsent| *unsent).or(again) {
                    Some(again) => request = again,
                    None => return Err(Lost::told(&lost.error)),
                },
            }
        }
        let mut sender = self.connect().await?;
        let response = attempt(&mut sender, request)
            .await
            .map_err(|lost| Lost::told(&lost.error))?;
        *connection = Some(sender);
        Ok(response)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        let connecting = async {
            let io: Box<dyn Io> = match &self.endpoint {
                #[cfg(unix)]
                Endpoint::Unix(path) => Box::new(
                    tokio::net::UnixStream::connect(path)
                        .await
                        .map_err(|error| {
                            ClientError::NoDaemon(path.display().to_string(), error)
                        })?,
                ),
                #[cfg(not(unix))]
                Endpoint::Unix(path) => {
                    return Err(ClientError::NoDaemon(
                        path.display().to_string(),
                        std::io::ErrorKind::Unsupported.into(),
                    ));
                }
                Endpoint::Tcp { address, .. } => {
                    let stream = tokio::net::TcpStream::connect(address)
                        .await
                        .map_err(|error| ClientError::NoDaemon(address.clone(), error))?;
                    let _slower_without = stream.set_nodelay(true);
                    Box::new(stream)
                }
            };
            let (sender, connection) = http1::handshake(TokioIo::new(io))
                .await
                .map_err(|error| ClientError::Broken(error.to_string()))?;
            tokio::spawn(async move {
                // How it ended is told by the request on it.
                let _ended = connection.with_upgrades().await;
            });
            Ok(sender)
        };
        tokio::time::timeout(CONNECT, connecting)
            .await
            .map_err(|_| ClientError::Timeout(CONNECT))?
    }
}

/// A connection that gave no response.
struct Lost {
    error: hyper::Error,
    /// The request, when nothing of it has left.
    unsent: Option<Box<Request<Full<Bytes>>>>,
}

impl Lost {
    fn told(error: &hyper::Error) -> ClientError {
        ClientError::Broken(format!("the daemon closed the connection: {error}"))
    }
}

/// Sends a request on a connection.
async fn attempt(
    sender: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, Lost> {
    if let Err(error) = sender.ready().await {
        let unsent = Some(Box::new(request));
        return Err(Lost { error, unsent });
    }
    sender
        .try_send_request(request)
        .await
        .map_err(|mut failed| Lost {
            unsent: failed.take_message().map(Box::new),
            error: failed.into_error(),
        })
}

#[cfg(test)]
mod tests;
