//! The requests to authorization servers: bounded in time, size and redirects, with nothing of the transport in them.
//!
//! Its clients are its own. What a product configured for the MCP server, headers above all, never gets here.

use std::collections::HashMap;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, header};
use serde_json::Value;
use url::Url;

use super::address::{address, is_this_machine, origin};
use super::failure::{AuthError, said};

/// How many redirects are followed.
const REDIRECTS: usize = 3;

/// Largest body that is read, in bytes. Metadata and tokens have a few thousand.
const BODY: usize = 256 * 1024;

/// An answer.
pub(crate) struct Reply {
    /// The status.
    pub status: u16,
    /// The body as JSON; `None` when it is none.
    pub json: Option<Value>,
}

impl Reply {
    /// Says whether it is a success with a JSON object, which is then given.
    pub(crate) fn object(self) -> Option<serde_json::Map<String, Value>> {
        match self.json {
            Some(Value::Object(object)) if (200..300).contains(&self.status) => Some(object),
            _ => None,
        }
    }
}

/// Makes requests near one server.
pub(crate) struct Fetch {
    /// The server for which this is done: what may be asked depends on where it is.
    near: Url,
    deadline: Duration,
    /// By whether it is `https`, and whether it is on this machine.
    clients: Mutex<HashMap<(bool, bool), Client>>,
}

impl Fetch {
    pub(crate) fn new(near: Url, deadline: Duration) -> Self {
        Self {
            near,
            deadline,
            clients: Mutex::default(),
        }
    }

    /// The server near which this is.
    pub(crate) fn near(&self) -> &Url {
        &self.near
    }

    /// Gets a document.
    pub(crate) async fn get(&self, what: &str, url: &Url) -> Result<Reply, AuthError> {
        self.send(what, Method::GET, url, |request| {
            request.header(header::ACCEPT, "application/json")
        })
        .await
    }

    /// Posts JSON.
    pub(crate) async fn post_json(
        &self,
        what: &str,
        url: &Url,
        body: &Value,
    ) -> Result<Reply, AuthError> {
        let body = body.to_string();
        self.send(what, Method::POST, url, |request| {
            request
                .header(header::ACCEPT, "application/json")
                .header(header::CONTENT_TYPE, "application/json")
                .body(body.clone())
        })
        .await
    }

    /// Posts a form, with the value of an `authorization` header when there is one.
    pub(crate) async fn post_form(
        &self,
        what: &str,
        url: &Url,
        form: &[(&str, &str)],
        authorization: Option<&str>,
    ) -> Result<Reply, AuthError> {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        self.send(what, Method::POST, url, |request| {
            let request = request
                .header(header::ACCEPT, "application/json")
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(body.clone());
            match authorization {
                Some(value) => request.header(header::AUTHORIZATION, value),
                None => request,
            }
        })
        .await
    }

    async fn send(
        &self,
        what: &str,
        method: Method,
        url: &Url,
        fill: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Reply, AuthError> {
        let all = async {
            let mut url = url.clone();
            for _ in 0..=REDIRECTS {
                let request = fill(self.client(&url)?.request(method.clone(), url.clone()));
                let answer = request
                    .send()
                    .await
                    .map_err(|error| unreachable(what, &url, &error))?;
                if answer.status().is_redirection() {
                    url = self.redirected(what, &method, &url, &answer)?;
                    continue;
                }
                return read(what, &url, answer).await;
            }
            Err(AuthError::Refused(format!(
                "the {what} redirected more than {REDIRECTS} times"
            )))
        };
        tokio::time::timeout(self.deadline, all)
            .await
            .unwrap_or_else(|_elapsed| {
                Err(AuthError::Unreachable(format!(
                    "the {what} at `{}` did not answer within {} s",
                    origin(url),
                    self.deadline.as_secs_f64()
                )))
            })
    }

    /// Where an answer sends us on to. What was posted holds secrets: it goes to no other origin, and is not made a `GET`.
    fn redirected(
        &self,
        what: &str,
        method: &Method,
        from: &Url,
        answer: &reqwest::Response,
    ) -> Result<Url, AuthError> {
        let location = answer.headers().get(header::LOCATION);
        let location = location.and_then(|value| value.to_str().ok()).unwrap_or("");
        let joined = from.join(location).map_or(String::new(), String::from);
        let to = address(&format!("redirect of the {what}"), &joined, &self.near)?;
        let keeps_method = matches!(answer.status().as_u16(), 307 | 308);
        let is_fine = if *method == Method::GET {
            from.scheme() != "https" || to.scheme() == "https"
        } else {
            keeps_method && to.origin() == from.origin()
        };
        if is_fine {
            return Ok(to);
        }
        Err(AuthError::Refused(format!(
            "the {what} at `{}` redirects to `{}`, which is not followed",
            origin(from),
            said(&origin(&to))
        )))
    }

    fn client(&self, url: &Url) -> Result<Client, AuthError> {
        let kind = (url.scheme() == "https", is_this_machine(url));
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&kind) {
            return Ok(client.clone());
        }
        let client = build(kind.0, kind.1)
            .map_err(|error| AuthError::Local(format!("no HTTP client: {}", chain(&error))))?;
        clients.insert(kind, client.clone());
        Ok(client)
    }
}

/// Builds a client. One for `http` loads no certificates, which takes longer than everything else.
fn build(is_https: bool, is_local: bool) -> Result<Client, reqwest::Error> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that the program has chosen another provider, which serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
    let mut builder = Client::builder()
        .user_agent(concat!(
            env!("CARGO_PKG_NAME"),
            "/",
            env!("CARGO_PKG_VERSION")
        ))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .pool_max_idle_per_host(0);
    if is_local {
        builder = builder.no_proxy();
    }
    if !is_https {
        let no_certificates = rustls::ClientConfig::builder()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(no_certificates);
    }
    builder.build()
}

async fn read(what: &str, url: &Url, mut answer: reqwest::Response) -> Result<Reply, AuthError> {
    let status = answer.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = answer
        .chunk()
        .await
        .map_err(|error| unreachable(what, url, &error))?
    {
        if body.len() + chunk.len() > BODY {
            return Err(AuthError::Refused(format!(
                "the {what} at `{}` answered more than {} KiB",
                origin(url),
                BODY / 1024
            )));
        }
        body.extend_from_slice(&chunk);
    }
    if status >= 500 || matches!(status, 408 | 429) {
        return Err(AuthError::Unreachable(format!(
            "the {what} at `{}` answered HTTP {status}",
            origin(url)
        )));
    }
    let json = serde_json::from_slice(&body).ok();
    Ok(Reply { status, json })
}

/// Only the origin is named: a query may hold what is private.
fn unreachable(what: &str, url: &Url, error: &reqwest::Error) -> AuthError {
    AuthError::Unreachable(format!(
        "the {what} at `{}` cannot be reached: {}",
        origin(url),
        chain(error)
    ))
}

/// The causes of an error, without the URL.
fn chain(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let text = error.to_string();
        if !texts.iter().any(|seen| seen.contains(&text)) {
            texts.push(text);
        }
        cause = error.source();
    }
    if texts.is_empty() {
        return "the request failed".to_owned();
    }
    said(&texts.join(": "))
}
