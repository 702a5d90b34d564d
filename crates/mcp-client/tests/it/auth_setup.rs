//! What the tests of authorization share: a browser, a clock, and a client that sends one request.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use mcp_client::auth::{FileStore, OAuth, OAuthConfig, Opened, SignIn, TokenStore, UrlToOpen};
use mcp_client::transport::Authorizer;
use testkit::oauth::FakeOAuth;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

/// A person with a browser.
#[derive(Default)]
pub(crate) struct Browser {
    pub(crate) opened: Mutex<Vec<UrlToOpen>>,
    /// Pastes the address instead of being sent to it.
    pub(crate) pastes: bool,
    /// Looks at the page and does nothing.
    pub(crate) is_idle: bool,
}

impl Browser {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn sign_ins(&self) -> usize {
        self.opened.lock().unwrap().len()
    }
}

#[async_trait]
impl SignIn for Browser {
    async fn open(&self, url: &UrlToOpen) -> Result<Opened, String> {
        self.opened.lock().unwrap().push(url.clone());
        if self.is_idle {
            return Ok(Opened::Waiting);
        }
        let page = send("GET", url.url.as_str(), "").await;
        let Some(back) = page.header("location") else {
            // An error that only the person sees.
            return Ok(Opened::Waiting);
        };
        if self.pastes {
            return Ok(Opened::Redirected(back));
        }
        assert_eq!(send("GET", &back, "").await.status, 200);
        Ok(Opened::Waiting)
    }
}

/// A clock that a test sets, in seconds since 1970.
pub(crate) type Clock = Arc<AtomicU64>;

pub(crate) fn clock() -> Clock {
    Arc::new(AtomicU64::new(1_000_000))
}

pub(crate) fn config(
    server: &FakeOAuth,
    browser: &Arc<Browser>,
    store: Arc<dyn TokenStore>,
    clock: &Clock,
) -> OAuthConfig {
    let now = {
        let clock = Arc::clone(clock);
        Arc::new(move || UNIX_EPOCH + Duration::from_secs(clock.load(Ordering::SeqCst)))
    };
    let url = Url::parse(&server.endpoint()).unwrap();
    let mut config = OAuthConfig::new("fake", url, store, now);
    config.sign_in = Some(Arc::clone(browser) as Arc<dyn SignIn>);
    config.deadlines.request = Duration::from_secs(20);
    config.deadlines.sign_in = Duration::from_secs(20);
    config
}

pub(crate) fn file_store(home: &testkit::TempHome) -> Arc<dyn TokenStore> {
    Arc::new(FileStore::new(home.path().join("tokens")))
}

/// A client with a home of its own.
pub(crate) struct Client {
    pub(crate) oauth: OAuth,
    pub(crate) browser: Arc<Browser>,
    pub(crate) clock: Clock,
    pub(crate) home: testkit::TempHome,
}

pub(crate) fn client(server: &FakeOAuth) -> Client {
    client_with(server, |_| {})
}

pub(crate) fn client_with(server: &FakeOAuth, change: impl FnOnce(&mut OAuthConfig)) -> Client {
    let (home, browser, clock) = (testkit::TempHome::new(), Browser::new(), clock());
    let mut config = config(server, &browser, file_store(&home), &clock);
    change(&mut config);
    Client {
        oauth: OAuth::new(config).unwrap(),
        browser,
        clock,
        home,
    }
}

/// Sends one request as a transport does: with what the authorizer has, and again as long as it says so.
pub(crate) async fn call(oauth: &OAuth, server: &FakeOAuth) -> Result<u16, String> {
    for _ in 0..8 {
        let sent = oauth.header().await?;
        let header = sent
            .as_ref()
            .map_or(String::new(), |value| format!("authorization: {value}\r\n"));
        let answer = send("POST", &server.endpoint(), &header).await;
        if !matches!(answer.status, 401 | 403) {
            return Ok(answer.status);
        }
        let challenges = answer
            .header("www-authenticate")
            .into_iter()
            .collect::<Vec<_>>();
        if !oauth
            .challenged(answer.status, &challenges, sent.as_deref())
            .await?
        {
            return Ok(answer.status);
        }
    }
    Err("sent eight times".to_owned())
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
}

impl Answer {
    fn header(&self, wanted: &str) -> Option<String> {
        let mut pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = pairs.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.to_owned())
    }
}

/// One request without a body over a connection of its own.
pub(crate) async fn send(method: &str, url: &str, headers: &str) -> Answer {
    let url = Url::parse(url).unwrap();
    let address = (url.host_str().unwrap(), url.port().unwrap());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let head =
        format!("{method} {target} HTTP/1.1\r\nhost: x\r\n{headers}content-length: 0\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer[9..12].parse().unwrap();
    Answer {
        status,
        head: answer,
    }
}
