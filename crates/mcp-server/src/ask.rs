//! Asks the client: whether it may be asked, and, in the legacy era, the asking itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_wire::{
    Answer, ClientCapabilities, Era, Frame, Notification, Object, Question, Raw, Request, Revision,
    RpcError, error, meta, method,
};
use tokio_util::sync::CancellationToken;

use crate::Limits;
use crate::connection::Connection;
use crate::context::required;
use crate::stream::CallStream;

/// The code of an [`Answer::Failed`] when the client did not answer in time, or went away. Not one of the protocol's: this
/// happened here.
pub const NO_ANSWER_IN_TIME: i64 = 408;

/// The capability that a question needs and the client did not declare.
///
/// # Errors
/// When there is one, or the question is of a kind that nobody can declare.
pub(crate) fn check(
    question: &Question,
    capabilities: &ClientCapabilities,
    revision: Revision,
) -> Result<(), RpcError> {
    let (declared, path): (bool, &[&str]) = match question {
        Question::Form { .. } => (
            capabilities.forms() && revision >= Revision::V2025_06_18,
            &["elicitation", "form"],
        ),
        Question::Url { .. } => (
            capabilities.urls() && revision >= Revision::V2025_11_25,
            &["elicitation", "url"],
        ),
        Question::Sampling { params } if params.contains("tools") => {
            let tools = capabilities.raw().object("sampling");
            (
                tools.is_some_and(|tools| tools.contains("tools")),
                &["sampling", "tools"],
            )
        }
        Question::Sampling { .. } => (capabilities.sampling(), &["sampling"]),
        Question::Roots => (capabilities.roots(), &["roots"]),
        Question::Unknown { method, .. } => {
            return Err(RpcError::new(
                error::INTERNAL_ERROR,
                format!("the server wanted to ask `{method}`, which no client can declare"),
            ));
        }
    };
    if declared {
        return Ok(());
    }
    let code = match revision.era() {
        Era::Modern => error::MISSING_CLIENT_CAPABILITY,
        Era::Legacy => error::INVALID_REQUEST,
    };
    let message = format!(
        "the request has to ask the client and needs the capability `{}`, which the client did not declare",
        path.join(".")
    );
    Err(RpcError::new(code, message).with_data(required(path)))
}

/// Asks a legacy client, on the stream of one call.
#[derive(Clone)]
pub(crate) struct LegacyAsk {
    pub(crate) connection: Arc<Connection>,
    pub(crate) stream: CallStream,
    pub(crate) cancelled: CancellationToken,
    pub(crate) revision: Revision,
    pub(crate) related_task: Option<String>,
}

impl LegacyAsk {
    /// Asks all of it at the same time. Each question has its answer in the end, if only [`Answer::Failed`].
    pub(crate) async fn all(
        &self,
        questions: &[(String, Question)],
        limits: &Limits,
    ) -> BTreeMap<String, Answer> {
        let asked = questions.iter().map(|(key, question)| async move {
            (key.clone(), self.one(question.clone(), limits).await)
        });
        futures::future::join_all(asked).await.into_iter().collect()
    }

    async fn one(&self, mut question: Question, limits: &Limits) -> Answer {
        let gone = || Answer::Failed(RpcError::new(NO_ANSWER_IN_TIME, "the client is gone"));
        let mut waiting = self.connection.expect();
        self.name_elicitation(&mut question, &waiting.id.to_string());
        let mut params = question.params(self.revision >= Revision::V2025_11_25);
        if let Some(task) = &self.related_task {
            meta::set(
                &mut params,
                meta::RELATED_TASK,
                Object::new().with("taskId", task.as_str()),
            );
        }
        let request = Request::new(waiting.id.clone(), question.method(), params);
        let Some(sink) = self.stream.sink() else {
            return gone();
        };
        if !sink.send(Frame::from(request).to_raw(), limits.write).await {
            return gone();
        }
        let outcome = tokio::select! {
            outcome = &mut waiting.answer => outcome,
            () = self.cancelled.cancelled() => return gone(),
            () = tokio::time::sleep(limits.answer) => {
                let params = Object::new()
                    .with("requestId", waiting.id.raw())
                    .with("reason", "not answered in time");
                let cancelled = Notification::new(method::CANCELLED, params);
                self.stream.offer(Frame::from(cancelled).to_raw());
                let seconds = limits.answer.as_secs();
                let message = format!("the client did not answer within {seconds} s");
                return Answer::Failed(RpcError::new(NO_ANSWER_IN_TIME, message));
            }
        };
        match outcome {
            Err(_) => gone(),
            Ok(Err(error)) => Answer::Failed(error),
            Ok(Ok(raw)) => Answer::parse(&question, &raw).unwrap_or_else(|error| {
                Answer::Failed(RpcError::invalid_params(format!(
                    "the client's answer: {error}"
                )))
            }),
        }
    }

    /// 2025-11-25: a URL question has an id, and the session hears when the person is done.
    fn name_elicitation(&self, question: &mut Question, id: &str) {
        let Question::Url { elicitation_id, .. } = question else {
            return;
        };
        let number = self.connection.number;
        let name =
            elicitation_id.get_or_insert_with(|| format!("{number}-{}", id.trim_matches('"')));
        if let Some(mailbox) = self.connection.mailbox() {
            mailbox.filter(|filter| {
                // Bounded: the oldest names are of persons who are long done.
                while filter.elicitations.len() >= 256 {
                    filter.elicitations.pop_first();
                }
                filter.elicitations.insert(name.clone());
            });
        }
    }
}

/// The word for a question's kind in a sealed state.
pub(crate) fn kind_of(question: &Question) -> &'static str {
    match question {
        Question::Form { .. } => "form",
        Question::Url { .. } => "url",
        Question::Sampling { .. } => "sampling",
        Question::Roots => "roots",
        Question::Unknown { .. } => "unknown",
    }
}

/// Reads the answers that a modern client sent. `kinds`: what was asked, out of the sealed state; without a state the shape
/// of an answer tells.
///
/// # Errors
/// When `inputResponses` is no object, or an answer to what was asked has not the shape for it.
pub(crate) fn read_answers(
    responses: Option<&Raw>,
    kinds: Option<&[(String, String)]>,
) -> Result<BTreeMap<String, Answer>, RpcError> {
    let Some(responses) = responses else {
        return Ok(BTreeMap::new());
    };
    let responses = responses
        .object()
        .map_err(|error| RpcError::invalid_params(format!("`inputResponses`: {error}")))?;
    let mut answers = BTreeMap::new();
    for (key, raw) in responses.iter() {
        let kind = match kinds {
            Some(kinds) => match kinds.iter().find(|(asked, _)| asked == key) {
                Some((_, kind)) => kind.as_str(),
                None => continue,
            },
            None => kind_by_shape(raw),
        };
        let answer = Answer::parse(&question_of(kind), raw).map_err(|error| {
            RpcError::invalid_params(format!("`inputResponses.{key}`: {error}"))
        })?;
        answers.insert(key.to_owned(), answer);
    }
    Ok(answers)
}

fn kind_by_shape(raw: &Raw) -> &'static str {
    match raw.object() {
        Ok(object) if object.contains("action") => "form",
        Ok(object) if object.contains("roots") => "roots",
        Ok(object) if object.contains("content") => "sampling",
        _ => "form",
    }
}

fn question_of(kind: &str) -> Question {
    match kind {
        "sampling" | "unknown" => Question::Sampling {
            params: Object::new(),
        },
        "roots" => Question::Roots,
        _ => Question::Form {
            message: String::new(),
            schema: Raw::from(Object::new()),
        },
    }
}
