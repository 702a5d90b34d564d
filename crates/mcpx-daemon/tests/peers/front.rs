//! The official conformance suite through the hub: a server that passes it is passed through, and has to pass it still.

#[path = "../../../mcp-server/examples/everything/fixture.rs"]
mod fixture;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mcp_server::http::{Http, HttpConfig, Listener};
use mcp_server::{Config, Notifier, Sealer, Server};
use mcpx_config::{Choice, Surroundings};
use mcpx_daemon::lifecycle::start::{Start, run};
use mcpx_store::StateDir;
use mcpx_store::daemons::Daemons;
use serde_json::{Value, json};
use testkit::TempHome;
use testkit::mcp::conformance;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// The fixture over HTTP; its URL.
async fn upstream() -> String {
    let notifier = Notifier::new();
    let service = Arc::new(fixture::Everything::new(notifier.clone()));
    let sealer = Arc::new(Sealer::random().unwrap());
    let server = Server::new(
        service,
        notifier,
        sealer,
        Config::new(|| jiff::Timestamp::UNIX_EPOCH),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let http = Http::new(server, HttpConfig::default());
    tokio::spawn(mcp_server::http::serve(
        http,
        Listener::Tcp(listener),
        CancellationToken::new(),
    ));
    url
}

/// A daemon in front of a server, which passes it through; its address, and its token.
pub(crate) async fn hub(home: &TempHome, everything: Value) -> (String, String) {
    let servers = json!({"mcpServers": {"everything": everything}});
    let file = home.write("mcp.json", servers.to_string());
    let start = Start {
        surroundings: Surroundings {
            cwd: home.path().to_owned(),
            env: BTreeMap::new(),
            home: Some(home.path().to_owned()),
            exe: std::env::current_exe().unwrap(),
        },
        choice: Choice {
            config_file: Some(file),
            demo: false,
            flags: vec![("mcp.passthrough".to_owned(), "everything".to_owned())],
        },
        state: home.path().join("state"),
        temporary: home.path().to_owned(),
        version: "0.0.0".to_owned(),
        clock: Arc::new(jiff::Timestamp::now),
    };
    let state = start.state.clone();
    let running = tokio::spawn(run(start));
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    loop {
        assert!(!running.is_finished(), "{:?}", running.await);
        assert!(tokio::time::Instant::now() < deadline, "no daemon");
        let record = Daemons::new(&StateDir::at(&state))
            .list()
            .records
            .into_iter()
            .next();
        if let Some((address, token)) = record.and_then(|record| {
            let endpoint = record.endpoint?;
            Some((endpoint.strip_prefix("http://")?.to_owned(), record.token?))
        }) {
            return (address, token);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The suite knows no tokens: this adds ours to each request, and leaves all else as it is.
pub(crate) async fn with_token(address: String, token: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://localhost:{}", listener.local_addr().unwrap().port());
    let bearer = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (address, bearer) = (address.clone(), bearer.clone());
            tokio::spawn(async move {
                let service = service_fn(|request| pass(request, &address, &bearer));
                let _gone = server::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    url
}

async fn pass(
    mut request: Request<Incoming>,
    address: &str,
    bearer: &HeaderValue,
) -> Result<Response<Incoming>, Box<dyn std::error::Error + Send + Sync>> {
    request
        .headers_mut()
        .insert(header::AUTHORIZATION, bearer.clone());
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = client::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender.send_request(request).await?)
}

fn through_the_hub(revision: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let home = TempHome::new();
    let base = runtime.block_on(async {
        let everything = json!({"type": "http", "url": upstream().await});
        let (address, token) = hub(&home, everything).await;
        with_token(address, token).await
    });
    let url = format!("{base}/mcp?passthrough=everything&tools=none");
    let baseline = format!("hub-{revision}.txt");
    let report =
        conformance::run_with_baseline(&conformance::Subject::Server(&url), revision, &baseline);
    assert!(report.contains("passed"), "{report}");
}

#[test]
fn the_conformance_suite_of_2025_11_25_passes_through_the_hub() {
    through_the_hub("2025-11-25");
}

#[test]
fn the_conformance_suite_of_2026_07_28_passes_through_the_hub() {
    through_the_hub("2026-07-28");
}
