//! What a product says about a server that wants tokens.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use url::Url;

use super::callback::RedirectHost;
use super::metadata::ClientAuth;
use super::secret::Secret;
use super::sign_in::SignIn;
use super::store::TokenStore;

/// A server that wants tokens, and how they are got.
#[derive(Clone)]
pub struct OAuthConfig {
    /// The server's configured name, for messages.
    pub name: String,
    /// Under which its record is kept: one for each configured server. A record of another URL under it is dropped.
    pub key: String,
    /// The server's endpoint: `https`, or on this machine.
    pub server: Url,
    /// Who we say we are when we register.
    pub client_name: String,
    /// A client that was registered beforehand.
    pub registered: Option<Registered>,
    /// The address of the product's client id metadata document: `https`, with a path.
    pub client_document: Option<Url>,
    /// Whether the client asks for itself, without a person. Needs `registered`.
    pub is_for_client: bool,
    /// What is asked for when the server's challenge names no scopes; otherwise all that its metadata lists.
    pub scopes: Option<Vec<String>>,
    /// How redirect addresses name this machine.
    pub redirect_host: RedirectHost,
    /// The port of the redirect address, where a registration made beforehand wants one.
    pub redirect_port: Option<u16>,
    /// How a person is asked; nobody can be when there is none.
    pub sign_in: Option<Arc<dyn SignIn>>,
    /// Where the record is kept.
    pub store: Arc<dyn TokenStore>,
    /// The time.
    pub now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    /// How long things may take.
    pub deadlines: Deadlines,
}

/// A client that was registered beforehand, with one authorization server. No other is shown it.
#[derive(Debug, Clone)]
pub struct Registered {
    /// The authorization server. When it is `None`, it is the first one that the server names, until a person signs out.
    pub issuer: Option<String>,
    /// The client's id.
    pub id: String,
    /// Its secret, when it has one.
    pub secret: Option<Secret>,
    /// How it says who it is; chosen by the server's metadata when it is `None`.
    pub auth: Option<ClientAuth>,
}

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// One request to the authorization server, redirects included.
    pub request: Duration,
    /// From showing the address to the answer.
    pub sign_in: Duration,
    /// Waiting for another task or process that renews.
    pub lock: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(30),
            sign_in: Duration::from_secs(300),
            lock: Duration::from_secs(45),
        }
    }
}

impl OAuthConfig {
    /// A server for which a person signs in, with the usual deadlines.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        server: Url,
        store: Arc<dyn TokenStore>,
        now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    ) -> Self {
        let name = name.into();
        Self {
            key: name.clone(),
            client_name: name.clone(),
            name,
            server,
            registered: None,
            client_document: None,
            is_for_client: false,
            scopes: None,
            redirect_host: RedirectHost::default(),
            redirect_port: None,
            sign_in: None,
            store,
            now,
            deadlines: Deadlines::default(),
        }
    }
}
