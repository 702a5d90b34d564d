//! A provider behind HTTP: one request, its retries, and the stream of its answer.

use std::{fmt, sync::Arc, sync::OnceLock, time::Duration};

use async_trait::async_trait;
use reqwest::{
    Response,
    header::{
        ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap,
        HeaderName, HeaderValue, LOCATION,
    },
};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    Error, ErrorKind, Observer, Provider, Reply, Request, Wire,
    answer::{Assemble, End, Progress, Shown},
    anthropic,
    failure::{Failure, Refused, Who, config_error},
    http, openai_chat, openai_responses, retry, sse, surrogates,
};

/// Longest error body that is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// How long an error body may take.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a stream may go on after a whole answer: late usage, and the end that lets the connection be used again.
const GRACE: Duration = Duration::from_secs(2);

/// How long the end of the body is waited for after the last event.
const DRAIN: Duration = Duration::from_millis(20);

/// What a provider is connected with.
#[derive(Clone)]
pub struct ProviderConfig {
    /// Its configured name, for messages.
    pub name: String,
    /// The wire it speaks.
    pub wire: Wire,
    /// Its address. `/v1/messages` is appended for [`Wire::Messages`]; `/responses` or `/chat/completions` for the others,
    /// whose addresses usually end in `/v1` themselves.
    pub base_url: String,
    /// The key.
    pub api_key: Option<String>,
    /// The variable the key is read from, for messages. With one, a key is required; without, none is needed.
    pub api_key_env: Option<String>,
    /// The model to ask.
    pub model: String,
    /// The model's context window in tokens.
    pub context_window: u64,
    /// How long it may take until the answer begins, connecting included.
    pub timeout: Duration,
    /// How long the stream may be silent.
    pub idle_timeout: Duration,
    /// How many times a failed request is tried again; 4 is usual.
    pub max_retries: u32,
    /// Headers sent with every request, after our own; a header of the same name replaces ours.
    pub headers: Vec<(String, String)>,
}

impl fmt::Debug for ProviderConfig {
    /// Leaves the key and the headers out, which may hold secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProviderConfig")
            .field("name", &self.name)
            .field("wire", &self.wire)
            .field("base_url", &self.base_url)
            .field("api_key_env", &self.api_key_env)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// Checks the configuration and returns the provider. No network yet.
///
/// # Errors
///
/// [`ErrorKind::Auth`] when the key is missing; [`ErrorKind::Config`] when the address, the key or a header cannot be used.
pub fn connect(config: ProviderConfig) -> Result<Arc<dyn Provider>, Error> {
    Ok(Arc::new(Client::new(config)?))
}

/// Returns the body that a request becomes on a wire, for comparing what is sent from turn to turn.
pub fn request_json(wire: Wire, model: &str, request: &Request) -> String {
    body(wire, model, request, openai_chat::wire::Dialect::Other)
}

fn body(wire: Wire, model: &str, request: &Request, dialect: openai_chat::wire::Dialect) -> String {
    match wire {
        Wire::Messages => anthropic::wire::body(model, request),
        Wire::Responses => openai_responses::wire::body(model, request),
        Wire::Chat => openai_chat::wire::body(model, request, dialect),
    }
}

struct Client {
    config: ProviderConfig,
    url: Url,
    headers: HeaderMap,
    who: Who,
    http: OnceLock<reqwest::Client>,
}

impl Client {
    fn new(config: ProviderConfig) -> Result<Self, Error> {
        let key = config
            .api_key
            .as_deref()
            .map(str::trim)
            .filter(|key| !key.is_empty());
        if let (None, Some(variable)) = (key, &config.api_key_env) {
            return Err(Error {
                kind: ErrorKind::Auth,
                message: format!(
                    "provider `{}` needs a key and `{variable}` is not set\nhint: set `{variable}`, or use a \
                     model on this machine with `--provider local`",
                    config.name
                ),
                status: None,
                retry_after: None,
            });
        }
        let url = url(&config)?;
        let headers = headers(&config, key)?;
        let host = url.host_str().unwrap_or_default();
        let host = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let who = Who {
            provider: config.name.clone(),
            host,
            url: url.to_string(),
            model: config.model.clone(),
            key_env: config.api_key_env.clone(),
            key: key.map(ToOwned::to_owned),
            is_local: http::is_local(&url),
        };
        Ok(Self {
            config,
            url,
            headers,
            who,
            http: OnceLock::new(),
        })
    }

    fn http(&self) -> Result<&reqwest::Client, Failure> {
        if let Some(client) = self.http.get() {
            return Ok(client);
        }
        let client = http::client(&self.url, self.config.timeout).map_err(|why| Failure {
            error: config_error(format!(
                "{} ({}) cannot be asked: {why}",
                self.config.name, self.who.host
            )),
            may_retry: false,
        })?;
        Ok(self.http.get_or_init(|| client))
    }

    fn machine(&self) -> Box<dyn Assemble> {
        let model = &self.config.model;
        match self.config.wire {
            Wire::Messages => Box::new(anthropic::stream::Machine::new(model)),
            Wire::Responses => Box::new(openai_responses::stream::Machine::new(model)),
            Wire::Chat => Box::new(openai_chat::stream::Machine::new(model, fastrand::u64(..))),
        }
    }

    /// Sends the request and waits for the head of a stream.
    async fn send(&self, body: String) -> Result<Response, Failure> {
        let request = self
            .http()?
            .post(self.url.clone())
            .headers(self.headers.clone())
            .body(body)
            .send();
        let mut response = match timeout(self.config.timeout, request).await {
            Err(_) => {
                return Err(self.who.timeout(&format!(
                    "did not begin to answer within {}",
                    retry::in_words(self.config.timeout)
                )));
            }
            Ok(Err(error)) => return Err(self.unreachable(&error)),
            Ok(Ok(response)) => response,
        };
        let kind = header(&response, "content-type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let status = response.status();
        if let Some(coding) = header(&response, CONTENT_ENCODING.as_str())
            .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"))
        {
            return Err(self.who.malformed(&format!(
                "{} compressed with `{coding}`, which was not asked for",
                status.as_u16()
            )));
        }
        if status.is_success() && !kind.contains("json") && !kind.contains("html") {
            return Ok(response);
        }
        let mut content = Vec::new();
        let read = async {
            while let Ok(Some(bytes)) = response.chunk().await {
                let room = MAX_ERROR_BYTES - content.len();
                content.extend_from_slice(&bytes[..bytes.len().min(room)]);
                if bytes.len() >= room {
                    break;
                }
            }
        };
        // Whatever arrived in time is what the message says.
        let _: Result<(), _> = timeout(ERROR_BODY_TIMEOUT, read).await;
        let header = |name: &str| header(&response, name);
        let refused = Refused {
            status: status.as_u16(),
            body: &content,
            retry_after: retry::wait_in_headers(header),
            request_id: header("request-id").or_else(|| header("x-request-id")),
            location: header(LOCATION.as_str()),
        };
        if !status.is_success() {
            return Err(self.who.refused(&refused));
        }
        let body = serde_json::from_slice(&content);
        // JSON that is none was damaged on the way; whole JSON is another kind of server.
        let is_damaged = kind.contains("json") && body.is_err();
        match body
            .ok()
            .and_then(|body| crate::failure::ServerError::find(&body))
        {
            Some(error) => Err(self.who.in_stream(&error)),
            None => {
                let mut failure = self.who.malformed(&format!(
                    "`{kind}` where a stream of events was expected: {}",
                    String::from_utf8_lossy(&content)
                ));
                failure.may_retry = is_damaged;
                Err(failure)
            }
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let why = http::chain(error);
        if error.is_timeout() {
            return self.who.timeout(&format!(
                "could not be reached in time: {}",
                self.who.clean(&why)
            ));
        }
        // A server on this machine that hangs up in the handshake speaks plain HTTP; elsewhere that may be an accident.
        let is_plain = self.who.is_local && why.contains("handshake");
        if is_plain || http::is_about_tls(error) {
            return self.who.not_secure(&why);
        }
        // A server on this machine that refuses is not running; waiting does not start it.
        let is_absent = self.who.is_local && error.is_connect();
        let may_retry = !is_absent && !error.is_builder();
        self.who
            .network(&format!("could not be reached: {why}"), may_retry)
    }

    /// Makes one try. Fails only when nothing of an answer was observed.
    async fn attempt(
        &self,
        body: String,
        observer: &mut dyn Observer,
        cancel: &CancellationToken,
    ) -> Result<Reply, Failure> {
        let mut response = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(self.who.cancelled()),
            response = self.send(body) => response?,
        };
        let header_id =
            header(&response, "request-id").or_else(|| header(&response, "x-request-id"));
        let header_id = header_id.map(ToOwned::to_owned);
        let mut machine = self.machine();
        let mut shown = Shown::new(observer);
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(self.who.cancelled()),
            ended = self.read(&mut response, machine.as_mut(), &mut shown) => ended,
        };
        let end = match ended {
            Ok(()) => End::Complete,
            Err(failure) if !shown.any && !machine.has_block() => return Err(failure),
            Err(failure) if failure.error.kind == ErrorKind::Cancelled => End::Cancelled,
            Err(failure) => End::Broken(
                failure
                    .error
                    .message
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            ),
        };
        if end == End::Complete && self.url.scheme() == "https" {
            // Reading the end lets the connection serve the next request.
            drop(timeout(DRAIN, response.chunk()).await);
        }
        let mut reply = machine.finish(end);
        if header_id.is_some() {
            reply.request_id = header_id;
        }
        Ok(reply)
    }

    /// Reads the stream until the answer is whole.
    async fn read(
        &self,
        response: &mut Response,
        machine: &mut dyn Assemble,
        shown: &mut Shown<'_>,
    ) -> Result<(), Failure> {
        let mut decoder = sse::Decoder::default();
        let mut joiner = surrogates::Joiner::default();
        let mut events = Vec::new();
        let mut is_first = true;
        loop {
            let patience = if machine.may_end() {
                GRACE.min(self.config.idle_timeout)
            } else if std::mem::take(&mut is_first) {
                self.config.idle_timeout.max(self.config.timeout)
            } else {
                self.config.idle_timeout
            };
            let bytes = match timeout(patience, response.chunk()).await {
                Ok(Ok(Some(bytes))) => bytes,
                _ if machine.may_end() => return Ok(()),
                Ok(Ok(None)) => {
                    if let Some(event) = decoder.finish() {
                        machine
                            .take(&event, shown)
                            .map_err(|fault| fault.into_failure(&self.who))?;
                    }
                    return if machine.may_end() {
                        Ok(())
                    } else {
                        Err(self
                            .who
                            .network("ended the stream before the answer was whole", true))
                    };
                }
                Ok(Err(error)) => {
                    let why = http::chain(&error);
                    return Err(self.who.network(&format!("broke the stream: {why}"), true));
                }
                Err(_) => {
                    let wait = retry::in_words(patience);
                    return Err(self.who.timeout(&format!("was silent for {wait}")));
                }
            };
            decoder.push(&bytes, &mut events).map_err(|sse::Overlong| {
                self.who
                    .malformed(&format!("an event of more than {} bytes", sse::MAX_BYTES))
            })?;
            for mut event in events.drain(..) {
                if let Some(joined) = joiner.join(&event.data) {
                    event.data = joined;
                }
                let progress = machine
                    .take(&event, shown)
                    .map_err(|fault| fault.into_failure(&self.who))?;
                if progress == Progress::Done {
                    return Ok(());
                }
            }
        }
    }
}

#[async_trait]
impl Provider for Client {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn model(&self) -> &str {
        &self.config.model
    }

    fn wire(&self) -> Wire {
        self.config.wire
    }

    fn context_window(&self) -> u64 {
        self.config.context_window
    }

    async fn stream(
        &self,
        request: &Request,
        observer: &mut dyn Observer,
        cancel: &CancellationToken,
    ) -> Result<Reply, Error> {
        let dialect = openai_chat::wire::Dialect::of(self.url.host_str().unwrap_or_default());
        let body = body(self.config.wire, &self.config.model, request, dialect);
        let mut retries = 0;
        loop {
            let failure = match self.attempt(body.clone(), observer, cancel).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            let Some(wait) =
                retry::wait(&failure, retries, self.config.max_retries, fastrand::f64())
            else {
                return Err(with_tries(failure.error, retries));
            };
            retries += 1;
            let reason = failure.error.message.lines().next().unwrap_or_default();
            observer.retrying(reason, retries, wait);
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(self.who.cancelled().error),
                () = tokio::time::sleep(wait) => {}
            }
        }
    }
}

/// Says how often it was tried, if more than once.
fn with_tries(mut error: Error, retries: u32) -> Error {
    if retries > 0 {
        let (first, hints) = match error.message.split_once('\n') {
            Some((first, hints)) => (first, format!("\n{hints}")),
            None => (error.message.as_str(), String::new()),
        };
        error.message = format!("{first}, in {} tries{hints}", retries + 1);
    }
    error
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

fn url(config: &ProviderConfig) -> Result<Url, Error> {
    let base = config.base_url.trim().trim_end_matches('/');
    let path = match config.wire {
        Wire::Messages => "/v1/messages",
        Wire::Responses => "/responses",
        Wire::Chat => "/chat/completions",
    };
    let wrong = |why: &str| {
        config_error(format!(
            "`base_url` of provider `{}` is `{base}`: {why}\nhint: write it like `https://host/v1`, or \
             `https://host` for `api = \"messages\"`",
            config.name
        ))
    };
    let url = Url::parse(&format!("{base}{path}")).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(config_error(format!(
            "`base_url` of provider `{}` holds a user name or a password\nhint: put the key into a variable \
             and name it in `api_key_env`",
            config.name
        )));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("it may have no `?` or `#` part"));
    }
    Ok(url)
}

fn headers(config: &ProviderConfig, key: Option<&str>) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    // A compressed stream arrives in lumps.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if config.wire == Wire::Messages {
        let version = HeaderValue::from_static(anthropic::wire::VERSION);
        headers.insert(HeaderName::from_static("anthropic-version"), version);
    }
    if let Some(key) = key {
        let (name, value) = match config.wire {
            Wire::Messages => (HeaderName::from_static("x-api-key"), key.to_owned()),
            Wire::Responses | Wire::Chat => (AUTHORIZATION, format!("Bearer {key}")),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            let source = config.api_key_env.as_deref().unwrap_or("api_key");
            config_error(format!(
                "the key in `{source}` for provider `{}` holds a character that no header can carry\nhint: \
                 look for a line break or a pasted quotation mark in it",
                config.name
            ))
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    for (name, value) in &config.headers {
        let wrong = |what: &str| {
            config_error(format!(
                "header `{name}` of provider `{}` has {what}",
                config.name
            ))
        };
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| wrong("a name that HTTP does not allow"))?;
        let mut value =
            HeaderValue::from_str(value).map_err(|_| wrong("a value that HTTP does not allow"))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests;
