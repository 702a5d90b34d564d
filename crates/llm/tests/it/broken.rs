//! Streams that break, stall, lie or are cancelled: what is kept and what is tried again.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use llm::{Block, Error, ErrorKind, Observer, Reply, Stop, Wire};
use testkit::{Answer, FakeModel};
use tokio_util::sync::CancellationToken;

use crate::run::{WIRES, call, config, once, provider, request};

/// How many events of an answer come before the end of its first text.
fn events_until_half(wire: Wire) -> usize {
    match wire {
        Wire::Messages => 4,
        Wire::Responses => 3,
        Wire::Chat => 2,
    }
}

fn first_line(message: &str, server: &FakeModel) -> String {
    let host = server.url().replace("http://", "");
    message
        .lines()
        .next()
        .unwrap_or_default()
        .replace(&host, "HOST")
}

fn broken(reply: Result<Reply, Error>, server: &FakeModel) -> (Vec<Block>, String) {
    let reply = reply.unwrap();
    match reply.stop {
        Stop::Broken(how) => (reply.blocks, first_line(&how, server)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_cut_answer_is_kept_and_not_tried_again() {
    for wire in WIRES {
        let answer = Answer::text("half and half").cut_after(events_until_half(wire));
        let (server, reply, seen) = once(wire, [answer, Answer::text("second")], |config| {
            config.max_retries = 3;
        })
        .await;
        let (blocks, how) = broken(reply, &server);
        assert_eq!(blocks, [Block::Text("half a".into())], "{wire:?}");
        assert!(how.starts_with("fake (HOST) broke the stream: "), "{how}");
        assert_eq!((seen.shown.as_str(), seen.retries.len()), ("half a", 0));
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_cut_before_anything_was_seen_is_tried_again() {
    for wire in WIRES {
        let (server, reply, seen) = once(
            wire,
            [Answer::text("a").cut_after(1), Answer::text("b")],
            |config| {
                config.max_retries = 1;
            },
        )
        .await;
        assert_eq!(reply.unwrap().blocks, [Block::Text("b".into())], "{wire:?}");
        assert_eq!((server.requests().len(), seen.retries.len()), (2, 1));
    }
}

#[tokio::test]
async fn a_cut_call_is_left_out_and_a_whole_one_kept() {
    let answer = Answer::text("t")
        .and_call("c1", "add", r#"{"a":1}"#)
        .and_call("c2", "add", r#"{"a":2}"#);
    // Just before the last piece of the second call.
    for (wire, events) in WIRES.into_iter().zip([13, 11, 8]) {
        let (server, reply, _) = once(wire, [answer.clone().cut_after(events)], |_| {}).await;
        let (blocks, _) = broken(reply, &server);
        assert_eq!(
            blocks,
            [Block::Text("t".into()), call("c1", "add", r#"{"a":1}"#)],
            "{wire:?}"
        );
    }
}

/// Patience that outlasts a busy machine. The tests that use it up ask on all wires at once.
const PATIENCE: Duration = Duration::from_secs(1);

fn patient(config: &mut llm::ProviderConfig) {
    config.timeout = PATIENCE;
    config.idle_timeout = PATIENCE;
}

#[tokio::test]
async fn a_stalled_stream_is_given_up() {
    join_all(WIRES.map(async |wire| {
        let answer = Answer::text("half and half").stall_after(events_until_half(wire));
        let (server, reply, _) = once(wire, [answer], patient).await;
        let expect = (
            vec![Block::Text("half a".into())],
            "fake (HOST) was silent for 1 s".to_owned(),
        );
        assert_eq!(broken(reply, &server), expect, "{wire:?}");
        let (server, reply, _) = once(wire, [Answer::text("a").stall_after(1)], patient).await;
        let error = reply.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Timeout);
        assert_eq!(
            first_line(&error.message, &server),
            "fake (HOST) was silent for 1 s"
        );
    }))
    .await;
}

#[tokio::test]
async fn a_slow_stream_is_not_a_stalled_one() {
    join_all(WIRES.map(async |wire| {
        // Six events at least: longer than the patience altogether, far shorter each.
        let answer = Answer::text("a").slow(PATIENCE / 5);
        let (_server, reply, _) = once(wire, [answer], patient).await;
        let blocks = reply.unwrap().blocks;
        assert_eq!(blocks, [Block::Text("a".into())], "{wire:?}");
    }))
    .await;
}

#[tokio::test]
async fn a_whole_answer_is_taken_although_the_stream_goes_on() {
    // The last events are the end of the stream or late usage, which some servers never send.
    join_all(
        WIRES
            .into_iter()
            .zip([7, 6, 4])
            .map(async |(wire, events)| {
                for answer in [
                    Answer::text("a").stall_after(events),
                    Answer::text("a").cut_after(events),
                ] {
                    let (_server, reply, _) = once(wire, [answer], patient).await;
                    let reply = reply.unwrap();
                    assert_eq!(
                        (reply.blocks, reply.stop),
                        (vec![Block::Text("a".into())], Stop::EndTurn)
                    );
                }
            }),
    )
    .await;
}

fn nonsense() -> Answer {
    Answer::raw_stream("data: nonsense\n\n")
}

#[tokio::test]
async fn a_malformed_event_ends_the_answer_and_is_tried_once_more_when_nothing_was_seen() {
    for wire in WIRES {
        let answer = Answer::text("half and half").event_after(events_until_half(wire), "{\"cut");
        let (server, reply, _) = once(wire, [answer], |_| {}).await;
        let (blocks, how) = broken(reply, &server);
        assert_eq!(blocks, [Block::Text("half a".into())], "{wire:?}");
        assert!(
            how.starts_with("fake (HOST) sent something that is no answer: event `{\"cut`"),
            "{how}"
        );
        let (server, reply, seen) = once(wire, [nonsense(), nonsense()], |config| {
            config.max_retries = 3;
        })
        .await;
        let error = reply.unwrap_err();
        assert_eq!(
            (error.kind, seen.retries.len()),
            (ErrorKind::Malformed, 1),
            "{wire:?}"
        );
        assert!(
            error.message.contains("check `base_url` and `api`"),
            "{}",
            error.message
        );
        assert_eq!(server.requests().len(), 2);
        let (_server, reply, _) = once(wire, [nonsense(), Answer::text("a")], |config| {
            config.max_retries = 1;
        })
        .await;
        assert_eq!(reply.unwrap().blocks, [Block::Text("a".into())], "{wire:?}");
    }
}

#[tokio::test]
async fn a_character_that_a_server_cut_in_half_arrives_whole() {
    let halves = r#"data: {"choices":[{"delta":{"content":"a\ud83d"}}]}

data: {"choices":[{"delta":{"content":"\ude00b"},"finish_reason":"stop"}]}

data: [DONE]

"#;
    let (_server, reply, _) = once(Wire::Chat, [Answer::raw_stream(halves)], |_| {}).await;
    assert_eq!(reply.unwrap().blocks, [Block::Text("a\u{1f600}b".into())]);
}

#[tokio::test]
async fn an_error_inside_the_stream_is_an_error() {
    let overloaded =
        r#"data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for wire in WIRES {
        let error = Answer::raw_stream(format!("{overloaded}\n\n"));
        let (server, reply, seen) = once(wire, [error.clone(), Answer::text("a")], |config| {
            config.max_retries = 1;
        })
        .await;
        assert_eq!(reply.unwrap().blocks, [Block::Text("a".into())], "{wire:?}");
        let host = server.url().replace("http://", "");
        let reason = format!("fake ({host}) failed while answering: Overloaded (overloaded_error)");
        assert_eq!(seen.retries, [(reason, 1)]);
        let late = Answer::text("half and half").event_after(
            events_until_half(wire),
            overloaded.strip_prefix("data: ").unwrap(),
        );
        let (server, reply, _) = once(wire, [late], |_| {}).await;
        let (blocks, how) = broken(reply, &server);
        assert_eq!(blocks, [Block::Text("half a".into())]);
        assert_eq!(
            how,
            "fake (HOST) failed while answering: Overloaded (overloaded_error)"
        );
    }
}

/// Cancels when the first text arrives.
struct Canceller(CancellationToken);

impl Observer for Canceller {
    fn text(&mut self, _: &str) {
        self.0.cancel();
    }
    fn thinking(&mut self, _: &str) {}
    fn retrying(&mut self, _: &str, _: u32, _: Duration) {
        self.0.cancel();
    }
}

async fn cancelled(wire: Wire, answer: Answer, cancel: CancellationToken) -> Result<Reply, Error> {
    let server = FakeModel::start([answer]);
    let mut config = config(wire, server.url());
    config.max_retries = 4;
    let provider = provider(config);
    let mut observer = Canceller(cancel.clone());
    let request = request();
    let asked = provider.stream(&request, &mut observer, &cancel);
    tokio::time::timeout(Duration::from_secs(10), asked)
        .await
        .expect("ends at once")
}

#[tokio::test]
async fn cancelling_keeps_what_arrived() {
    for wire in WIRES {
        let answer = Answer::text("half and half").stall_after(events_until_half(wire));
        let reply = cancelled(wire, answer, CancellationToken::new())
            .await
            .unwrap();
        let expect = (vec![Block::Text("half a".into())], Stop::Cancelled);
        assert_eq!((reply.blocks, reply.stop), expect, "{wire:?}");
    }
}

#[tokio::test]
async fn cancelling_before_anything_arrived_is_an_error_of_its_own() {
    for wire in WIRES {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let error = cancelled(wire, Answer::hang(), cancel).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Cancelled, "{wire:?}");
        // Cancelled while it waits for the next try, which would be a minute away.
        let limited = Answer::status(429).header("retry-after", "60");
        let error = cancelled(wire, limited, CancellationToken::new())
            .await
            .unwrap_err();
        assert_eq!(error.kind, ErrorKind::Cancelled, "{wire:?}");
    }
}

#[tokio::test]
async fn cancelling_from_elsewhere_ends_a_request_that_hangs() {
    for wire in WIRES {
        let server = Arc::new(FakeModel::start([Answer::hang()]));
        let cancel = CancellationToken::new();
        let (watched, token) = (Arc::clone(&server), cancel.clone());
        let watcher = std::thread::spawn(move || {
            testkit::wait_until("the request", Duration::from_secs(10), || {
                !watched.requests().is_empty()
            });
            token.cancel();
        });
        let provider = provider(config(wire, server.url()));
        let mut observer = Canceller(CancellationToken::new());
        let reply = provider.stream(&request(), &mut observer, &cancel).await;
        assert_eq!(reply.unwrap_err().kind, ErrorKind::Cancelled, "{wire:?}");
        watcher.join().unwrap();
    }
}
