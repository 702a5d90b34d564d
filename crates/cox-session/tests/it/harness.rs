//! A session with a told model, told tools, a home of its own and a clock that stands still.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use cox_permission::{
    Anchors, ApprovalPolicy, Mode, PathTarget, Risk, RuleSet, RuleSource, Subject, Target,
};
use cox_protocol::{CallId, Command, Event, Item, SessionId, StopReason, ToolDone};
use cox_session::{Approver, Handle, Limits, SessionSpec, open};
use cox_tools::{
    Concurrency, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec,
    commands::{CommandSettings, Commands},
};
use llm::{Block, Error, ErrorKind, Observer, Provider, Reply, Request, Stop, Usage, Wire};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// What the told model does with one request.
pub(crate) enum Told {
    /// Answers with these blocks; text is streamed in pieces of three bytes.
    Reply(Vec<Block>, Stop),
    /// Streams a text and then waits until it is cancelled.
    Hang(&'static str),
    /// Fails.
    Fail(ErrorKind, &'static str),
}

/// A model that does as it is told and keeps the requests it got.
#[derive(Default)]
pub(crate) struct ToldModel {
    answers: Mutex<VecDeque<Told>>,
    pub(crate) requests: Mutex<Vec<Request>>,
    pub(crate) window: u64,
    pub(crate) usage: Usage,
    pub(crate) hanging: Notify,
}

#[async_trait]
impl Provider for ToldModel {
    fn name(&self) -> &str {
        "told"
    }

    fn model(&self) -> &str {
        "told-1"
    }

    fn wire(&self) -> Wire {
        Wire::Messages
    }

    fn context_window(&self) -> u64 {
        self.window
    }

    async fn stream(
        &self,
        request: &Request,
        observer: &mut dyn Observer,
        cancel: &CancellationToken,
    ) -> Result<Reply, Error> {
        self.requests.lock().unwrap().push(request.clone());
        let told = self
            .answers
            .lock()
            .unwrap()
            .pop_front()
            .expect("the model was told too little");
        let reply = |blocks, stop| Reply {
            blocks,
            stop,
            usage: self.usage,
            model: "told-1".into(),
            request_id: None,
        };
        match told {
            Told::Reply(blocks, stop) => {
                for block in &blocks {
                    if let Block::Text(text) = block {
                        for piece in text.as_bytes().chunks(3) {
                            observer.text(std::str::from_utf8(piece).unwrap());
                            tokio::task::yield_now().await;
                        }
                    }
                }
                Ok(reply(blocks, stop))
            }
            Told::Hang(text) => {
                observer.text(text);
                self.hanging.notify_one();
                cancel.cancelled().await;
                Ok(reply(vec![Block::Text(text.into())], Stop::Cancelled))
            }
            Told::Fail(kind, message) => Err(Error {
                kind,
                message: message.into(),
                status: None,
                retry_after: None,
            }),
        }
    }
}

pub(crate) fn text(text: &str) -> Block {
    Block::Text(text.into())
}

pub(crate) fn call(id: &str, name: &str, input: impl std::borrow::Borrow<Value>) -> Block {
    Block::Call {
        id: id.into(),
        name: name.into(),
        input: input.borrow().to_string(),
    }
}

/// A final answer.
pub(crate) fn says(words: &str) -> Told {
    Told::Reply(vec![text(words)], Stop::EndTurn)
}

/// An answer of calls.
pub(crate) fn calls(blocks: Vec<Block>) -> Told {
    Told::Reply(blocks, Stop::ToolUse)
}

/// A tool whose calls say when they begin and end, and wait for a gate if they have one.
pub(crate) struct Probe {
    spec: ToolSpec,
    pub(crate) log: Arc<Mutex<Vec<String>>>,
    pub(crate) gate: Arc<Notify>,
}

impl Probe {
    pub(crate) fn new(name: &'static str, risk: Risk, concurrency: Concurrency) -> Self {
        Self {
            spec: ToolSpec {
                name,
                description: "For tests.",
                input_schema: json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}),
                deferred: name.starts_with("late_"),
                risk,
                concurrency,
            },
            log: Arc::default(),
            gate: Arc::default(),
        }
    }
}

#[async_trait]
impl Tool for Probe {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value, cx: &SubjectCx) -> Result<Subject, ToolError> {
        let targets = input["path"].as_str().map(|path| {
            let lexical = cx.roots.cwd.join(path);
            let target = PathTarget {
                written: path.into(),
                real: lexical.clone(),
                lexical,
            };
            match self.spec.risk {
                Risk::ReadOnly => Target::Read(target),
                _ => Target::Edit(target),
            }
        });
        Ok(Subject {
            tool: self.spec.name.into(),
            text: input["id"].as_str().unwrap_or_default().into(),
            risk: self.spec.risk,
            targets: targets.into_iter().collect(),
        })
    }

    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let id = input["id"]
            .as_str()
            .ok_or_else(|| ToolError::BadInput {
                tool: self.spec.name.into(),
                problem: "missing field `id`".into(),
            })?
            .to_owned();
        self.log.lock().unwrap().push(format!("begin {id}"));
        if input["panic"] == true {
            panic!("told to");
        }
        if input["wait"] == true {
            tokio::select! {
                () = self.gate.notified() => {}
                () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
            }
        }
        if let Some(question) = input["ask"].as_str() {
            return Ok(ToolOutput::text(format!(
                "{:?}",
                cx.relay.ask(question, &[]).await
            )));
        }
        for piece in input["print"].as_array().into_iter().flatten() {
            cx.output.write(piece.as_str().unwrap().as_bytes());
        }
        let times = usize::try_from(input["times"].as_u64().unwrap_or(1)).unwrap();
        let text = input["text"].as_str().unwrap_or("done").repeat(times);
        self.log.lock().unwrap().push(format!("end {id}"));
        Ok(ToolOutput {
            text,
            discovered: input["discover"]
                .as_str()
                .map(str::to_owned)
                .into_iter()
                .collect(),
            ..ToolOutput::default()
        })
    }
}

/// Everything a session is made of, to be changed before it is opened.
pub(crate) struct World {
    _folder: tempfile::TempDir,
    pub(crate) cwd: PathBuf,
    pub(crate) home: cox_store::Home,
    pub(crate) model: Arc<ToldModel>,
    pub(crate) look: Arc<Probe>,
    pub(crate) change: Arc<Probe>,
    pub(crate) late: Arc<Probe>,
    pub(crate) mode: Option<Mode>,
    pub(crate) policy: ApprovalPolicy,
    pub(crate) approver: Approver,
    pub(crate) limits: Limits,
    pub(crate) price: Option<llm::catalog::Price>,
    pub(crate) deny: Vec<&'static str>,
    pub(crate) secrets: Vec<String>,
    pub(crate) instructions: cox_extensions::Instructions,
    pub(crate) resume: Option<SessionId>,
}

impl World {
    /// A world whose model answers the requests of this session in this order.
    pub(crate) fn new(answers: Vec<Told>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap().join("work");
        std::fs::create_dir(&cwd).unwrap();
        Self {
            home: cox_store::Home {
                root: folder.path().join("home"),
            },
            _folder: folder,
            cwd,
            model: Arc::new(ToldModel {
                answers: Mutex::new(answers.into()),
                window: 100_000,
                usage: Usage {
                    input: 100,
                    output: 10,
                    cache_read: 0,
                    cache_write: 0,
                },
                ..ToldModel::default()
            }),
            look: Arc::new(Probe::new("look", Risk::ReadOnly, Concurrency::Parallel)),
            change: Arc::new(Probe::new("change", Risk::Write, Concurrency::Parallel)),
            late: Arc::new(Probe::new(
                "late_tool",
                Risk::ReadOnly,
                Concurrency::Parallel,
            )),
            mode: Some(Mode::Auto),
            policy: ApprovalPolicy::OnRequest,
            approver: Approver::Nobody,
            limits: Limits::default(),
            price: None,
            deny: Vec::new(),
            secrets: Vec::new(),
            instructions: cox_extensions::Instructions::default(),
            resume: None,
        }
    }

    pub(crate) fn model_mut(&mut self) -> &mut ToldModel {
        Arc::get_mut(&mut self.model).unwrap()
    }

    /// Tells the model what to do next.
    pub(crate) fn tell(&self, told: Told) {
        self.model.answers.lock().unwrap().push_back(told);
    }

    pub(crate) fn open(&self) -> Run {
        let anchors = Anchors {
            root: self.cwd.clone(),
            home: self.home.root.clone(),
        };
        let deny = self.deny.iter().map(|text| RuleSource {
            text: (*text).to_owned(),
            origin: "the test".to_owned(),
        });
        let roots = Arc::new(cox_workspace::Roots {
            cwd: self.cwd.clone(),
            home: self.home.root.clone(),
            readable: vec![self.cwd.clone()],
            writable: vec![self.cwd.clone()],
        });
        let spec = SessionSpec {
            home: self.home.clone(),
            clock: Arc::new(|| jiff::Timestamp::from_second(1_800_000_000).unwrap()),
            version: "0.0.0".into(),
            cwd: self.cwd.clone(),
            roots,
            provider: Arc::clone(&self.model) as Arc<dyn Provider>,
            price: self.price,
            tools: vec![
                Arc::clone(&self.look) as Arc<dyn Tool>,
                Arc::clone(&self.change) as Arc<dyn Tool>,
                Arc::clone(&self.late) as Arc<dyn Tool>,
            ],
            commands: Arc::new(Commands::new(CommandSettings {
                policy: sandbox::Policy::default(),
                choice: sandbox::Choice::None,
                helper: PathBuf::from("/nonexistent/helper"),
                env: std::collections::BTreeMap::new(),
                cwd: self.cwd.clone(),
                default_timeout: Duration::from_secs(10),
                max_timeout: Duration::from_secs(10),
            })),
            rules: RuleSet::compile(deny.collect(), Vec::new(), Vec::new(), &anchors).unwrap(),
            anchors,
            secrets: self.secrets.clone(),
            mode: self.mode,
            policy: self.policy,
            approver: self.approver,
            sandbox: "workspace-write".into(),
            sandboxed: true,
            instructions: self.instructions.clone(),
            environment: "folder: /work".into(),
            limits: self.limits.clone(),
            resume: self.resume,
        };
        Run {
            handle: open(spec).unwrap(),
            events: Vec::new(),
        }
    }

    /// Opens a session, runs one turn to its end and closes it.
    pub(crate) async fn run(&self, prompt: &str) -> Run {
        let mut run = self.open();
        run.turn(prompt).await;
        run
    }

    /// Returns the messages of request `index`.
    pub(crate) fn request(&self, index: usize) -> Request {
        self.model.requests.lock().unwrap()[index].clone()
    }

    pub(crate) fn request_count(&self) -> usize {
        self.model.requests.lock().unwrap().len()
    }
}

/// An open session with what it said so far.
pub(crate) struct Run {
    pub(crate) handle: Handle,
    pub(crate) events: Vec<Event>,
}

impl Run {
    pub(crate) async fn send(&self, command: Command) {
        self.handle.commands.send(command).await.unwrap();
    }

    pub(crate) async fn prompt(&self, text: &str) {
        self.send(Command::UserTurn {
            text: text.into(),
            images: Vec::new(),
        })
        .await;
    }

    /// Waits for the next event, at most ten seconds.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        let event = tokio::time::timeout(Duration::from_secs(10), self.handle.events.recv())
            .await
            .unwrap_or_else(|_| panic!("no event came; so far: {:#?}", self.events));
        self.events.extend(event.clone());
        event
    }

    /// Takes events until one fits.
    pub(crate) async fn until(&mut self, what: &str, fits: impl Fn(&Event) -> bool) -> Event {
        loop {
            match self.next().await {
                Some(event) if fits(&event) => return event,
                Some(_) => {}
                None => panic!("the session ended before {what}: {:#?}", self.events),
            }
        }
    }

    /// Runs one turn to its end.
    pub(crate) async fn turn(&mut self, prompt: &str) -> StopReason {
        self.prompt(prompt).await;
        // A resumed session may first end the turn that its last process left open.
        self.until("the turn's start", |event| {
            matches!(event, Event::TurnStarted { .. })
        })
        .await;
        self.turn_end().await
    }

    pub(crate) async fn turn_end(&mut self) -> StopReason {
        match self
            .until("the turn's end", |event| {
                matches!(event, Event::TurnDone { .. })
            })
            .await
        {
            Event::TurnDone { stop, .. } => stop,
            _ => unreachable!(),
        }
    }

    /// Ends the session and takes what it still says.
    pub(crate) async fn close(mut self) -> Vec<Event> {
        self.send(Command::Shutdown).await;
        while self.next().await.is_some() {}
        self.events
    }

    pub(crate) fn done(&self) -> Vec<ToolDone> {
        self.events
            .iter()
            .filter_map(|event| match event {
                Event::ToolDone(done) => Some(done.clone()),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn items(&self) -> Vec<Item> {
        items(&self.events)
    }

    pub(crate) fn call_named(&self, subject: &str) -> CallId {
        self.events
            .iter()
            .find_map(|event| match event {
                Event::ToolRequested {
                    call,
                    subject: found,
                    ..
                } if found.verbatim() == subject => Some(*call),
                _ => None,
            })
            .unwrap()
    }
}

pub(crate) fn items(events: &[Event]) -> Vec<Item> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::ItemAdded { item } => Some(item.clone()),
            _ => None,
        })
        .collect()
}
