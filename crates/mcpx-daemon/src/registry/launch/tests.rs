use std::{
    collections::BTreeMap,
    ffi::OsString,
    sync::{Arc, Mutex},
    time::Duration,
};

use child_process::Mark;
use mcp_client::{CallOptions, Limits, Verdict};
use mcp_wire::{Era, Implementation, Object, Revision, method};
use mcpx_config::{Protocol, Reach, Scope, Server};
use testkit::mcp::{Behaviour, Chaos, CommandLine};

use super::{Launch, RealLaunch, environment, eras::EraMemory, remembered};
use crate::registry::pool::{
    Pool,
    fake::{Seen, entry, everybody, patient, until},
};

/// Remembers for as long as a test takes.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Verdict>>);

impl EraMemory for Memory {
    fn recall(&self, identity: &str) -> Option<Verdict> {
        self.0.lock().unwrap().get(identity).copied()
    }

    fn learn(&self, identity: &str, verdict: Verdict, _revision: Revision) {
        self.0.lock().unwrap().insert(identity.to_owned(), verdict);
    }

    fn forget(&self, identity: &str) {
        self.0.lock().unwrap().remove(identity);
    }
}

fn launch(memory: &Arc<Memory>) -> RealLaunch {
    RealLaunch {
        client: Implementation::new("mcpx", "1"),
        env: std::env::vars_os().collect(),
        mark: Some(Mark::new("0123456789abcdef-launch").unwrap()),
        somebody: Arc::default(),
        eras: Arc::<Memory>::clone(memory),
        sign_in: None,
        probe: Duration::from_secs(10),
        question: Duration::from_secs(30),
        limits: Limits::default(),
    }
}

fn stdio(command: &CommandLine) -> Server {
    let mut server = entry(r#"{"command": "x"}"#);
    server.reach = Reach::Stdio {
        command: command.program.clone(),
        args: command.args.clone(),
        env: BTreeMap::new(),
        cwd: None,
    };
    server
}

async fn refused(launch: &RealLaunch, server: &Server) -> String {
    match launch.launch(server, "notes#1").await {
        Ok(_) => panic!("it was launched"),
        Err(failure) => failure.to_string(),
    }
}

#[tokio::test]
async fn what_was_found_out_is_remembered_and_a_protocol_is_forced() {
    let memory: Arc<Memory> = Arc::default();
    let launch = launch(&memory);
    let chaos = Chaos::new().legacy().stdio();
    let mut server = stdio(&chaos.command());
    let connection = launch.launch(&server, "notes#1").await.unwrap().connection;
    assert_eq!(connection.era(), Era::Legacy);
    assert!(connection.pid().is_some());
    connection.close().await;
    let known = memory.recall(&server.identity());
    assert_eq!(known.map(|verdict| verdict.era), Some(Era::Legacy));

    server.protocol = Protocol::ForceDiscover;
    let why = refused(&launch, &server).await;
    assert!(why.contains("wants the modern one"), "{why}");

    let both = Chaos::new().stdio();
    server = stdio(&both.command());
    server.protocol = Protocol::ForceInitialize;
    let connection = launch.launch(&server, "notes#1").await.unwrap().connection;
    assert_eq!(connection.era(), Era::Legacy);
    connection.close().await;
    assert_eq!(both.received().methods()[0], method::INITIALIZE);
}

#[tokio::test]
async fn a_program_that_is_not_there_says_where_it_was_looked_for() {
    let launch = launch(&Arc::default());
    let mut server = entry(r#"{"command": "no-such-program", "args": ["--serve"]}"#);
    let why = refused(&launch, &server).await;
    assert!(
        why.contains("there is no program `no-such-program` on its PATH"),
        "{why}"
    );
    assert!(why.contains("no-such-program --serve"), "{why}");

    server = entry(r#"{"command": "sh", "args": ["-c", "echo broken >&2; exit 3"]}"#);
    let why = refused(&launch, &server).await;
    assert!(why.contains("/sh -c "), "the resolved program: {why}");
    assert!(why.contains("broken"), "the last of its stderr: {why}");

    let Reach::Stdio { cwd, .. } = &mut server.reach else {
        panic!("no program");
    };
    *cwd = Some("/no/such/folder".into());
    let why = refused(&launch, &server).await;
    assert!(why.contains("`/no/such/folder` is not there"), "{why}");
}

#[test]
fn a_program_gets_a_short_list_and_what_its_entry_names() {
    let daemon: BTreeMap<OsString, OsString> = [
        ("PATH", "/bin"),
        ("LC_ALL", "C"),
        ("XDG_RUNTIME_DIR", "/run"),
        ("https_proxy", "http://proxy"),
        ("NOTES_TOKEN", "t"),
        ("OPENAI_API_KEY", "secret"),
        ("GIT_DIR", "/elsewhere"),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value.into()))
    .collect();
    let mut server = entry(r#"{"command": "x", "env": {"A": "1", "LC_ALL": "en"}}"#);
    server.requires_secrets = vec!["NOTES_TOKEN".to_owned()];
    let env = environment::of(&server, &daemon);
    let got: Vec<String> = env
        .iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    assert_eq!(
        got,
        [
            "A=1",
            "LC_ALL=en",
            "NOTES_TOKEN=t",
            "PATH=/bin",
            "XDG_RUNTIME_DIR=/run",
            "https_proxy=http://proxy"
        ]
    );
}

#[test]
fn a_credential_goes_where_the_entry_says() {
    let launch = launch(&Arc::default());
    let reach = |json: &str| {
        let server = entry(json);
        match launch.spec(&server, None, None).unwrap().reach {
            mcp_client::Reach::Http(http) => (http.url.to_string(), http.headers),
            mcp_client::Reach::Stdio(_) => panic!("a program"),
        }
    };
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        reach(
            r#"{"url": "https://a.example/mcp", "headers": {"authorization": "old", "X": "1"},
                "auth": {"type": "bearer", "token": "t"}}"#
        ),
        (
            "https://a.example/mcp".to_owned(),
            vec![header("X", "1"), header("Authorization", "Bearer t")]
        )
    );
    assert_eq!(
        reach(
            r#"{"url": "https://a.example/mcp?a=1",
                "auth": {"type": "query", "name": "key", "value": "s&t"}}"#
        ),
        ("https://a.example/mcp?a=1&key=s%26t".to_owned(), vec![])
    );
}

#[test]
fn the_entry_decides_which_era_is_tried_first() {
    let verdict = |era| Verdict {
        era,
        old_sse: false,
    };
    let (legacy, modern) = (Some(verdict(Era::Legacy)), Some(verdict(Era::Modern)));
    let mut server = entry(r#"{"command": "x"}"#);
    for (protocol, known, expected) in [
        (Protocol::PreferDiscover, None, None),
        (Protocol::PreferDiscover, legacy, legacy),
        (Protocol::ForceDiscover, legacy, None),
        (Protocol::PreferInitialize, None, legacy),
        (Protocol::PreferInitialize, modern, modern),
        (Protocol::ForceInitialize, modern, legacy),
    ] {
        server.protocol = protocol;
        assert_eq!(remembered(&server, known), expected, "{protocol:?}");
    }
    let server = entry(r#"{"url": "http://a.example/sse", "transport": "sse"}"#);
    assert!(remembered(&server, None).unwrap().old_sse);
}

fn pool(server: Server) -> (Arc<Pool>, Arc<Seen>) {
    let seen: Arc<Seen> = Arc::default();
    let launch = Arc::new(launch(&Arc::default()));
    let watch = Arc::<Seen>::clone(&seen);
    (Pool::new(Arc::new(server), launch, watch), seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_in_a_call_is_dropped_and_the_next_call_gets_a_fresh_process() {
    let chaos = Chaos::new()
        .modern()
        .tool("ok", [Behaviour::Answer])
        .tool("crash", [Behaviour::Exit(3)])
        .stdio();
    let mut server = stdio(&chaos.command());
    (server.scope, server.max) = (Scope::Global, 1);
    let (pool, seen) = pool(server);
    let call = |name: &'static str| {
        let pool = Arc::clone(&pool);
        async move {
            let lease = pool.lease(&everybody(), patient()).await.unwrap();
            let params = Object::new()
                .with("name", name)
                .with("arguments", Object::new());
            let answer = lease
                .connection()
                .request(method::TOOLS_CALL, params, &CallOptions::default())
                .await;
            (lease.instance().id().to_owned(), answer.is_ok())
        }
    };
    assert_eq!(call("ok").await, ("notes#1".to_owned(), true));
    let status = pool.status();
    assert_eq!(status.instances[0].protocol, "2026-07-28");
    assert!(status.instances[0].pid.is_some());
    assert_eq!(call("crash").await, ("notes#1".to_owned(), false));
    assert_eq!(call("ok").await, ("notes#2".to_owned(), true));
    until("the death to be told", || {
        let told = seen.told();
        told.iter()
            .any(|told| told.starts_with("notes#1 ended: it ended by itself"))
    })
    .await;
    pool.close().await;
    for pid in chaos.received().processes() {
        let pid = i32::try_from(pid).unwrap();
        assert_eq!(child_process::Identity::of(pid), None, "{pid} is left");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_callers_start_one_process() {
    let chaos = Chaos::new().modern().stdio();
    let mut server = stdio(&chaos.command());
    (server.scope, server.max) = (Scope::Global, 1);
    let (pool, _seen) = pool(server);
    let leases = (0..64).map(|_| {
        let pool = Arc::clone(&pool);
        async move { pool.lease(&everybody(), patient()).await.unwrap() }
    });
    let leases = futures::future::join_all(leases).await;
    assert_eq!(chaos.received().processes().len(), 1);
    drop(leases);
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_between_two_calls_is_refused_and_makes_the_leases_exclusive() {
    let chaos = Chaos::new()
        .legacy()
        .tool(
            "ask",
            [
                Behaviour::Delay(Duration::from_millis(200)),
                Behaviour::Ask("q", testkit::mcp::Question::confirm("Really?")),
            ],
        )
        .stdio();
    let mut server = stdio(&chaos.command());
    (server.scope, server.max) = (Scope::Global, 1);
    let (pool, seen) = pool(server);
    let calls = (0..2).map(|_| {
        let pool = Arc::clone(&pool);
        async move {
            let lease = pool.lease(&everybody(), patient()).await.unwrap();
            let params = Object::new()
                .with("name", "ask")
                .with("arguments", Object::new());
            let options = CallOptions::default();
            let _refused_or_not = lease
                .connection()
                .request(method::TOOLS_CALL, params, &options)
                .await;
        }
    });
    futures::future::join_all(calls).await;
    until("the pool to learn", || pool.is_exclusive()).await;
    let told = seen.told();
    assert!(
        told.iter()
            .any(|told| told.contains("sent `elicitation/create`")),
        "{told:?}"
    );
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_the_network_is_an_instance_without_a_process() {
    let chaos = Chaos::new().tool("ok", [Behaviour::Answer]).http();
    let mut server = entry(&format!(r#"{{"url": "{}"}}"#, chaos.url()));
    (server.scope, server.max) = (Scope::Global, 1);
    let (pool, _seen) = pool(server);
    let lease = pool.lease(&everybody(), patient()).await.unwrap();
    assert_eq!(lease.instance().pid(), None);
    let params = Object::new()
        .with("name", "ok")
        .with("arguments", Object::new());
    let answer = lease
        .connection()
        .request(method::TOOLS_CALL, params, &CallOptions::default())
        .await;
    assert!(answer.is_ok(), "{answer:?}");
    drop(lease);
    pool.close().await;
}
