//! The streams of a legacy session: they outlive the connection that reads them, and the next one goes on.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::unfold;
use http::request::Parts;
use http::{Response, StatusCode};
use mcp_wire::{Era, Frame, Revision};
use tokio::sync::watch;

use super::Http;
use super::answer::{KEEP_ALIVE, ResponseBody, empty, event, events, json, plain, priming};
use super::gate::{Takes, accepted, single};
use super::legacy::{is_modern, not_allowed_without_session};
use super::sessions::{Open, Session};
use crate::event_log::{EventLog, Next};

impl Http {
    /// JSON when the answer comes soon and alone; else a stream that can be resumed.
    pub(super) async fn answer_from(
        &self,
        session: Arc<Session>,
        log: Arc<EventLog>,
        takes: Takes,
    ) -> Response<ResponseBody> {
        let open = session.open();
        let mut version = log.attach();
        if !takes.events {
            // No way for questions: they fail by their deadline, or when the session ends.
            while !log.state().0 && version.changed().await.is_ok() {}
        } else if takes.json {
            let first = async {
                while matches!(log.after(0), Next::Wait) && version.changed().await.is_ok() {}
            };
            let _elapsed = tokio::time::timeout(self.0.config.stream_after, first).await;
        }
        if takes.json
            && let Some(answer) = log.only_answer()
        {
            session.forget_log(log.stream);
            return json(StatusCode::OK, &answer);
        }
        if !takes.events {
            session.forget_log(log.stream);
            return match log.answer() {
                Some(answer) => json(StatusCode::OK, &answer),
                None => empty(StatusCode::ACCEPTED),
            };
        }
        let prime = self.primes(&session);
        self.stream(open, session, log, 0, prime)
    }

    /// Whether streams begin with an event without data: older clients would take it for a broken message.
    fn primes(&self, session: &Session) -> bool {
        session
            .connection
            .handshake()
            .is_some_and(|handshake| handshake.revision >= Revision::V2025_11_25)
    }

    pub(super) async fn get(
        &self,
        head: &Parts,
        principal: Option<String>,
    ) -> Response<ResponseBody> {
        self.sweep();
        if is_modern(head) || !head.headers.contains_key(mcp_wire::header::SESSION_ID) {
            return not_allowed_without_session();
        }
        if !accepted(&head.headers).events {
            return plain(
                StatusCode::NOT_ACCEPTABLE,
                "a stream is of the type text/event-stream",
            );
        }
        let session = match self.session(head, principal.as_deref(), None) {
            Ok(session) => session,
            Err(refused) => return *refused,
        };
        let (log, from) = match single(&head.headers, mcp_wire::header::LAST_EVENT_ID) {
            None => (Arc::clone(&session.general), u64::MAX),
            Some(id) => match parse_event_id(id)
                .and_then(|(stream, number)| Some((session.log(stream)?, number)))
            {
                Some(found) => found,
                None => {
                    return plain(
                        StatusCode::BAD_REQUEST,
                        "`last-event-id` names a stream that is no longer kept",
                    );
                }
            },
        };
        let is_new = from == u64::MAX;
        // A new general stream goes on behind what was said on the last one.
        let from = if is_new { log.newest() } else { from };
        let prime = is_new && self.primes(&session);
        self.stream(session.open(), session, log, from, prime)
    }

    fn stream(
        &self,
        open: Open,
        session: Arc<Session>,
        log: Arc<EventLog>,
        from: u64,
        prime: bool,
    ) -> Response<ResponseBody> {
        let first =
            prime.then(|| priming(format!("{}-{from}", log.stream), self.0.config.retry_ms));
        let is_general = log.stream == 0;
        let mut newest = session.general_reader.subscribe();
        if is_general {
            session.general_reader.send_modify(|reader| *reader += 1);
            newest.borrow_and_update();
        }
        let reader = Reader {
            version: log.attach(),
            http: self.clone(),
            session,
            log,
            at: from,
            is_general,
            newest,
            _open: open,
        };
        events(unfold((reader, first), |(mut reader, first)| async move {
            let bytes = match first {
                Some(first) => first,
                None => reader.next().await?,
            };
            Some((bytes, (reader, None)))
        }))
    }
}

/// A connection that reads one stream of a session.
struct Reader {
    http: Http,
    session: Arc<Session>,
    log: Arc<EventLog>,
    version: watch::Receiver<u64>,
    at: u64,
    is_general: bool,
    /// Changes when another connection takes the general stream over.
    newest: watch::Receiver<u64>,
    _open: Open,
}

impl Reader {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.version.borrow_and_update();
            match self.log.after(self.at) {
                Next::Event(logged) => {
                    self.at = logged.number;
                    let id = format!("{}-{}", self.log.stream, logged.number);
                    return Some(event(&logged.message, Some(id)));
                }
                Next::End => {
                    self.session.forget_log(self.log.stream);
                    return None;
                }
                Next::Release => return None,
                Next::Wait => {}
            }
            let server = &self.http.0.server;
            tokio::select! {
                changed = self.version.changed() => changed.ok()?,
                note = next_note(&self.session, self.is_general) => {
                    if let Some(notification) = server.spell_note(&note, Era::Legacy) {
                        self.log.push(Frame::from(notification).to_raw(), false);
                    }
                }
                taken = self.newest.changed(), if self.is_general => {
                    taken.ok()?;
                    return None;
                }
                () = tokio::time::sleep(self.http.0.config.keep_alive) => return Some(KEEP_ALIVE),
                () = self.session.connection.closed.cancelled() => return None,
                () = server.closing.cancelled(), if self.is_general => return None,
            }
        }
    }
}

async fn next_note(session: &Session, is_general: bool) -> crate::notifier::Note {
    match session.connection.mailbox() {
        Some(mailbox) if is_general => mailbox.next().await,
        _ => std::future::pending().await,
    }
}

fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, number) = id.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}
