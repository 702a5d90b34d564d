//! What the client and the daemon agreed on, as far as another daemon has to be told, and what passes between them.
//!
//! It looks at each message and says what becomes of it. It does no I/O.

mod again;
mod down;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use mcp_wire::{Frame, Id, Object, Raw, Response, RpcError, error, method};
use mcpx_api::pipe::Ending;
use serde_json::value::RawValue;

use super::Terms;
use super::glance::{self, About, Glance, glance};
use super::ledger::{self, Ledger, Outgoing, Topic};

/// What becomes of a message of the client.
#[derive(Debug)]
pub(super) enum Up {
    /// It goes to the daemon.
    Send(Outgoing),
    /// It is answered here, with this line.
    Answer(Vec<u8>),
    /// A request that was not sent yet is taken back.
    Withdraw(Id),
    Nothing,
}

/// What becomes of a message of the daemon.
#[derive(Debug)]
pub(super) enum Down {
    /// It goes to the client as it is.
    Pass,
    /// These go to the client in its place.
    Instead(Vec<Vec<u8>>),
    /// The daemon takes no more.
    Ending(Ending),
}

/// The handshake of a legacy client, to be made again.
#[derive(Debug)]
struct Handshake {
    line: Arc<Vec<u8>>,
    revision: String,
    capabilities: Object,
}

/// A handshake to be made by us: the answer is not for the client.
#[derive(Debug)]
pub(super) struct Greeting {
    pub(super) line: Vec<u8>,
    pub(super) id: Id,
    /// What the answer has to say.
    pub(super) revision: String,
}

/// What they agreed on.
#[derive(Debug)]
pub(super) struct Session {
    terms: Terms,
    ledger: Ledger,
    handshake: Option<Handshake>,
    is_initialized: bool,
    level: Option<Object>,
    watched: BTreeSet<String>,
    /// The daemon's questions, by the id under which the client knows each.
    asked: HashMap<Id, Id>,
    /// Requests of ours.
    own: HashSet<Id>,
    /// How many connections there were before this one.
    generation: u64,
    next_own: u64,
    /// The client has said its last.
    pub(super) is_over: bool,
}

impl Session {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            terms,
            ledger: Ledger::default(),
            handshake: None,
            is_initialized: false,
            level: None,
            watched: BTreeSet::new(),
            asked: HashMap::new(),
            own: HashSet::new(),
            generation: 0,
            next_own: 0,
            is_over: false,
        }
    }

    /// Takes a message of the client, without its end.
    pub(super) fn take_from_client(&mut self, line: Vec<u8>, is_connected: bool) -> Vec<Up> {
        if glance::is_batch(&line) {
            return self.batch_of_client(line, is_connected);
        }
        let seen = glance(&line).into_iter().next();
        match seen.unwrap_or(Glance::Other) {
            Glance::Request { id, method, params } => {
                let pongs = method == method::PING && self.handshake.is_some();
                if !is_connected && pongs {
                    let pong = Response::new(id, Ok(Raw::from(Object::new())));
                    return vec![Up::Answer(Frame::from(pong).to_line())];
                }
                if self.ledger.is_full() {
                    return vec![Up::Answer(too_many(id))];
                }
                self.begin(id.clone(), &method, params);
                vec![Up::Send(outgoing(line, vec![id], true))]
            }
            Glance::Notification { method, params } => match self.note(&method, params) {
                Some(id) => vec![Up::Withdraw(id)],
                None => vec![Up::Send(bound(ended(line)))],
            },
            Glance::Answer { id, .. } => vec![self.answer(&id, line)],
            // The daemon says what is wrong with it.
            Glance::Other => vec![Up::Send(outgoing(line, Vec::new(), true))],
        }
    }

    /// A message of the client that is longer than may be.
    pub(super) fn too_long(&mut self, line: &mcp_wire::lines::TooLong) -> Up {
        let limit = self.terms.message;
        let message = format!("a message of {} bytes; the limit is {limit}", line.bytes);
        let refusal = RpcError::new(error::INVALID_REQUEST, message);
        match &line.id {
            Some(id) if !line.names_method => match self.asked.remove(id) {
                Some(id) => {
                    let line = glance::refusal(Some(id), refusal);
                    Up::Send(bound(line))
                }
                None => Up::Nothing,
            },
            id => Up::Answer(glance::refusal(id.clone(), refusal)),
        }
    }

    fn batch_of_client(&mut self, line: Vec<u8>, is_connected: bool) -> Vec<Up> {
        let seen = glance(&line);
        let is_plain = |one: &Glance<'_>| matches!(one, Glance::Request { .. });
        if !seen.iter().all(is_plain) {
            // Each by itself: what is in it may be for different connections.
            let all: Vec<Raw> = serde_json::from_slice(&line).unwrap_or_default();
            if all.is_empty() {
                return vec![Up::Send(outgoing(line, Vec::new(), true))];
            }
            let lines = all.iter().map(|one| {
                let mut line = glance::line_of(one);
                line.pop();
                line
            });
            let alone = lines.filter(|line| !glance::is_batch(line));
            let alone: Vec<Vec<u8>> = alone.collect();
            return alone
                .into_iter()
                .flat_map(|line| self.take_from_client(line, is_connected))
                .collect();
        }
        let mut ids = Vec::new();
        for one in seen {
            if let Glance::Request { id, method, params } = one {
                self.begin(id.clone(), &method, params);
                ids.push(id);
            }
        }
        vec![Up::Send(outgoing(line, ids, true))]
    }

    fn begin(&mut self, id: Id, method: &str, params: Option<&RawValue>) {
        let (mut topic, mut is_safe) = (Topic::Other, !ledger::is_call(method));
        match method {
            method::INITIALIZE => topic = Topic::Handshake,
            method::LISTEN => topic = Topic::Listen,
            method::SET_LEVEL => topic = Topic::Level(glance::members(params)),
            method::RESOURCES_SUBSCRIBE => {
                topic = Topic::Watch(About::read(params).uri.unwrap_or_default());
            }
            method::RESOURCES_UNSUBSCRIBE => {
                topic = Topic::Unwatch(About::read(params).uri.unwrap_or_default());
            }
            method::TOOLS_CALL if !self.terms.reads.is_empty() => {
                let about = About::read(params);
                let name = about.name.as_deref().unwrap_or_default();
                is_safe = self.terms.reads.contains(&name) && about.stands_alone();
            }
            method::PROMPTS_GET | method::RESOURCES_READ => {
                is_safe = About::read(params).stands_alone();
            }
            _ => {}
        }
        self.ledger.begin(id, topic, is_safe);
    }

    /// Notes what a notification says. The request that it takes back, when that was not sent yet.
    fn note(&mut self, method: &str, params: Option<&RawValue>) -> Option<Id> {
        match method {
            method::INITIALIZED => self.is_initialized = true,
            method::CANCELLED => {
                let id = glance::members(params);
                let id = id.get("requestId").and_then(|raw| Id::parse(raw).ok())?;
                let waits = self.ledger.waits(&id);
                // It gets no answer any more.
                self.ledger.end(&id);
                return waits.then_some(id);
            }
            _ => {}
        }
        None
    }

    /// An answer to a question: for the connection that asked, and for no other.
    fn answer(&mut self, id: &Id, line: Vec<u8>) -> Up {
        match self.asked.remove(id) {
            Some(original) if original == *id => Up::Send(bound(ended(line))),
            Some(original) => match glance::with_id(&line, &original) {
                Some(line) => Up::Send(bound(line)),
                None => Up::Nothing,
            },
            None => Up::Nothing,
        }
    }

    /// A message goes out, as the `number`th of its connection.
    pub(super) fn send(&mut self, message: &Outgoing, number: u64) {
        self.ledger.send(message, number);
    }

    /// A message that was on its way did not arrive.
    pub(super) fn unsend(&mut self, ids: &[Id]) {
        self.ledger.unsend(ids);
    }
}

fn too_many(id: Id) -> Vec<u8> {
    let message = "too many requests are open at once; try again later";
    glance::refusal(Some(id), RpcError::new(503, message))
}

fn ended(mut line: Vec<u8>) -> Vec<u8> {
    line.push(b'\n');
    line
}

/// A message without its end.
fn outgoing(line: Vec<u8>, ids: Vec<Id>, is_wanted: bool) -> Outgoing {
    Outgoing {
        line: Arc::new(ended(line)),
        ids,
        is_bound: false,
        is_wanted,
    }
}

/// A message with its end that is for one connection only.
fn bound(line: Vec<u8>) -> Outgoing {
    Outgoing {
        line: Arc::new(line),
        ids: Vec::new(),
        is_bound: true,
        is_wanted: false,
    }
}
