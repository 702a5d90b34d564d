//! An MCP server that wants tokens and the authorization server that gives them, on one port, with their own code.
//!
//! [`Rules`] say how they behave, and can be changed while they run. It checks what a client sends as a strict server
//! would: PKCE, redirect addresses, `resource`, the client of each token; a refresh token that is redeemed twice ends its
//! whole family. Requests are kept.

mod endpoints;
mod http;
mod state;

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use http::{Reply, Request};
use state::State;

/// How the servers behave.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Rules {
    /// Answers by path, before anything else is looked at.
    pub replies: HashMap<String, Reply>,
    /// Whether there is metadata of the resource, under its path.
    pub has_resource_metadata: bool,
    /// Whether a challenge says where the resource's metadata is.
    pub names_metadata: bool,
    /// The scopes in the challenge of a 401.
    pub challenge_scope: Option<String>,
    /// What the resource's metadata calls it; its URL when `None`.
    pub resource: Option<String>,
    /// The scopes in the resource's metadata.
    pub resource_scopes: Option<Vec<String>>,
    /// The issuer's path, such as `/tenant1`; may be empty.
    pub issuer_path: String,
    /// Where the authorization server's metadata is; the first usual place when `None`.
    pub metadata_path: Option<String>,
    /// What the metadata says the issuer is; the truth when `None`.
    pub claimed_issuer: Option<String>,
    /// Whether clients can be registered.
    pub registers: bool,
    /// Whether client id metadata documents are said to be read.
    pub reads_client_documents: bool,
    /// The methods for the token endpoint in the metadata.
    pub client_auth: Option<Vec<String>>,
    /// Whether registration gives a secret.
    pub gives_secret: bool,
    /// Clients that exist beforehand, with their secrets.
    pub clients: Vec<(String, String)>,
    /// Whether S256 is listed.
    pub lists_s256: bool,
    /// The scopes in the authorization server's metadata.
    pub server_scopes: Vec<String>,
    /// Whether `iss` is said to be sent.
    pub advertises_iss: bool,
    /// The `iss` that is sent; the truth when `None`, none when empty.
    pub iss: Option<String>,
    /// Whether a refresh token is good once.
    pub rotates: bool,
    /// How long an access token is said to live, in seconds.
    pub expires_in: Option<u64>,
    /// How long the token endpoint takes.
    pub token_delay: Duration,
    /// The scope that a call of a tool needs beside a token.
    pub call_scope: Option<String>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            replies: HashMap::new(),
            has_resource_metadata: true,
            names_metadata: true,
            challenge_scope: None,
            resource: None,
            resource_scopes: None,
            issuer_path: String::new(),
            metadata_path: None,
            claimed_issuer: None,
            registers: true,
            reads_client_documents: false,
            client_auth: Some(vec!["none".to_owned()]),
            gives_secret: false,
            clients: Vec::new(),
            lists_s256: true,
            server_scopes: Vec::new(),
            advertises_iss: true,
            iss: None,
            rotates: true,
            expires_in: Some(3_600),
            token_delay: Duration::ZERO,
            call_scope: None,
        }
    }
}

/// Both servers, running. They end when this is dropped.
pub struct FakeOAuth {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    base: String,
    rules: Mutex<Rules>,
    state: Mutex<State>,
    requests: Mutex<Vec<Request>>,
    is_over: AtomicBool,
}

impl FakeOAuth {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// # Panics
    ///
    /// When no port can be had.
    pub fn start(rules: Rules) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            base: format!("http://{address}"),
            rules: Mutex::new(rules),
            state: Mutex::default(),
            requests: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        let acceptor = thread::spawn(move || accept(&listener, &for_thread));
        Self {
            address,
            shared,
            acceptor: Some(acceptor),
        }
    }

    /// Returns `http://127.0.0.1:PORT`.
    pub fn base(&self) -> &str {
        &self.shared.base
    }

    /// Returns the MCP endpoint, `http://127.0.0.1:PORT/mcp`.
    pub fn endpoint(&self) -> String {
        format!("{}/mcp", self.shared.base)
    }

    /// Changes the rules.
    ///
    /// # Panics
    ///
    /// When another thread panicked meanwhile.
    pub fn change(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut self.shared.rules.lock().unwrap());
    }

    /// Ends every access token; refresh tokens stay good.
    ///
    /// # Panics
    ///
    /// When another thread panicked meanwhile.
    pub fn end_access_tokens(&self) {
        self.shared.state.lock().unwrap().access.clear();
    }

    /// Ends every token.
    ///
    /// # Panics
    ///
    /// When another thread panicked meanwhile.
    pub fn end_all_tokens(&self) {
        let mut state = self.shared.state.lock().unwrap();
        state.access.clear();
        state.refresh.clear();
    }

    /// Forgets every registered client.
    ///
    /// # Panics
    ///
    /// When another thread panicked meanwhile.
    pub fn forget_clients(&self) {
        self.shared.state.lock().unwrap().clients.clear();
    }

    /// Returns how many families of tokens ended because a refresh token was redeemed twice.
    ///
    /// # Panics
    ///
    /// When another thread panicked meanwhile.
    pub fn reuses(&self) -> usize {
        self.shared.state.lock().unwrap().reuses
    }

    /// Returns every secret that was given out: codes, tokens, client secrets.
    ///
    /// # Panics
    ///
    /// When another thread panicked meanwhile.
    pub fn secrets(&self) -> Vec<String> {
        self.shared.state.lock().unwrap().secrets.clone()
    }

    /// Returns the requests so far, oldest first.
    ///
    /// # Panics
    ///
    /// When another thread panicked meanwhile.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Returns `METHOD PATH` of the requests so far, oldest first, without queries.
    pub fn lines(&self) -> Vec<String> {
        let requests = self.requests();
        let line = |request: &Request| format!("{} {}", request.method, request.path);
        requests.iter().map(line).collect()
    }

    /// Returns the requests for a path.
    pub fn requests_for(&self, path: &str) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.path == path);
        requests
    }
}

impl Drop for FakeOAuth {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the acceptor.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut connections = Vec::new();
    for stream in listener.incoming() {
        if shared.is_over.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        connections.push(thread::spawn(move || serve(&stream, &shared)));
    }
    for connection in connections {
        drop(connection.join());
    }
}

/// Serves one request: every answer closes its connection.
fn serve(stream: &TcpStream, shared: &Shared) {
    let Some(request) = http::read(stream) else {
        return;
    };
    shared.requests.lock().unwrap().push(request.clone());
    let rules = shared.rules.lock().unwrap().clone();
    let canned = rules.replies.get(&request.path).cloned();
    let reply = canned.unwrap_or_else(|| endpoints::answer(&request, &rules, shared));
    thread::sleep(reply.delay);
    http::write(stream, &reply);
}
