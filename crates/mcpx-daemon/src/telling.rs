//! What happens in the registry, told to the log and to those who listen.
//!
//! A record of a call belongs to the span of the instance that did it, that to the span of the daemon's life, unless the
//! caller names a span of its own. Arguments and results are never told.

pub mod daemon;
mod failed;
mod said;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_client::{Event as Said, Failure};
use mcp_wire::{Object, Raw, Revision};
use mcpx_catalog::history::Seen;
use mcpx_store::log::{Ended, Level, Log, Record, event};

use crate::events::{Events, kind};
use crate::ops::refused::api_error;
use crate::registry::call::{Call, CallError, Done, Wanted};
use crate::registry::instance::Instance;
use crate::registry::notices::{CallRecord, Notices};
use crate::registry::pool::{Ending, PoolWatch};
use crate::registry::trace::Trace;

/// Callers that are remembered; beyond it those that were silent for the longest time are forgotten.
const CALLERS: usize = 10_000;

/// Tells the log and those who listen.
pub struct Telling {
    log: Log,
    events: Arc<Events>,
    /// The span of the daemon's life.
    span: Option<String>,
    /// When each session was heard last.
    callers: Mutex<HashMap<String, Instant>>,
}

impl Telling {
    /// Tells this log and these listeners.
    #[must_use]
    pub fn new(log: Log, events: Arc<Events>) -> Self {
        Self {
            log,
            events,
            span: None,
            callers: Mutex::default(),
        }
    }

    /// What the servers do belongs to this span.
    #[must_use]
    pub fn under(mut self, span: String) -> Self {
        self.span = Some(span);
        self
    }

    fn of_instance(&self, level: Level, event: &'static str, instance: &Instance) -> Record {
        Record {
            server: Some(server_of(instance).to_owned()),
            instance: Some(instance.id().to_owned()),
            trace: Some(instance.trace().to_owned()),
            trace_parent: self.span.clone(),
            ..Record::new(level, event, "")
        }
    }

    fn heard(&self, session: Option<&str>) {
        let Some(session) = session else { return };
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= CALLERS && !callers.contains_key(session) {
            let oldest = callers.iter().min_by_key(|(_, heard)| **heard);
            if let Some(oldest) = oldest.map(|(session, _)| session.clone()) {
                callers.remove(&oldest);
            }
        }
        callers.insert(session.to_owned(), Instant::now());
    }
}

impl PoolWatch for Telling {
    fn started(&self, instance: &Instance, ready: Duration) {
        let transport = if instance.pid().is_some() {
            "stdio"
        } else {
            "http"
        };
        let protocol = instance.protocol();
        let era = Revision::parse(&protocol).map(|revision| revision.era().word());
        let key = instance.key().to_string();
        let mut record = Record {
            msg: format!("{} is ready after {} ms", instance.id(), ready.as_millis()),
            template: Cow::Borrowed("{instance} is ready after {ms} ms"),
            ..self.of_instance(Level::Info, event::SERVER_START, instance)
        }
        .with("readyMs", millis(ready))
        .with("key", key.as_str())
        .with("sharing", instance.about().sharing.word())
        .with("scope", instance.about().scope.word())
        .with("eraSource", instance.about().era_source.word())
        .with("transport", transport)
        .with("negotiated", protocol.as_str());
        if let Some(era) = era {
            record = record.with("era", era);
        }
        if let Some(pid) = instance.pid() {
            record = record.with("pid", pid);
        }
        self.log.write(record);
        let data = Object::new()
            .with("instance", instance.id())
            .with("key", key.as_str())
            .with_some("pid", instance.pid().map(i64::from))
            .with("protocol", protocol.as_str())
            .with("readyMs", Raw::of(&millis(ready)))
            .with("trace", instance.trace());
        self.events
            .publish(kind::SERVER_START, Some(server_of(instance)), None, data);
    }

    fn ended(&self, instance: &Instance, why: Ending) {
        let level = match why {
            Ending::Died { .. } | Ending::Poisoned { .. } => Level::Warn,
            _ => Level::Info,
        };
        let uptime = instance.uptime().as_secs();
        let record = Record {
            msg: format!("{} ends: {why}", instance.id()),
            template: Cow::Borrowed("{instance} ends: {why}"),
            ..self.of_instance(level, event::SERVER_STOP, instance)
        }
        .with("reason", reason(&why))
        .with("calls", instance.calls())
        .with("uptimeSec", uptime);
        let record = match instance.users().unheard() {
            0 => record,
            lines => record.with("linesToNobody", lines),
        };
        self.log.write(record);
        let data = Object::new()
            .with("instance", instance.id())
            .with("reason", reason(&why))
            .with("why", why.to_string().as_str())
            .with("calls", Raw::of(&instance.calls()))
            .with("uptimeSec", Raw::of(&uptime))
            .with("trace", instance.trace());
        self.events
            .publish(kind::SERVER_STOP, Some(server_of(instance)), None, data);
    }

    fn warned(&self, server: &str, text: String) {
        self.log.write(Record {
            server: Some(server.to_owned()),
            trace: self.span.clone(),
            ..Record::new(
                Level::Warn,
                event::SERVER_WARNING,
                format!("{server}: {text}"),
            )
        });
        let data = Object::new().with("text", text.as_str());
        self.events
            .publish(kind::SERVER_WARNING, Some(server), None, data);
    }

    fn event(&self, instance: &Instance, event: Said) {
        self.said(instance, event);
    }

    fn start_failed(&self, server: &str, failure: &Failure) {
        self.log.write(Record {
            server: Some(server.to_owned()),
            trace: self.span.clone(),
            ok: Some(false),
            template: Cow::Owned(failed::of_start(failure)),
            ..Record::new(Level::Error, "server.failed", failure.to_string())
        });
        let data = Object::new().with("error", failure.to_string().as_str());
        self.events
            .publish(kind::SERVER_FAILED, Some(server), None, data);
    }
}

impl Notices for Telling {
    fn call_begins(&self, trace: &Trace, call: &Call) -> CallRecord {
        let session = call.caller.session.clone();
        self.heard(session.as_deref());
        let name = match &call.wanted {
            Wanted::Tool { name, .. } => name.as_str(),
            Wanted::Request { method, .. } => method,
        };
        let data = Object::new()
            .with("trace", trace.id.as_str())
            .with("tool", name);
        self.events.publish(
            kind::CALL_STARTED,
            call.server.as_deref(),
            session.as_deref(),
            data,
        );
        CallRecord {
            session,
            ..CallRecord::default()
        }
    }

    fn call_ended(
        &self,
        record: CallRecord,
        trace: &Trace,
        took: Duration,
        ended: &Result<Done, CallError>,
    ) {
        let message = match ended {
            Ok(_) => None,
            Err(error) => Some(api_error(error)),
        };
        let said = match (ended, &message) {
            (Ok(done), _) if done.is_error() => Ended::AnsweredWithError,
            (_, Some(error)) => Ended::Failed(&error.message),
            _ => Ended::Answered,
        };
        let ok = said == Ended::Answered;
        let server = record.server.as_deref().unwrap_or_default();
        let tool = record.tool.as_deref().unwrap_or_default();
        let mut line = Record {
            session: record.session.clone(),
            trace: Some(trace.id.clone()),
            trace_parent: trace
                .parent
                .clone()
                .or_else(|| record.instance_trace.clone()),
            instance: record.instance.clone(),
            ..Record::of_call(server, tool, said, took)
        };
        if let (Some(parent), Some(span)) = (&trace.parent, &record.instance_trace)
            && parent != span
        {
            line = line.with("instanceTrace", span.as_str());
        }
        if let Err(error) = ended {
            failed::describe(&mut line, error);
        }
        if let Some(error) = &message {
            line = line.with("code", error.code.word());
            if let Some(delivery) = error.data.string("delivery") {
                line = line.with("delivery", delivery);
            }
        }
        self.log.write(line);
        let data = Object::new()
            .with("trace", trace.id.as_str())
            .with_some("tool", record.tool.as_deref())
            .with_some("instance", record.instance.as_deref())
            .with("ok", ok)
            .with("durationMs", Raw::of(&millis(took)))
            .with_some("code", message.as_ref().map(|error| error.code.word()));
        self.events.publish(
            kind::CALL_ENDED,
            record.server.as_deref(),
            record.session.as_deref(),
            data,
        );
    }

    fn catalogue_changed(&self, server: &str, changes: &[Seen]) {
        self.events.publish(
            kind::CATALOG_READ,
            Some(server),
            None,
            Object::new().with("changes", Raw::of(&changes.len())),
        );
        for change in changes {
            let difference = &change.change.difference;
            self.log.write(
                Record {
                    server: Some(server.to_owned()),
                    tool: Some(change.tool.clone()),
                    trace: self.span.clone(),
                    template: Cow::Owned(format!(
                        "{{server}}.{{tool}}: {}",
                        difference.kind.word()
                    )),
                    ..Record::new(
                        Level::Info,
                        kind::CATALOG_CHANGED,
                        format!("{server}.{}: {}", change.tool, difference.what),
                    )
                }
                .with("kind", difference.kind.word()),
            );
            let data = Object::new()
                .with("tool", change.tool.as_str())
                .with("kind", difference.kind.word())
                .with_some("field", difference.field.as_deref())
                .with("what", difference.what.as_str());
            self.events
                .publish(kind::CATALOG_CHANGED, Some(server), None, data);
        }
    }

    fn silent_for(&self, session: &str) -> Option<Duration> {
        let callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.get(session).map(Instant::elapsed)
    }
}

/// The server of an instance, from its id.
fn server_of(instance: &Instance) -> &str {
    let id = instance.id();
    id.rsplit_once('#').map_or(id, |(server, _)| server)
}

/// The word for an end.
fn reason(why: &Ending) -> &'static str {
    match why {
        Ending::Idle => "idle",
        Ending::Evicted => "evicted",
        Ending::Died { .. } => "died",
        Ending::Poisoned { .. } => "poisoned",
        Ending::Restarted => "restart",
        Ending::CallerDone | Ending::ProcessGone => "released",
        Ending::Closed => "closed",
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
