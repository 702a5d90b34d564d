//! A call on its way to a server, held open over the rounds in which its client is asked.
//!
//! The call runs on a task of its own. Whoever holds it gets one step after the other: its end, or questions to put. When
//! it is dropped before its end, the call is cancelled.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_client::call::Progress;
use mcp_server::{Context, Level, NO_ANSWER_IN_TIME, TaskContext};
use mcp_wire::{Answer, Notification, Object, Outcome, Question, RpcError, error, method};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::asker::{Asker, Posed, readable};
use super::plan;
use crate::hub::Hub;
use crate::registry::call::{Call, CallError, Done};

type Ended = Result<Done, CallError>;

/// What comes next of a held call.
pub(super) enum Step {
    /// It is over.
    Ended(Box<Ended>),
    /// Its client has to be asked.
    Asks,
    /// Nothing came within the time that was given.
    Later,
}

/// A call that is held open.
pub(super) struct HeldCall {
    posed: mpsc::Receiver<Posed>,
    ended: oneshot::Receiver<Ended>,
    cancelled: CancellationToken,
    /// The client's present request: progress and log lines go there.
    here: Arc<Mutex<Context>>,
    /// Cancels the call when the client's present request is cancelled.
    follows: Option<AbortHandle>,
    /// The server made a task of it.
    became_task: Arc<Notify>,
    /// What was put to the client and not answered yet.
    open: Vec<Posed>,
}

impl Drop for HeldCall {
    fn drop(&mut self) {
        self.cancelled.cancel();
        if let Some(follows) = self.follows.take() {
            follows.abort();
        }
    }
}

impl HeldCall {
    /// Begins a call, whose questions go to the client of `context`.
    pub(super) fn begin(
        hub: &Arc<Hub>,
        mut call: Call,
        context: &Context,
        names_server: bool,
    ) -> Self {
        let (asker, posed) = Asker::new(context, names_server);
        let cancelled = CancellationToken::new();
        let here = Arc::new(Mutex::new(context.clone()));
        say_to(&here, &mut call);
        let became_task = Arc::new(Notify::new());
        if context.takes_tasks() {
            let notify = Arc::clone(&became_task);
            call.on_task = Some(Arc::new(move || notify.notify_one()));
        }
        call.ask = Some(Arc::new(asker));
        call.cancelled = cancelled.clone();
        let (over, ended) = oneshot::channel();
        let hub = Arc::clone(hub);
        tokio::spawn(async move {
            let _open = hub.activity.begin();
            let _nobody_waits = over.send(hub.registry.call(call).await);
        });
        let mut held = Self {
            posed,
            ended,
            cancelled,
            here,
            follows: None,
            became_task,
            open: Vec::new(),
        };
        held.follow(context);
        held
    }

    /// From now on the call belongs to this request of its client.
    pub(super) fn follow(&mut self, context: &Context) {
        context.clone_into(&mut self.here.lock().unwrap_or_else(PoisonError::into_inner));
        let (request, call) = (context.cancelled.clone(), self.cancelled.clone());
        let follows = tokio::spawn(async move {
            request.cancelled().await;
            call.cancel();
        });
        if let Some(before) = self.follows.replace(follows.abort_handle()) {
            before.abort();
        }
    }

    /// The next step, waited for as long as it takes; or as `patience` says, and no longer than until the server makes a
    /// task of the call.
    pub(super) async fn next(&mut self, patience: Option<Duration>) -> Step {
        self.forget_the_expired();
        if !self.open.is_empty() {
            return Step::Asks;
        }
        let later = async {
            match patience {
                Some(patience) => tokio::select! {
                    () = tokio::time::sleep(patience) => {}
                    () = self.became_task.notified() => {}
                },
                // The call has a deadline of its own.
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            ended = &mut self.ended => Step::Ended(Box::new(ended.unwrap_or(Err(CallError::Closing)))),
            Some(posed) = self.posed.recv() => {
                self.open.push(posed);
                while let Ok(posed) = self.posed.try_recv() {
                    self.open.push(posed);
                }
                Step::Asks
            }
            () = later => Step::Later,
        }
    }

    /// What is to be put to the client.
    pub(super) fn questions(&self) -> Vec<(String, Question)> {
        self.open
            .iter()
            .map(|posed| (posed.key.clone(), posed.question.clone()))
            .collect()
    }

    /// Takes what the client answered. What it did not answer stays open, and is put again.
    pub(super) fn answer(&mut self, mut answers: BTreeMap<String, Answer>) {
        let mut left = Vec::new();
        for posed in std::mem::take(&mut self.open) {
            match answers.remove(&posed.key) {
                Some(answer) => drop(posed.answer.send(settled(answer, &posed.question))),
                None => left.push(posed),
            }
        }
        self.open = left;
    }

    /// A server that waited too long for an answer does not take it any more.
    fn forget_the_expired(&mut self) {
        self.open.retain(|posed| !posed.answer.is_closed());
    }

    /// Sees it through as a task of the client.
    ///
    /// # Errors
    /// When the client cannot be asked, or cancelled the task.
    async fn in_task(mut self, task: &TaskContext) -> Result<Ended, RpcError> {
        let cancelled = task.cancelled().clone();
        loop {
            let step = tokio::select! {
                step = self.next(None) => step,
                () = cancelled.cancelled() => {
                    return Err(RpcError::new(error::INTERNAL_ERROR, "the task was cancelled"));
                }
            };
            match step {
                Step::Ended(ended) => return Ok(*ended),
                Step::Asks => {
                    let answers = task.ask(self.questions()).await?;
                    self.answer(answers);
                }
                Step::Later => {}
            }
        }
    }
}

/// What it takes to make the call again, with the answers to what a modern server asked instead of answering.
pub(super) struct Again {
    /// As it was made first.
    pub(super) call: Call,
    /// The request that became a task.
    pub(super) context: Context,
    /// Whether the messages say which server asks.
    pub(super) names_server: bool,
}

impl Again {
    /// Sees a call through as a task of its client.
    ///
    /// # Errors
    /// When the client cannot be asked, or cancelled the task.
    pub(super) async fn in_task(
        self,
        hub: &Arc<Hub>,
        held: HeldCall,
        task: &TaskContext,
    ) -> Result<Ended, RpcError> {
        let ended = held.in_task(task).await?;
        let Ok(Done {
            outcome: Outcome::InputRequired(round),
            server,
            ..
        }) = &ended
        else {
            return Ok(ended);
        };
        let questions = readable(server, round, self.names_server)?;
        // Keys are used once in the life of a task; ours are `q1`, …
        let key = |key: &str| format!("{server}:{key}");
        let renamed: Vec<_> = questions
            .iter()
            .map(|(own, question)| (key(own), question.clone()))
            .collect();
        let mut answers = BTreeMap::new();
        if !renamed.is_empty() {
            let mut given = task.ask(renamed).await?;
            let named = questions.iter();
            answers
                .extend(named.filter_map(|(own, _)| Some((own.clone(), given.remove(&key(own))?))));
        }
        let mut call = self.call;
        // From here on the rounds are ours.
        call.hand_back = false;
        plan::answer(&mut call, answers, round.state.clone());
        HeldCall::begin(hub, call, &self.context, self.names_server)
            .in_task(task)
            .await
    }
}

/// What the server says of the call goes to the client's present request.
fn say_to(here: &Arc<Mutex<Context>>, call: &mut Call) {
    let now =
        |here: &Arc<Mutex<Context>>| here.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let client = Arc::clone(here);
    call.on_progress = Some(Arc::new(move |said: Progress| {
        now(&client).progress(said.progress, said.total, said.message.as_deref());
    }));
    let client = Arc::clone(here);
    call.on_log = Some(Arc::new(move |params: Object| {
        let context = now(&client);
        let level = params.string("level").and_then(|word| Level::parse(&word));
        if level.is_some_and(|level| context.would_log(level)) {
            context.notify(Notification::new(method::LOG_MESSAGE, params));
        }
    }));
}

/// Nobody answered in time: that is neither a refusal nor consent, and has a word of its own where there is one.
fn settled(answer: Answer, question: &Question) -> Answer {
    match (answer, question) {
        (Answer::Failed(error), Question::Form { .. } | Question::Url { .. })
            if error.code == NO_ANSWER_IN_TIME =>
        {
            Answer::Cancel
        }
        (answer, _) => answer,
    }
}
