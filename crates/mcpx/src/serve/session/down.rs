//! What the daemon says: what of it is for the client.

use mcp_wire::lines::TooLong;
use mcp_wire::{Id, RpcError, meta, method};
use mcpx_api::pipe::Ending;
use serde_json::value::RawValue;

use super::again::missed_by;
use super::{Down, Handshake, Session};
use crate::serve::glance::{self, Glance, glance};
use crate::serve::ledger::Topic;

impl Session {
    /// Takes a message of the daemon, without its end.
    pub(in crate::serve) fn take_from_daemon(&mut self, line: &[u8]) -> Down {
        let mut seen = glance(line);
        if glance::is_batch(line) {
            for one in &seen {
                if let Glance::Answer { id, .. } = one {
                    self.ledger.end(id);
                }
            }
            return Down::Pass;
        }
        match seen.pop().unwrap_or(Glance::Other) {
            Glance::Answer { id, result } => self.answered(&id, result),
            Glance::Request { id, .. } => self.question(id, line),
            Glance::Notification { method, params } => self.said(&method, params),
            Glance::Other => Down::Pass,
        }
    }

    /// A message of the daemon that is longer than is passed on.
    pub(in crate::serve) fn too_long_for_client(&mut self, line: &TooLong) -> Down {
        let Some(id) = line.id.clone().filter(|_| !line.names_method) else {
            return Down::Instead(Vec::new());
        };
        self.ledger.end(&id);
        let message = format!(
            "it was done, and its answer is too long to be passed on: {} bytes",
            line.bytes
        );
        Down::Instead(vec![glance::refusal(Some(id), RpcError::new(413, message))])
    }

    fn answered(&mut self, id: &Id, result: Option<&RawValue>) -> Down {
        if self.own.remove(id) {
            return Down::Instead(Vec::new());
        }
        let open = self.ledger.get_mut(id);
        let is_listening = open.is_some_and(|open| open.topic == Topic::Listen);
        if is_listening && result.is_some() && !self.is_over {
            // The daemon ends, and the client goes on listening to the next one.
            return Down::Instead(Vec::new());
        }
        let (Some(open), Some(result)) = (self.ledger.end(id), result) else {
            return Down::Pass;
        };
        match open.topic {
            Topic::Handshake => {
                let result = glance::members(Some(result));
                self.handshake = open.line.map(|line| Handshake {
                    line,
                    revision: result.string("protocolVersion").unwrap_or_default(),
                    capabilities: result.object("capabilities").unwrap_or_default(),
                });
            }
            Topic::Level(params) => self.level = Some(params),
            Topic::Watch(uri) => {
                self.watched.insert(uri);
            }
            Topic::Unwatch(uri) => {
                self.watched.remove(&uri);
            }
            Topic::Listen | Topic::Other => {}
        }
        Down::Pass
    }

    /// The first connection's questions keep their ids; those of later ones get others, because a late answer to an
    /// earlier question must not be taken for an answer to theirs.
    fn question(&mut self, id: Id, line: &[u8]) -> Down {
        if self.generation == 0 {
            self.asked.insert(id.clone(), id);
            return Down::Pass;
        }
        let shown = self.shown(&id);
        let renamed = glance::with_id(line, &shown);
        self.asked.insert(shown, id);
        Down::Instead(renamed.into_iter().collect())
    }

    fn shown(&self, id: &Id) -> Id {
        let text = match id {
            Id::Text(text) => text.clone(),
            other => other.to_string(),
        };
        Id::Text(format!("{}-{text}", self.generation))
    }

    fn said(&mut self, method: &str, params: Option<&RawValue>) -> Down {
        match method {
            _ if Ending::is(method) => match Ending::read(&glance::members(params)) {
                Some(ending) => Down::Ending(ending),
                None => Down::Instead(Vec::new()),
            },
            method::CANCELLED => self.takes_back(params),
            method::LISTEN_ACKNOWLEDGED => {
                let params = glance::members(params);
                let id = meta::get(&params, meta::SUBSCRIPTION_ID);
                let id = id.and_then(|raw| Id::parse(&raw).ok());
                let Some((id, open)) =
                    id.and_then(|id| Some((id.clone(), self.ledger.get_mut(&id)?)))
                else {
                    return Down::Pass;
                };
                let accepted = params.object("notifications").unwrap_or_default();
                match open.listens.replace(accepted.clone()) {
                    None => Down::Pass,
                    // The client knows; what it missed it does not.
                    Some(_) => Down::Instead(missed_by(&id, &accepted)),
                }
            }
            _ => Down::Pass,
        }
    }

    /// The daemon does not want an answer any more.
    fn takes_back(&mut self, params: Option<&RawValue>) -> Down {
        let mut params = glance::members(params);
        let id = params.get("requestId").and_then(|raw| Id::parse(raw).ok());
        let Some(id) = id else { return Down::Pass };
        let shown = match self.generation {
            0 => id,
            _ => self.shown(&id),
        };
        if self.asked.remove(&shown).is_none() {
            return Down::Pass;
        }
        params.set("requestId", shown.raw());
        Down::Instead(vec![glance::notification(method::CANCELLED, params)])
    }
}
