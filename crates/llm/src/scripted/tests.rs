//! The scripted provider.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::answer::tests::Transcript;

fn ask(
    provider: &Scripted,
    request: &Request,
    cancel: &CancellationToken,
) -> (Result<Reply, Error>, String) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut transcript = Transcript::default();
    let reply = runtime.block_on(provider.stream(request, &mut transcript, cancel));
    (reply, transcript.0)
}

fn call(id: &str, name: &str, input: &str) -> Block {
    Block::Call {
        id: id.into(),
        name: name.into(),
        input: input.into(),
    }
}

#[test]
fn a_script_is_read_from_toml_and_given_in_order() {
    let provider = Scripted::from_toml(
        r#"
        model = "scripted-1"
        [[reply]]
        say = [
          { thinking = "hm" },
          { text = "I look for it now." },
          { call = "grep", input = { pattern = "x", n = 1 } },
          { call = "todo" },
          { call = "read", input = '{"path": ' },
        ]
        usage = { input = 9, cache_read = 4 }
        [[reply]]
        say = [{ text = "Done" }]
        stop = "max_tokens"
        "#,
    )
    .unwrap();
    let cancel = CancellationToken::new();
    let first = Request {
        max_output_tokens: 1,
        ..Request::default()
    };
    let (reply, shown) = ask(&provider, &first, &cancel);
    assert_eq!(shown, "<hm>I look for it now.");
    assert_eq!(
        reply.unwrap(),
        Reply {
            blocks: vec![
                Block::Text("I look for it now.".into()),
                call("call_1", "grep", r#"{"n":1,"pattern":"x"}"#),
                call("call_2", "todo", "{}"),
                call("call_3", "read", r#"{"path": "#),
            ],
            stop: Stop::ToolUse,
            usage: Usage {
                input: 9,
                output: 0,
                cache_read: 4,
                cache_write: 0
            },
            model: "scripted-1".into(),
            request_id: None,
        }
    );
    assert_eq!(
        ask(&provider, &Request::default(), &cancel).0.unwrap().stop,
        Stop::MaxTokens
    );
    let error = ask(&provider, &Request::default(), &cancel).0.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (
            ErrorKind::Config,
            "the script has no reply for request 3; all 2 were given"
        )
    );
    let asked: Vec<_> = provider
        .requests()
        .iter()
        .map(|request| request.max_output_tokens)
        .collect();
    assert_eq!(asked, [1, 0, 0]);
}

#[test]
fn a_wrong_script_is_refused_with_its_place() {
    let error = Scripted::from_toml("[[reply]]\nsai = []").err().unwrap();
    assert!(error.message.contains("line 2"), "{}", error.message);
    let error = Scripted::from_toml("[[reply]]\nsay = [{ text = 'a', call = 'b' }]")
        .err()
        .unwrap();
    assert_eq!(error.kind, ErrorKind::Config);
}

#[test]
fn ids_go_on_over_the_script_and_may_be_chosen() {
    let provider = Scripted::new([
        ScriptedReply::new()
            .call("a", json!({}))
            .call_with_id("own", "b", "{}"),
        ScriptedReply::new().call("c", json!({ "x": 1 })),
    ]);
    let cancel = CancellationToken::new();
    let blocks = |_: u8| {
        ask(&provider, &Request::default(), &cancel)
            .0
            .unwrap()
            .blocks
    };
    assert_eq!(
        blocks(1),
        [call("call_1", "a", "{}"), call("own", "b", "{}")]
    );
    assert_eq!(blocks(2), [call("call_3", "c", r#"{"x":1}"#)]);
}

#[test]
fn failures_come_before_or_after_the_first_word() {
    let provider = Scripted::new([
        ScriptedReply::new().fail(ErrorKind::Overloaded, "busy"),
        ScriptedReply::new()
            .text("half")
            .fail(ErrorKind::Network, "cut"),
    ]);
    let cancel = CancellationToken::new();
    let error = ask(&provider, &Request::default(), &cancel).0.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Overloaded, "busy")
    );
    let reply = ask(&provider, &Request::default(), &cancel).0.unwrap();
    assert_eq!(
        (reply.blocks, reply.stop),
        (vec![Block::Text("half".into())], Stop::Broken("cut".into()))
    );
}

/// Cancels, or opens the gate, when the first text arrives.
struct OnText<F: FnMut() + Send>(F);

impl<F: FnMut() + Send> Observer for OnText<F> {
    fn text(&mut self, _: &str) {
        (self.0)();
    }
    fn thinking(&mut self, _: &str) {}
    fn retrying(&mut self, _: &str, _: u32, _: Duration) {}
}

#[test]
fn a_gate_holds_a_reply_until_it_is_opened_or_the_request_is_cancelled() {
    let gate = Arc::new(Notify::new());
    let reply = ScriptedReply::new().text("a").wait(&gate).text("b");
    let provider = Scripted::new([reply.clone(), reply.clone(), reply]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let cancel = CancellationToken::new();
    let request = Request::default();
    let mut opener = OnText(|| gate.notify_one());
    let reply = runtime
        .block_on(provider.stream(&request, &mut opener, &cancel))
        .unwrap();
    assert_eq!(
        reply.blocks,
        [Block::Text("a".into()), Block::Text("b".into())]
    );
    // The second piece of text opened it once more; that permit is used up here.
    runtime.block_on(gate.notified());
    let mut canceller = OnText(|| cancel.cancel());
    let reply = runtime
        .block_on(provider.stream(&request, &mut canceller, &cancel))
        .unwrap();
    assert_eq!(
        (reply.blocks, reply.stop),
        (vec![Block::Text("a".into())], Stop::Cancelled)
    );
    let reply = runtime.block_on(provider.stream(&request, &mut OnText(|| {}), &cancel));
    assert_eq!(reply.unwrap_err().kind, ErrorKind::Cancelled);
}
