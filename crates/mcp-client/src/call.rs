//! One request: sent, watched, its questions answered, cancelled when nobody waits, and ended in one outcome.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mcp_wire::{
    Frame, Id, InputRequired, Notification, Object, Outcome, Raw, Request, error, method,
};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::ask::Ask;
use crate::clock::Clock;
use crate::connection::Inner;
use crate::failure::{Cause, Delivery, Failure, FailureKind};
use crate::questions;
use crate::transport::{Broken, Exchange, Outgoing, progress_token};

/// How far a call is, as the server said.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Grows from one report to the next.
    pub progress: f64,
    /// What it grows to, when that is known.
    pub total: Option<f64>,
    /// Text from outside.
    pub message: Option<String>,
}

/// Told about progress. Must not block.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Told about a log line, as its params came. Must not block.
pub type OnLog = Arc<dyn Fn(Object) + Send + Sync>;

/// How a request is made. The default is what a single caller without a person wants.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// Instead of the server's idle time.
    pub idle: Option<Duration>,
    /// Instead of the server's maximum.
    pub max: Option<Duration>,
    /// What the caller calls this call; goes with its questions.
    pub label: Option<String>,
    /// Cancels the call.
    pub cancelled: CancellationToken,
    /// Told about progress.
    pub on_progress: Option<OnProgress>,
    /// Told about log lines that came with this call: on its own stream, or while it was the only open one. They are
    /// announced as events beside that.
    pub on_log: Option<OnLog>,
    /// Modern: from which severity on the server may log during this call.
    pub log_level: Option<String>,
    /// Put into `_meta` beside what is ours: trace keys, keys of the caller's own.
    pub meta: Object,
    /// Who answers this call's questions, instead of the connection's.
    pub ask: Option<Arc<dyn Ask>>,
    /// Modern: whether an `input_required` or a task is handed back instead of answered and waited for.
    pub hand_back: bool,
    /// Modern: whether the server is not told that tasks are taken. It then answers, or asks, within the call.
    pub without_tasks: bool,
    /// Whether doing it twice does no more than doing it once, in the caller's judgement. Only then is it repeated by
    /// itself after a lost session.
    pub repeatable: bool,
}

/// What a request was answered with, and what is left to do about it.
pub(crate) struct Watched<'a> {
    pub inner: &'a Arc<Inner>,
    pub options: &'a CallOptions,
    pub clock: Arc<Clock>,
}

impl Inner {
    /// A clock for a call with these options.
    pub(crate) fn clock(&self, options: &CallOptions) -> Arc<Clock> {
        let timeouts = &self.spec.timeouts;
        let clock = Arc::new(Clock::new(
            options.idle.unwrap_or(timeouts.idle),
            options.max.unwrap_or(timeouts.max),
        ));
        self.remember_clock(&clock);
        clock
    }

    /// Makes a request and sees it through to a complete result.
    pub(crate) async fn request(
        self: &Arc<Self>,
        method: &str,
        params: Object,
        options: &CallOptions,
    ) -> Result<Object, Failure> {
        match self.outcome(method, params, options).await? {
            Outcome::Complete(object) => Ok(object),
            Outcome::InputRequired(_) => Err(self.unreadable("it asked where it may not ask")),
            Outcome::Task(_) => {
                Err(self.unreadable("it answered with a task that nobody asked for"))
            }
        }
    }

    /// Makes a request and answers what it asks, unless the options hand that back.
    pub(crate) async fn outcome(
        self: &Arc<Self>,
        method: &str,
        params: Object,
        options: &CallOptions,
    ) -> Result<Outcome, Failure> {
        let clock = self.clock(options);
        let watched = Watched {
            inner: self,
            options,
            clock,
        };
        watched.rounds(method, params).await
    }
}

impl Watched<'_> {
    pub(crate) async fn rounds(&self, method: &str, first: Object) -> Result<Outcome, Failure> {
        let limits = &self.inner.spec.limits;
        let (mut next, mut rounds, mut without_questions) = (None, 0, 0);
        loop {
            let params = next.as_ref().unwrap_or(&first);
            let raw = self.with_repeats(method, params).await?;
            let outcome =
                Outcome::parse(&raw).map_err(|error| self.inner.unreadable(&error.reason))?;
            let round = match outcome {
                Outcome::InputRequired(round)
                    if !self.options.hand_back && method::may_ask(method) =>
                {
                    round
                }
                other => return Ok(other),
            };
            rounds += 1;
            without_questions = if round.questions.is_empty() {
                without_questions + 1
            } else {
                0
            };
            if rounds > limits.rounds || without_questions > limits.state_only_rounds {
                let why = if rounds > limits.rounds {
                    format!("it asked more than {} times in one call", limits.rounds)
                } else {
                    format!(
                        "it answered {without_questions} times in a row with nothing but a state"
                    )
                };
                return Err(self.inner.no_answer(Broken::new(
                    Delivery::OutcomeUnknown,
                    Cause::Rounds,
                    why,
                )));
            }
            next = Some(self.answer_round(&first, &round).await?);
        }
    }

    /// The params of the next round: those of the first, the answers, and the state exactly as it came.
    async fn answer_round(&self, first: &Object, round: &InputRequired) -> Result<Object, Failure> {
        let mut params = first.clone();
        if !round.questions.is_empty() {
            let asking =
                questions::answer_round(self.inner, self.options, &self.clock, &round.questions);
            let answers = tokio::select! {
                answers = asking => answers.map_err(|why| {
                    self.inner.no_answer(Broken::new(Delivery::OutcomeUnknown, Cause::Rounds, why))
                })?,
                () = self.options.cancelled.cancelled() => return Err(self.cancelled(Delivery::OutcomeUnknown)),
            };
            params.set("inputResponses", answers);
        }
        if let Some(state) = &round.state {
            params.set("requestState", state.clone());
        }
        Ok(params)
    }

    /// One request, sent again when that is right: after a lost session if it may be repeated, after a mismatch of
    /// headers with the tools read anew, after a visit to a URL.
    pub(crate) async fn with_repeats(&self, method: &str, params: &Object) -> Result<Raw, Failure> {
        let (mut renewed, mut relisted, mut visited) = (false, false, false);
        loop {
            let generation = self.inner.generation();
            let failure = match self.once(method, params.clone()).await {
                Ok(raw) => return Ok(raw),
                Err(failure) => failure,
            };
            match &failure.kind {
                FailureKind::NoAnswer {
                    cause: Cause::SessionLost,
                    delivery,
                    ..
                } if !renewed => {
                    renewed = true;
                    self.inner.renew(generation).await?;
                    if *delivery == Delivery::OutcomeUnknown && !self.may_repeat(method, params) {
                        return Err(failure);
                    }
                }
                FailureKind::Answered(error)
                    if error.code == error::HEADER_MISMATCH
                        && method == method::TOOLS_CALL
                        && !relisted =>
                {
                    relisted = true;
                    self.inner.forget_tools();
                }
                FailureKind::Answered(error)
                    if error.code == error::LEGACY_URL_ELICITATION_REQUIRED
                        && !visited
                        && !self.options.hand_back =>
                {
                    visited = true;
                    if !questions::visit(self.inner, self.options, &self.clock, error).await {
                        return Err(failure);
                    }
                }
                _ => return Err(failure),
            }
        }
    }

    fn may_repeat(&self, method: &str, params: &Object) -> bool {
        if self.options.repeatable || method != method::TOOLS_CALL {
            return true;
        }
        let name = params.string("name").unwrap_or_default();
        self.inner
            .tool(&name)
            .is_some_and(|tool| tool.hints().safe_to_repeat())
    }

    pub(crate) async fn once(&self, method: &str, mut params: Object) -> Result<Raw, Failure> {
        let param_headers = self
            .inner
            .param_headers(method, &params, self.options)
            .await?;
        let id = self.inner.next_id();
        self.inner
            .complete_params(method, &mut params, &id, self.options);
        let request = Request::new(id, method, params);
        let sending = self.inner.transport.send(Outgoing {
            request,
            param_headers,
        });
        let exchange = tokio::select! {
            biased;
            exchange = sending => exchange.map_err(|broken| self.inner.no_answer(broken))?,
            () = self.options.cancelled.cancelled() => return Err(self.cancelled(Delivery::OutcomeUnknown)),
            expiry = self.clock.expired() => return Err(self.expired(expiry, Delivery::OutcomeUnknown)),
        };
        self.watch(exchange).await
    }

    async fn watch(&self, mut exchange: Exchange) -> Result<Raw, Failure> {
        let mut asking = Asking::default();
        let mut reported = f64::NEG_INFINITY;
        let mut open = true;
        let answered = loop {
            tokio::select! {
                biased;
                message = exchange.messages.recv(), if open => match message {
                    Some(frame) => self.take(*frame, &mut asking, &mut reported),
                    None => open = false,
                },
                answered = &mut exchange.answer => break answered,
                Some(_) = asking.running.join_next() => {}
                () = self.options.cancelled.cancelled() => return Err(self.cancelled(delivery(&exchange))),
                expiry = self.clock.expired() => return Err(self.expired(expiry, delivery(&exchange))),
            }
        };
        while let Ok(frame) = exchange.messages.try_recv() {
            self.take(*frame, &mut asking, &mut reported);
        }
        match answered {
            Ok(Ok(Ok(raw))) => Ok(raw),
            Ok(Ok(Err(error))) => Err(self.inner.fail(FailureKind::Answered(error))),
            Ok(Err(broken)) => Err(self.inner.no_answer(broken)),
            Err(_) => {
                let why = "the connection was closed";
                Err(self
                    .inner
                    .no_answer(Broken::new(Delivery::OutcomeUnknown, Cause::Closed, why)))
            }
        }
    }

    fn take(&self, frame: Frame, asking: &mut Asking, reported: &mut f64) {
        match frame {
            Frame::Notification(notification) => match notification.method.as_str() {
                method::PROGRESS => self.progress(&notification, reported),
                method::CANCELLED => {
                    let id = notification
                        .params
                        .get("requestId")
                        .and_then(|id| Id::parse(id).ok());
                    if let Some(handle) = id.and_then(|id| asking.by_id.remove(&id)) {
                        handle.abort();
                    }
                }
                method::LOG_MESSAGE => {
                    if let Some(on_log) = &self.options.on_log {
                        on_log(notification.params.clone());
                    }
                    self.inner.announce_of_call(notification);
                }
                _ => self.inner.announce(notification),
            },
            Frame::Request(request) => {
                let Some(room) = self.inner.room_to_answer(&request) else {
                    return;
                };
                asking.forget_the_done();
                let id = request.id.clone();
                let (inner, options, clock) = (
                    Arc::clone(self.inner),
                    self.options.clone(),
                    Arc::clone(&self.clock),
                );
                let handle = asking.running.spawn(async move {
                    let _room = room;
                    questions::answer_request(&inner, &options, &[clock], request).await;
                });
                asking.by_id.insert(id, handle);
            }
            Frame::Response(_) => {}
        }
    }

    /// Progress is a sign of life, and is passed on when it grows.
    fn progress(&self, notification: &Notification, reported: &mut f64) {
        self.clock.progress();
        let number = |name: &str| notification.params.get(name).and_then(Raw::number);
        let Some(progress) = number("progress").filter(|progress| progress > reported) else {
            return;
        };
        *reported = progress;
        if let Some(on_progress) = &self.options.on_progress {
            let message = notification.params.string("message");
            on_progress(Progress {
                progress,
                total: number("total"),
                message,
            });
        }
    }

    pub(crate) fn cancelled(&self, delivery: Delivery) -> Failure {
        self.inner
            .no_answer(Broken::new(delivery, Cause::Cancelled, "it was cancelled"))
    }

    pub(crate) fn expired(&self, expiry: crate::clock::Expiry, delivery: Delivery) -> Failure {
        let broken = Broken::new(delivery, Cause::Timeout(expiry), expiry.to_string());
        self.inner.no_answer(broken)
    }
}

/// What is certain about a request that nobody waits for any more.
fn delivery(exchange: &Exchange) -> Delivery {
    if exchange.guard.may_have_arrived() {
        Delivery::OutcomeUnknown
    } else {
        Delivery::NotSent
    }
}

/// The questions of one call that are being answered. Dropped with the call.
#[derive(Default)]
struct Asking {
    running: JoinSet<()>,
    by_id: HashMap<Id, AbortHandle>,
}

impl Asking {
    fn forget_the_done(&mut self) {
        while self.running.try_join_next().is_some() {}
        if self.by_id.len() > self.running.len() {
            self.by_id.retain(|_, handle| !handle.is_finished());
        }
    }
}

impl Inner {
    /// Puts into `params` what every request of this era carries.
    fn complete_params(&self, method: &str, params: &mut Object, id: &Id, options: &CallOptions) {
        use mcp_wire::meta;
        for (key, value) in options
            .meta
            .iter()
            .filter(|(key, _)| !meta::is_reserved(key))
        {
            meta::set(params, key, value.clone());
        }
        if matches!(
            method,
            method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ | method::COMPLETE
        ) {
            meta::set(params, meta::PROGRESS_TOKEN, progress_token(id));
        }
        self.put_envelope(method, params, options);
    }
}
