//! Which era a server behind a URL is taken for.

use std::time::Duration;

use mcp_client::{Cause, Failure, FailureKind, Verdict, connect};
use mcp_wire::Era;
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos, HttpChaos, Reply};

use crate::http_setup::{connected, http_spec, reach, serve_bytes, spec_of};
use crate::setup::{object, options};

const LEGACY: Option<Verdict> = Some(Verdict {
    era: Era::Legacy,
    old_sse: false,
});
const MODERN: Option<Verdict> = Some(Verdict {
    era: Era::Modern,
    old_sse: false,
});

/// Connects, calls a tool, and returns the verdict and what the server was asked.
async fn verdict_of(chaos: Chaos) -> (Option<Verdict>, Vec<String>) {
    let server = chaos.tool("echo", Behaviour::Answer).http();
    let mut spec = http_spec(&server);
    spec.timeouts.probe = Duration::from_secs(2);
    let connection = connect(spec, None).await.unwrap();
    let result = connection
        .call_tool("echo", object(r#"{"a":1}"#), &options())
        .await
        .unwrap();
    assert!(!result.is_error);
    let methods = server
        .received()
        .methods()
        .iter()
        .map(ToString::to_string)
        .collect();
    (connection.verdict(), methods)
}

fn reply(status: u16) -> Behaviour {
    Behaviour::Http(Reply::status(status))
}

/// The server has tasks, so the tools are read before the first call.
const HANDSHAKE: [&str; 5] = [
    "server/discover",
    "initialize",
    "notifications/initialized",
    "tools/list",
    "tools/call",
];

async fn refused(server: &HttpChaos) -> Failure {
    connect(http_spec(server), None).await.err().unwrap()
}

#[tokio::test]
async fn a_modern_server_is_never_initialized() {
    for chaos in [Chaos::new().modern(), Chaos::new()] {
        let (verdict, methods) = verdict_of(chaos).await;
        assert_eq!(verdict, MODERN);
        assert_eq!(methods, ["server/discover", "tools/list", "tools/call"]);
    }
}

#[tokio::test]
async fn http_32601_with_status_200() {
    let (verdict, methods) = verdict_of(Chaos::new().legacy()).await;
    assert_eq!(verdict, LEGACY);
    assert_eq!(methods, HANDSHAKE);
}

#[tokio::test]
async fn http_400_empty_body() {
    for status in [400, 404, 405] {
        let (verdict, methods) = verdict_of(Chaos::new().legacy().probe(reply(status))).await;
        assert_eq!(verdict, LEGACY, "{status}");
        assert_eq!(methods, HANDSHAKE);
    }
}

#[tokio::test]
async fn http_400_with_an_error_that_every_era_has() {
    let body = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#;
    let probe = Behaviour::Http(Reply::status(400).body("application/json", body));
    assert_eq!(
        verdict_of(Chaos::new().legacy().probe(probe)).await.0,
        LEGACY
    );
}

#[tokio::test]
async fn http_400_with_a_modern_error_names_a_revision_that_is_tried() {
    let picks = json!({ "supported": ["2026-07-28"], "requested": "2026-07-28" });
    let once = Behaviour::ErrorWith(-32022, "unsupported", picks);
    let chaos = Chaos::new().modern().on_nth("server/discover", 1, once);
    let (verdict, methods) = verdict_of(chaos).await;
    assert_eq!(verdict, MODERN);
    assert_eq!(methods[..2], ["server/discover", "server/discover"]);
}

#[tokio::test]
async fn http_401_inconclusive() {
    for status in [401, 403, 407, 429, 500, 503] {
        let server = Chaos::new().legacy().probe(reply(status)).http();
        let failure = refused(&server).await;
        assert_eq!(
            server.received().methods(),
            ["server/discover"],
            "{failure}"
        );
        assert!(failure.is_safe_to_repeat());
        assert!(
            failure.to_string().contains(&format!("HTTP {status}")),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn a_gateway_that_answers_in_the_servers_place_says_nothing_about_the_server() {
    let body = r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"upstream is down"},"id":1}"#;
    let probe = Behaviour::Http(Reply::status(502).body("application/json", body));
    let server = Chaos::new().legacy().probe(probe).http();
    let failure = refused(&server).await;
    assert_eq!(server.received().methods(), ["server/discover"]);
    assert!(
        failure.to_string().contains("upstream is down"),
        "{failure}"
    );
}

#[tokio::test]
async fn http_silence_and_a_closed_connection_are_not_remembered() {
    for probe in [Behaviour::Never, Behaviour::Drop] {
        let (verdict, methods) = verdict_of(Chaos::new().legacy().probe(probe)).await;
        assert_eq!(verdict, None);
        assert_eq!(methods, HANDSHAKE);
    }
}

#[tokio::test]
async fn a_modern_server_that_is_slow_to_wake_up_is_asked_once_more() {
    let slow = [Behaviour::Delay(Duration::from_secs(5)), Behaviour::Answer];
    let chaos = Chaos::new().modern().on_nth("server/discover", 1, slow);
    let (verdict, methods) = verdict_of(chaos).await;
    assert_eq!(verdict, MODERN);
    assert_eq!(
        methods[..3],
        ["server/discover", "initialize", "server/discover"]
    );
}

#[tokio::test]
async fn what_was_remembered_saves_the_probe_and_is_found_out_again_when_it_is_wrong() {
    let server = Chaos::new().legacy().http();
    let mut spec = http_spec(&server);
    spec.remembered = LEGACY;
    connect(spec, None).await.unwrap();
    assert_eq!(
        server.received().methods(),
        ["initialize", "notifications/initialized"]
    );
    for wrong in [
        LEGACY,
        Some(Verdict {
            era: Era::Legacy,
            old_sse: true,
        }),
    ] {
        let server = Chaos::new().modern().http();
        let mut spec = http_spec(&server);
        spec.remembered = wrong;
        let connection = connect(spec, None).await.unwrap();
        assert_eq!(connection.verdict(), MODERN);
    }
}

#[tokio::test]
async fn a_wrong_address_is_said_in_one_line_with_all_that_was_tried() {
    let page = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 22\r\n\r\n<h1>No such page.</h1>";
    let url = serve_bytes(page.to_vec()).await;
    let failure = connect(spec_of(reach(&url)), None).await.err().unwrap();
    let text = failure.to_string();
    assert!(
        text.contains(
            "HTTP 404 Not Found: <h1>No such page.</h1>; as a server of HTTP+SSE: HTTP 404"
        ),
        "{text}"
    );
    assert!(matches!(
        failure.kind,
        FailureKind::NoAnswer {
            cause: Cause::Status(404),
            ..
        }
    ));
}

#[tokio::test]
async fn nobody_listening_is_not_sent() {
    let failure = connect(spec_of(reach("http://127.0.0.1:1/mcp")), None)
        .await
        .err()
        .unwrap();
    assert!(failure.is_safe_to_repeat());
    assert!(
        matches!(
            failure.kind,
            FailureKind::NoAnswer {
                cause: Cause::Start,
                ..
            }
        ),
        "{failure:?}"
    );
    assert!(
        failure.to_string().contains("it cannot be connected to"),
        "{failure}"
    );
}

#[tokio::test]
async fn a_connection_is_made_within_the_start_time_or_not_at_all() {
    let server = Chaos::new()
        .legacy()
        .probe(Behaviour::Never)
        .on("initialize", Behaviour::Never)
        .http();
    let mut spec = http_spec(&server);
    spec.timeouts.probe = Duration::from_millis(200);
    spec.timeouts.start = Duration::from_millis(900);
    let failure = connect(spec, None).await.err().unwrap();
    assert!(matches!(
        failure.kind,
        FailureKind::NoAnswer {
            cause: Cause::Timeout(_),
            ..
        }
    ));
}

#[tokio::test]
async fn initialize_never_modern() {
    let server = Chaos::new().legacy_revisions(&["2025-06-18"]).http();
    let connection = connected(&server).await;
    let received = server.received();
    assert_eq!(
        received.of_method("initialize")[0].message["params"]["protocolVersion"],
        "2025-11-25"
    );
    assert_eq!(connection.agreed().revision.as_str(), "2025-06-18");
}
