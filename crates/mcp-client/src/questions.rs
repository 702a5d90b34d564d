//! Questions of a server, from wherever they came, on their way to [`Ask`] and back.

use std::sync::Arc;

use mcp_wire::input::KeyedQuestion;
use mcp_wire::{
    Answer, JsonError, Object, Question, Raw, Request, Response, RpcError, error, method,
};

use crate::ask::{Ask, Asked};
use crate::call::CallOptions;
use crate::clock::Clock;
use crate::connection::Inner;
use crate::events::Event;
use crate::tasks::owners::{Named, Owner, related};

/// Answers a request that the server sent in the middle of a call. The given clocks stand meanwhile. What names a task is
/// answered by the call that waits for it, whichever call it came with.
pub(crate) async fn answer_request(
    inner: &Arc<Inner>,
    options: &CallOptions,
    clocks: &[Arc<Clock>],
    request: Request,
) {
    match related(&request.params).map(|task| inner.owners.of(&task)) {
        Some(Named::Open(owner)) => answer_as(inner, &owner, request).await,
        Some(Named::Over) => refuse_request(inner, request).await,
        // A server may ask before it has said which task it makes of the call.
        Some(Named::Unknown) | None => answer(inner, options, clocks, request).await,
    }
}

/// Answers a request that came with no call: as the call that waits for the task it names, or, where one caller is served
/// at a time, for the only task there is.
pub(crate) async fn answer_stray(inner: &Arc<Inner>, request: Request) {
    let one_at_a_time = inner.spec.single_caller;
    let owner = match related(&request.params) {
        Some(task) => inner.owners.soon(&task).await,
        None => inner.owners.only().filter(|_| one_at_a_time),
    };
    let is_harmless = matches!(request.method.as_str(), method::PING | method::ROOTS_LIST);
    match owner {
        Some(owner) => answer_as(inner, &owner, request).await,
        None if is_harmless || one_at_a_time => {
            let clocks = inner.clocks.running();
            answer(inner, &CallOptions::default(), &clocks, request).await;
        }
        None => refuse_request(inner, request).await,
    }
}

async fn answer_as(inner: &Arc<Inner>, owner: &Owner, request: Request) {
    let clocks = std::slice::from_ref(&owner.clock);
    answer(inner, &owner.options, clocks, request).await;
}

async fn answer(
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
            Ok(question) => {
                let refusal = refusal(&question);
                let answered = ask(inner, options, clocks, question).await;
                answered.map_or(Err(refusal), Answer::into_result)
            }
            Err(JsonError { reason }) => Err(RpcError::invalid_params(reason)),
        },
    };
    let _gone_anyway = inner.transport.respond(Response::new(id, outcome)).await;
}

/// Refuses a request that cannot be attributed to a call.
async fn refuse_request(inner: &Arc<Inner>, request: Request) {
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

/// Answers the questions of one round, put in their order and open at the same time. A modern server may ask only what
/// was declared with the call: what it asks beside that is declined, and left out when it is of a kind that cannot be.
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
        let is_elicitation = question.method() == method::ELICITATION_CREATE;
        let refusal = refusal(&question);
        let answer = match ask(inner, options, std::slice::from_ref(clock), question).await {
            Some(answer) => answer,
            // The server would ask again for what is left out.
            None if is_elicitation => Answer::Decline,
            None => Answer::Failed(refusal),
        };
        answer
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
            Some(Answer::Accept(_)) => waiting.extend(id),
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

/// Puts a question to whoever answers this call. `None`: they cannot answer this kind.
async fn ask(
    inner: &Arc<Inner>,
    options: &CallOptions,
    clocks: &[Arc<Clock>],
    question: Question,
) -> Option<Answer> {
    let asker = options.ask.as_ref().or(inner.ask.as_ref());
    let able = inner.abilities(options);
    match asker.filter(|_| able.cover(&question)) {
        Some(asker) => Some(put(inner, options, clocks, asker, question).await),
        None => {
            inner.tell(Event::Unasked {
                cannot: needed(&question),
                call: options.label.clone(),
            });
            None
        }
    }
}

/// What it takes to answer a question.
fn needed(question: &Question) -> &'static str {
    match question {
        Question::Form { .. } => "fill in forms",
        Question::Url { .. } => "be sent to a page",
        Question::Sampling { .. } => "answer with a model",
        Question::Roots => "name its folders",
        Question::Unknown { .. } => "answer this",
    }
}

/// Nobody refused it and nobody was asked: that is no answer of a person, but an error, as from a client that never said
/// it could.
fn refusal(question: &Question) -> RpcError {
    let code = match question {
        Question::Form { .. } | Question::Url { .. } => error::INVALID_PARAMS,
        _ => error::METHOD_NOT_FOUND,
    };
    let method = question.method();
    let cannot = needed(question);
    RpcError::new(
        code,
        format!("`{method}`: nobody was asked, the client of this call cannot {cannot}"),
    )
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
