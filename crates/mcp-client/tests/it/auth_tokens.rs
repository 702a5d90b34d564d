//! Tokens: kept, renewed by one, dropped when they fit no more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_client::auth::{OAuth, Record, TokenStore, Version};
use mcp_client::transport::Authorizer as _;
use testkit::oauth::{FakeOAuth, Reply, Rules};
use url::Url;

use super::auth_setup::{Client, call, client, client_with, config, file_store};

/// Another process with the same home: its own authorizer, its own store.
fn other_process(server: &FakeOAuth, client: &Client) -> OAuth {
    OAuth::new(config(
        server,
        &client.browser,
        file_store(&client.home),
        &client.clock,
    ))
    .unwrap()
}

fn refreshes(server: &FakeOAuth) -> usize {
    let requests = server.requests_for("/token");
    requests
        .iter()
        .filter(|request| request.form()["grant_type"] == "refresh_token")
        .count()
}

#[tokio::test]
async fn refresh_12_parallel_1_redemption() {
    let server = Arc::new(FakeOAuth::start(Rules {
        expires_in: Some(1_000),
        ..Rules::default()
    }));
    let client = client(&server);
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    server.change(|rules| rules.token_delay = Duration::from_millis(200));

    for round in 1..=3 {
        if round == 3 {
            // The server ends the token by itself.
            server.end_access_tokens();
        } else {
            client.clock.fetch_add(990, Ordering::SeqCst);
        }
        let processes: Vec<OAuth> = (0..3).map(|_| other_process(&server, &client)).collect();
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..12 {
            let (oauth, server) = (processes[task % 3].clone(), Arc::clone(&server));
            tasks.spawn(async move { (call(&oauth, &server).await, oauth.header().await) });
        }
        let answers = tasks.join_all().await;
        assert!(
            answers.iter().all(|answer| *answer == answers[0]),
            "{answers:?}"
        );
        assert_eq!((&answers[0].0, refreshes(&server)), (&Ok(200), round));
    }
    assert_eq!((client.browser.sign_ins(), server.reuses()), (1, 0));
}

#[tokio::test]
async fn parallel_calls_of_several_processes_ask_a_person_once() {
    let server = Arc::new(FakeOAuth::start(Rules {
        token_delay: Duration::from_millis(100),
        ..Rules::default()
    }));
    let client = client(&server);
    let processes: Vec<OAuth> = (0..2).map(|_| other_process(&server, &client)).collect();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..6 {
        let (oauth, server) = (processes[task % 2].clone(), Arc::clone(&server));
        tasks.spawn(async move { call(&oauth, &server).await });
    }
    assert_eq!(tasks.join_all().await, vec![Ok(200); 6]);
    assert_eq!(client.browser.sign_ins(), 1);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends_and_used_when_that_fails() {
    let server = FakeOAuth::start(Rules {
        expires_in: Some(1_000),
        ..Rules::default()
    });
    let client = client(&server);
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    let first = client.oauth.header().await.unwrap();
    client.clock.fetch_add(939, Ordering::SeqCst);
    assert_eq!(client.oauth.header().await.unwrap(), first);
    client.clock.fetch_add(1, Ordering::SeqCst);
    server.change(|rules| {
        rules
            .replies
            .insert("/token".to_owned(), Reply::status(503));
    });
    assert_eq!(client.oauth.header().await.unwrap(), first);
    assert_eq!(refreshes(&server), 1);
    client.clock.fetch_add(60, Ordering::SeqCst);
    let error = client.oauth.header().await.unwrap_err();
    assert!(error.contains("HTTP 503"), "{error}");
    server.change(|rules| rules.replies.clear());
    assert_ne!(client.oauth.header().await.unwrap(), first);
    assert_eq!(client.browser.sign_ins(), 1);
}

#[tokio::test]
async fn a_cancelled_call_loses_no_token() {
    let server = FakeOAuth::start(Rules {
        expires_in: Some(1_000),
        ..Rules::default()
    });
    let client = client(&server);
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    server.change(|rules| rules.token_delay = Duration::from_secs(1));
    client.clock.fetch_add(990, Ordering::SeqCst);
    {
        let mut header = std::pin::pin!(client.oauth.header());
        // Until the server has the old token.
        while refreshes(&server) == 0 {
            let waited = tokio::time::timeout(Duration::from_millis(5), header.as_mut()).await;
            assert!(waited.is_err());
        }
    }
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    assert_eq!(
        (
            refreshes(&server),
            server.reuses(),
            client.browser.sign_ins()
        ),
        (1, 0, 1)
    );
}

#[tokio::test]
async fn a_rejected_refresh_token_is_removed_only_if_it_is_still_the_one() {
    let server = FakeOAuth::start(Rules {
        expires_in: Some(1_000),
        ..Rules::default()
    });
    let client = client(&server);
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    let store = file_store(&client.home);
    let (old, _) = store.load("fake").unwrap();

    // Rejected, and nothing better there: the tokens go, the registration stays.
    server.end_all_tokens();
    client.clock.fetch_add(990, Ordering::SeqCst);
    assert_eq!(client.oauth.header().await, Ok(None));
    let (left, version) = store.load("fake").unwrap();
    let left = left.unwrap();
    assert_eq!(
        (left.tokens, &left.client),
        (None, &old.as_ref().unwrap().client)
    );

    // Rejected, while another process has signed in meanwhile without the lock.
    store.swap("fake", version.as_ref(), old.as_ref()).unwrap();
    server.change(|rules| rules.token_delay = Duration::from_secs(1));
    let seen = refreshes(&server);
    let other = other_process(&server, &client);
    let header = tokio::spawn({
        let other = other.clone();
        async move { other.header().await }
    });
    while refreshes(&server) == seen {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut newer = old.unwrap();
    newer.tokens.as_mut().unwrap().access = mcp_client::auth::Secret::new("newer");
    let (_, version) = store.load("fake").unwrap();
    store.swap("fake", version.as_ref(), Some(&newer)).unwrap();
    assert_eq!(header.await.unwrap(), Ok(Some("Bearer newer".to_owned())));
    assert_eq!(store.load("fake").unwrap().0, Some(newer));
}

#[tokio::test]
async fn url_change_drops_tokens() {
    let server = FakeOAuth::start(Rules::default());
    let client = client(&server);
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    let store = file_store(&client.home);
    assert!(store.load("fake").unwrap().0.is_some());
    let mut changed = config(&server, &client.browser, Arc::clone(&store), &client.clock);
    changed.server = Url::parse("https://elsewhere.example.com/mcp").unwrap();
    let changed = OAuth::new(changed).unwrap();
    assert_eq!(changed.header().await, Ok(None));
    assert_eq!(store.load("fake"), Ok((None, None)));
}

#[tokio::test]
async fn what_was_there_stays_until_the_new_is_kept() {
    let server = FakeOAuth::start(Rules::default());
    let client = client_with(&server, |config| {
        config.deadlines.sign_in = Duration::from_secs(10);
    });
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    let first = client.oauth.header().await.unwrap();
    server.change(|rules| rules.iss = Some("https://evil.example.com".to_owned()));
    let error = client.oauth.sign_in().await.unwrap_err().to_string();
    assert!(
        error.contains("is from `https://evil.example.com`"),
        "{error}"
    );
    assert_eq!(client.oauth.header().await.unwrap(), first);
    server.change(|rules| rules.iss = None);
    client.oauth.sign_in().await.unwrap();
    assert_ne!(client.oauth.header().await.unwrap(), first);
    assert!(client.oauth.is_signed_in().await.unwrap());
    client.oauth.sign_out().await.unwrap();
    assert!(!client.oauth.is_signed_in().await.unwrap());
    assert_eq!(client.oauth.header().await, Ok(None));
}

/// A disk that is full when a test says so.
struct Full {
    store: Arc<dyn TokenStore>,
    is_full: AtomicBool,
}

impl TokenStore for Full {
    fn load(&self, key: &str) -> Result<(Option<Record>, Option<Version>), String> {
        self.store.load(key)
    }

    fn swap(
        &self,
        key: &str,
        was: Option<&Version>,
        new: Option<&Record>,
    ) -> Result<Option<Version>, Option<String>> {
        if self.is_full.load(Ordering::SeqCst) {
            return Err(Some("no space left".to_owned()));
        }
        self.store.swap(key, was, new)
    }

    fn try_lock(&self, key: &str) -> Result<Option<Box<dyn Send + Sync>>, String> {
        self.store.try_lock(key)
    }
}

#[tokio::test]
async fn new_tokens_are_not_used_before_they_are_kept_and_not_lost() {
    let server = FakeOAuth::start(Rules {
        expires_in: Some(1_000),
        ..Rules::default()
    });
    let home = testkit::TempHome::new();
    let store = Arc::new(Full {
        store: file_store(&home),
        is_full: AtomicBool::new(false),
    });
    let client = client_with(&server, |config| {
        config.store = Arc::clone(&store) as Arc<dyn TokenStore>;
    });
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    let first = client.oauth.header().await.unwrap();
    client.clock.fetch_add(1_001, Ordering::SeqCst);
    store.is_full.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        let error = client.oauth.header().await.unwrap_err();
        assert!(
            error.contains("could not be kept: no space left"),
            "{error}"
        );
    }
    store.is_full.store(false, Ordering::SeqCst);
    assert_ne!(client.oauth.header().await.unwrap(), first);
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    assert_eq!((refreshes(&server), client.browser.sign_ins()), (1, 1));
}

#[tokio::test]
async fn another_process_that_renews_too_long_is_named() {
    let server = FakeOAuth::start(Rules::default());
    let client = client_with(&server, |config| {
        config.deadlines.lock = Duration::from_millis(60);
    });
    let held = file_store(&client.home).try_lock("fake").unwrap();
    assert!(held.is_some());
    let error = call(&client.oauth, &server).await.unwrap_err();
    assert!(
        error.contains("the credentials of `fake` are being got by another call or process"),
        "{error}"
    );
    drop(held);
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
}

const HOLDER: &str = "import fcntl, sys, time
lock = open(sys.argv[1], 'r+')
fcntl.flock(lock, fcntl.LOCK_EX)
open(sys.argv[2], 'w').close()
time.sleep(60)";

#[tokio::test]
async fn a_lock_holds_against_another_process_and_ends_with_it() {
    let server = FakeOAuth::start(Rules::default());
    let client = client_with(&server, |config| {
        config.deadlines.lock = Duration::from_millis(60);
    });
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    let files = std::fs::read_dir(client.home.path().join("tokens")).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    let lock = files.find(|path| path.extension().is_some_and(|ending| ending == "lock"));
    let held = client.home.path().join("held");
    let env = child_process::Env::allowlisted(&std::env::vars_os().collect());
    let python = child_process::Program::new("python3")
        .args(["-c", HOLDER])
        .args([lock.unwrap(), held.clone()])
        .env(env);
    let other = python.start().await.unwrap();
    testkit::wait_until("the lock", Duration::from_secs(20), || held.exists());
    server.end_access_tokens();
    let error = call(&client.oauth, &server).await.unwrap_err();
    assert!(error.contains("another call or process"), "{error}");
    assert_eq!(other.end(Duration::ZERO).await, Vec::<i32>::new());
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    assert_eq!(refreshes(&server), 1);
}
