//! The life of a turn, in named phases: *begin* with the prompt, *prepare* a request that fits, *stream* the answer, *commit* it,
//! *dispatch* its calls, *record* all results in one message; again until the model has no more calls. Then the turn *ends*.

mod answer;
mod room;

use std::collections::HashMap;

use cox_protocol::{CallId, Command, Event, ImageData, Item, Level, StopReason, ToolResult};
use cox_store::StoreError;
use llm::{Block, ErrorKind, Reply, Stop};
use tokio_util::sync::CancellationToken;

use crate::{
    dispatch::Asked,
    engine::{Engine, Prompt},
    inbox::Wake,
};

/// How often in a row an answer that was cut is continued before the turn stops.
const MAX_CONTINUATIONS: u32 = 2;

impl Engine {
    /// Runs one turn from its prompt to its end. An error means that the record failed and the session is over.
    pub(crate) async fn turn(&mut self, prompt: Prompt) -> Result<(), StoreError> {
        let turn = self.journal.state.turn.saturating_add(1);
        self.journal.emit(Event::TurnStarted { turn }).await?;
        let cancel = CancellationToken::new();
        self.begin(prompt).await?;
        let stop = self.phases(&cancel).await?;
        self.journal.emit(Event::TurnDone { turn, stop }).await?;
        self.journal.sync()
    }

    /// *Begin*: the prompt becomes an item; the first one of a session carries the environment.
    async fn begin(&mut self, prompt: Prompt) -> Result<(), StoreError> {
        let redaction = self.redactor.redact(&prompt.text);
        let (text, secrets) = (redaction.text.into_owned(), redaction.count);
        if secrets > 0 {
            self.notice(
                Level::Security,
                "a secret in the prompt was replaced by a marker: the model does not see it; put it into a file or a variable",
            )
            .await?;
        }
        let mut context = match self.journal.state.items.is_empty() && !self.environment.is_empty()
        {
            true => vec![self.environment.clone()],
            false => Vec::new(),
        };
        context.extend(self.dispatch.task_news());
        let images = prompt
            .images
            .into_iter()
            .map(|image| ImageData {
                media_type: image.media_type,
                base64: image.base64,
            })
            .collect();
        let item = Item::User {
            context,
            text,
            images,
        };
        self.journal.emit(Event::ItemAdded { item }).await
    }

    async fn phases(&mut self, cancel: &CancellationToken) -> Result<StopReason, StoreError> {
        let mut continuations = 0;
        let mut made_room = false;
        for _ in 0..self.limits.max_turns {
            if let Some(stop) = self.over_budget() {
                return Ok(stop);
            }
            let request = match self.prepare().await? {
                Ok(request) => request,
                Err(stop) => return Ok(stop),
            };
            let reply = match self.stream(&request, cancel).await? {
                Ok(reply) => reply,
                Err(error) if error.kind == ErrorKind::ContextTooLong && !made_room => {
                    made_room = true;
                    match self.make_room().await? {
                        true => continue,
                        false => return Ok(self.failed(&error)),
                    }
                }
                Err(error) if error.kind == ErrorKind::Cancelled => {
                    return Ok(StopReason::Interrupted);
                }
                Err(error) => return Ok(self.failed(&error)),
            };
            let stop = reply.stop.clone();
            if stop == Stop::EndTurn && says_nothing(&reply) {
                if continuations == MAX_CONTINUATIONS {
                    return Ok(StopReason::Error {
                        who: "provider".to_owned(),
                        message: format!(
                            "the model answered nothing {} times in a row\nhint: continue the session with another prompt",
                            continuations + 1
                        ),
                    });
                }
                continuations += 1;
                self.continue_empty().await?;
                continue;
            }
            let calls = self.commit(reply).await?;
            match stop {
                Stop::Cancelled => {
                    self.record_unrun(&calls, "interrupted before this call ran")
                        .await?;
                    return Ok(StopReason::Interrupted);
                }
                Stop::Refusal(detail) => {
                    self.record_unrun(&calls, "not run: the model refused")
                        .await?;
                    return Ok(StopReason::Refusal {
                        detail: self.redactor.redact(&detail).text.into_owned(),
                    });
                }
                Stop::Broken(_) | Stop::MaxTokens if continuations == MAX_CONTINUATIONS => {
                    self.record_unrun(&calls, "not run: the answer was cut before its end")
                        .await?;
                    return Ok(StopReason::Error {
                        who: "provider".to_owned(),
                        message: format!(
                            "the answer was cut {} times in a row ({}); what arrived is kept\nhint: continue the session to try again",
                            continuations + 1,
                            self.cut_reason(&stop)
                        ),
                    });
                }
                Stop::Broken(_) | Stop::MaxTokens => {
                    continuations += 1;
                    self.continue_cut(&calls, &stop).await?;
                }
                Stop::EndTurn | Stop::ToolUse if calls.is_empty() => {
                    return Ok(StopReason::EndTurn);
                }
                Stop::EndTurn | Stop::ToolUse => {
                    continuations = 0;
                    self.dispatch_calls(calls, cancel).await?;
                    if let Some(failure) = self.dispatch.take_failure() {
                        return Ok(StopReason::Error {
                            who: "us".to_owned(),
                            message: format!("an output could not be kept: {failure}"),
                        });
                    }
                    if cancel.is_cancelled() {
                        return Ok(StopReason::Interrupted);
                    }
                }
            }
        }
        Ok(StopReason::MaxTurns {
            limit: self.limits.max_turns,
        })
    }

    /// Asks the model to go on after an answer that was cut.
    async fn continue_cut(&mut self, calls: &[Asked], stop: &Stop) -> Result<(), StoreError> {
        let reason = self.cut_reason(stop);
        self.notice(
            Level::Warning,
            &format!("the answer was cut: {reason}; asking for the rest"),
        )
        .await?;
        self.record_unrun(calls, "not run: the answer was cut before its end")
            .await?;
        let context = vec![format!(
            "Your last answer was cut off ({reason}). Go on from where it stopped, in smaller steps; send calls that were not run again."
        )];
        let item = Item::User {
            context,
            text: String::new(),
            images: Vec::new(),
        };
        self.journal.emit(Event::ItemAdded { item }).await
    }

    /// Asks the model again after an answer without a word or a call. The empty answer stays out of the conversation.
    async fn continue_empty(&mut self) -> Result<(), StoreError> {
        self.notice(Level::Warning, "the answer was empty; asking again")
            .await?;
        let item = Item::User {
            context: vec![
                "Your last answer was empty. Go on; if everything is done, say so.".to_owned(),
            ],
            text: String::new(),
            images: Vec::new(),
        };
        self.journal.emit(Event::ItemAdded { item }).await
    }

    /// *Dispatch* and *record*: runs the calls of one answer; all their results become one item, in call order.
    async fn dispatch_calls(
        &mut self,
        calls: Vec<Asked>,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let order: Vec<CallId> = calls.iter().map(|asked| asked.call).collect();
        let prepared: Vec<_> = calls
            .into_iter()
            .map(|asked| self.dispatch.prepare(asked))
            .collect();
        for call in &prepared {
            self.journal.emit(self.dispatch.announce(call)).await?;
        }
        let mut tasks = self.dispatch.start(prepared, cancel);
        let mut results: HashMap<CallId, ToolResult> = HashMap::new();
        loop {
            tokio::select! {
                Some(wake) = self.inbox.recv() => self.wake(wake, cancel).await?,
                joined = tasks.join_next() => match joined {
                    Some(Ok(result)) => drop(results.insert(result.call, result)),
                    Some(Err(_)) => {}
                    None => break,
                },
            }
        }
        // Every call has said its last word by now: take all of them in before the results.
        while let Ok(wake) = self.inbox.try_recv() {
            self.wake(wake, cancel).await?;
        }
        let mut unknown = self
            .journal
            .state
            .results_so_far("the call was dropped inside cox");
        let results = order
            .into_iter()
            .filter_map(|call| {
                results.remove(&call).or_else(|| {
                    let at = unknown.iter().position(|result| result.call == call)?;
                    Some(unknown.swap_remove(at))
                })
            })
            .collect();
        self.journal
            .emit(Event::ItemAdded {
                item: Item::ToolResults { results },
            })
            .await?;
        self.tell_of_tasks().await
    }

    /// Tells the model which background tasks have ended, as a part of its next request.
    async fn tell_of_tasks(&mut self) -> Result<(), StoreError> {
        let context = self.dispatch.task_news();
        if context.is_empty() {
            return Ok(());
        }
        let item = Item::User {
            context,
            text: String::new(),
            images: Vec::new(),
        };
        self.journal.emit(Event::ItemAdded { item }).await
    }

    /// Answers calls that will not run, so that the conversation stays valid.
    async fn record_unrun(&mut self, calls: &[Asked], why: &str) -> Result<(), StoreError> {
        if calls.is_empty() {
            return Ok(());
        }
        let results = calls
            .iter()
            .map(|asked| ToolResult {
                call: asked.call,
                wire_id: asked.wire_id.clone(),
                text: why.to_owned(),
                is_error: true,
                images: Vec::new(),
                archive: None,
            })
            .collect();
        self.journal
            .emit(Event::ItemAdded {
                item: Item::ToolResults { results },
            })
            .await
    }

    /// Takes one wake-up while a turn runs.
    async fn wake(&mut self, wake: Wake, cancel: &CancellationToken) -> Result<(), StoreError> {
        match wake {
            Wake::Call(event) => self.journal.emit(event).await,
            Wake::SurfaceGone => {
                self.close(cancel);
                Ok(())
            }
            Wake::Command(command) => self.command(command, cancel).await,
        }
    }

    async fn command(
        &mut self,
        command: Command,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        match command {
            Command::UserTurn { text, images } => self.waiting.push_back(Prompt { text, images }),
            Command::Approve { call, decision } => {
                self.dispatch.approvals.settle(call, decision);
            }
            Command::Answer { call, text } => {
                self.dispatch.questions.settle(call, text);
            }
            Command::Interrupt => cancel.cancel(),
            Command::SetMode { mode } => self.set_mode(mode).await?,
            Command::Shutdown => self.close(cancel),
        }
        Ok(())
    }

    /// Ends the turn, and the session after it.
    fn close(&mut self, cancel: &CancellationToken) {
        self.closing = true;
        self.dispatch.approvals.give_up();
        self.dispatch.questions.give_up();
        cancel.cancel();
    }

    /// Says how a turn ends without an answer. A provider may quote the key it was sent.
    fn failed(&self, error: &llm::Error) -> StopReason {
        let who = match error.kind {
            ErrorKind::Auth | ErrorKind::Config => "config",
            ErrorKind::Network | ErrorKind::Timeout => "network",
            ErrorKind::RateLimited
            | ErrorKind::Overloaded
            | ErrorKind::BadRequest
            | ErrorKind::ContextTooLong
            | ErrorKind::Malformed
            | ErrorKind::Cancelled => "provider",
        };
        StopReason::Error {
            who: who.to_owned(),
            message: self.redactor.redact(&error.message).text.into_owned(),
        }
    }

    /// Says why an answer was cut. A provider may quote what it was sent.
    fn cut_reason(&self, stop: &Stop) -> String {
        match stop {
            Stop::Broken(reason) => {
                untrusted_text::terminal::one_line(&self.redactor.redact(reason).text, 200)
            }
            Stop::MaxTokens => "the cap on one answer was reached".to_owned(),
            Stop::EndTurn | Stop::ToolUse | Stop::Refusal(_) | Stop::Cancelled => {
                "it ended early".to_owned()
            }
        }
    }

    fn over_budget(&self) -> Option<StopReason> {
        let spent = self.journal.state.spent;
        let cap = self.limits.budget?;
        (spent >= cap).then_some(StopReason::Budget { spent, cap })
    }
}

/// Says whether a whole answer holds neither a word nor a call.
fn says_nothing(reply: &Reply) -> bool {
    reply.blocks.iter().all(|block| match block {
        Block::Text(text) => text.trim().is_empty(),
        Block::Opaque(_) => true,
        Block::Call { .. } | Block::Image(_) | Block::Result { .. } => false,
    })
}
