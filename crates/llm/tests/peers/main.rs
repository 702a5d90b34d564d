//! The three wires against programs that nobody of us wrote. `ci/peers` installs them.
#![allow(clippy::unwrap_used, reason = "a helper that fails must fail the test")]

use std::{sync::Arc, time::Duration};

use llm::{
    Block, Message, Observer, Provider, ProviderConfig, Reply, Request, Role, Stop, SystemPart,
    ToolDef, Wire,
};
use serde_json::json;
use testkit::peers::{self, Conversation, Peer, Turn};
use tokio_util::sync::CancellationToken;

const WIRES: [Wire; 3] = [Wire::Messages, Wire::Responses, Wire::Chat];

#[derive(Default)]
struct Shown {
    text: String,
    thinking: String,
}

impl Observer for Shown {
    fn text(&mut self, piece: &str) {
        self.text.push_str(piece);
    }
    fn thinking(&mut self, piece: &str) {
        self.thinking.push_str(piece);
    }
    fn retrying(&mut self, reason: &str, _: u32, _: Duration) {
        panic!("nothing should need a retry: {reason}");
    }
}

fn provider(peer: &Peer, wire: Wire) -> Arc<dyn Provider> {
    llm::connect(ProviderConfig {
        name: "peer".into(),
        wire,
        base_url: if wire == Wire::Messages {
            peer.url().to_owned()
        } else {
            peer.url_v1()
        },
        api_key: None,
        api_key_env: None,
        model: "some-model".into(),
        context_window: 8_192,
        timeout: Duration::from_secs(120),
        idle_timeout: Duration::from_secs(120),
        max_retries: 1,
        headers: Vec::new(),
    })
    .unwrap()
}

fn request(system: &str, prompt: &str, max_output_tokens: u32) -> Request {
    Request {
        system: vec![SystemPart {
            text: system.into(),
            cache_breakpoint: true,
        }],
        messages: vec![message(Role::User, vec![Block::Text(prompt.into())])],
        max_output_tokens,
        cache_key: Some("session-1".into()),
        ..Request::default()
    }
}

fn message(role: Role, blocks: Vec<Block>) -> Message {
    Message {
        role,
        blocks,
        cache_breakpoint: role == Role::User,
    }
}

fn result(id: &str, text: &str) -> Block {
    Block::Result {
        id: id.into(),
        text: text.into(),
        is_error: false,
        images: Vec::new(),
    }
}

async fn ask(provider: &dyn Provider, request: &Request) -> (Reply, Shown) {
    let mut shown = Shown::default();
    let reply = provider
        .stream(request, &mut shown, &CancellationToken::new())
        .await
        .unwrap();
    (reply, shown)
}

/// Returns the blocks that anyone understands.
fn open_blocks(reply: &Reply) -> Vec<Block> {
    let mut blocks = reply.blocks.clone();
    blocks.retain(|block| !matches!(block, Block::Opaque(_)));
    blocks
}

#[tokio::test]
async fn a_conversation_with_calls_goes_through_the_mock_server_on_every_wire() {
    let peer = peers::aimock(
        &Conversation::new()
            .prompt("add the numbers")
            .reply(
                Turn::new()
                    .reasoning("both at once")
                    .text("I add them now, all of them.")
                    .call("add", json!({ "a": 1, "b": 2 }))
                    .call("add", json!({ "a": 3, "b": 4 }))
                    .usage(20, 8),
            )
            .reply(Turn::new().call("add", json!({ "a": 3, "b": 7 })))
            .reply(Turn::new().text("It is 10: grüße 🦀.")),
    );
    for wire in WIRES {
        let provider = provider(&peer, wire);
        let mut request = request("be brief", "please add the numbers", 100);
        request.tools = vec![ToolDef {
            name: "add".into(),
            description: "adds two numbers".into(),
            input_schema: json!({ "type": "object", "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } } }),
        }];
        let (first, shown) = ask(provider.as_ref(), &request).await;
        assert_eq!(shown.text, "I add them now, all of them.", "{wire:?}");
        assert_eq!(shown.thinking, "both at once", "{wire:?}");
        assert_eq!(first.stop, Stop::ToolUse, "{wire:?}");
        assert_eq!((first.usage.input, first.usage.output), (20, 8), "{wire:?}");
        let call = |id: &str, input: &str| Block::Call {
            id: id.into(),
            name: "add".into(),
            input: input.into(),
        };
        let expect = [
            Block::Text(shown.text),
            call("call_1_1", r#"{"a":1,"b":2}"#),
            call("call_1_2", r#"{"a":3,"b":4}"#),
        ];
        assert_eq!(open_blocks(&first), expect, "{wire:?}");
        request
            .messages
            .push(message(Role::Assistant, first.blocks));
        request.messages.push(message(
            Role::User,
            vec![result("call_1_1", "3"), result("call_1_2", "7")],
        ));
        let (second, _) = ask(provider.as_ref(), &request).await;
        assert_eq!(
            open_blocks(&second),
            [call("call_2_1", r#"{"a":3,"b":7}"#)],
            "{wire:?}"
        );
        request
            .messages
            .push(message(Role::Assistant, second.blocks));
        request
            .messages
            .push(message(Role::User, vec![result("call_2_1", "10")]));
        let (third, shown) = ask(provider.as_ref(), &request).await;
        assert_eq!(
            open_blocks(&third),
            [Block::Text("It is 10: grüße 🦀.".into())],
            "{wire:?}"
        );
        assert_eq!(
            (third.stop, shown.text.as_str()),
            (Stop::EndTurn, "It is 10: grüße 🦀.")
        );
    }
}

#[tokio::test]
async fn characters_that_the_mock_server_cuts_in_half_arrive_whole_on_every_wire() {
    let said = "smile \u{1f600}\u{1f469}\u{200d}\u{1f680} done";
    let conversation = Conversation::new().prompt("say it").reply(
        Turn::new()
            .text(said)
            .call("say", json!({ "text": "\u{1f600}" })),
    );
    let peer = peers::aimock_with(&conversation, &["--chunk-size", "1"]);
    for wire in WIRES {
        let provider = provider(&peer, wire);
        let (reply, shown) = ask(provider.as_ref(), &request("", "say it", 100)).await;
        assert_eq!(shown.text, said, "{wire:?}");
        let blocks = open_blocks(&reply);
        assert_eq!(blocks[0], Block::Text(said.into()), "{wire:?}");
        let Block::Call { input, .. } = &blocks[1] else {
            panic!("{blocks:?}")
        };
        let input: serde_json::Value = serde_json::from_str(input).unwrap();
        assert_eq!(input, json!({ "text": "\u{1f600}" }), "{wire:?}");
    }
}

#[tokio::test]
async fn the_mock_server_refuses_and_we_say_so() {
    let fixtures = json!({ "fixtures": [{
        "match": { "userMessage": "hi" },
        "response": { "error": { "message": "no such key", "type": "authentication_error" }, "status": 401 } }] });
    let peer = peers::aimock_fixtures(&fixtures);
    for wire in WIRES {
        let provider = provider(&peer, wire);
        let mut shown = Shown::default();
        let reply = provider
            .stream(
                &request("s", "hi", 10),
                &mut shown,
                &CancellationToken::new(),
            )
            .await;
        let error = reply.unwrap_err();
        assert_eq!(
            (error.kind, error.status),
            (llm::ErrorKind::Auth, Some(401)),
            "{wire:?}"
        );
        assert!(
            error.message.contains("answered 401: no such key"),
            "{}",
            error.message
        );
    }
}

#[tokio::test]
async fn a_real_model_answers_on_every_wire_and_reads_its_cache() {
    let peer = peers::llama();
    for wire in WIRES {
        let provider = provider(&peer, wire);
        let mut request = request(
            "You are a helpful assistant.",
            "What is the capital of France?",
            6,
        );
        let (reply, shown) = ask(provider.as_ref(), &request).await;
        assert!(!shown.text.trim().is_empty(), "{wire:?}: {reply:?}");
        assert_eq!(reply.blocks, [Block::Text(shown.text)], "{wire:?}");
        assert!(
            matches!(reply.stop, Stop::EndTurn | Stop::MaxTokens),
            "{wire:?}: {reply:?}"
        );
        assert!((1..=6).contains(&reply.usage.output), "{wire:?}: {reply:?}");
        let first_input = reply.usage.input + reply.usage.cache_read;
        assert!(first_input > 10, "{wire:?}: {reply:?}");
        request
            .messages
            .push(message(Role::Assistant, reply.blocks));
        request.messages.push(message(
            Role::User,
            vec![Block::Text("And of Spain?".into())],
        ));
        request.max_output_tokens = 2;
        let (reply, _) = ask(provider.as_ref(), &request).await;
        assert!(
            reply.usage.cache_read >= first_input / 2,
            "{wire:?}: {reply:?}"
        );
        // This server says `completed` on the Responses wire also when the cap was reached.
        let stop = if wire == Wire::Responses {
            Stop::EndTurn
        } else {
            Stop::MaxTokens
        };
        assert_eq!(reply.stop, stop, "{wire:?}: {reply:?}");
    }
}

#[tokio::test]
async fn a_real_server_says_when_the_context_is_too_long() {
    let peer = peers::llama();
    for wire in WIRES {
        let provider = provider(&peer, wire);
        let mut shown = Shown::default();
        let request = request("s", &"word ".repeat(9_000), 4);
        let reply = provider
            .stream(&request, &mut shown, &CancellationToken::new())
            .await;
        let error = reply.unwrap_err();
        assert_eq!(
            error.kind,
            llm::ErrorKind::ContextTooLong,
            "{wire:?}: {}",
            error.message
        );
    }
}
