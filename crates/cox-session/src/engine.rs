//! Opens a session and keeps its loop: commands in, turns run one after the other, events out.

use std::{collections::VecDeque, sync::Arc};

use cox_permission::{Judge, Mode};
use cox_protocol::{Command, Event, ImageAttachment, Level, SessionId, StopReason};
use cox_store::{Archive, Rollout, StoreError};
use cox_workspace::Workspace;
use tokio::sync::mpsc;
use untrusted_text::{Untrusted, cap::Shape, redact::Redactor};

use crate::{
    Handle, Limits, OpenError, SessionSpec,
    context::{
        estimate::Estimator,
        prefix,
        request::{RequestConfig, build},
    },
    dispatch::Dispatch,
    inbox::Wake,
    journal::Journal,
    resume,
    state::State,
};

/// How many wake-ups may wait. A call that finds it full waits; a surface does too.
const INBOX: usize = 128;
/// How many events may wait for the surface before the session waits for it.
const EVENTS: usize = 256;
/// How many commands may wait for the session.
const COMMANDS: usize = 64;

/// A running session.
pub(crate) struct Engine {
    pub(crate) session: SessionId,
    pub(crate) journal: Journal,
    pub(crate) inbox: mpsc::Receiver<Wake>,
    pub(crate) dispatch: Arc<Dispatch>,
    pub(crate) provider: Arc<dyn llm::Provider>,
    pub(crate) price: Option<llm::catalog::Price>,
    pub(crate) limits: Limits,
    pub(crate) environment: String,
    pub(crate) redactor: Redactor,
    pub(crate) estimator: Estimator,
    pub(crate) cache_key: String,
    /// Prompts that wait for the running turn to end.
    pub(crate) waiting: VecDeque<Prompt>,
    /// Whether the session ends after the running turn.
    pub(crate) closing: bool,
}

/// What a person asked for.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) images: Vec<ImageAttachment>,
}

/// Opens a session, new or resumed. Must be called inside a tokio runtime. The first events wait in the handle.
///
/// # Errors
///
/// [`OpenError`] when the session cannot be stored or the one to resume cannot be read; nothing was written then.
pub fn open(spec: SessionSpec) -> Result<Handle, OpenError> {
    let Stored {
        session,
        rollout,
        state,
        estimator,
        skipped,
        was_torn,
    } = match spec.resume {
        Some(session) => take_up(&spec, session)?,
        None => begin(&spec)?,
    };
    if let Some(lost) = resume::lost_tasks(&state.items) {
        spec.commands.tasks().tell(lost);
    }
    let (event_sender, events) = mpsc::channel(EVENTS);
    let (commands, command_receiver) = mpsc::channel(COMMANDS);
    let (wake, inbox) = mpsc::channel(INBOX);
    let mode = spec.mode.or(state.mode).unwrap_or_default();
    let redactor = Redactor::with_values(spec.secrets.clone());
    let opening = opening_events(&spec, &redactor, session, &state, mode, skipped, was_torn);
    let engine = Engine {
        session,
        journal: Journal::new(rollout, event_sender, state),
        inbox,
        dispatch: Arc::new(make_dispatch(&spec, mode, wake.clone())),
        provider: spec.provider,
        price: spec.price,
        environment: redactor.redact(&spec.environment).text.into_owned(),
        redactor,
        estimator,
        cache_key: session.to_string(),
        limits: spec.limits,
        waiting: VecDeque::new(),
        closing: false,
    };
    tokio::spawn(forward(command_receiver, wake));
    tokio::spawn(engine.run(opening));
    Ok(Handle {
        session,
        commands,
        events,
    })
}

/// A session as it lies on disk.
struct Stored {
    session: SessionId,
    rollout: Rollout,
    state: State,
    estimator: Estimator,
    /// Lines of the record that could not be read.
    skipped: usize,
    /// Whether its last turn had no end.
    was_torn: bool,
}

fn begin(spec: &SessionSpec) -> Result<Stored, StoreError> {
    let session = SessionId::generate();
    let rollout = Rollout::create(&spec.home, session, Arc::clone(&spec.clock))?;
    Ok(Stored {
        session,
        rollout,
        state: State::default(),
        estimator: Estimator::default(),
        skipped: 0,
        was_torn: false,
    })
}

/// Reads an earlier session and closes a turn that its process left open. The closing belongs to the past: it is
/// recorded, but no surface is told.
fn take_up(spec: &SessionSpec, session: SessionId) -> Result<Stored, StoreError> {
    let (mut rollout, replay) = Rollout::resume(&spec.home, session, Arc::clone(&spec.clock))?;
    let mut state = State::default();
    let mut estimator = Estimator::default();
    let last_count = replay
        .events
        .iter()
        .rposition(|stored| counted(&stored.event) > 0);
    for (index, stored) in replay.events.iter().enumerate() {
        if Some(index) == last_count {
            // What the last count was of decides when room is made, as it would have without the break.
            estimator.learn(&request_of(spec, &state), counted(&stored.event));
        }
        state.apply(&stored.event);
    }
    let was_torn = state.turn_open;
    for event in resume::repair(&state) {
        rollout.append(&event)?;
        state.apply(&event);
    }
    Ok(Stored {
        session,
        rollout,
        state,
        estimator,
        skipped: replay.skipped.len(),
        was_torn,
    })
}

/// Returns the input tokens that an event counts; 0 if it counts none.
fn counted(event: &Event) -> u64 {
    match event {
        Event::Usage { tokens, .. } => tokens
            .input
            .saturating_add(tokens.cache_read)
            .saturating_add(tokens.cache_write),
        _ => 0,
    }
}

/// Returns the request that a state gave, as far as its size goes.
fn request_of(spec: &SessionSpec, state: &State) -> llm::Request {
    build(
        state,
        &RequestConfig {
            tools: &spec.tools,
            max_output_tokens: 0,
            effort: None,
            cache_key: "",
        },
    )
}

/// Carries commands into the inbox until the surface is gone.
async fn forward(mut commands: mpsc::Receiver<Command>, inbox: mpsc::Sender<Wake>) {
    while let Some(command) = commands.recv().await {
        if inbox.send(Wake::Command(command)).await.is_err() {
            return;
        }
    }
    drop(inbox.send(Wake::SurfaceGone).await);
}

/// Returns the road that calls take under this spec; what happens on it is told to `inbox`.
pub(crate) fn make_dispatch(spec: &SessionSpec, mode: Mode, inbox: mpsc::Sender<Wake>) -> Dispatch {
    Dispatch {
        tools: spec.tools.clone(),
        judge: std::sync::Mutex::new(Judge {
            rules: spec.rules.clone(),
            mode,
            policy: spec.policy,
            grants: cox_permission::Grants::default(),
            sandboxed: spec.sandboxed,
        }),
        anchors: spec.anchors.clone(),
        workspace: Arc::new(Workspace::new(Arc::clone(&spec.roots))),
        archive: Arc::new(Archive::new(spec.home.clone())),
        commands: Arc::clone(&spec.commands),
        approvals: Arc::default(),
        questions: Arc::default(),
        approver: spec.approver,
        approval_timeout: spec.limits.approval_timeout,
        inbox,
        redactor: Redactor::with_values(spec.secrets.clone()),
        shape: Shape {
            max_bytes: spec.limits.visible_bytes,
            head_lines: spec.limits.head_lines,
            tail_lines: spec.limits.tail_lines,
        },
        archive_failure: std::sync::Mutex::default(),
        parallel: spec.limits.parallel_tools,
    }
}

/// Returns the events a session begins with: what it is, what the person should know, the prefix of a new one.
fn opening_events(
    spec: &SessionSpec,
    redactor: &Redactor,
    session: SessionId,
    state: &State,
    mode: Mode,
    skipped: usize,
    was_torn: bool,
) -> Vec<Event> {
    let mut events = vec![Event::SessionStarted {
        session,
        version: spec.version.clone(),
        cwd: spec.cwd.display().to_string(),
        roots: spec
            .roots
            .readable
            .iter()
            .map(|root| root.display().to_string())
            .collect(),
        provider: spec.provider.name().to_owned(),
        model: spec.provider.model().to_owned(),
        mode,
        policy: spec.policy,
        sandbox: spec.sandbox.clone(),
        resumed: spec.resume.is_some(),
    }];
    let notice = |text: String| Event::Notice {
        level: Level::Warning,
        text: Untrusted::new(text),
    };
    if skipped > 0 {
        events.push(notice(format!(
            "{skipped} damaged line(s) of the session's record were skipped"
        )));
    }
    if was_torn {
        events.push(notice(
            "the last turn of this session was cut when its process ended; what it had said and done is kept".to_owned(),
        ));
    }
    let (built, secrets) = prefix::build(&spec.instructions, &spec.tools, redactor);
    if secrets > 0 {
        events.push(Event::Notice {
            level: Level::Security,
            text: Untrusted::new(format!(
                "{secrets} secret(s) in the instruction files were replaced by a marker: the model does not see them"
            )),
        });
    }
    match &state.prefix {
        None => {
            events.extend(spec.instructions.notices.iter().cloned().map(notice));
            events.push(built);
        }
        Some(recorded) => {
            if let Event::PrefixBuilt {
                system,
                tools_digest,
                ..
            } = &built
            {
                if *system != recorded.system {
                    events.push(notice(
                        "the instruction files or the system prompt changed since this session began; \
                         it goes on with the old ones"
                            .to_owned(),
                    ));
                }
                if *tools_digest != recorded.tools_digest {
                    events.push(notice(
                        "the tools changed since this session began; the provider's cache starts anew"
                            .to_owned(),
                    ));
                }
            }
        }
    }
    if spec.price.is_none() {
        events.push(Event::Notice {
            level: Level::Info,
            text: Untrusted::new(format!(
                "no price is known for `{}`: cost is not counted and the budget cannot stop it",
                spec.provider.model()
            )),
        });
    }
    events
}

impl Engine {
    /// Runs the session to its end, and with it what still runs in the background.
    async fn run(mut self, opening: Vec<Event>) {
        self.live(opening).await;
        let ended = self.dispatch.commands.tasks().end_all().await;
        if !ended.is_empty() {
            let text = self.dispatch.clean(&format!(
                "ended with the session: background task {}",
                ended.join(", ")
            ));
            // A record that fails here has failed before, and was told.
            drop(self.notice(Level::Warning, &text).await);
        }
    }

    /// Runs the session until its surface is gone or says so.
    async fn live(&mut self, opening: Vec<Event>) {
        for event in opening {
            if let Err(error) = self.journal.emit(event).await {
                self.fail(&error).await;
                return;
            }
        }
        loop {
            while let Some(prompt) = self.waiting.pop_front() {
                if let Err(error) = self.turn(prompt).await {
                    self.fail(&error).await;
                    return;
                }
                if self.closing {
                    return;
                }
            }
            let Some(wake) = self.inbox.recv().await else {
                return;
            };
            match wake {
                Wake::SurfaceGone | Wake::Command(Command::Shutdown) => return,
                Wake::Command(command) => {
                    if let Err(error) = self.idle_command(command).await {
                        self.fail(&error).await;
                        return;
                    }
                }
                // A late word of a call that was dropped; its result is recorded already.
                Wake::Call(_) => {}
            }
        }
    }

    /// Takes a command while no turn runs.
    async fn idle_command(&mut self, command: Command) -> Result<(), StoreError> {
        match command {
            Command::UserTurn { text, images } => self.waiting.push_back(Prompt { text, images }),
            Command::SetMode { mode } => self.set_mode(mode).await?,
            // Nothing is open that these could answer or end.
            Command::Approve { .. }
            | Command::Answer { .. }
            | Command::Interrupt
            | Command::Shutdown => {}
        }
        Ok(())
    }

    /// Changes the permission mode. `bypass` comes by flag only, so a command for it is refused.
    pub(crate) async fn set_mode(&mut self, mode: Mode) -> Result<(), StoreError> {
        if mode == Mode::Bypass {
            return self
                .notice(
                    Level::Security,
                    "`bypass` comes only by the flag `--permission-mode`",
                )
                .await;
        }
        self.dispatch.judge().mode = mode;
        self.journal.emit(Event::ModeChanged { mode }).await
    }

    pub(crate) async fn notice(&mut self, level: Level, text: &str) -> Result<(), StoreError> {
        self.journal
            .emit(Event::Notice {
                level,
                text: Untrusted::new(text),
            })
            .await
    }

    /// Tells of a record that failed. What was shown before is on disk; this alone is not.
    async fn fail(&mut self, error: &StoreError) {
        let stop = StopReason::Error {
            who: "us".to_owned(),
            message: format!(
                "the session cannot be recorded any more: {error}\nhint: what was recorded goes on with `--resume {}`",
                self.session
            ),
        };
        let turn = self.journal.state.turn;
        self.journal
            .show_unrecorded(Event::TurnDone { turn, stop })
            .await;
    }
}
