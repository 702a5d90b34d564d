//! Legacy over HTTP: sessions, streams that are gone on with, the back channel, cancelling.

use std::time::Duration;

use mcp_client::{Cause, Delivery, Event, Failure, FailureKind, connect};
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos, Question, Reply};

use crate::http_setup::{connected, http_received, http_spec, text};
use crate::setup::{Person, object, options};

const SAFE: bool = true;

fn tool(is_safe: bool) -> serde_json::Value {
    json!({ "name": "x", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": is_safe } })
}

fn broken(failure: &Failure) -> (Delivery, Cause) {
    match &failure.kind {
        FailureKind::NoAnswer {
            delivery, cause, ..
        } => (*delivery, cause.clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_session_is_on_every_later_message_and_is_ended() {
    let server = Chaos::new()
        .legacy()
        .sessions()
        .tool("x", Behaviour::Answer)
        .http();
    let connection = connected(&server).await;
    connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
    connection.close().await;
    let received = server.received();
    let of = |method: &str| received.of_method(method)[0].headers.clone();
    assert!(!of("initialize").contains_key("mcp-session-id"));
    assert!(!of("initialize").contains_key("mcp-protocol-version"));
    let session = &of("notifications/initialized")["mcp-session-id"];
    assert_eq!(&of("tools/call")["mcp-session-id"], session);
    assert_eq!(of("tools/call")["mcp-protocol-version"], "2025-11-25");
    assert!(!of("tools/call").contains_key("mcp-method"));
    let ends: Vec<_> = received
        .of_kind("http")
        .into_iter()
        .filter(|entry| entry.verb == "DELETE")
        .collect();
    assert_eq!(
        (ends.len(), &ends[0].headers["mcp-session-id"]),
        (1, session)
    );
    let after = connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap_err();
    assert_eq!(broken(&after), (Delivery::NotSent, Cause::Closed));
}

#[tokio::test]
async fn a_session_that_is_dropped_is_ended_too() {
    let server = Chaos::new().legacy().sessions().http();
    drop(connected(&server).await);
    http_received(&server, "DELETE", |received| {
        received
            .of_kind("http")
            .iter()
            .any(|entry| entry.verb == "DELETE")
    })
    .await;
}

#[tokio::test]
async fn old_revisions_have_no_version_header() {
    let server = Chaos::new()
        .legacy_revisions(&["2025-03-26"])
        .tool("x", Behaviour::Answer)
        .http();
    let connection = connected(&server).await;
    connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
    assert!(
        !server.received().of_method("tools/call")[0]
            .headers
            .contains_key("mcp-protocol-version")
    );
}

#[tokio::test]
async fn http_404_single_flight_reinit() {
    let server = Chaos::new()
        .legacy()
        .sessions_of(1)
        .tool_with(tool(SAFE), Behaviour::Answer)
        .http();
    let connection = connected(&server).await;
    connection.tools(&options()).await.unwrap();
    let mut events = connection.events();
    connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
    let (arguments, options) = (object("{}"), options());
    // The one that comes first ends the session; the new one serves one call, so not all of these get through.
    let calls = (0..8).map(|_| connection.call_tool("x", arguments.clone(), &options));
    let ended = futures_join(calls).await;
    assert!(ended.iter().any(Result::is_ok));
    assert!(ended.iter().all(|end| {
        end.as_ref()
            .map_or_else(|failure| broken(failure).1 == Cause::SessionLost, |_| true)
    }));
    while !matches!(events.recv().await.unwrap(), Event::SessionRenewed) {}
}

/// Waits for all of them at once.
async fn futures_join<T>(all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut all: Vec<_> = all.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        for (future, done) in &mut all {
            if done.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *done = Some(value);
            }
        }
        if all.iter().all(|(_, done)| done.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    all.into_iter().filter_map(|(_, done)| done).collect()
}

#[tokio::test]
async fn however_many_calls_notice_a_lost_session_one_handshake_is_made() {
    let lost = Behaviour::Http(Reply::status(404));
    let mut chaos = Chaos::new()
        .legacy()
        .sessions()
        .tool_with(tool(SAFE), Behaviour::Answer);
    for nth in 1..=6 {
        chaos = chaos.on_nth(
            "tools/call",
            nth,
            [Behaviour::Delay(Duration::from_millis(300)), lost.clone()],
        );
    }
    let server = chaos.http();
    let connection = connected(&server).await;
    connection.tools(&options()).await.unwrap();
    let (arguments, options) = (object("{}"), options());
    let calls = (0..6).map(|_| connection.call_tool("x", arguments.clone(), &options));
    for end in futures_join(calls).await {
        end.unwrap();
    }
    let received = server.received();
    assert_eq!(received.of_method("initialize").len(), 2);
    assert_eq!(received.of_method("tools/call").len(), 12);
    assert!(
        !received.of_method("initialize")[1]
            .headers
            .contains_key("mcp-session-id")
    );
}

#[tokio::test]
async fn unsafe_call_not_replayed() {
    let server = Chaos::new()
        .legacy()
        .sessions_of(1)
        .tool_with(tool(!SAFE), Behaviour::Answer)
        .http();
    let connection = connected(&server).await;
    connection.tools(&options()).await.unwrap();
    connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
    let failure = connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap_err();
    assert_eq!(
        broken(&failure),
        (Delivery::OutcomeUnknown, Cause::SessionLost)
    );
    let received = server.received();
    assert_eq!(received.of_method("tools/call").len(), 2);
    // The next one is in the session that was begun meanwhile.
    assert_eq!(received.of_method("initialize").len(), 2);
    connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
}

#[tokio::test]
async fn http_503_no_reinit() {
    for status in [400, 503] {
        let server = Chaos::new()
            .legacy()
            .sessions()
            .tool_with(tool(SAFE), Behaviour::Answer)
            .on_nth("tools/call", 1, Behaviour::Http(Reply::status(status)))
            .http();
        let connection = connected(&server).await;
        let failure = connection
            .call_tool("x", object("{}"), &options())
            .await
            .unwrap_err();
        assert_eq!(broken(&failure).1, Cause::Status(status));
        assert_eq!(server.received().of_method("initialize").len(), 1);
    }
}

#[tokio::test]
async fn a_404_without_a_session_is_a_404() {
    let server = Chaos::new()
        .legacy()
        .tool("x", Behaviour::Http(Reply::status(404)))
        .http();
    let connection = connected(&server).await;
    let failure = connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap_err();
    assert_eq!(broken(&failure), (Delivery::NotSent, Cause::Status(404)));
    assert_eq!(server.received().of_method("initialize").len(), 1);
}

#[tokio::test]
async fn a_stream_that_ends_early_is_gone_on_with_when_the_server_says_so() {
    let retry = Duration::from_millis(300);
    let script = [
        Behaviour::ResumeLater(retry),
        Behaviour::Delay(Duration::from_millis(600)),
        Behaviour::Answer,
    ];
    let server = Chaos::new().legacy().sessions().tool("x", script).http();
    let connection = connected(&server).await;
    connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
    let received = server.received();
    let gets: Vec<_> = received
        .of_kind("http")
        .into_iter()
        .filter(|entry| entry.headers.contains_key("last-event-id"))
        .collect();
    let call = received.of_method("tools/call")[0];
    assert!(gets[0].ms - call.ms >= 290, "{} ms", gets[0].ms - call.ms);
    assert!(gets[0].headers.contains_key("mcp-session-id"));
    assert_eq!(received.of_method("tools/call").len(), 1);
}

#[tokio::test]
async fn a_stream_without_ids_that_ends_early_leaves_the_outcome_unknown() {
    let server = Chaos::new()
        .legacy()
        .tool(
            "x",
            [Behaviour::Progress(1, Duration::ZERO), Behaviour::Drop],
        )
        .http();
    let connection = connected(&server).await;
    let failure = connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap_err();
    assert_eq!(broken(&failure), (Delivery::OutcomeUnknown, Cause::Closed));
}

#[tokio::test]
async fn a_disconnect_is_no_cancel_so_a_message_says_it() {
    let server = Chaos::new()
        .legacy()
        .sessions()
        .tool("x", Behaviour::UntilCancelled(Duration::from_secs(20)))
        .http();
    let connection = connected(&server).await;
    let options = options();
    let cancelled = options.cancelled.clone();
    let calling = connection.call_tool("x", object("{}"), &options);
    let cancelling = async {
        http_received(&server, "the call", |received| {
            !received.of_method("tools/call").is_empty()
        })
        .await;
        cancelled.cancel();
    };
    let (failure, ()) = tokio::join!(calling, cancelling);
    failure.unwrap_err();
    let received = http_received(&server, "the message", |received| {
        !received.of_method("notifications/cancelled").is_empty()
    })
    .await;
    let call = received.of_method("tools/call")[0];
    let cancel = received.of_method("notifications/cancelled")[0];
    assert_eq!(cancel.message["params"]["requestId"], call.message["id"]);
    assert_eq!(
        cancel.headers["mcp-session-id"],
        call.headers["mcp-session-id"]
    );
}

#[tokio::test]
async fn a_question_on_the_stream_of_a_call_is_the_calls_own() {
    let script = [
        Behaviour::Ask("q", Question::confirm("Sure?")),
        Behaviour::Answer,
    ];
    let server = Chaos::new().legacy().sessions().tool("x", script).http();
    let person = Person::accepting(r#"{"ok":true}"#);
    let connection = connect(http_spec(&server), Some(person.clone()))
        .await
        .unwrap();
    let (arguments, mut first, mut second) = (object("{}"), options(), options());
    first.label = Some("first".to_owned());
    second.label = Some("second".to_owned());
    let (one, two) = tokio::join!(
        connection.call_tool("x", arguments.clone(), &first),
        connection.call_tool("x", arguments.clone(), &second)
    );
    assert!(text(&one.unwrap()).contains("accept"));
    two.unwrap();
    let mut calls: Vec<_> = person
        .asked
        .lock()
        .unwrap()
        .iter()
        .map(|asked| asked.call.clone().unwrap())
        .collect();
    calls.sort();
    assert_eq!(calls, ["first", "second"]);
}

#[tokio::test]
async fn what_comes_on_the_back_channel_is_told_and_nothing_waits_for_it() {
    let server = Chaos::new()
        .legacy()
        .sessions()
        .get_stream()
        .tool(
            "x",
            [
                Behaviour::Announce("notifications/tools/list_changed", json!({})),
                Behaviour::Answer,
            ],
        )
        .http();
    let connection = connected(&server).await;
    let mut events = connection.events();
    http_received(&server, "the GET", |received| {
        received
            .of_kind("http")
            .iter()
            .any(|entry| entry.verb == "GET")
    })
    .await;
    // The server takes it in just behind writing it down.
    let told = async { while !matches!(events.recv().await.unwrap(), Event::ToolsChanged) {} };
    tokio::pin!(told);
    loop {
        connection
            .call_tool("x", object("{}"), &options())
            .await
            .unwrap();
        if tokio::time::timeout(Duration::from_millis(100), &mut told)
            .await
            .is_ok()
        {
            break;
        }
    }
}

#[tokio::test]
async fn a_server_without_a_back_channel_is_asked_for_it_once() {
    let server = Chaos::new().legacy().tool("x", Behaviour::Answer).http();
    let connection = connected(&server).await;
    http_received(&server, "the GET", |received| {
        received
            .of_kind("http")
            .iter()
            .any(|entry| entry.verb == "GET")
    })
    .await;
    for _ in 0..3 {
        connection
            .call_tool("x", object("{}"), &options())
            .await
            .unwrap();
    }
    let gets = server.received().of_kind("http").len();
    assert_eq!(gets, 1);
    let silent = Chaos::new()
        .legacy()
        .on("GET", Behaviour::Delay(Duration::from_secs(20)))
        .tool("x", Behaviour::Answer)
        .http();
    let connection = connected(&silent).await;
    connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
}

#[tokio::test]
async fn while_a_session_is_begun_anew_others_speak_what_was_agreed() {
    let server = Chaos::new()
        .legacy_revisions(&["2025-06-18"])
        .sessions_of(1)
        .tool_with(tool(SAFE), Behaviour::Answer)
        .on_nth("initialize", 2, Behaviour::Http(Reply::status(503)))
        .http();
    let connection = connected(&server).await;
    for _ in 0..3 {
        // The second is not: its new session is refused once.
        let _answered = connection.call_tool("x", object("{}"), &options()).await;
    }
    let received = server.received();
    let calls = received.of_method("tools/call");
    assert!(calls.len() >= 3);
    for call in calls {
        assert_eq!(call.headers["mcp-protocol-version"], "2025-06-18");
    }
    assert_eq!(received.of_method("initialize").len(), 3);
}
