//! Questions of a server, from wherever they came, on their way to [`Ask`] and back.

use std::sync::Arc;

use mcp_wire::input::KeyedQuestion;
use mcp_wire::{Answer, JsonError, Object, Question, Raw, Request, Response, RpcError, method};

use crate::ask::{Abilities, Ask, Asked};
use crate::call::CallOptions;
use crate::clock::Clock;
use crate::connection::Inner;
use crate::events::Event;

/// Answers a request that the server sent in the middle of a call, or outside of one. The given clocks stand meanwhile.
pub(crate) async fn answer_request(
    inner: &Arc<Inner>,
    options: &CallOptions,
    clocks: &[Arc<Clock>],
    request: Request,
) {
    let Request {
        id, method, params, ..
    } = request;
    let outcome = match method.as_str() {
        method::PING => Ok(Raw::from(Object::new())),
        _ => match Question::parse(&method, &params) {
            Ok(Question::Unknown { method, .. }) => Err(RpcError::method_not_found(&method)),
            Ok(question) => ask(inner, options, clocks, question).await.into_result(),
            Err(JsonError { reason }) => Err(RpcError::invalid_params(reason)),
        },
    };
    let _gone_anyway = inner.transport.respond(Response::new(id, outcome)).await;
}

/// Refuses a request that cannot be attributed to a call.
pub(crate) async fn refuse_request(inner: &Arc<Inner>, request: Request) {
    inner.tell(Event::Unattributed {
        method: request.method.clone(),
    });
    let error = RpcError::method_not_found(&request.method).with_data(Object::new().with(
        "reason",
        "it cannot be attributed to one of several callers",
    ));
    let _gone_anyway = inner
        .transport
        .respond(Response::new(request.id, Err(error)))
        .await;
}

/// Answers the questions of one round, put in their order and open at the same time; one that cannot be asked is declined,
/// one of a kind that cannot be declined is left out.
///
/// # Errors
/// When not one of them can be answered: in words.
pub(crate) async fn answer_round(
    inner: &Arc<Inner>,
    options: &CallOptions,
    clock: &Arc<Clock>,
    questions: &[KeyedQuestion],
) -> Result<Object, String> {
    let asking = questions.iter().map(|(key, question)| async move {
        let question = question
            .clone()
            .map_err(|error| format!("`{key}`: {error}"))?;
        ask(inner, options, std::slice::from_ref(clock), question)
            .await
            .into_result()
            .map_err(|error| format!("`{key}`: {}", error.message))
    });
    let answered = futures::future::join_all(asking).await;
    let mut answers = Object::new();
    let mut left_out = Vec::new();
    for ((key, _), answer) in questions.iter().zip(answered) {
        match answer {
            Ok(answer) => answers.set(key, answer),
            Err(why) => left_out.push(why),
        }
    }
    if answers.is_empty() {
        return Err(format!(
            "it asks what this client cannot answer: {}",
            left_out.join("; ")
        ));
    }
    Ok(answers)
}

/// 2025-11-25: the call was refused until the person has visited some URLs. Whether it is worth calling again.
pub(crate) async fn visit(
    inner: &Arc<Inner>,
    options: &CallOptions,
    clock: &Arc<Clock>,
    error: &RpcError,
) -> bool {
    let elicitations = error
        .data
        .as_ref()
        .and_then(|data| data.object().ok()?.get("elicitations")?.array().ok());
    let questions: Vec<Question> = elicitations
        .unwrap_or_default()
        .iter()
        .filter_map(|raw| Question::parse(method::ELICITATION_CREATE, &raw.object().ok()?).ok())
        .filter(|question| matches!(question, Question::Url { .. }))
        .collect();
    if questions.is_empty() {
        return false;
    }
    // Before asking: the person may be done before we look.
    let mut events = inner.events();
    let mut waiting = Vec::new();
    for question in questions {
        let id = match &question {
            Question::Url { elicitation_id, .. } => elicitation_id.clone(),
            _ => None,
        };
        match ask(inner, options, std::slice::from_ref(clock), question).await {
            Answer::Accept(_) => waiting.extend(id),
            _ => return false,
        }
    }
    let _standing = clock.pause();
    let all_done = async {
        while !waiting.is_empty() {
            match events.recv().await {
                Ok(Event::ElicitationComplete { elicitation_id }) => {
                    waiting.retain(|id| *id != elicitation_id);
                }
                Ok(Event::Closed { .. })
                | Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
                Ok(_) | Err(_) => {}
            }
        }
    };
    tokio::select! {
        () = options.cancelled.cancelled() => false,
        done = tokio::time::timeout(inner.spec.timeouts.question, all_done) => done.is_ok() && waiting.is_empty(),
    }
}

async fn ask(
    inner: &Arc<Inner>,
    options: &CallOptions,
    clocks: &[Arc<Clock>],
    question: Question,
) -> Answer {
    let asker = options.ask.as_ref().or(inner.ask.as_ref());
    let abilities = asker.map_or_else(Abilities::default, |asker| asker.abilities());
    match asker.filter(|_| abilities.cover(&question)) {
        Some(asker) => put(inner, options, clocks, asker, question).await,
        // What nobody declared: a question is declined, the rest does not exist.
        None => match &question {
            Question::Form { .. } | Question::Url { .. } => Answer::Decline,
            other => Answer::Failed(RpcError::method_not_found(other.method())),
        },
    }
}

async fn put(
    inner: &Arc<Inner>,
    options: &CallOptions,
    clocks: &[Arc<Clock>],
    asker: &Arc<dyn Ask>,
    question: Question,
) -> Answer {
    let _standing: Vec<_> = clocks.iter().map(|clock| clock.pause()).collect();
    let asked = Asked {
        server: inner.spec.name.clone(),
        call: options.label.clone(),
        question,
    };
    let deadline = inner.spec.timeouts.question;
    tokio::time::timeout(deadline, asker.ask(asked, deadline))
        .await
        .unwrap_or(Answer::Cancel)
}
