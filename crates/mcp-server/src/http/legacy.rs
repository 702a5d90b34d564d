//! The legacy era over HTTP: sessions, and what is posted to them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use mcp_wire::{Era, Frame, Id, Notification, Raw, Request, Revision, RpcError, error, method};
use tokio_util::sync::CancellationToken;

use super::Http;
use super::answer::{Refused, ResponseBody, empty, event, events, json, plain, refuse};
use super::gate::{Takes, single};
use super::sessions::Session;
use crate::call::Caller;
use crate::event_log::EventLog;
use crate::stream::{CallStream, Sink};

impl Http {
    pub(super) async fn post_legacy(
        &self,
        head: &Parts,
        request: Request,
        principal: Option<String>,
        takes: Takes,
    ) -> Response<ResponseBody> {
        self.sweep();
        if request.method == method::INITIALIZE {
            return self.initialize(request, principal, takes).await;
        }
        let has_session = head.headers.contains_key(mcp_wire::header::SESSION_ID);
        if request.method == method::PING && !has_session {
            let pong = mcp_wire::Response::new(request.id, Ok(Raw::from(mcp_wire::Object::new())));
            return message(StatusCode::OK, &Frame::from(pong).to_raw(), takes);
        }
        let session = match self.session(head, principal.as_deref(), Some(&request.id)) {
            Ok(session) => session,
            Err(refused) => return *refused,
        };
        let log = session.begin_log();
        let work = match self.start(&session, request, &log) {
            Ok(work) => work,
            Err((id, error)) => {
                session.forget_log(log.stream);
                return refuse(StatusCode::BAD_REQUEST, Some(id), &error);
            }
        };
        let ending = Arc::clone(&log);
        self.0
            .server
            .running
            .spawn(async move { ending.end(work.await) });
        self.answer_from(session, log, takes).await
    }

    /// The work of one request; its answer, unless the client cancelled it. It goes on when the connection breaks.
    pub(super) fn start(
        &self,
        session: &Arc<Session>,
        request: Request,
        log: &Arc<EventLog>,
    ) -> Result<impl Future<Output = Option<Raw>> + Send + use<>, (Id, RpcError)> {
        let Some(in_flight) = session.connection.begin(&request.id) else {
            let message = format!(
                "the id {} is in use by a request that still runs",
                request.id
            );
            return Err((request.id, RpcError::new(error::INVALID_REQUEST, message)));
        };
        let caller = Caller {
            principal: session.connection.principal.clone(),
            connection: Some(Arc::clone(&session.connection)),
            stream: CallStream::new(Sink::Log(Arc::clone(log))),
            cancelled: in_flight.cancelled.clone(),
        };
        let server = self.0.server.clone();
        Ok(async move {
            let outcome = server.answer_legacy(&request, &caller).await;
            caller.stream.close();
            let response = mcp_wire::Response::new(request.id, outcome.map(Raw::from));
            (!in_flight.cancelled.is_cancelled()).then(|| Frame::from(response).to_raw())
        })
    }

    async fn initialize(
        &self,
        request: Request,
        principal: Option<String>,
        takes: Takes,
    ) -> Response<ResponseBody> {
        let connection = self.0.server.connect(principal.clone());
        let caller = Caller {
            principal,
            connection: Some(Arc::clone(&connection)),
            stream: CallStream::default(),
            cancelled: CancellationToken::new(),
        };
        let outcome = self.0.server.answer_legacy(&request, &caller).await;
        let status = if outcome.is_ok() {
            StatusCode::OK
        } else {
            StatusCode::BAD_REQUEST
        };
        let is_ok = outcome.is_ok();
        let answer =
            Frame::from(mcp_wire::Response::new(request.id, outcome.map(Raw::from))).to_raw();
        let mut response = message(status, &answer, takes);
        if is_ok {
            let Some((session, spare)) = self.0.sessions.begin(connection) else {
                return full();
            };
            if let Some(spare) = spare {
                self.leave(spare);
            }
            self.sweep_by_itself();
            if let Ok(id) = HeaderValue::from_str(&session.id) {
                response
                    .headers_mut()
                    .insert(mcp_wire::header::SESSION_ID, id);
            }
        }
        response
    }

    /// The session of a request.
    pub(super) fn session(
        &self,
        head: &Parts,
        principal: Option<&str>,
        id: Option<&Id>,
    ) -> Result<Arc<Session>, Refused> {
        let refused = |status, message: &str| {
            let error = RpcError::new(error::INVALID_REQUEST, message);
            Err(Box::new(refuse(status, id.cloned(), &error)))
        };
        let version = &mcp_wire::header::PROTOCOL_VERSION;
        if head.headers.contains_key(*version) {
            let offered = self.0.server.offer().of_era(Era::Legacy);
            let named = single(&head.headers, version).and_then(Revision::parse);
            if !named.is_some_and(|revision| offered.contains(&revision)) {
                return refused(
                    StatusCode::BAD_REQUEST,
                    "the header `mcp-protocol-version` names no revision that is spoken here with a session",
                );
            }
        }
        if !head.headers.contains_key(mcp_wire::header::SESSION_ID) {
            return refused(
                StatusCode::BAD_REQUEST,
                "no session: send `initialize` first and then its `mcp-session-id`, or the metadata of the modern era in each request",
            );
        }
        let key = single(&head.headers, mcp_wire::header::SESSION_ID).unwrap_or_default();
        match self.0.sessions.get(key, principal) {
            Some(session) => Ok(session),
            None => refused(
                StatusCode::NOT_FOUND,
                "no such session: it ended, or is somebody else's; send `initialize` without a session",
            ),
        }
    }

    pub(super) async fn post_notification(
        &self,
        head: &Parts,
        notification: Notification,
        principal: Option<String>,
    ) -> Response<ResponseBody> {
        let is_modern = is_modern(head)
            || matches!(
                mcp_wire::meta::Envelope::parse(&notification.params),
                Ok(Some(_))
            );
        let connection = if is_modern {
            None
        } else {
            match self.session(head, principal.as_deref(), None) {
                Ok(session) => Some(Arc::clone(&session.connection)),
                Err(refused) => return *refused,
            }
        };
        let caller = Caller {
            principal,
            connection,
            stream: CallStream::default(),
            cancelled: CancellationToken::new(),
        };
        self.0.server.take_notification(notification, &caller).await;
        empty(StatusCode::ACCEPTED)
    }

    /// An answer to a question of ours.
    pub(super) fn post_answer(
        &self,
        head: &Parts,
        response: mcp_wire::Response,
        principal: Option<&str>,
    ) -> Response<ResponseBody> {
        if is_modern(head) {
            let error = RpcError::new(
                error::INVALID_REQUEST,
                "a client of the modern era sends no responses",
            );
            return refuse(StatusCode::BAD_REQUEST, None, &error);
        }
        match self.session(head, principal, None) {
            Err(refused) => *refused,
            Ok(session) => {
                session.connection.answered(response);
                empty(StatusCode::ACCEPTED)
            }
        }
    }

    pub(super) async fn delete(
        &self,
        head: &Parts,
        principal: Option<String>,
    ) -> Response<ResponseBody> {
        if is_modern(head) || !head.headers.contains_key(mcp_wire::header::SESSION_ID) {
            return not_allowed_without_session();
        }
        match self.session(head, principal.as_deref(), None) {
            Err(refused) => *refused,
            Ok(session) => {
                self.0.sessions.remove(&session.id);
                self.0.server.disconnect(&session.connection).await;
                empty(StatusCode::NO_CONTENT)
            }
        }
    }

    pub(super) fn sweep(&self) {
        for session in self.0.sessions.take_idle() {
            self.leave(session);
        }
    }

    /// Sessions end for idleness also when nobody asks anything any more.
    fn sweep_by_itself(&self) {
        if self.0.sweeping.swap(true, Ordering::AcqRel) {
            return;
        }
        let (http, closing) = (Arc::downgrade(&self.0), self.0.server.closing.clone());
        let pause = self.0.sessions.pause();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = closing.cancelled() => return,
                }
                let Some(http) = http.upgrade().map(Self) else {
                    return;
                };
                http.sweep();
                if http.sessions() == 0 {
                    http.0.sweeping.store(false, Ordering::Release);
                    // One may have begun just now.
                    if http.sessions() > 0 {
                        http.sweep_by_itself();
                    }
                    return;
                }
            }
        });
    }

    /// Ends what belongs to a session that was taken out.
    fn leave(&self, session: Arc<Session>) {
        let server = self.0.server.clone();
        self.0
            .server
            .running
            .spawn(async move { server.disconnect(&session.connection).await });
    }
}

pub(super) fn is_modern(head: &Parts) -> bool {
    single(&head.headers, mcp_wire::header::PROTOCOL_VERSION)
        .and_then(Revision::parse)
        .is_some_and(|revision| revision.era() == Era::Modern)
}

fn message(status: StatusCode, message: &Raw, takes: Takes) -> Response<ResponseBody> {
    if takes.json {
        return json(status, message);
    }
    let mut response = events(futures::stream::iter([event(message, None)]));
    *response.status_mut() = status;
    response
}

fn full() -> Response<ResponseBody> {
    let mut response = plain(
        StatusCode::SERVICE_UNAVAILABLE,
        "all sessions that there may be are in use; end one with DELETE, or try again later",
    );
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
    response
}

pub(super) fn not_allowed_without_session() -> Response<ResponseBody> {
    let mut response = plain(
        StatusCode::METHOD_NOT_ALLOWED,
        "only POST is taken here, since GET and DELETE need the `mcp-session-id` of a session that `initialize` began",
    );
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}
