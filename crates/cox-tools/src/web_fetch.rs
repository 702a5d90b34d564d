//! `web_fetch`: reads a public web page as text.
//!
//! Only the public internet: the host is resolved here, every address must be public, and the connection goes to just
//! those addresses. A redirect to another host is not followed but told to the model, whose next call is judged anew: a
//! permission for one host does not reach another.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use cox_permission::{Risk, Subject, Target};
use futures::future::BoxFuture;
use reqwest::{
    Client, Response,
    dns::{Addrs, Name, Resolve, Resolving},
    header,
};
use serde::Deserialize;
use serde_json::{Value, json};
use url::{Host, Url};

use crate::{Concurrency, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, parse_input};

mod address;
mod body;
mod html;

/// How long a call may take in all.
const DEADLINE: Duration = Duration::from_secs(10);

/// Most redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// Text that is returned unless the call asks for another amount, in bytes.
const DEFAULT_BYTES: usize = 100 * 1024;

/// Most text that a call may ask for, and most of a page that is read to get at its text, in bytes.
const MAX_BYTES: usize = 5 * 1024 * 1024;

/// The tool.
pub struct WebFetch {
    spec: ToolSpec,
    lookup: Lookup,
    /// The addresses that were found to be public, by host; connections go nowhere else.
    pins: Pins,
    client: OnceLock<Client>,
    /// An address that counts as public, for tests.
    exempt: Option<SocketAddr>,
}

/// Finds the addresses of a host.
type Lookup =
    Arc<dyn Fn(String, u16) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> + Send + Sync>;

#[derive(Clone, Default)]
struct Pins(Arc<Mutex<HashMap<String, Vec<SocketAddr>>>>);

#[derive(Debug, Deserialize)]
struct Input {
    url: String,
    #[serde(default)]
    max_bytes: Option<u64>,
}

impl WebFetch {
    /// Makes the tool.
    pub fn new() -> Self {
        Self::over(
            Arc::new(|host, port| {
                Box::pin(async move {
                    tokio::net::lookup_host((host, port))
                        .await
                        .map(Iterator::collect)
                })
            }),
            None,
        )
    }

    fn over(lookup: Lookup, exempt: Option<SocketAddr>) -> Self {
        Self {
            spec: ToolSpec {
                name: "web_fetch",
                description: "Fetches a public web page or text file (http, https) as text.",
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "url": { "type": "string" },
                        "max_bytes": {
                            "type": "integer", "minimum": 1, "description": "most text to return; 102400 unless given"
                        }
                    },
                    "required": ["url"]
                }),
                deferred: true,
                // A fetch tells another machine something: it asks unless a rule allows it.
                risk: Risk::Exec,
                concurrency: Concurrency::Parallel,
            },
            lookup,
            pins: Pins::default(),
            client: OnceLock::new(),
            exempt,
        }
    }

    fn read(&self, input: &Value) -> Result<(Url, usize), ToolError> {
        let input: Input = parse_input(&self.spec, input)?;
        let bad = |problem: String| ToolError::BadInput {
            tool: self.spec.name.to_owned(),
            problem,
        };
        let web =
            untrusted_text::url::web_url(&input.url).map_err(|error| bad(error.to_string()))?;
        let url = Url::parse(&web.normal).map_err(|error| bad(error.to_string()))?;
        let max_bytes = match input.max_bytes {
            None => DEFAULT_BYTES,
            Some(0) => return Err(bad("`max_bytes` is 0, expected at least 1".to_owned())),
            Some(bytes) => usize::try_from(bytes).unwrap_or(MAX_BYTES).min(MAX_BYTES),
        };
        Ok((url, max_bytes))
    }

    fn client(&self) -> Result<&Client, ToolError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // Whoever was first in this process has installed the same one.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = Client::builder()
            .user_agent(concat!("cox/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            // A proxy would resolve the host itself, past the check.
            .no_proxy()
            .pool_max_idle_per_host(0)
            .dns_resolver(self.pins.clone())
            .build()
            .map_err(|error| ToolError::Io {
                what: "preparing to fetch".to_owned(),
                source: deepest(&error),
            })?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Resolves the host, refuses what is not public, and remembers the addresses for the connection.
    async fn check_host(&self, url: &Url) -> Result<(), ToolError> {
        let port = url.port_or_known_default().unwrap_or(443);
        let addresses = match url.host() {
            Some(Host::Ipv4(address)) => vec![SocketAddr::new(IpAddr::V4(address), port)],
            Some(Host::Ipv6(address)) => vec![SocketAddr::new(IpAddr::V6(address), port)],
            Some(Host::Domain(name)) => {
                (self.lookup)(name.to_owned(), port)
                    .await
                    .map_err(|source| ToolError::Io {
                        what: format!("cannot find the host `{name}`"),
                        source,
                    })?
            }
            None => Vec::new(),
        };
        let host = url.host_str().unwrap_or_default();
        if addresses.is_empty() {
            return Err(ToolError::NotFound(format!(
                "the host `{host}` has no address"
            )));
        }
        let hidden = addresses
            .iter()
            .find(|address| !address::is_public(address.ip()) && self.exempt != Some(**address));
        if let Some(hidden) = hidden {
            return Err(ToolError::Refused(format!(
                "`{host}` is {}, which is not on the public internet: this tool reaches no private, local or internal addresses; a local server can be asked with `bash` where the sandbox lets it",
                hidden.ip()
            )));
        }
        self.pins.lock().insert(host.to_owned(), addresses);
        Ok(())
    }

    async fn fetch(&self, mut url: Url, max_bytes: usize) -> Result<ToolOutput, ToolError> {
        for _ in 0..=MAX_REDIRECTS {
            self.check_host(&url).await?;
            let request = self
                .client()?
                .get(url.clone())
                .header(header::ACCEPT, "text/html, text/*, */*;q=0.5");
            let response = request.send().await.map_err(|error| failed(&url, &error))?;
            let Some(target) = redirect(&response, &url) else {
                return answer(response, &url, max_bytes).await;
            };
            let target = target?;
            if !is_same_place(&url, &target) {
                return Ok(ToolOutput::text(format!(
                    "{url} leads to another place: {target}\nCall `web_fetch` with that address to read it."
                )));
            }
            url = target;
        }
        Err(ToolError::Refused(format!(
            "more than {MAX_REDIRECTS} redirects, the last to {url}"
        )))
    }
}

impl Default for WebFetch {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for WebFetch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebFetch").finish_non_exhaustive()
    }
}

#[async_trait]
impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value, _cx: &SubjectCx) -> Result<Subject, ToolError> {
        let (url, _) = self.read(input)?;
        Ok(Subject {
            tool: self.spec.name.to_owned(),
            text: url.to_string(),
            risk: self.spec.risk,
            targets: vec![Target::Url(url.into())],
        })
    }

    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let (url, max_bytes) = self.read(&input)?;
        let what = format!("fetching {url}");
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(ToolError::Cancelled),
            fetched = tokio::time::timeout(DEADLINE, self.fetch(url, max_bytes)) => {
                fetched.unwrap_or(Err(ToolError::Timeout { what, after: DEADLINE }))
            }
        }
    }
}

/// Returns where a response redirects to, or why that is no address of the web.
fn redirect(response: &Response, url: &Url) -> Option<Result<Url, ToolError>> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(header::LOCATION)?;
    let location = String::from_utf8_lossy(location.as_bytes());
    let target = url.join(&location).ok().and_then(|joined| {
        let web = untrusted_text::url::web_url(joined.as_str()).ok()?;
        Url::parse(&web.normal).ok()
    });
    Some(target.ok_or_else(|| {
        let shown: String = location.chars().take(200).collect();
        ToolError::Refused(format!(
            "{url} redirects to `{shown}`, which is no web address"
        ))
    }))
}

/// Says whether a permission for `from` covers `to`: the same host and port, or `https` instead of `http` on it.
fn is_same_place(from: &Url, to: &Url) -> bool {
    let is_upgrade = from.scheme() == "http"
        && to.scheme() == "https"
        && (from.port(), to.port()) == (None, None);
    from.host() == to.host()
        && (is_upgrade
            || (from.scheme() == to.scheme()
                && from.port_or_known_default() == to.port_or_known_default()))
}

async fn answer(response: Response, url: &Url, max_bytes: usize) -> Result<ToolOutput, ToolError> {
    let status = response.status();
    let page = body::read(response, url, max_bytes).await;
    if !status.is_success() {
        // The server's own words may say what to do.
        let words = page.map(|page| page.text).unwrap_or_default();
        let words: String = words.chars().take(2_000).collect();
        return Ok(ToolOutput::error(
            format!("{url} answered {status}\n\n{words}")
                .trim_end()
                .to_owned(),
        ));
    }
    let body::Page { text, bytes, cut } = page?;
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let cut = cut.map(|cut| format!(", {cut}")).unwrap_or_default();
    Ok(ToolOutput::text(format!(
        "{text}{gap}\n[{url}, {bytes} bytes{cut}]"
    )))
}

fn failed(url: &Url, error: &reqwest::Error) -> ToolError {
    let doing = if error.is_connect() {
        "cannot connect to"
    } else {
        "cannot fetch"
    };
    ToolError::Io {
        what: format!("{doing} {url}"),
        source: deepest(error),
    }
}

/// Returns the first cause of an error, which says most.
fn deepest(error: &reqwest::Error) -> std::io::Error {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    std::io::Error::other(cause.to_string())
}

impl Pins {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Vec<SocketAddr>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Resolve for Pins {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.lock().get(name.as_str()).cloned();
        Box::pin(async move {
            match found {
                Some(addresses) => Ok(Box::new(addresses.into_iter()) as Addrs),
                None => Err("the host was not checked".into()),
            }
        })
    }
}

#[cfg(test)]
mod tests;
