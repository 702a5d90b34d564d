//! What a headless run comes to: gathered from its events, told once at the end.

use cox_protocol::{AssistantBlock, CallId, Event, Item, Money, SessionId, StopReason, TokenUsage};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};

/// A call that did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denied {
    /// The tool.
    pub(crate) tool: String,
    /// What the call was about.
    pub(crate) subject: String,
    /// Why it was denied.
    pub(crate) why: String,
}

/// What a run came to so far.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The session, once it is open.
    pub(crate) session: Option<SessionId>,
    /// The text of the last answer.
    pub(crate) result: String,
    /// Tokens of all requests.
    pub(crate) usage: TokenUsage,
    /// Cost of all requests; none when the price of one is unknown.
    pub(crate) cost: Option<Money>,
    /// Requests that were answered.
    pub(crate) requests: u32,
    /// Why the turn ended, once it has.
    pub(crate) stop: Option<StopReason>,
    /// Calls that did not run.
    pub(crate) denied: Vec<Denied>,
    requested: Vec<(CallId, String, String)>,
    /// Whether the last answer was cut, so that the next one goes on with it.
    is_cut: bool,
}

impl Outcome {
    /// Starts with nothing done and nothing spent.
    pub(crate) fn new() -> Self {
        Self {
            cost: Some(Money(0)),
            ..Self::default()
        }
    }

    /// Takes an event into account.
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::SessionStarted { session, .. } => self.session = Some(*session),
            Event::ItemAdded {
                item: Item::Assistant { blocks, complete },
            } => {
                let text = text_of(blocks);
                // An answer of calls alone says nothing new.
                if !text.is_empty() {
                    self.result = match std::mem::take(&mut self.result) {
                        part if self.is_cut && !part.is_empty() => format!("{part}\n{text}"),
                        _ => text,
                    };
                }
                self.is_cut = !complete;
            }
            // What follows an answer that was cut goes on with it, unless calls came between.
            Event::ItemAdded {
                item: Item::ToolResults { .. },
            } => self.is_cut = false,
            Event::ToolRequested {
                call,
                name,
                subject,
                ..
            } => {
                self.requested
                    .push((*call, name.clone(), subject.verbatim().to_owned()));
            }
            Event::ApprovalDecided {
                call,
                allowed: false,
                reason,
                ..
            } => {
                let (tool, subject) = self
                    .requested
                    .iter()
                    .rev()
                    .find(|(id, _, _)| id == call)
                    .map(|(_, tool, subject)| (tool.clone(), subject.clone()))
                    .unwrap_or_default();
                self.denied.push(Denied {
                    tool,
                    subject,
                    why: reason.clone(),
                });
            }
            Event::Usage { tokens, cost, .. } => {
                self.requests += 1;
                self.usage.input += tokens.input;
                self.usage.output += tokens.output;
                self.usage.cache_read += tokens.cache_read;
                self.usage.cache_write += tokens.cache_write;
                self.cost = match (self.cost, cost) {
                    (Some(sum), Some(cost)) => Some(Money(sum.0.saturating_add(cost.0))),
                    _ => None,
                };
            }
            Event::TurnDone { stop, .. } => self.stop = Some(stop.clone()),
            _ => {}
        }
    }

    /// Takes into account that the run ends before its turn has.
    pub(crate) fn interrupt(&mut self) {
        self.stop.get_or_insert(StopReason::Interrupted);
    }

    /// Returns how the process ends.
    pub(crate) fn exit(&self) -> Exit {
        match &self.stop {
            Some(StopReason::EndTurn) if self.denied.is_empty() => Exit::Ok,
            Some(StopReason::EndTurn | StopReason::Refusal { .. }) => Exit::Denied,
            Some(StopReason::Interrupted) => Exit::Interrupted,
            Some(StopReason::Budget { .. }) => Exit::Budget,
            Some(StopReason::MaxTurns { .. } | StopReason::Error { .. }) | None => Exit::Error,
        }
    }

    /// Returns what a person should know about the end, unless all went well.
    pub(crate) fn problem(&self) -> Option<String> {
        match &self.stop {
            Some(StopReason::EndTurn) => None,
            Some(StopReason::MaxTurns { limit }) => Some(format!(
                "stopped after {limit} requests to the model\nhint: go on with `cox run --continue -p …`, or raise `--max-turns`"
            )),
            Some(StopReason::Interrupted) => Some("interrupted".to_owned()),
            Some(StopReason::Budget { spent, cap }) => Some(format!(
                "the spend cap of ${:.2} is reached: ${:.4} spent\nhint: raise `--budget`, or set `budget.session_usd`",
                cap.usd(),
                spent.usd()
            )),
            Some(StopReason::Refusal { detail }) if detail.is_empty() => {
                Some("the model refused".to_owned())
            }
            Some(StopReason::Refusal { detail }) => Some(format!("the model refused: {detail}")),
            Some(StopReason::Error { message, .. }) => Some(message.clone()),
            None => Some("the session ended before the turn did".to_owned()),
        }
    }

    /// Returns the result document.
    pub(crate) fn document(&self, exit: Exit) -> Value {
        self.document_with(exit, self.problem())
    }

    /// Returns the result document of a run that failed before or beside its session.
    pub(crate) fn document_of_failure(&self, failure: &Failure) -> Value {
        self.document_with(failure.exit, Some(failure.message.clone()))
    }

    fn document_with(&self, exit: Exit, problem: Option<String>) -> Value {
        let denied: Vec<Value> = self
            .denied
            .iter()
            .map(|denied| json!({ "tool": denied.tool, "subject": denied.subject, "why": denied.why }))
            .collect();
        let mut document = json!({
            "type": "result",
            "session": self.session.map(|session| session.to_string()),
            "result": self.result,
            "usage": {
                "input": self.usage.input,
                "output": self.usage.output,
                "cache_read": self.usage.cache_read,
                "cache_write": self.usage.cache_write,
            },
            "cost_usd": self.cost.map(Money::usd),
            "turns": self.requests,
            "stop": self.stop.as_ref().map_or("error", stop_word),
            "denied": denied,
            "exit_code": exit.code(),
            "is_error": exit != Exit::Ok,
        });
        if let (Some(problem), Some(fields)) = (problem, document.as_object_mut()) {
            fields.insert("error".to_owned(), Value::String(problem));
        }
        document
    }
}

/// Returns the text blocks of an answer as one text.
pub(crate) fn text_of(blocks: &[AssistantBlock]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            AssistantBlock::Text { text } => Some(text.as_str()),
            AssistantBlock::Call { .. } | AssistantBlock::Opaque { .. } => None,
        })
        .collect();
    texts.join("\n").trim().to_owned()
}

fn stop_word(stop: &StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::MaxTurns { .. } => "max_turns",
        StopReason::Interrupted => "interrupted",
        StopReason::Budget { .. } => "budget",
        StopReason::Refusal { .. } => "refusal",
        StopReason::Error { .. } => "error",
    }
}

#[cfg(test)]
mod tests {
    use cox_protocol::DecidedBy;

    use super::*;

    fn ended(stop: StopReason) -> Event {
        Event::TurnDone { turn: 1, stop }
    }

    #[test]
    fn the_exit_code_follows_from_the_end_of_the_turn_and_the_denied_calls() {
        #[track_caller]
        fn check(stop: StopReason, denied: bool, expect: Exit) {
            let mut outcome = Outcome::new();
            if denied {
                outcome.note(&Event::ApprovalDecided {
                    call: CallId::from_parts(1, 1),
                    allowed: false,
                    by: DecidedBy::Nobody,
                    reason: "nobody to ask".to_owned(),
                });
            }
            outcome.note(&ended(stop));
            assert_eq!(outcome.exit(), expect);
        }
        check(StopReason::EndTurn, false, Exit::Ok);
        check(StopReason::EndTurn, true, Exit::Denied);
        check(
            StopReason::Refusal {
                detail: String::new(),
            },
            false,
            Exit::Denied,
        );
        check(
            StopReason::Budget {
                spent: Money(2),
                cap: Money(1),
            },
            true,
            Exit::Budget,
        );
        check(StopReason::Interrupted, true, Exit::Interrupted);
        check(StopReason::MaxTurns { limit: 3 }, false, Exit::Error);
        check(
            StopReason::Error {
                who: "us".to_owned(),
                message: "x".to_owned(),
            },
            true,
            Exit::Error,
        );
    }

    #[test]
    fn a_request_without_a_price_makes_the_whole_cost_unknown() {
        let usage = |cost| Event::Usage {
            turn: 1,
            provider: "p".to_owned(),
            model: "m".to_owned(),
            tokens: TokenUsage {
                input: 1,
                output: 2,
                cache_read: 3,
                cache_write: 4,
            },
            cost,
            latency_ms: 1,
            request_id: None,
        };
        let mut outcome = Outcome::new();
        outcome.note(&usage(Some(Money(5))));
        outcome.note(&usage(Some(Money(6))));
        assert_eq!((outcome.cost, outcome.requests), (Some(Money(11)), 2));
        outcome.note(&usage(None));
        outcome.note(&usage(Some(Money(6))));
        assert_eq!(outcome.cost, None);
        assert_eq!(
            outcome.usage,
            TokenUsage {
                input: 4,
                output: 8,
                cache_read: 12,
                cache_write: 16
            }
        );
    }

    #[test]
    fn a_failure_before_the_session_still_makes_a_whole_result() {
        let document = Outcome::new().document_of_failure(&Failure::error("no key"));
        assert_eq!(
            document,
            json!({
                "type": "result", "session": null, "result": "",
                "usage": { "input": 0, "output": 0, "cache_read": 0, "cache_write": 0 },
                "cost_usd": 0.0, "turns": 0, "stop": "error", "denied": [],
                "exit_code": 1, "is_error": true, "error": "no key",
            })
        );
    }
}
