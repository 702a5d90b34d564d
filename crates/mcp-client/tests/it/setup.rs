//! What the tests share: a spec for a chaos server, and an asker that answers as it was told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use child_process::{Env, Program};
use mcp_client::{Abilities, Ask, Asked, CallOptions, Connection, Reach, ServerSpec, connect};
use mcp_wire::{Answer, Implementation, Object, Raw};
use testkit::mcp::{Received, StdioChaos};

/// A server that a test starts over its standard streams, with deadlines that fail soon.
pub(crate) fn spec(server: &StdioChaos) -> ServerSpec {
    let command = server.command();
    program_spec(&command.program, &command.args)
}

pub(crate) fn program_spec(program: &str, args: &[String]) -> ServerSpec {
    let env = Env::allowlisted(&std::env::vars_os().collect());
    let program = Program::new(program).args(args).env(env);
    let mut spec = ServerSpec::new(
        "chaos",
        Reach::Stdio(program),
        Implementation::new("test", "1"),
    );
    spec.timeouts.start = Duration::from_secs(30);
    spec.timeouts.probe = Duration::from_secs(5);
    spec.timeouts.idle = Duration::from_secs(20);
    spec
}

pub(crate) async fn connected(server: &StdioChaos) -> Connection {
    connect(spec(server), None).await.unwrap()
}

pub(crate) fn object(text: &str) -> Object {
    Raw::parse(text).unwrap().object().unwrap()
}

pub(crate) fn options() -> CallOptions {
    CallOptions::default()
}

/// Answers every question with the same answer, after a while, and keeps what it was asked.
pub(crate) struct Person {
    pub(crate) abilities: Abilities,
    pub(crate) answer: Answer,
    pub(crate) after: Duration,
    pub(crate) asked: Mutex<Vec<Asked>>,
}

impl Person {
    pub(crate) fn who(answer: Answer) -> Arc<Self> {
        let abilities = Abilities {
            forms: true,
            urls: true,
            sampling: false,
            roots: false,
        };
        Arc::new(Self {
            abilities,
            answer,
            after: Duration::ZERO,
            asked: Mutex::default(),
        })
    }

    pub(crate) fn accepting(content: &str) -> Arc<Self> {
        Self::who(Answer::Accept(Some(Raw::parse(content).unwrap())))
    }

    pub(crate) fn slow(content: &str, after: Duration) -> Arc<Self> {
        let person = Self::accepting(content);
        let answer = person.answer.clone();
        Arc::new(Self {
            abilities: person.abilities,
            answer,
            after,
            asked: Mutex::default(),
        })
    }

    pub(crate) fn questions(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

#[async_trait]
impl Ask for Person {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    async fn ask(&self, asked: Asked, _deadline: Duration) -> Answer {
        self.asked.lock().unwrap().push(asked);
        tokio::time::sleep(self.after).await;
        self.answer.clone()
    }
}

/// Waits until what a server received is like this.
pub(crate) async fn received(
    server: &StdioChaos,
    what: &str,
    condition: impl Fn(&Received) -> bool,
) -> Received {
    eventually(|| server.received(), what, condition).await
}

/// Looks again and again, until what is seen is like this.
pub(crate) async fn eventually(
    look: impl Fn() -> Received,
    what: &str,
    condition: impl Fn(&Received) -> bool,
) -> Received {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    loop {
        let received = look();
        if condition(&received) {
            return received;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "waited 20 s for {what}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
