//! One HTTP request to the configured server: with its headers and credentials, to its origin and to no other.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION, WWW_AUTHENTICATE,
};
use reqwest::{Method, Response, StatusCode};
use url::Url;

use super::client;
use crate::clock::Clocks;
use crate::clock::Expiry;
use crate::failure::{Cause, Delivery};
use crate::server::HttpReach;
use crate::transport::{Authorizer, Broken};

/// How many redirects one request follows.
const MAX_REDIRECTS: usize = 5;
/// How often one request is sent again with other credentials.
const MAX_CHALLENGES: usize = 3;

/// Headers that this client sets itself.
const OWN: [&str; 9] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

/// A server behind a URL.
pub(crate) struct Endpoint {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    authorizer: Option<Arc<dyn Authorizer>>,
    clocks: Arc<Clocks>,
}

/// A request to be sent, as often as credentials and redirects make it necessary.
pub(crate) struct Sending<'a> {
    pub method: Method,
    pub url: &'a Url,
    pub headers: &'a HeaderMap,
    pub body: Option<Vec<u8>>,
    /// How long one attempt may go without an answer's first line.
    pub patience: Option<Duration>,
}

impl Endpoint {
    /// # Errors
    /// When the URL or a header cannot be used: nothing is sent then.
    pub(crate) fn new(reach: &HttpReach, clocks: Arc<Clocks>) -> Result<Self, Broken> {
        let refuse = |why: String| Broken::new(Delivery::NotSent, Cause::Start, why);
        if !matches!(reach.url.scheme(), "http" | "https") || !reach.url.has_host() {
            return Err(refuse(format!(
                "an address of a server begins with http:// or https://, got {}://",
                reach.url.scheme()
            )));
        }
        Ok(Self {
            client: client::build(reach).map_err(refuse)?,
            url: reach.url.clone(),
            headers: configured(&reach.headers).map_err(refuse)?,
            authorizer: reach.authorizer.clone(),
            clocks,
        })
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Resolves what the server names as a place of its own.
    ///
    /// # Errors
    /// When it is no URL, or one of another origin: in words.
    pub(crate) fn own(&self, base: &Url, place: &str) -> Result<Url, String> {
        let mut url = base
            .join(place)
            .map_err(|error| format!("{place:?} is no address: {error}"))?;
        if url.origin() != self.url.origin() {
            return Err(format!(
                "{} is another origin than {}, which nothing is sent to",
                url.origin().ascii_serialization(),
                self.url.origin().ascii_serialization()
            ));
        }
        if url.username().is_empty() && url.password().is_none() {
            let _has_a_host = url
                .set_username(self.url.username())
                .and_then(|()| url.set_password(self.url.password()));
        }
        Ok(url)
    }

    /// Sends a request and returns what came back, whatever its status is.
    ///
    /// # Errors
    /// When nothing came back, credentials are missing, or a redirect leads nowhere.
    pub(crate) async fn send(&self, sending: Sending<'_>) -> Result<Response, Broken> {
        let mut url = sending.url.clone();
        let (mut redirects, mut challenges) = (0, 0);
        loop {
            let credentials = self.credentials().await?;
            let response = self.attempt(&sending, &url, credentials.as_deref()).await?;
            let status = response.status();
            if is_redirect(status, &sending.method) {
                redirects += 1;
                url = self.follow(&url, &response, redirects)?;
            } else if matches!(status.as_u16(), 401 | 403) && challenges < MAX_CHALLENGES {
                challenges += 1;
                if !self.challenged(&response, credentials.as_deref()).await? {
                    return Ok(response);
                }
            } else {
                return Ok(response);
            }
        }
    }

    async fn attempt(
        &self,
        sending: &Sending<'_>,
        url: &Url,
        credentials: Option<&str>,
    ) -> Result<Response, Broken> {
        let mut headers = self.headers.clone();
        // Ours come last: nobody configures what the protocol says.
        for (name, value) in sending.headers {
            headers.insert(name, value.clone());
        }
        if let Some(credentials) = credentials {
            let mut value = HeaderValue::from_str(credentials).map_err(|_| {
                let why = "the credentials hold a character that a header cannot";
                Broken::new(Delivery::NotSent, Cause::Credentials, why)
            })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let mut request = self.client.request(sending.method.clone(), url.clone());
        if let Some(body) = &sending.body {
            request = request.body(body.clone());
        }
        // After the URL's user information, which it replaces.
        let sent = request.headers(headers).send();
        let answered = match sending.patience {
            None => sent.await,
            Some(patience) => tokio::time::timeout(patience, sent)
                .await
                .map_err(|_| silent(patience))?,
        };
        answered.map_err(|error| broken(&error))
    }

    async fn credentials(&self) -> Result<Option<String>, Broken> {
        match &self.authorizer {
            None => Ok(None),
            Some(authorizer) => authorizer.header().await.map_err(refused),
        }
    }

    async fn challenged(&self, response: &Response, sent: Option<&str>) -> Result<bool, Broken> {
        let Some(authorizer) = &self.authorizer else {
            return Ok(false);
        };
        let challenges: Vec<String> = response
            .headers()
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok().map(str::to_owned))
            .collect();
        // A person may have to sign in: that is no time of the server's.
        let clocks = self.clocks.running();
        let _standing: Vec<_> = clocks.iter().map(|clock| clock.pause()).collect();
        authorizer
            .challenged(response.status().as_u16(), &challenges, sent)
            .await
            .map_err(refused)
    }

    fn follow(&self, from: &Url, response: &Response, count: usize) -> Result<Url, Broken> {
        let status = response.status().as_u16();
        let fail = |why: String| Broken::new(Delivery::NotSent, Cause::Status(status), why);
        if count > MAX_REDIRECTS {
            return Err(fail(format!(
                "it redirects more than {MAX_REDIRECTS} times"
            )));
        }
        let place = response
            .headers()
            .get(LOCATION)
            .and_then(|value| value.to_str().ok())
            .ok_or_else(|| {
                fail(format!(
                    "HTTP {status} without a `Location` that can be read"
                ))
            })?;
        self.own(from, place).map_err(|why| {
            fail(format!(
                "HTTP {status}: its redirect is not followed: {why}"
            ))
        })
    }
}

/// Only these keep the method and the body. A GET has no body to keep.
fn is_redirect(status: StatusCode, method: &Method) -> bool {
    matches!(status.as_u16(), 307 | 308)
        || (*method == Method::GET && matches!(status.as_u16(), 301..=303))
}

fn configured(pairs: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let key = HeaderName::from_bytes(name.trim().as_bytes())
            .map_err(|_| format!("`{name}` is no name of a header"))?;
        if OWN.contains(&key.as_str()) {
            return Err(format!("the header `{name}` is set by the client itself"));
        }
        // Not quoted: it may be a secret.
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| {
            format!("the value of the header `{name}` holds a character that a header cannot")
        })?;
        value.set_sensitive(true);
        headers.append(key, value);
    }
    Ok(headers)
}

fn refused(why: String) -> Broken {
    Broken::new(Delivery::NotSent, Cause::Credentials, why)
}

fn silent(patience: Duration) -> Broken {
    let expiry = Expiry::Max(patience);
    let why = format!("it did not answer within {} s", patience.as_secs_f64());
    Broken::new(Delivery::OutcomeUnknown, Cause::Timeout(expiry), why)
}

/// A connection that was never made, TLS included, carried nothing; of any other the request may have arrived.
fn broken(error: &reqwest::Error) -> Broken {
    let chain = client::chain(error);
    if error.is_connect() || error.is_builder() {
        let why = format!("it cannot be connected to: {chain}");
        Broken::new(Delivery::NotSent, Cause::Start, why)
    } else {
        let why = format!("the connection broke before it answered: {chain}");
        Broken::new(Delivery::OutcomeUnknown, Cause::Closed, why)
    }
}
