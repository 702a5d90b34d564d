//! The life of a call: the only road to a tool.
//!
//! *find* the tool, *read* the arguments, ask it for its *subject*, *judge*, *ask* if needed, *run*, and *record*: redact,
//! archive the whole output, cap it, add the pointer. No surface and no tool goes around these steps.

mod ask;
mod keeper;
mod recorder;
mod schedule;

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use cox_permission::{Anchors, Judge, Mode, Subject};
use cox_protocol::{CallId, DecidedBy, Event, ImageData, ToolDone, ToolResult};
use cox_store::StoreError;
use cox_tools::{SubjectCx, Tool, ToolCx, ToolError, ToolOutput, commands::Commands};
use cox_workspace::Workspace;
use futures::FutureExt;
use serde_json::Value;
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use untrusted_text::{Untrusted, cap::Shape, redact::Redactor};

use crate::{
    Approver,
    approvals::{Approvals, Questions},
    inbox::Wake,
};
use ask::{Leave, SessionRelay};
use recorder::{Recorded, Recorder};

/// How long a cancelled call may take to end by itself before it is dropped.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// Everything that calls pass on their way.
pub(crate) struct Dispatch {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) judge: Mutex<Judge>,
    pub(crate) anchors: Anchors,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) archive: Arc<cox_store::Archive>,
    pub(crate) commands: Arc<Commands>,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) questions: Arc<Questions>,
    pub(crate) approver: Approver,
    pub(crate) approval_timeout: Duration,
    pub(crate) inbox: mpsc::Sender<Wake>,
    pub(crate) redactor: Redactor,
    pub(crate) shape: Shape,
    /// Why an output could not be archived; the turn stops on it.
    pub(crate) archive_failure: Mutex<Option<String>>,
    pub(crate) parallel: usize,
}

/// A call as the model asked for it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) call: CallId,
    pub(crate) wire_id: String,
    pub(crate) name: String,
    /// The arguments as the model wrote them, before redaction.
    pub(crate) input: String,
}

/// A call that was found and read, or why it was not.
pub(crate) struct Prepared {
    asked: Asked,
    found: Result<Found, Unfit>,
}

/// Why a call cannot even be judged.
struct Unfit {
    told: String,
    /// Whether the call itself is wrong, its tool's name or its arguments, rather than what it is about.
    is_malformed: bool,
}

impl Prepared {
    /// Says whether the tool is unknown, or its arguments cannot be read.
    pub(crate) fn is_malformed(&self) -> bool {
        self.found.as_ref().is_err_and(|unfit| unfit.is_malformed)
    }
}

struct Found {
    tool: Arc<dyn Tool>,
    input: Value,
    subject: Subject,
}

/// What became of a call, before it is recorded.
struct Ended {
    output: Result<ToolOutput, String>,
    denied: bool,
    ran_for: Duration,
}

impl Dispatch {
    /// Finds the tool of a call, reads its arguments and asks what it is about. Runs nothing.
    pub(crate) fn prepare(&self, asked: Asked) -> Prepared {
        let found = self.find(&asked);
        Prepared { asked, found }
    }

    fn find(&self, asked: &Asked) -> Result<Found, Unfit> {
        let malformed = |told| Unfit {
            told,
            is_malformed: true,
        };
        let Some(tool) = self
            .tools
            .iter()
            .find(|tool| tool.spec().name == asked.name)
        else {
            return Err(malformed(self.unknown_tool(&asked.name)));
        };
        let input = read_arguments(tool.as_ref(), &asked.input, |text| self.clean(text))
            .map_err(malformed)?;
        let subject = self.subject(tool.as_ref(), &input).map_err(|error| Unfit {
            is_malformed: matches!(error, ToolError::BadInput { .. }),
            told: error.to_string(),
        })?;
        Ok(Found {
            tool: Arc::clone(tool),
            input,
            subject,
        })
    }

    fn subject(&self, tool: &dyn Tool, input: &Value) -> Result<Subject, ToolError> {
        tool.subject(
            input,
            &SubjectCx {
                roots: Arc::clone(self.workspace.roots()),
            },
        )
    }

    fn unknown_tool(&self, name: &str) -> String {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.spec().name).collect();
        format!(
            "there is no tool `{}`; the tools are: {}",
            untrusted_text::terminal::one_line(name, 80),
            names.join(", ")
        )
    }

    /// Returns the event that tells of a call before anything is done about it.
    pub(crate) fn announce(&self, prepared: &Prepared) -> Event {
        let asked = &prepared.asked;
        let input = self.clean(&asked.input);
        let (subject, risk) = match &prepared.found {
            Ok(found) => (found.subject.text.as_str(), Some(found.subject.risk)),
            Err(_) => ("", None),
        };
        Event::ToolRequested {
            call: asked.call,
            name: untrusted_text::terminal::one_line(&asked.name, 120),
            input: serde_json::from_str(&input).unwrap_or(Value::String(input)),
            subject: Untrusted::new(self.clean(subject)),
            risk,
        }
    }

    /// Starts all calls of one assistant message. Calls that touch the same path run in call order; the others run side
    /// by side. Each task returns the result for the model; its events went into the inbox before that.
    pub(crate) fn start(
        self: &Arc<Self>,
        calls: Vec<Prepared>,
        cancel: &CancellationToken,
    ) -> JoinSet<ToolResult> {
        let permits = Arc::new(Semaphore::new(self.parallel.max(1)));
        let footprints: Vec<schedule::Footprint> = calls
            .iter()
            .map(|prepared| match &prepared.found {
                Ok(found) => schedule::Footprint::of(found.tool.spec().concurrency, &found.subject),
                Err(_) => schedule::Footprint::nothing(),
            })
            .collect();
        let mut tasks = JoinSet::new();
        for (prepared, turn) in calls.into_iter().zip(schedule::turns(&footprints)) {
            let dispatch = Arc::clone(self);
            let (permits, cancel) = (Arc::clone(&permits), cancel.child_token());
            tasks.spawn(async move { dispatch.life(prepared, turn, &permits, &cancel).await });
        }
        tasks
    }

    /// One call from its turn in the queue to its record.
    async fn life(
        self: &Arc<Self>,
        prepared: Prepared,
        turn: schedule::Turn,
        permits: &Semaphore,
        cancel: &CancellationToken,
    ) -> ToolResult {
        let Prepared { asked, found } = prepared;
        let recorder = Arc::new(Recorder::new(
            asked.call,
            &self.archive,
            &self.redactor,
            self.inbox.clone(),
            self.shape,
            prints_commands(&asked.name),
        ));
        let life = async {
            tokio::select! {
                () = turn.come() => {}
                () = cancel.cancelled() => return Ended::not_run("cancelled before it ran"),
            }
            match found {
                Ok(found) => self.judged(&asked, found, &recorder, permits, cancel).await,
                Err(unfit) => Ended::not_run(unfit.told),
            }
        };
        // A panic in one tool ends that call, not the session.
        let ended = std::panic::AssertUnwindSafe(life)
            .catch_unwind()
            .await
            .unwrap_or_else(|_| {
                Ended::not_run("the tool failed inside cox: this is a bug in cox, try another way")
            });
        let result = self.record(asked, ended, &recorder).await;
        turn.end();
        result
    }

    /// Judges a call, asks if needed, and runs it if it may.
    async fn judged(
        self: &Arc<Self>,
        asked: &Asked,
        found: Found,
        recorder: &Arc<Recorder>,
        permits: &Semaphore,
        cancel: &CancellationToken,
    ) -> Ended {
        let Found { tool, input, .. } = found;
        // A call before this one may have changed where a path leads: judge what is there now.
        let subject = match self.subject(tool.as_ref(), &input) {
            Ok(subject) => subject,
            Err(error) => return Ended::not_run(error.to_string()),
        };
        match self.leave(asked, &subject, cancel).await {
            Leave::Given => {}
            Leave::Refused { told } => return Ended::denied(told),
        }
        let permit = tokio::select! {
            permit = permits.acquire() => permit,
            () = cancel.cancelled() => return Ended::not_run("cancelled before it ran"),
        };
        let started = Instant::now();
        let again = self.may_ask_to_lift().then(|| input.clone());
        let commands = self.confined_commands();
        let mut output = self
            .run(tool.as_ref(), asked, input, commands, recorder, cancel)
            .await;
        if let (Some(input), Ok(first)) = (again, &output)
            && let Some(denied) = &first.sandbox_denied
            && self.ask_to_lift(asked, &subject, denied, cancel).await
        {
            let ending = format!("{}\n[again, without the sandbox]\n", first.text);
            cox_tools::OutputSink::write(&**recorder, ending.as_bytes());
            let bare = Arc::new(self.commands.bare());
            output = self
                .run(tool.as_ref(), asked, input, bare, recorder, cancel)
                .await;
        }
        drop(permit);
        Ended {
            output,
            denied: false,
            ran_for: started.elapsed(),
        }
    }

    async fn run(
        self: &Arc<Self>,
        tool: &dyn Tool,
        asked: &Asked,
        input: Value,
        commands: Arc<Commands>,
        recorder: &Arc<Recorder>,
        cancel: &CancellationToken,
    ) -> Result<ToolOutput, String> {
        let cx = self.tool_cx(asked.call, commands, recorder, cancel);
        let call = tool.call(input, &cx);
        tokio::pin!(call);
        tokio::select! {
            output = &mut call => return output.map_err(|error| error.to_string()),
            () = cancel.cancelled() => {}
        }
        match tokio::time::timeout(CANCEL_GRACE, call).await {
            Ok(output) => output.map_err(|error| error.to_string()),
            Err(_) => Err("cancelled; it did not end by itself and was dropped".to_owned()),
        }
    }

    /// Returns how commands run now: under a read-only sandbox in plan mode.
    fn confined_commands(&self) -> Arc<Commands> {
        match self.judge().mode {
            Mode::Plan => Arc::new(self.commands.with_mode(sandbox::Mode::ReadOnly)),
            Mode::Default | Mode::Auto | Mode::Bypass => Arc::clone(&self.commands),
        }
    }

    fn tool_cx(
        self: &Arc<Self>,
        call: CallId,
        commands: Arc<Commands>,
        recorder: &Arc<Recorder>,
        cancel: &CancellationToken,
    ) -> ToolCx {
        let rules = self.judge().rules.clone();
        ToolCx {
            workspace: Arc::clone(&self.workspace),
            archive: Arc::clone(&self.archive),
            commands,
            cancel: cancel.clone(),
            output: Arc::clone(recorder) as Arc<dyn cox_tools::OutputSink>,
            relay: Arc::new(SessionRelay {
                dispatch: Arc::clone(self),
                call,
                cancel: cancel.clone(),
            }),
            may_read: Arc::new(move |path: &Path| !rules.denies_read(path)),
        }
    }

    /// Redacts, archives and caps what a call produced, tells of its end and returns what the model sees.
    async fn record(&self, asked: Asked, ended: Ended, recorder: &Recorder) -> ToolResult {
        let (output, failure) = match ended.output {
            Ok(output) => (output, None),
            Err(problem) => (
                ToolOutput {
                    is_error: true,
                    ..ToolOutput::default()
                },
                Some(problem),
            ),
        };
        let text = failure.as_deref().unwrap_or(&output.text);
        let Recorded {
            visible,
            bytes,
            archive,
            secrets,
        } = recorder.finish(text);
        let archive = archive.inspect_err(|error| self.note_failure(error)).ok();
        if secrets > 0 {
            self.tell(Event::Notice {
                level: cox_protocol::Level::Security,
                text: Untrusted::new(format!(
                    "{secrets} secret(s) in the output of `{}` were replaced by a marker",
                    asked.name
                )),
            })
            .await;
        }
        let images: Vec<ImageData> = output
            .images
            .into_iter()
            .map(|image| ImageData {
                media_type: image.media_type,
                base64: image.base64,
            })
            .collect();
        self.tell(Event::ToolDone(ToolDone {
            call: asked.call,
            name: asked.name,
            ok: !output.is_error,
            denied: ended.denied,
            visible: Untrusted::new(visible.clone()),
            bytes,
            archive,
            duration_ms: u64::try_from(ended.ran_for.as_millis()).unwrap_or(u64::MAX),
            diff: output.diff.map(|diff| Untrusted::new(self.clean(&diff))),
            exit_code: output.exit_code,
            preimages: output
                .preimages
                .into_iter()
                .map(|(path, id)| (path.display().to_string(), id))
                .collect(),
            discovered: output.discovered,
        }))
        .await;
        ToolResult {
            call: asked.call,
            wire_id: asked.wire_id,
            text: visible,
            is_error: output.is_error,
            images,
            archive,
        }
    }

    fn note_failure(&self, error: &StoreError) {
        let mut failure = self
            .archive_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert_with(|| error.to_string());
    }

    /// Returns why an output of the last calls could not be archived, once.
    pub(crate) fn take_failure(&self) -> Option<String> {
        self.archive_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Tells who decided about a call and why.
    async fn tell_decision(&self, call: CallId, allowed: bool, by: DecidedBy, reason: &str) {
        let reason = self.clean(reason);
        self.tell(Event::ApprovalDecided {
            call,
            allowed,
            by,
            reason,
        })
        .await;
    }

    /// Returns what the model should be told of background tasks: which ended by themselves.
    pub(crate) fn task_news(&self) -> Vec<String> {
        let news = self.commands.tasks().news();
        news.iter().map(|text| self.clean(text)).collect()
    }

    /// Returns a text without its secrets.
    pub(crate) fn clean(&self, text: &str) -> String {
        self.redactor.redact(text).text.into_owned()
    }

    /// Hands an event to the session. A session that is gone needs none.
    async fn tell(&self, event: Event) {
        drop(self.inbox.send(Wake::Call(event)).await);
    }

    pub(crate) fn judge(&self) -> std::sync::MutexGuard<'_, Judge> {
        self.judge.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ended {
    fn not_run(problem: impl Into<String>) -> Self {
        Self {
            output: Err(problem.into()),
            denied: false,
            ran_for: Duration::ZERO,
        }
    }

    fn denied(told: String) -> Self {
        Self {
            output: Err(told),
            denied: true,
            ran_for: Duration::ZERO,
        }
    }
}

/// Says whether what a tool streams was printed by commands.
fn prints_commands(name: &str) -> bool {
    [cox_tools::bash::NAME, cox_tools::task::NAME].contains(&name)
}

/// Reads a call's arguments as a JSON object; no text at all means no arguments.
/// What is repeated of them is cleaned before it is cut, which might leave half of a secret.
fn read_arguments(
    tool: &dyn Tool,
    text: &str,
    clean: impl Fn(&str) -> String,
) -> Result<Value, String> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let name = tool.spec().name;
    let received = || untrusted_text::terminal::one_line(&clean(text), 300);
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(format!(
            "the arguments of `{name}` must be one JSON object; received: {}",
            received()
        )),
        Err(error) => Err(format!(
            "the arguments of `{name}` are not valid JSON ({error}); received: {}\nsend the call again with valid JSON",
            received()
        )),
    }
}
