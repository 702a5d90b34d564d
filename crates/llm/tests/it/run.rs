//! One request against one fake server, on each wire in turn.

use std::{sync::Arc, time::Duration};

use llm::{
    Block, Error, Message, Observer, Provider, ProviderConfig, Reply, Request, Role, SystemPart,
    ToolDef, Wire,
};
use serde_json::json;
use testkit::{Answer, FakeModel};
use tokio_util::sync::CancellationToken;

pub(crate) const WIRES: [Wire; 3] = [Wire::Messages, Wire::Responses, Wire::Chat];

/// Keeps what it is told: text as it is, thinking in angle brackets, retries apart.
#[derive(Default, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) shown: String,
    pub(crate) retries: Vec<(String, u32)>,
    pub(crate) waits: Vec<Duration>,
}

impl Observer for Seen {
    fn text(&mut self, piece: &str) {
        self.shown.push_str(piece);
    }
    fn thinking(&mut self, piece: &str) {
        self.shown.push_str(&format!("<{piece}>"));
    }
    fn retrying(&mut self, reason: &str, attempt: u32, after: Duration) {
        self.retries.push((reason.to_owned(), attempt));
        self.waits.push(after);
    }
}

pub(crate) fn config(wire: Wire, base_url: String) -> ProviderConfig {
    ProviderConfig {
        name: "fake".into(),
        wire,
        base_url,
        api_key: Some("sk-secret-0123456789".into()),
        api_key_env: Some("FAKE_API_KEY".into()),
        model: "fake-model".into(),
        context_window: 100_000,
        timeout: Duration::from_secs(20),
        idle_timeout: Duration::from_secs(20),
        max_retries: 0,
        headers: Vec::new(),
    }
}

pub(crate) fn request() -> Request {
    Request {
        system: vec![SystemPart {
            text: "be brief".into(),
            cache_breakpoint: true,
        }],
        tools: vec![ToolDef {
            name: "add".into(),
            description: "adds".into(),
            input_schema: json!({ "type": "object", "properties": { "a": { "type": "integer" } } }),
        }],
        messages: vec![user(vec![Block::Text("hi".into())])],
        max_output_tokens: 100,
        effort: None,
        cache_key: Some("session-1".into()),
    }
}

pub(crate) fn user(blocks: Vec<Block>) -> Message {
    Message {
        role: Role::User,
        blocks,
        cache_breakpoint: true,
    }
}

pub(crate) fn provider(config: ProviderConfig) -> Arc<dyn Provider> {
    llm::connect(config).unwrap()
}

pub(crate) async fn ask(
    provider: &dyn Provider,
    request: &Request,
) -> (Result<Reply, Error>, Seen) {
    let mut seen = Seen::default();
    let reply = provider
        .stream(request, &mut seen, &CancellationToken::new())
        .await;
    (reply, seen)
}

/// Starts a server with `answers`, asks it once with the changes `change` makes, and returns all there is to compare.
pub(crate) async fn once(
    wire: Wire,
    answers: impl IntoIterator<Item = Answer>,
    change: impl FnOnce(&mut ProviderConfig),
) -> (FakeModel, Result<Reply, Error>, Seen) {
    let server = FakeModel::start(answers);
    let mut config = config(wire, server.url());
    change(&mut config);
    let (reply, seen) = ask(provider(config).as_ref(), &request()).await;
    (server, reply, seen)
}

/// Returns a call block.
pub(crate) fn call(id: &str, name: &str, input: &str) -> Block {
    Block::Call {
        id: id.into(),
        name: name.into(),
        input: input.into(),
    }
}
