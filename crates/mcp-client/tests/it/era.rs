//! Which era a server is taken for, by the answer to the first message.

use std::time::Duration;

use mcp_client::{Cause, FailureKind, Verdict, connect};
use mcp_wire::{Era, Revision};
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos};

use crate::setup::{connected, object, options, received, spec};

const LEGACY: Option<Verdict> = Some(Verdict {
    era: Era::Legacy,
    old_sse: false,
});
const MODERN: Option<Verdict> = Some(Verdict {
    era: Era::Modern,
    old_sse: false,
});

/// Connects, calls a tool, and returns the verdict and how many processes it took.
async fn verdict_of(chaos: Chaos) -> (Option<Verdict>, usize, Vec<String>) {
    let server = chaos.tool("echo", Behaviour::Answer).stdio();
    let mut spec = spec(&server);
    spec.timeouts.probe = Duration::from_secs(2);
    let connection = connect(spec, None).await.unwrap();
    let result = connection
        .call_tool("echo", object(r#"{"a":1}"#), &options())
        .await
        .unwrap();
    assert!(!result.is_error);
    let verdict = connection.verdict();
    connection.close().await;
    let received = server.received();
    // A server with tasks is asked which of its tools want to be one.
    let methods = received
        .methods()
        .iter()
        .filter(|method| **method != "tools/list")
        .map(|method| (*method).to_owned())
        .collect();
    (verdict, received.processes().len(), methods)
}

#[tokio::test]
async fn a_modern_server_is_never_initialized() {
    let (verdict, processes, methods) = verdict_of(Chaos::new().modern()).await;
    assert_eq!((verdict, processes), (MODERN, 1));
    assert_eq!(methods, ["server/discover", "tools/call"]);
}

#[tokio::test]
async fn a_server_of_both_eras_is_spoken_to_in_the_modern_one() {
    assert_eq!(verdict_of(Chaos::new()).await.0, MODERN);
}

#[tokio::test]
async fn probe_32601() {
    let (verdict, processes, methods) = verdict_of(Chaos::new().legacy()).await;
    assert_eq!((verdict, processes), (LEGACY, 1));
    assert_eq!(
        methods,
        [
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/call"
        ]
    );
}

#[tokio::test]
async fn probe_32602() {
    let (verdict, processes, _) =
        verdict_of(Chaos::new().legacy().probe(Behaviour::Error(-32602))).await;
    assert_eq!((verdict, processes), (LEGACY, 1));
}

#[tokio::test]
async fn probe_any_other_code_and_an_empty_result() {
    for script in [
        Behaviour::Error(-32000),
        Behaviour::Error(-32020 + 1),
        Behaviour::Result(json!({})),
    ] {
        assert_eq!(
            verdict_of(Chaos::new().legacy().probe(script)).await.0,
            LEGACY
        );
    }
}

#[tokio::test]
async fn probe_silent() {
    let (verdict, processes, _) = verdict_of(Chaos::new().legacy().probe(Behaviour::Never)).await;
    assert_eq!((verdict, processes), (LEGACY, 2));
}

#[tokio::test]
async fn probe_exit() {
    let (verdict, processes, _) = verdict_of(Chaos::new().legacy().probe(Behaviour::Exit(1))).await;
    assert_eq!((verdict, processes), (LEGACY, 2));
}

#[tokio::test]
async fn probe_32022_pick() {
    let picks = json!({ "supported": ["2026-07-28", "2025-11-25"], "requested": "2099-01-01" });
    let script = Behaviour::ErrorWith(-32022, "unsupported", picks);
    // The same revision again is no new revision: what it refuses it does not speak.
    let (verdict, ..) = verdict_of(Chaos::new().legacy().probe(script)).await;
    assert_eq!(verdict, LEGACY);
    let only_legacy = json!({ "supported": ["2025-11-25"], "requested": "2026-07-28" });
    let script = Behaviour::ErrorWith(-32022, "unsupported", only_legacy);
    assert_eq!(
        verdict_of(Chaos::new().legacy().probe(script)).await.0,
        LEGACY
    );
}

#[tokio::test]
async fn a_server_that_speaks_only_newer_revisions_is_named() {
    let newer = json!({ "supported": ["2027-01-01"], "requested": "2026-07-28" });
    let server = Chaos::new()
        .modern()
        .probe(Behaviour::ErrorWith(-32022, "unsupported", newer))
        .stdio();
    let failure = connect(spec(&server), None).await.err().unwrap();
    let text = failure.to_string();
    assert!(
        text.contains("it speaks 2027-01-01; this client speaks up to 2026-07-28"),
        "{text}"
    );
}

#[tokio::test]
async fn probe_shim_only_legacy() {
    let (verdict, processes, methods) = verdict_of(Chaos::new().shim()).await;
    assert_eq!((verdict, processes), (LEGACY, 1));
    assert_eq!(methods[1], "initialize");
}

#[tokio::test]
async fn probe_late_answer() {
    let script = [Behaviour::Delay(Duration::from_secs(3)), Behaviour::Answer];
    let (verdict, processes, _) = verdict_of(Chaos::new().probe(script)).await;
    assert_eq!((verdict, processes), (LEGACY, 2));
}

#[tokio::test]
async fn a_server_that_is_slow_to_start_teaches_nothing_about_its_era() {
    let (verdict, ..) =
        verdict_of(Chaos::new().legacy().starts_after(Duration::from_secs(3))).await;
    assert_eq!(verdict, None);
}

#[tokio::test]
async fn what_was_remembered_saves_the_probe_and_is_found_out_again_when_it_is_wrong() {
    let server = Chaos::new().legacy().stdio();
    let mut remembering = spec(&server);
    remembering.remembered = LEGACY;
    let _connection = connect(remembering, None).await.unwrap();
    let received = received(&server, "the handshake", |received| {
        received.messages().len() == 2
    })
    .await;
    assert_eq!(
        received.methods(),
        ["initialize", "notifications/initialized"]
    );

    let server = Chaos::new().modern().stdio();
    let mut remembering = spec(&server);
    remembering.remembered = LEGACY;
    assert_eq!(connect(remembering, None).await.unwrap().verdict(), MODERN);
}

#[tokio::test]
async fn an_older_revision_is_agreed_on() {
    let server = Chaos::new().legacy_revisions(&["2024-11-05"]).stdio();
    let connection = connected(&server).await;
    assert_eq!(connection.agreed().revision, Revision::V2024_11_05);
    let server = Chaos::new().legacy_revisions(&["1999-01-01"]).stdio();
    let failure = connect(spec(&server), None).await.err().unwrap();
    assert!(
        failure
            .to_string()
            .contains("it speaks revision \"1999-01-01\""),
        "{failure}"
    );
}

#[tokio::test]
async fn a_server_that_never_answers_fails_at_the_start_deadline_and_quotes_what_it_wrote() {
    let server = Chaos::new()
        .legacy()
        .banner("Server listening on port 3000")
        .probe(Behaviour::Never)
        .on("initialize", Behaviour::Never)
        .stdio();
    let mut spec = spec(&server);
    spec.timeouts.probe = Duration::from_secs(1);
    spec.timeouts.start = Duration::from_secs(4);
    let failure = connect(spec, None).await.err().unwrap();
    assert!(
        matches!(
            failure.kind,
            FailureKind::NoAnswer {
                cause: Cause::Timeout(_),
                ..
            }
        ),
        "{failure:?}"
    );
    let text = failure.to_string();
    assert!(text.contains("Server listening on port 3000"), "{text}");
    assert!(text.contains("chaos.py"), "{text}");
}
