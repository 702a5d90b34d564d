//! Failures that others reported of single calls: clocks that run while a person reads, cancels that reach another
//! call, progress that stops a call, arguments that were repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mcp_client::CallOptions;
use mcp_wire::{Era, Object};
use mcpx_api::Op;
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos, Question};
use tokio_util::sync::CancellationToken;

use crate::failures_setup::Slowly;
use crate::front_setup::{Daemon, ERAS, object, stdio};

fn options() -> CallOptions {
    CallOptions::default()
}

#[tokio::test]
async fn the_clock_of_a_call_stands_while_a_person_reads() {
    let script = [
        Behaviour::Ask("q", Question::confirm("Sure?")),
        Behaviour::Answer,
    ];
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let chaos = chaos.tool("ask", script.clone()).stdio();
        let mut entry = stdio(&chaos);
        entry["mcpx"] = json!({"callTimeout": "700ms", "sharing": "exclusive"});
        let daemon = Daemon::of(json!({"s": entry})).await;
        for era in ERAS {
            let person = Arc::new(Slowly(Duration::from_millis(1_500)));
            let client = daemon.client_with("?passthrough=s", era, person).await;
            let called = client.call_tool("ask", Object::new(), &options()).await;
            let called = called.unwrap_or_else(|error| panic!("{era:?}: {error}"));
            assert!(
                called.joined_text().contains(r#""ok": true"#),
                "{}",
                called.joined_text()
            );
        }
    }
}

#[tokio::test]
async fn progress_does_not_shorten_a_call_and_never_runs_backwards() {
    let steady = [
        Behaviour::Progress(20, Duration::from_millis(50)),
        Behaviour::Answer,
    ];
    let back = |progress: f64| {
        Behaviour::Notify(
            "notifications/progress",
            json!({"progressToken": "nobody's", "progress": progress}),
        )
    };
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let chaos = chaos
            .tool("steady", steady.clone())
            .tool("strange", [back(5.0), back(1.0), Behaviour::Answer])
            .stdio();
        let mut entry = stdio(&chaos);
        entry["mcpx"] = json!({"callTimeout": "20s"});
        let daemon = Daemon::of(json!({"s": entry})).await;
        for era in ERAS {
            let client = daemon.client("?passthrough=s", era, None).await;
            for (tool, most) in [("steady", 20), ("strange", 0)] {
                let (sender, mut said) = tokio::sync::mpsc::unbounded_channel();
                let options = CallOptions {
                    on_progress: Some(Arc::new(move |progress| {
                        let _nobody_listens = sender.send(progress.progress);
                    })),
                    ..options()
                };
                client
                    .call_tool(tool, Object::new(), &options)
                    .await
                    .unwrap();
                drop(options);
                let mut all = Vec::new();
                while let Ok(progress) = said.try_recv() {
                    all.push(progress);
                }
                assert!(all.len() <= most, "{tool}: {all:?}");
                assert!(all.is_sorted(), "{tool}: {all:?}");
                assert!(tool != "steady" || !all.is_empty());
            }
        }
    }
}

/// The ids of the calls of a tool by the number in their arguments, and the ids that were cancelled.
fn ids(received: &testkit::mcp::Received) -> (BTreeMap<u64, Value>, Vec<Value>) {
    let calls = received.of_method("tools/call").into_iter();
    let calls = calls.filter_map(|call| {
        let number = call.message["params"]["arguments"]["n"].as_u64()?;
        Some((number, call.message["id"].clone()))
    });
    let cancelled = received.of_method("notifications/cancelled").into_iter();
    let cancelled = cancelled.map(|entry| entry.message["params"]["requestId"].clone());
    (calls.collect(), cancelled.collect())
}

#[tokio::test]
async fn a_cancel_at_any_moment_reaches_its_own_call_or_none() {
    const CALLS: u64 = 120;
    let quick = [Behaviour::Progress(1, Duration::ZERO), Behaviour::Answer];
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let chaos = chaos.tool("quick", quick.clone()).stdio();
        let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
        // Two clients that number their requests alike.
        let clients = [
            daemon.client("?passthrough=s", Era::Legacy, None).await,
            daemon.client("?passthrough=s", Era::Modern, None).await,
        ];
        let calling = (0..CALLS).map(|number| {
            let client = &clients[usize::try_from(number % 2).unwrap()];
            async move {
                let cancelled = CancellationToken::new();
                let options = CallOptions {
                    cancelled: cancelled.clone(),
                    ..options()
                };
                let call = client.call_tool("quick", object(&json!({"n": number})), &options);
                let cancel = async {
                    // From at once to behind the answer.
                    if number % 3 != 0 {
                        tokio::time::sleep(Duration::from_micros(number * 97)).await;
                        cancelled.cancel();
                    }
                };
                (number, tokio::join!(call, cancel).0)
            }
        });
        let ended = futures::future::join_all(calling).await;
        let mut answered = BTreeSet::new();
        for (number, ended) in ended {
            match ended {
                Ok(result) => {
                    let own = format!(r#""n": {number}}}"#);
                    let text = result.joined_text();
                    assert!(text.contains(&own), "{number} got {text}");
                    answered.insert(number);
                }
                Err(_) => assert_ne!(number % 3, 0, "nobody cancelled {number}"),
            }
        }
        // Afterwards everything works, and what was cancelled was cancelled by its own id, once.
        let last = clients[0]
            .call_tool("quick", object(&json!({"n": CALLS})), &options())
            .await;
        last.unwrap();
        let (calls, cancelled) = ids(&chaos.received());
        let distinct: BTreeSet<String> = cancelled.iter().map(Value::to_string).collect();
        assert_eq!(distinct.len(), cancelled.len(), "one was cancelled twice");
        let own: BTreeSet<String> = calls
            .iter()
            .filter(|(number, _)| *number % 3 != 0)
            .map(|(_, id)| id.to_string())
            .collect();
        assert!(distinct.is_subset(&own), "{distinct:?} of {own:?}");
    }
}

#[tokio::test]
async fn what_a_caller_gives_to_tell_a_repetition_goes_on_unchanged() {
    let chaos = Chaos::new().tool("pay", Behaviour::Answer).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let args = json!({"idempotency_key": "k-1", "amount": 5});
    daemon
        .ask(Op::Call, json!({"tool": "s.pay", "args": args}))
        .await
        .unwrap();
    let received = chaos.received();
    let sent = received.of_method("tools/call");
    assert_eq!(sent[0].message["params"]["arguments"], args);
    assert_eq!(sent.len(), 1);
}

#[tokio::test]
async fn a_tool_that_says_that_repeating_is_safe_is_called_again_and_no_other() {
    let defined = |name: &str, hints: Value| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": hints});
    let dies = |chaos: Chaos, name: &str, hints: Value| {
        chaos
            .tool_with(defined(name, hints), Behaviour::Exit(9))
            .stdio()
    };
    for (hints, most) in [
        (json!({"readOnlyHint": true}), 2),
        (json!({"idempotentHint": true, "destructiveHint": false}), 2),
        (json!({}), 1),
        (json!({"destructiveHint": true}), 1),
    ] {
        let chaos = dies(Chaos::new(), "t", hints.clone());
        let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
        let called = daemon.ask(Op::Call, json!({"tool": "s.t"})).await;
        let error = called.unwrap_err();
        assert_eq!(
            error.data.string("delivery").as_deref(),
            Some("outcome_unknown"),
            "{hints}: {error}"
        );
        let made = chaos.received().of_method("tools/call").len();
        assert!(made <= most, "{hints}: {made} calls");
        assert!(
            error.message.contains("verify before you repeat it"),
            "{hints}: {error} {:?}",
            error.hint
        );
    }
}

#[tokio::test]
async fn a_call_whose_outcome_nobody_knows_names_a_tool_that_may_show_it() {
    let defined = |name: &str, reads: bool| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": reads}});
    let chaos = Chaos::new()
        .tool_with(defined("create_issue", false), Behaviour::Exit(9))
        .tool_with(defined("list_issues", true), Behaviour::Answer)
        .tool_with(defined("list_users", true), Behaviour::Answer)
        .tool_with(defined("send_mail", false), Behaviour::Exit(9))
        .stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    for (tool, shows) in [
        ("s.create_issue", Some("s.list_issues")),
        ("s.send_mail", None),
    ] {
        let called = daemon.ask(Op::Call, json!({"tool": tool})).await;
        let error = called.unwrap_err();
        assert_eq!(error.data.string("verifyWith").as_deref(), shows, "{error}");
        let hint = error.hint.unwrap_or_default();
        assert_eq!(shows.is_some(), hint.contains("s.list_issues"), "{hint}");
    }
}
