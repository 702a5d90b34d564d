//! One call outside a session: no model, no turn, no record; the same road through dispatch.
//!
//! Nobody is there to ask, so what a session would ask about is denied. The archive holds the whole output and the
//! pre-images, as in a session.

use std::sync::Arc;

use cox_protocol::{CallId, Event, ToolDone};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use untrusted_text::redact::Redactor;

use crate::{Approver, SessionSpec, dispatch::Asked, engine::make_dispatch, inbox::Wake};

/// How many events of the call may wait to be looked at.
const INBOX: usize = 128;

/// What became of a single call.
#[derive(Clone, Debug, PartialEq)]
pub struct Single {
    /// The end of the call, as a session would record it.
    pub done: ToolDone,
    /// The verdict's reason; none for a call that was never judged.
    pub why: Option<String>,
    /// Whether the tool is unknown, or its arguments could not be read.
    pub is_malformed: bool,
    /// What people should know, such as how many secrets were replaced.
    pub notices: Vec<String>,
    /// Media type and base64 of the images for a model.
    pub images: Vec<(String, String)>,
}

/// Runs one tool. Must be called inside a tokio runtime. Of the spec, the provider and the session to resume do not matter.
///
/// `input` is the text of a JSON object; no text at all means no arguments. `None` only when dispatch lost the call, which
/// it does not. Returns soon after `cancel` fires.
pub async fn run_one(
    spec: &SessionSpec,
    name: &str,
    input: &str,
    cancel: &CancellationToken,
) -> Option<Single> {
    let (wake, mut inbox) = mpsc::channel(INBOX);
    let mut dispatch = make_dispatch(spec, spec.mode.unwrap_or_default(), wake);
    dispatch.approver = Approver::Nobody;
    let dispatch = Arc::new(dispatch);
    let prepared = dispatch.prepare(Asked {
        call: CallId::generate(),
        wire_id: String::new(),
        name: name.to_owned(),
        input: input.to_owned(),
    });
    let is_malformed = prepared.is_malformed();
    let mut tasks = dispatch.start(vec![prepared], cancel);
    // The call holds dispatch, and dispatch the sender: the inbox closes when the call has ended.
    drop(dispatch);
    let (mut done, mut why, mut notices) = (None, None, Vec::new());
    while let Some(wake) = inbox.recv().await {
        match wake {
            Wake::Call(Event::ApprovalDecided { reason, .. }) => why = Some(reason),
            Wake::Call(Event::Notice { text, .. }) => notices.push(text.verbatim().to_owned()),
            Wake::Call(Event::ToolDone(ended)) => {
                done = Some(ended);
                // A command's stray child may hold on to the call's output: what matters has been said.
                break;
            }
            Wake::Call(_) | Wake::Command(_) | Wake::SurfaceGone => {}
        }
    }
    let result = tasks.join_next().await.and_then(Result::ok);
    let images = result.map(|result| result.images).unwrap_or_default();
    // Nothing outlives a single call.
    let ended = spec.commands.tasks().end_all().await;
    if !ended.is_empty() {
        let text = format!("ended with the call: background task {}", ended.join(", "));
        notices.push(
            Redactor::with_values(spec.secrets.clone())
                .redact(&text)
                .text
                .into_owned(),
        );
    }
    Some(Single {
        done: done?,
        why,
        is_malformed,
        notices,
        images: images
            .into_iter()
            .map(|image| (image.media_type, image.base64))
            .collect(),
    })
}
