//! How a server is reached: its name, its program or URL, its deadlines and limits.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use child_process::Program;
use mcp_wire::Implementation;
use untrusted_text::redact::Redactor;

use crate::connect::Verdict;
use crate::transport::Authorizer;

/// A server as the product configured it.
#[derive(Clone)]
pub struct ServerSpec {
    /// The name under which people know it.
    pub name: String,
    /// Where it is.
    pub reach: Reach,
    /// Who we say we are.
    pub client: Implementation,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// How big things may be.
    pub limits: Limits,
    /// What an earlier connection with this configuration found out; saves the probe.
    pub remembered: Option<Verdict>,
    /// Whether every call is made for the same caller. Then a question that cannot be attributed to one of several open
    /// calls is still asked; otherwise it is refused.
    pub single_caller: bool,
    /// Knows what must not be told when something fails: of the command line, and of what the server writes.
    pub redactor: Redactor,
}

impl ServerSpec {
    /// A server with the usual deadlines and limits, for several callers.
    #[must_use]
    pub fn new(name: impl Into<String>, reach: Reach, client: Implementation) -> Self {
        Self {
            name: name.into(),
            reach,
            client,
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            remembered: None,
            single_caller: false,
            redactor: Redactor::default(),
        }
    }

    /// The name and where it is, for messages.
    #[must_use]
    pub fn label(&self) -> Label {
        Label {
            name: self.name.clone(),
            resolved: self
                .redactor
                .redact(&self.reach.to_string())
                .text
                .into_owned(),
        }
    }
}

/// Where a server is.
#[derive(Clone)]
pub enum Reach {
    /// A program that speaks over its standard streams. The caller set its arguments, environment, folder and sandbox;
    /// the streams are set here.
    Stdio(Program),
    /// A URL.
    Http(HttpReach),
}

/// A server behind a URL.
#[derive(Clone)]
pub struct HttpReach {
    /// The one endpoint, `http` or `https`.
    pub url: url::Url,
    /// A Unix socket to connect to instead of the URL's host.
    pub unix_socket: Option<PathBuf>,
    /// Sent with every request to this server and with no other. Values may be secrets.
    pub headers: Vec<(String, String)>,
    /// Who brings credentials, when the server wants some.
    pub authorizer: Option<Arc<dyn Authorizer>>,
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio(program) => write!(f, "{}", program.command_line()),
            Self::Http(http) => {
                // Neither user information nor the query: both hold secrets now and then.
                let mut url = http.url.clone();
                url.set_query(None);
                url.set_fragment(None);
                let _kept_when_it_cannot_be =
                    url.set_password(None).and_then(|()| url.set_username(""));
                write!(f, "{url}")?;
                match &http.unix_socket {
                    Some(path) => write!(f, " over {}", path.display()),
                    None => Ok(()),
                }
            }
        }
    }
}

/// How a server is named in messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Its configured name.
    pub name: String,
    /// The resolved command line, or the URL without user information and query.
    pub resolved: String,
}

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start to the end of the handshake.
    pub start: Duration,
    /// How long a server may be silent on the first, modern request before it is taken for a legacy one.
    pub probe: Duration,
    /// How long a call may go without a sign of life. Progress starts it anew; it stands while a question is open.
    pub idle: Duration,
    /// How long a call may take in all, whatever progress it reports; open questions do not count.
    pub max: Duration,
    /// How long a person has for a question.
    pub question: Duration,
    /// How long a server has to end by itself before it is killed.
    pub shutdown: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            probe: Duration::from_secs(5),
            idle: Duration::from_secs(60),
            max: Duration::from_secs(3_600),
            question: Duration::from_secs(600),
            shutdown: Duration::from_secs(2),
        }
    }
}

/// How big things may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one message.
    pub message: usize,
    /// Pages of one list.
    pub pages: usize,
    /// Elements of one list.
    pub elements: usize,
    /// Rounds of questions in one call.
    pub rounds: usize,
    /// Rounds in a row that ask nothing and only carry state.
    pub state_only_rounds: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: mcp_wire::lines::DEFAULT_LIMIT,
            pages: 1_000,
            elements: 100_000,
            rounds: 10,
            state_only_rounds: 3,
        }
    }
}
