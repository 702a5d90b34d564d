//! What the chaos server does when a request arrives, step by step.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Question, Reply};

/// One thing that the server does. Several in a list are done one after the other; a list that answers nothing, and is not
/// ended by a step that says so, is followed by the normal answer.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// Answers as a server should. A tool answers the JSON text `{"tool", "arguments", "answers"}`.
    Answer,
    /// Answers with this result.
    Result(Value),
    /// Answers that the tool failed, `isError`, with this text.
    Failed(&'static str),
    /// Answers with an error of this code.
    Error(i64),
    /// Answers with an error of this code, message and data.
    ErrorWith(i64, &'static str, Value),
    /// Answers the same thing twice.
    Twice,
    /// Sends a result under an id that nobody asked with.
    OtherId(Value),
    /// Answers with a text of this many bytes.
    Big(usize),
    /// Answers with a text of invalid UTF-8.
    InvalidUtf8,
    /// Answers with `structuredContent` of this many nested arrays.
    Deep(usize),

    /// Waits. A call that is cancelled meanwhile is not answered.
    Delay(Duration),
    /// Waits until the call is cancelled, at most this long, and goes on: the answer is late.
    UntilCancelled(Duration),
    /// Never answers, and keeps everything open. Ends the list.
    Never,
    /// Ends the process with this code. Ends the list.
    Exit(i32),
    /// Closes standard output, or resets the connection, and lives on. Ends the list.
    Drop,

    /// Reports progress this many times, with a pause behind each, if the request has a token.
    Progress(u32, Duration),
    /// Logs this text at this level, for this request.
    Log(&'static str, &'static str),
    /// Sends a notification for this request: on its stream, over HTTP.
    Notify(&'static str, Value),
    /// Sends a notification of no request: on the stream of a GET or to those who listen, over HTTP.
    Announce(&'static str, Value),
    /// Sends a request to the client and waits for the response.
    Request(&'static str, Value),

    /// Asks one question under this key: by a request, or by `input_required` with state.
    Ask(&'static str, Question),
    /// Asks several questions at once.
    AskAll(Vec<(&'static str, Question)>),
    /// Asks a question without state.
    AskWithoutState(&'static str, Question),
    /// Answers `input_required` with state and without a question. Nothing in the legacy era.
    StateOnly,
    /// Makes a task if the client can have one, polled this often; what follows happens in it.
    Task(Duration),

    /// Sends what comes behind it in pieces of this many bytes, with a pause behind each.
    Split(usize, Duration),
    /// Writes this many lines that are no JSON.
    Junk(u32),
    /// Writes these bytes as they are.
    Raw(Vec<u8>),
    /// Writes this many lines to standard error.
    Stderr(u32),

    /// Replies in HTTP without an answer. Ends the list. Over HTTP only.
    Http(Reply),
    /// Closes the stream after an event with an id and `retry`; what follows waits for a GET with `Last-Event-ID`. Over
    /// HTTP only.
    ResumeLater(Duration),
}

/// What is done for one kind of request: a [`Behaviour`] or several.
#[derive(Clone, Debug)]
pub struct Script(Vec<Behaviour>);

impl From<Behaviour> for Script {
    fn from(behaviour: Behaviour) -> Self {
        Self(vec![behaviour])
    }
}

impl From<Vec<Behaviour>> for Script {
    fn from(behaviours: Vec<Behaviour>) -> Self {
        Self(behaviours)
    }
}

impl<const N: usize> From<[Behaviour; N]> for Script {
    fn from(behaviours: [Behaviour; N]) -> Self {
        Self(behaviours.into())
    }
}

impl Script {
    pub(super) fn to_value(&self) -> Value {
        self.0.iter().map(Behaviour::to_step).collect()
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap()
}

fn ask<'a>(questions: impl IntoIterator<Item = (&'a str, &'a Question)>, state: bool) -> Value {
    let questions: Map<_, _> = questions
        .into_iter()
        .map(|(key, question)| (key.to_owned(), question.to_value()))
        .collect();
    json!({ "do": "ask", "questions": questions, "state": state })
}

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

impl Behaviour {
    fn to_step(&self) -> Value {
        match self {
            Self::Answer => json!({ "do": "answer" }),
            Self::Result(result) => json!({ "do": "result", "result": result }),
            Self::Failed(why) => {
                json!({ "do": "result", "result": { "content": text(why), "isError": true } })
            }
            Self::Error(code) => json!({ "do": "error", "code": code, "message": "chaos" }),
            Self::ErrorWith(code, message, data) => {
                json!({ "do": "error", "code": code, "message": message, "data": data })
            }
            Self::Twice => json!({ "do": "twice" }),
            Self::OtherId(id) => json!({ "do": "other_id", "id": id }),
            Self::Big(bytes) => json!({ "do": "big", "bytes": bytes }),
            Self::InvalidUtf8 => json!({ "do": "invalid_utf8" }),
            Self::Deep(depth) => json!({ "do": "deep", "depth": depth }),
            Self::Delay(time) => json!({ "do": "sleep", "ms": ms(*time) }),
            Self::UntilCancelled(time) => json!({ "do": "until_cancelled", "ms": ms(*time) }),
            Self::Never => json!({ "do": "never" }),
            Self::Exit(code) => json!({ "do": "exit", "code": code }),
            Self::Drop => json!({ "do": "drop" }),
            Self::Progress(count, pause) => {
                json!({ "do": "progress", "count": count, "every_ms": ms(*pause) })
            }
            Self::Log(level, data) => json!({ "do": "log", "level": level, "data": data }),
            Self::Notify(method, params) => {
                json!({ "do": "notify", "method": method, "params": params })
            }
            Self::Announce(method, params) => {
                json!({ "do": "announce", "method": method, "params": params })
            }
            Self::Request(method, params) => {
                json!({ "do": "request", "method": method, "params": params })
            }
            Self::Ask(key, question) => ask([(*key, question)], true),
            Self::AskAll(questions) => {
                ask(questions.iter().map(|(key, value)| (*key, value)), true)
            }
            Self::AskWithoutState(key, question) => ask([(*key, question)], false),
            Self::StateOnly => ask([], true),
            Self::Task(poll) => json!({ "do": "task", "ttl_ms": 60_000, "poll_ms": ms(*poll) }),
            Self::Split(bytes, pause) => {
                json!({ "do": "split", "bytes": bytes, "pause_ms": ms(*pause) })
            }
            Self::Junk(lines) => json!({ "do": "junk", "lines": lines }),
            Self::Raw(bytes) => json!({ "do": "raw", "hex": hex(bytes) }),
            Self::Stderr(lines) => json!({ "do": "stderr", "lines": lines }),
            Self::Http(reply) => reply.to_step(),
            Self::ResumeLater(retry) => json!({ "do": "resume_later", "retry_ms": ms(*retry) }),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
