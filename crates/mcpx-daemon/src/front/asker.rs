//! Puts a server's questions to the client that made the call, however that client is asked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use mcp_client::{Abilities, Ask, Asked};
use mcp_server::Context;
use mcp_wire::{Answer, InputRequired, Question, Revision, RpcError, error};
use tokio::sync::{mpsc, oneshot};

/// How many questions of one call wait to be put.
const WAITING: usize = 64;

/// A question that waits for its answer.
#[derive(Debug)]
pub(super) struct Posed {
    /// Ours; never used twice in one call.
    pub(super) key: String,
    pub(super) question: Question,
    pub(super) answer: oneshot::Sender<Answer>,
}

/// Puts the questions of one call to its client.
pub(super) struct Asker {
    abilities: Abilities,
    takes_tools: bool,
    names_server: bool,
    asked: AtomicU64,
    out: mpsc::Sender<Posed>,
}

impl Asker {
    /// For the client of `context`, which gets what comes out of the receiver. `names_server`: whether the messages say
    /// which server asks.
    pub(super) fn new(context: &Context, names_server: bool) -> (Self, mpsc::Receiver<Posed>) {
        let (out, posed) = mpsc::channel(WAITING);
        let sampling = context.client_capabilities.raw().object("sampling");
        let asker = Self {
            abilities: abilities(context),
            takes_tools: sampling.is_some_and(|sampling| sampling.contains("tools")),
            names_server,
            asked: AtomicU64::new(1),
            out,
        };
        (asker, posed)
    }
}

/// What the client can be asked, in the revision that it speaks.
pub(super) fn abilities(context: &Context) -> Abilities {
    let client = &context.client_capabilities;
    Abilities {
        forms: client.forms() && context.revision >= Revision::V2025_06_18,
        urls: client.urls() && context.revision >= Revision::V2025_11_25,
        sampling: client.sampling(),
        roots: client.roots(),
    }
}

/// The question with the name of the server that asks it: a person has to know.
pub(super) fn named(server: &str, question: Question) -> Question {
    let name = |message: String| format!("{server}: {message}");
    match question {
        Question::Form { message, schema } => Question::Form {
            message: name(message),
            schema,
        },
        Question::Url {
            message,
            url,
            elicitation_id,
        } => Question::Url {
            message: name(message),
            url,
            elicitation_id,
        },
        other => other,
    }
}

/// The questions of a round that can be read, under the server's keys.
///
/// # Errors
/// When there are some, and not one can be read.
pub(super) fn readable(
    server: &str,
    round: &InputRequired,
    names_server: bool,
) -> Result<Vec<(String, Question)>, RpcError> {
    let questions: Vec<_> = round
        .questions
        .iter()
        .filter_map(|(key, question)| {
            let question = question.clone().ok()?;
            let question = if names_server {
                named(server, question)
            } else {
                question
            };
            Some((key.clone(), question))
        })
        .collect();
    if questions.is_empty() && !round.questions.is_empty() {
        let message = format!("`{server}` asks what cannot be read");
        return Err(RpcError::new(error::INTERNAL_ERROR, message));
    }
    Ok(questions)
}

#[async_trait]
impl Ask for Asker {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    async fn ask(&self, asked: Asked, _deadline: Duration) -> Answer {
        if let Question::Sampling { params } = &asked.question
            && params.contains("tools")
            && !self.takes_tools
        {
            return Answer::Failed(RpcError::invalid_params(
                "the client's model takes no tools",
            ));
        }
        let question = if self.names_server {
            named(&asked.server, asked.question)
        } else {
            asked.question
        };
        let (answer, answered) = oneshot::channel();
        let key = format!("q{}", self.asked.fetch_add(1, Ordering::Relaxed));
        let posed = Posed {
            key,
            question,
            answer,
        };
        if self.out.send(posed).await.is_err() {
            return Answer::Cancel;
        }
        answered.await.unwrap_or(Answer::Cancel)
    }
}
