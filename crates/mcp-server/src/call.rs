//! One request on its way to the service and back, in both eras.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_wire::page::CacheHint;
use mcp_wire::{
    Answer, Era, InputRequired, Object, Question, Raw, Request, RpcError, error, meta, method,
};
use tokio_util::sync::CancellationToken;

use crate::ask::{self, LegacyAsk};
use crate::connection::Connection;
use crate::context::ProgressOut;
use crate::seal::{Bound, Sealed};
use crate::stream::CallStream;
use crate::tasks::{TaskWork, legacy_ttl};
use crate::{Context, Incoming, Reply, Server, spell};

/// Who sent a request, and the way back.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) principal: Option<String>,
    /// The session, or the connection over stdio.
    pub(crate) connection: Option<Arc<Connection>>,
    pub(crate) stream: CallStream,
    pub(crate) cancelled: CancellationToken,
}

impl Server {
    /// Takes out of the params what belongs to us.
    fn incoming(request: &Request, mut params: Object) -> Incoming {
        meta::strip(
            &mut params,
            &[
                meta::PROTOCOL_VERSION,
                meta::CLIENT_CAPABILITIES,
                meta::CLIENT_INFO,
                meta::LOG_LEVEL,
            ],
        );
        Incoming {
            id: request.id.clone(),
            method: request.method.clone(),
            params,
            answers: BTreeMap::new(),
            state: None,
        }
    }

    /// Hands a modern request to the service.
    pub(crate) async fn call_modern(
        &self,
        request: &Request,
        mut context: Context,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        let mut params = request.params.clone();
        context.progress = ProgressOut::take(&mut params);
        let may_ask = method::may_ask(&request.method);
        let mut incoming = Self::incoming(request, params);
        let mut carried = false;
        if may_ask {
            let responses = incoming.params.remove("inputResponses");
            let state = incoming.params.remove("requestState");
            carried = responses.is_some() || state.is_some();
            self.open(&mut incoming, responses.as_ref(), state.as_ref(), caller)?;
        }
        let sealing = (request.method.clone(), incoming.params.clone());
        match self.call_service(incoming, context.clone()).await? {
            Reply::Complete { result, cache } => {
                let cache = if carried {
                    Some(CacheHint::NONE)
                } else {
                    cache
                };
                Ok(self.complete(
                    result,
                    request,
                    &context,
                    cache.filter(|_| !carried || is_cached(&request.method)),
                ))
            }
            Reply::Ask { questions, state } if may_ask => {
                self.seal(&questions, state, &sealing.0, &sealing.1, &context, caller)
            }
            Reply::Ask { .. } => Err(may_not_ask(&request.method)),
            Reply::Task(work) if context.takes_tasks() && self.offer().tasks() => {
                self.start_task(work, None, &context, caller, &request.method)
            }
            Reply::Task(work) => {
                let result = self.wait_for(work, &context, caller).await?;
                Ok(self.complete(result, request, &context, None))
            }
        }
    }

    /// Reads the answers and the state that a modern client sent.
    fn open(
        &self,
        incoming: &mut Incoming,
        responses: Option<&Raw>,
        state: Option<&Raw>,
        caller: &Caller,
    ) -> Result<(), RpcError> {
        let Some(state) = state else {
            incoming.answers = ask::read_answers(responses, None)?;
            return Ok(());
        };
        let blob = state.string().ok_or_else(|| {
            RpcError::invalid_params(format!(
                "`requestState` is a string, got {}",
                state.kind().word()
            ))
        })?;
        let bound = Bound {
            method: &incoming.method,
            params: &incoming.params,
            principal: caller.principal.as_deref(),
        };
        let sealed = self
            .sealer
            .open(&blob, bound, self.now())
            .map_err(|error| RpcError::invalid_params(error.to_string()))?;
        incoming.answers = ask::read_answers(responses, Some(&sealed.kinds))?;
        incoming.state = Some(sealed.state);
        Ok(())
    }

    /// The result that asks.
    fn seal(
        &self,
        questions: &[(String, Question)],
        state: Vec<u8>,
        method: &str,
        params: &Object,
        context: &Context,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        for (_, question) in questions {
            ask::check(question, &context.client_capabilities, context.revision)?;
        }
        let kinds = questions
            .iter()
            .map(|(key, question)| (key.clone(), ask::kind_of(question).to_owned()))
            .collect();
        let bound = Bound {
            method,
            params,
            principal: caller.principal.as_deref(),
        };
        let ttl = self.limits().state;
        let blob = self
            .sealer
            .seal(&Sealed { state, kinds }, bound, self.now(), ttl)
            .map_err(|error| RpcError::new(error::INTERNAL_ERROR, error.to_string()))?;
        // The id of a URL question is a thing of 2025-11-25.
        let questions: Vec<_> = questions.iter().cloned().map(without_id).collect();
        let mut result = InputRequired::new(&questions, Some(&blob)).raw().clone();
        meta::set(
            &mut result,
            meta::SERVER_INFO,
            self.offer().info.raw().clone(),
        );
        Ok(result)
    }

    fn complete(
        &self,
        result: Object,
        request: &Request,
        context: &Context,
        cache: Option<CacheHint>,
    ) -> Object {
        spell::complete(
            result,
            &request.method,
            context.revision,
            cache,
            &self.offer(),
        )
    }

    /// Hands a legacy request to the service, and asks the client in between.
    pub(crate) async fn call_legacy(
        &self,
        request: &Request,
        mut context: Context,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        let mut params = request.params.clone();
        context.progress = ProgressOut::take(&mut params);
        let offer = self.offer();
        let mut asked_ttl = None;
        if context.revision == mcp_wire::Revision::V2025_11_25
            && request.method == method::TOOLS_CALL
            && offer.tasks()
            && !offer.keeps_tasks
            && let Some(task) = params.remove("task")
        {
            context.task_requested = true;
            asked_ttl = legacy_ttl(&task);
        }
        let mut incoming = Self::incoming(request, params);
        for round in 0.. {
            match self.call_service(incoming.clone(), context.clone()).await? {
                Reply::Complete { result, .. } if context.task_requested => {
                    let work = TaskWork::new(|_| async { Ok(result) });
                    return self.start_task(work, asked_ttl, &context, caller, &request.method);
                }
                Reply::Complete { result, .. } => {
                    return Ok(self.complete(result, request, &context, None));
                }
                Reply::Task(work) if context.task_requested => {
                    return self.start_task(work, asked_ttl, &context, caller, &request.method);
                }
                Reply::Task(work) => {
                    let result = self.wait_for(work, &context, caller).await?;
                    return Ok(self.complete(result, request, &context, None));
                }
                Reply::Ask { .. } if !method::may_ask(&request.method) => {
                    return Err(may_not_ask(&request.method));
                }
                Reply::Ask { .. } if round >= self.limits().rounds => {
                    return Err(asks_too_often(self.limits().rounds));
                }
                Reply::Ask { questions, state } if context.task_requested => {
                    let work = self.asking_work(incoming, context.clone(), questions, state);
                    return self.start_task(work, asked_ttl, &context, caller, &request.method);
                }
                Reply::Ask { questions, state } => {
                    let connection = caller
                        .connection
                        .as_ref()
                        .ok_or_else(|| may_not_ask(&request.method))?;
                    for (_, question) in &questions {
                        ask::check(question, &context.client_capabilities, context.revision)?;
                    }
                    let ask = LegacyAsk {
                        connection: Arc::clone(connection),
                        stream: caller.stream.clone(),
                        cancelled: caller.cancelled.clone(),
                        revision: context.revision,
                        related_task: None,
                    };
                    incoming.answers = ask.all(&questions, self.limits()).await;
                    incoming.state = Some(state);
                    if caller.cancelled.is_cancelled() {
                        return Err(RpcError::new(
                            error::INTERNAL_ERROR,
                            "the request was cancelled",
                        ));
                    }
                }
            }
        }
        Err(asks_too_often(self.limits().rounds))
    }

    /// A request that asks, as the work of a task.
    fn asking_work(
        &self,
        mut incoming: Incoming,
        mut context: Context,
        mut questions: Vec<(String, Question)>,
        mut state: Vec<u8>,
    ) -> TaskWork {
        let server = self.clone();
        TaskWork::new(move |task| async move {
            context.cancelled = task.cancelled().clone();
            for round in 0..server.limits().rounds {
                // Keys are unique for the life of a task; the service may use one again.
                let renamed = questions
                    .iter()
                    .map(|(key, question)| (in_round(key, round), question.clone()))
                    .collect();
                let mut answers = task.ask(renamed).await?;
                incoming.answers = questions
                    .iter()
                    .filter_map(|(key, _)| {
                        Some((key.clone(), answers.remove(&in_round(key, round))?))
                    })
                    .collect::<BTreeMap<String, Answer>>();
                incoming.state = Some(state);
                match server
                    .call_service(incoming.clone(), context.clone())
                    .await?
                {
                    Reply::Complete { result, .. } => return Ok(result),
                    Reply::Task(work) => return (work.run)(task).await,
                    Reply::Ask {
                        questions: more,
                        state: next,
                    } => (questions, state) = (more, next),
                }
            }
            Err(asks_too_often(server.limits().rounds))
        })
    }
}

fn in_round(key: &str, round: usize) -> String {
    if round == 0 {
        key.to_owned()
    } else {
        format!("{key}#{}", round + 1)
    }
}

fn without_id((key, question): (String, Question)) -> (String, Question) {
    match question {
        Question::Url { message, url, .. } => {
            let elicitation_id = None;
            (
                key,
                Question::Url {
                    message,
                    url,
                    elicitation_id,
                },
            )
        }
        other => (key, other),
    }
}

fn is_cached(method: &str) -> bool {
    method == method::RESOURCES_READ
}

fn may_not_ask(method: &str) -> RpcError {
    RpcError::new(
        error::INTERNAL_ERROR,
        format!("the server wanted to ask in the middle of `{method}`, which may not ask"),
    )
}

fn asks_too_often(rounds: usize) -> RpcError {
    RpcError::new(
        error::INTERNAL_ERROR,
        format!("the server asked more than {rounds} times in one request"),
    )
}

/// A context for a request of this era.
pub(crate) fn context_for(era: Era, caller: &Caller) -> Context {
    Context {
        revision: match era {
            Era::Modern => mcp_wire::Revision::NEWEST,
            Era::Legacy => mcp_wire::Revision::NEWEST_LEGACY,
        },
        client_capabilities: mcp_wire::ClientCapabilities::default(),
        client_info: None,
        principal: caller.principal.clone(),
        connection: caller
            .connection
            .as_ref()
            .map(|connection| connection.number),
        cancelled: caller.cancelled.clone(),
        log_level: None,
        task_requested: false,
        progress: None,
        stream: caller.stream.clone(),
    }
}
