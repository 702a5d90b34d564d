//! `cox run -p`: one turn without a screen.
//!
//! Everything that can wake the loop is in one `select`: an event, a line of stdin, a signal, room for a command.

use std::{collections::VecDeque, time::Duration};

use cox_protocol::{Command, Decision, Event, ImageAttachment};
use cox_session::Handle;
use tokio::{sync::mpsc, time::Instant};

use crate::{
    args::OutputFormat,
    exit::Exit,
    printer::{NotPrinted, Printer},
    surface::{
        answers::{self, Input},
        event_json,
        outcome::Outcome,
        signals::{Signals, Stop},
        text::{Lines, painted::painted},
    },
};

/// How long a session may take to end once its turn has.
const CLOSING: Duration = Duration::from_secs(10);

/// What a run is given.
#[derive(Debug)]
pub(crate) struct Prompt {
    /// The person's words.
    pub(crate) text: String,
    /// Images that go with them.
    pub(crate) images: Vec<ImageAttachment>,
    /// What stdout holds.
    pub(crate) format: OutputFormat,
    /// Whether diffs are painted.
    pub(crate) paints: bool,
    /// Whether a program answers approvals and questions on stdin.
    pub(crate) answers: bool,
}

/// Why a run ends before its turn has.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stopped {
    BySignal(Stop),
    Unprinted(NotPrinted),
}

/// Gives the prompt to the session, shows its events and returns how the process ends.
pub(crate) async fn run(mut handle: Handle, mut prompt: Prompt, printer: Printer) -> Exit {
    let mut outcome = Outcome::new();
    let mut lines = Lines::new(printer.verbose);
    let mut signals = Signals::listen();
    let mut stdin = prompt.answers.then(answers::read_stdin);
    let mut nobody_answers = false;
    let mut open = Vec::new();
    let mut stopped = None;
    let mut closing: Option<Instant> = None;
    // Commands wait here until the session has room: sending must not keep events from being read.
    let mut outbox = VecDeque::from([Command::UserTurn {
        text: std::mem::take(&mut prompt.text),
        images: std::mem::take(&mut prompt.images),
    }]);

    loop {
        tokio::select! {
            event = handle.events.recv() => {
                let Some(event) = event else { break };
                outcome.note(&event);
                if let Err(why) = show(printer, &prompt, &mut lines, &event)
                    && stopped.is_none()
                {
                    stopped = Some(Stopped::Unprinted(why));
                    outbox.push_back(Command::Interrupt);
                }
                match event {
                    Event::ApprovalRequired { call, .. } => {
                        let ask = Ask::Approval(call);
                        if nobody_answers { outbox.push_back(ask.unanswered()) } else { open.push(ask) }
                    }
                    Event::QuestionAsked { call, .. } => {
                        let ask = Ask::Question(call);
                        if nobody_answers { outbox.push_back(ask.unanswered()) } else { open.push(ask) }
                    }
                    Event::ApprovalDecided { call, .. } | Event::QuestionAnswered { call, .. } => {
                        open.retain(|ask| ask.call() != call);
                    }
                    Event::TurnDone { .. } => {
                        outbox.push_back(Command::Shutdown);
                        closing = Some(Instant::now() + CLOSING);
                    }
                    _ => {}
                }
            }
            permit = handle.commands.reserve(), if !outbox.is_empty() => {
                match (permit, outbox.pop_front()) {
                    (Ok(permit), Some(command)) => permit.send(command),
                    // The session is gone: its last events are read, then the loop ends.
                    _ => outbox.clear(),
                }
            }
            input = next_line(&mut stdin) => match input {
                Input::Answer(command) => match open.iter().position(|ask: &Ask| ask.takes(&command)) {
                    Some(at) => {
                        open.remove(at);
                        outbox.push_back(command);
                    }
                    None => printer.warn(&format!("ignored a line of stdin: {}", not_open(&command, &open))),
                },
                Input::Unreadable(why) => printer.warn(&format!("ignored a line of stdin: {why}")),
                Input::End => {
                    stdin = None;
                    nobody_answers = true;
                    outbox.extend(open.drain(..).map(Ask::unanswered));
                }
            },
            signal = signals.next() => {
                if let Some(Stopped::BySignal(_)) = stopped {
                    // The person has waited long enough. The rollout is written event by event, so the session stays
                    // valid; what still runs is ended with the runtime.
                    outcome.interrupt();
                    stopped = Some(Stopped::BySignal(signal));
                    break;
                }
                stopped = Some(Stopped::BySignal(signal));
                outbox.push_back(Command::Interrupt);
            }
            () = until(closing) => {
                printer.warn("the session did not end in time");
                break;
            }
        }
    }
    let exit = match &stopped {
        Some(Stopped::BySignal(Stop::Person))
        | Some(Stopped::Unprinted(NotPrinted::ReaderGone))
            if outcome.exit() != Exit::Ok =>
        {
            Exit::Interrupted
        }
        Some(Stopped::BySignal(Stop::Terminate)) => Exit::Terminated,
        Some(Stopped::BySignal(Stop::HangUp)) => Exit::HungUp,
        Some(Stopped::Unprinted(NotPrinted::Failed(_))) => Exit::Error,
        _ => outcome.exit(),
    };
    match report(printer, prompt.format, &outcome, exit) {
        Ok(()) => exit,
        Err(why) => {
            printer.note(&format!("error: {why}"));
            match (exit, why) {
                (Exit::Ok, NotPrinted::ReaderGone) => Exit::Interrupted,
                (Exit::Ok | Exit::Interrupted, NotPrinted::Failed(_)) => Exit::Error,
                _ => exit,
            }
        }
    }
}

/// Shows one event in the format of the run.
fn show(
    printer: Printer,
    prompt: &Prompt,
    lines: &mut Lines,
    event: &Event,
) -> Result<(), NotPrinted> {
    match prompt.format {
        OutputFormat::StreamJson => event_json::print(printer, event),
        OutputFormat::Json if !printer.verbose => Ok(()),
        OutputFormat::Text | OutputFormat::Json => {
            if prompt.paints {
                let (text, diff) = lines.lines_and_diff(event);
                match diff {
                    Some(diff) => {
                        let start = std::time::Instant::now();
                        printer
                            .note_painted(&text, &diff, |safe| painted(safe, &|| start.elapsed()));
                    }
                    None if !text.is_empty() => printer.note(&text),
                    None => {}
                }
                return Ok(());
            }
            let text = lines.lines(event);
            if !text.is_empty() {
                printer.note(&text);
            }
            Ok(())
        }
    }
}

/// Tells the end: the answer, or the result document.
fn report(
    printer: Printer,
    format: OutputFormat,
    outcome: &Outcome,
    exit: Exit,
) -> Result<(), NotPrinted> {
    match format {
        OutputFormat::Text => {
            let told = printer.result(&outcome.result);
            if let Some(problem) = outcome.problem() {
                printer.note(&format!("error: {problem}"));
            } else if !outcome.denied.is_empty() {
                printer.note(&denied_words(outcome));
            }
            told
        }
        OutputFormat::Json => printer.document(&outcome.document(exit)),
        OutputFormat::StreamJson => printer.json_line(&outcome.document(exit).to_string()),
    }
}

fn denied_words(outcome: &Outcome) -> String {
    let count = outcome.denied.len();
    let calls = if count == 1 {
        "1 call was denied".to_owned()
    } else {
        format!("{count} calls were denied")
    };
    format!(
        "{calls}\nhint: allow with `--allowed-tools RULE` or `permissions.allow`, widen with `--permission-mode auto`, \
         or answer each on stdin with `--approve on-request`"
    )
}

/// Something that waits for an answer.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Approval(cox_protocol::CallId),
    Question(cox_protocol::CallId),
}

impl Ask {
    fn call(&self) -> cox_protocol::CallId {
        match *self {
            Self::Approval(call) | Self::Question(call) => call,
        }
    }

    /// Says whether a command answers it.
    fn takes(&self, command: &Command) -> bool {
        match (self, command) {
            (Self::Approval(open), Command::Approve { call, .. })
            | (Self::Question(open), Command::Answer { call, .. }) => open == call,
            _ => false,
        }
    }

    /// Returns the command that ends the waiting when nobody will answer.
    fn unanswered(self) -> Command {
        match self {
            Self::Approval(call) => Command::Approve {
                call,
                decision: Decision::Deny {
                    reason: Some("nobody answers: stdin has ended".to_owned()),
                },
            },
            Self::Question(call) => Command::Answer { call, text: None },
        }
    }
}

/// Says why an answer answers nothing.
fn not_open(command: &Command, open: &[Ask]) -> String {
    let (Command::Approve { call, .. } | Command::Answer { call, .. }) = command else {
        return "it is no answer".to_owned();
    };
    match open.iter().find(|ask| ask.call() == *call) {
        Some(Ask::Approval(_)) => {
            format!("{call} waits for `approve` or `deny`, not for `answer`")
        }
        Some(Ask::Question(_)) => {
            format!("{call} is a question: it waits for `answer`, not for `approve` or `deny`")
        }
        None => format!("{call} waits for no answer: it was answered, has ended, or never asked"),
    }
}

async fn next_line(stdin: &mut Option<mpsc::Receiver<Input>>) -> Input {
    match stdin {
        Some(lines) => lines.recv().await.unwrap_or(Input::End),
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
