//! Asking: the verdict on a call, the person's answer where it asks, and questions of a tool.

use std::sync::Arc;

use async_trait::async_trait;
use cox_permission::{ApprovalPolicy, Decision, Grants, Mode, Part, Subject, Verdict, Why};
use cox_protocol::{self as protocol, CallId, DecidedBy, Event};
use cox_tools::{Answer, Keeper, Relay};
use tokio_util::sync::CancellationToken;
use untrusted_text::Untrusted;

use super::{Asked, Dispatch, keeper::ArchiveKeeper};
use crate::Approver;

/// Whether a call may run.
pub(super) enum Leave {
    /// It may.
    Given,
    /// It may not.
    Refused {
        /// What the model is told.
        told: String,
    },
}

/// What came of asking a person.
enum Asking {
    Answered(protocol::Decision),
    Nobody(&'static str),
    Cancelled,
}

impl Dispatch {
    /// Judges a call and asks a person where the verdict says so. Records who decided and why.
    pub(super) async fn leave(
        &self,
        asked: &Asked,
        subject: &Subject,
        cancel: &CancellationToken,
    ) -> Leave {
        let verdict = self.judge().judge(subject);
        let why = verdict.why.text();
        match verdict.decision {
            Decision::Allow => {
                self.tell_decision(asked.call, true, DecidedBy::Engine, &why)
                    .await;
                Leave::Given
            }
            Decision::Deny => self.refuse(asked, DecidedBy::Engine, why).await,
            Decision::Ask => self.ask(asked, subject, verdict, cancel).await,
        }
    }

    async fn ask(
        &self,
        asked: &Asked,
        subject: &Subject,
        verdict: Verdict,
        cancel: &CancellationToken,
    ) -> Leave {
        let why = verdict.why.text();
        match self.put_to_person(asked, subject, verdict, cancel).await {
            Asking::Answered(protocol::Decision::Allow) => {
                self.tell_decision(asked.call, true, DecidedBy::Person, "allowed once")
                    .await;
                Leave::Given
            }
            Asking::Answered(protocol::Decision::AllowForSession) => {
                let grants = Grants::for_subject(subject, &self.anchors);
                let reason = match grants.is_empty() {
                    true => "allowed once".to_owned(),
                    false => format!("allowed for the session: {}", grants.join(", ")),
                };
                self.judge().grants.add(&grants, &self.anchors);
                self.tell_decision(asked.call, true, DecidedBy::Person, &reason)
                    .await;
                Leave::Given
            }
            Asking::Answered(protocol::Decision::Deny { reason }) => {
                let reason = reason.unwrap_or_else(|| "the person said no".to_owned());
                self.refuse(asked, DecidedBy::Person, reason).await
            }
            Asking::Nobody(nobody) => {
                self.refuse(asked, DecidedBy::Nobody, format!("{why}; {nobody}"))
                    .await
            }
            Asking::Cancelled => Leave::Refused {
                told: "cancelled before it was allowed".into(),
            },
        }
    }

    /// Says whether a command that the sandbox stopped may run again without it, if a person allows.
    pub(super) fn may_ask_to_lift(&self) -> bool {
        let judge = self.judge();
        judge.policy == ApprovalPolicy::OnFailure && judge.sandboxed && judge.mode != Mode::Plan
    }

    /// Asks a person whether a command that the sandbox stopped may run again without it. Where nobody answers, it may not.
    pub(super) async fn ask_to_lift(
        &self,
        asked: &Asked,
        subject: &Subject,
        denied: &str,
        cancel: &CancellationToken,
    ) -> bool {
        let why = Why::Policy {
            policy: ApprovalPolicy::OnFailure,
        };
        let subject = Subject {
            text: format!("run again without the sandbox ({denied}): {}", subject.text),
            ..subject.clone()
        };
        let verdict = Verdict {
            decision: Decision::Ask,
            why: why.clone(),
            parts: vec![Part {
                text: subject.text.clone(),
                decision: Decision::Ask,
                why,
            }],
        };
        let (allowed, by, reason) = match self.put_to_person(asked, &subject, verdict, cancel).await
        {
            // Without the sandbox each call is asked about: a grant covers what runs inside it.
            Asking::Answered(protocol::Decision::Allow | protocol::Decision::AllowForSession) => (
                true,
                DecidedBy::Person,
                "once without the sandbox".to_owned(),
            ),
            Asking::Answered(protocol::Decision::Deny { reason }) => (
                false,
                DecidedBy::Person,
                reason.unwrap_or_else(|| "the person said no".to_owned()),
            ),
            Asking::Nobody(nobody) => (false, DecidedBy::Nobody, nobody.to_owned()),
            Asking::Cancelled => return false,
        };
        let reason = if allowed {
            format!("allowed {reason}")
        } else {
            format!("not run again without the sandbox: {reason}")
        };
        self.tell_decision(asked.call, allowed, by, &reason).await;
        allowed
    }

    async fn put_to_person(
        &self,
        asked: &Asked,
        subject: &Subject,
        verdict: Verdict,
        cancel: &CancellationToken,
    ) -> Asking {
        if self.approver == Approver::Nobody {
            return Asking::Nobody("nobody is there to ask");
        }
        let answer = self.approvals.open(asked.call);
        self.tell(Event::ApprovalRequired {
            call: asked.call,
            name: asked.name.clone(),
            subject: Untrusted::new(self.clean(&subject.text)),
            why: verdict.why,
            parts: self.clean_parts(verdict.parts),
        })
        .await;
        let outcome = tokio::select! {
            answer = answer => match answer {
                Ok(decision) => Asking::Answered(decision),
                Err(_) => Asking::Nobody("nobody is left to ask"),
            },
            () = tokio::time::sleep(self.approval_timeout) => Asking::Nobody("nobody answered in time"),
            () = cancel.cancelled() => Asking::Cancelled,
        };
        self.approvals.close(asked.call);
        outcome
    }

    /// Returns the parts of a verdict as they may be shown: a command line can hold a secret.
    fn clean_parts(&self, parts: Vec<Part>) -> Vec<Part> {
        parts
            .into_iter()
            .map(|part| Part {
                text: self.clean(&part.text),
                ..part
            })
            .collect()
    }

    async fn refuse(&self, asked: &Asked, by: DecidedBy, reason: String) -> Leave {
        let told = format!(
            "denied: {reason}\nthis call did not run; do not try to get around it. go on without it, or stop and say what you need"
        );
        self.tell_decision(asked.call, false, by, &reason).await;
        Leave::Refused { told }
    }
}

/// The session as a tool sees it.
pub(super) struct SessionRelay {
    pub(super) dispatch: Arc<Dispatch>,
    pub(super) call: CallId,
    pub(super) cancel: CancellationToken,
}

#[async_trait]
impl Relay for SessionRelay {
    fn keeper(&self) -> Option<Box<dyn Keeper>> {
        let keeper = ArchiveKeeper::new(&self.dispatch.archive, &self.dispatch.redactor)?;
        Some(Box::new(keeper))
    }

    async fn ask(&self, question: &str, options: &[String]) -> Answer {
        let dispatch = &self.dispatch;
        if dispatch.approver == Approver::Nobody {
            return Answer::Nobody;
        }
        let answer = dispatch.questions.open(self.call);
        let redact = |text: &str| Untrusted::new(dispatch.clean(text));
        dispatch
            .tell(Event::QuestionAsked {
                call: self.call,
                question: redact(question),
                options: options.iter().map(|option| redact(option)).collect(),
            })
            .await;
        let outcome = tokio::select! {
            answer = answer => match answer {
                Ok(Some(text)) => Answer::Text(text),
                Ok(None) => Answer::Dismissed,
                Err(_) => Answer::Nobody,
            },
            () = tokio::time::sleep(dispatch.approval_timeout) => Answer::Nobody,
            () = self.cancel.cancelled() => Answer::Dismissed,
        };
        dispatch.questions.close(self.call);
        let answered = matches!(outcome, Answer::Text(_));
        dispatch
            .tell(Event::QuestionAnswered {
                call: self.call,
                answered,
            })
            .await;
        outcome
    }
}
