//! The client of a daemon, over its Unix socket or over TCP.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use mcp_wire::{Object, Raw};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;

use crate::operation::{Operation, Place};
use crate::{ApiError, Caller};

/// The largest answer that is read, in bytes.
const MAX_ANSWER: usize = 256 << 20;
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

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status: 200, 201 or 202.
    pub status: u16,
    /// The media type, without parameters.
    pub media_type: String,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// When it is none.
    pub fn json(&self) -> Result<Raw, ClientError> {
        Raw::parse_bytes(&self.body)
            .map_err(|error| ClientError::Broken(format!("the answer cannot be read: {error}")))
    }

    /// The body as a shape of [`crate::reply`].
    ///
    /// # Errors
    /// When it is none.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| ClientError::Broken(format!("the answer cannot be read: {error}")))
    }
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
            connection: Mutex::new(None),
        }
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
            let response = self.exchange(request).await?;
            answer(response).await
        };
        tokio::time::timeout(self.timeout, exchange)
            .await
            .map_err(|_| ClientError::Timeout(self.timeout))?
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
        let response = tokio::time::timeout(self.timeout, self.exchange(request))
            .await
            .map_err(|_| ClientError::Timeout(self.timeout))??;
        if response.status() != StatusCode::OK {
            return Err(match answer(response).await {
                Ok(_) => ClientError::Broken("the daemon answered without a stream".to_owned()),
                Err(error) => error,
            });
        }
        Ok(Events {
            body: response.into_body(),
            buffer: Vec::new(),
        })
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
        let response = tokio::time::timeout(self.timeout, self.exchange(request))
            .await
            .map_err(|_| ClientError::Timeout(self.timeout))??;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(match answer(response).await {
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

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ClientError> {
        let mut connection = self.connection.lock().await;
        let mut sender = match connection.take() {
            Some(sender) if !sender.is_closed() => sender,
            _ => self.connect().await?,
        };
        sender
            .ready()
            .await
            .map_err(|error| ClientError::Broken(format!("the connection broke: {error}")))?;
        let response = sender.send_request(request).await.map_err(|error| {
            ClientError::Broken(format!("the daemon closed the connection: {error}"))
        })?;
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

/// Puts each parameter where it travels: the path with its query, and the body.
#[must_use]
pub fn spread(operation: &Operation, params: &Object) -> (String, Option<String>) {
    let mut path = operation.path.to_owned();
    let mut query = String::new();
    let mut body = Object::new();
    let mut whole = None;
    let mut has_body = false;
    for (name, value) in params.iter() {
        let place = operation
            .params
            .iter()
            .find(|param| param.name == name)
            .map_or(Place::Body, |param| param.place);
        match place {
            Place::Path => {
                path = path.replace(&format!("{{{name}}}"), &encode_segment(&plain(value)));
            }
            // As if it was not there.
            Place::Query if value.is_null() => {}
            Place::Query => {
                query.push(if query.is_empty() { '?' } else { '&' });
                query.push_str(name);
                query.push('=');
                query.push_str(&encode_segment(&plain(value)));
            }
            Place::Body => {
                has_body = true;
                body.set(name, value.clone());
            }
            Place::Whole => whole = Some(value.as_str().to_owned()),
        }
    }
    let takes_body = operation
        .params
        .iter()
        .any(|param| matches!(param.place, Place::Body | Place::Whole));
    let body =
        whole.or_else(|| (has_body || takes_body).then(|| Raw::from(body).as_str().to_owned()));
    (path + &query, body)
}

/// A value as it is written into a path or a query.
fn plain(value: &Raw) -> String {
    if let Some(text) = value.string() {
        return text;
    }
    match value.read::<Vec<String>>() {
        Ok(list) => list.join(","),
        Err(_) => value.as_str().to_owned(),
    }
}

/// Percent-encoded, with what is plain in a path and in a query left as it is.
fn encode_segment(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~' | ',' | ':') {
            out.push(c);
        } else {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                let _never_fails = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

async fn answer(response: Response<Incoming>) -> Result<Answer, ClientError> {
    let status = response.status().as_u16();
    let media_type = response
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim()
        .to_owned();
    let body = http_body_util::Limited::new(response.into_body(), MAX_ANSWER)
        .collect()
        .await
        .map_err(|error| ClientError::Broken(format!("the answer broke off: {error}")))?
        .to_bytes();
    if (200..300).contains(&status) {
        return Ok(Answer {
            status,
            media_type,
            body,
        });
    }
    let document = Raw::parse_bytes(&body).and_then(|raw| raw.object());
    Err(ClientError::Api(match document {
        Ok(document) => ApiError::from_document(status, &document),
        Err(_) => ApiError::new(
            crate::Code::of_status(status),
            format!("the daemon answered with status {status}"),
        ),
    }))
}

/// A stream of events.
#[derive(Debug)]
pub struct Events {
    body: Incoming,
    buffer: Vec<u8>,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its number.
    pub id: Option<String>,
    /// Its kind.
    pub kind: Option<String>,
    /// What it says.
    pub data: String,
}

impl Events {
    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// When the stream breaks.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        loop {
            while let Some(end) = find_end(&self.buffer) {
                let rest = self.buffer.split_off(end);
                let block = std::mem::replace(&mut self.buffer, rest);
                if let Some(event) = read_event(&String::from_utf8_lossy(&block)) {
                    return Ok(Some(event));
                }
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => {
                    return Err(ClientError::Broken(format!(
                        "the stream broke off: {error}"
                    )));
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                    if self.buffer.len() > MAX_ANSWER {
                        return Err(ClientError::Broken("an event is too large".to_owned()));
                    }
                }
            }
        }
    }
}

/// Where the first block of lines ends, its empty line included.
fn find_end(buffer: &[u8]) -> Option<usize> {
    buffer
        .windows(2)
        .position(|pair| pair == b"\n\n")
        .map(|at| at + 2)
}

/// The event of a block; `None` for comments and hints.
fn read_event(block: &str) -> Option<Event> {
    let mut event = Event {
        id: None,
        kind: None,
        data: String::new(),
    };
    let mut any = false;
    for line in block.lines() {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => event.id = Some(value.to_owned()),
            "event" => event.kind = Some(value.to_owned()),
            "data" => {
                if any {
                    event.data.push('\n');
                }
                any = true;
                event.data.push_str(value);
            }
            _ => {}
        }
    }
    any.then_some(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, operation};

    #[test]
    fn each_parameter_is_put_where_it_travels() {
        let (uri, body) = spread(
            operation(Op::CallPath),
            &Object::new()
                .with("server", "a/b c")
                .with("tool", "x")
                .with("session", "s&1")
                .with("args", Object::new().with("n", 1)),
        );
        assert_eq!(uri, "/v1/call/a%2Fb%20c/x?session=s%261");
        assert_eq!(body.as_deref(), Some("{\"n\":1}"));

        let (uri, body) = spread(
            operation(Op::Types),
            &Object::new()
                .with("ns", Raw::of(&["a", "b.c"]))
                .with("instructions", false),
        );
        assert_eq!(uri, "/v1/types?ns=a,b.c&instructions=false");
        assert_eq!(body, None);

        let (uri, body) = spread(operation(Op::Reload), &Object::new());
        assert_eq!((uri.as_str(), body), ("/v1/reload", None));
        let (_, body) = spread(operation(Op::Restart), &Object::new());
        assert_eq!(body.as_deref(), Some("{}"));
    }

    #[test]
    fn events_are_read_from_their_blocks() {
        assert_eq!(read_event(": quiet\n\n"), None);
        let event = read_event("id: 7\nevent: server.start\ndata: {\ndata: }\n\n");
        let event = event.expect("an event");
        assert_eq!(event.id.as_deref(), Some("7"));
        assert_eq!(event.kind.as_deref(), Some("server.start"));
        assert_eq!(event.data, "{\n}");
    }
}
