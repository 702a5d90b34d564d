//! The modern era over HTTP: each request by itself, its headers compared with its body, its stream its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::unfold;
use http::request::Parts;
use http::{Response, StatusCode};
use mcp_wire::meta::Envelope;
use mcp_wire::{Era, Frame, Raw, Request, Revision, RpcError, error, header, meta, method};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Http;
use super::answer::{KEEP_ALIVE, ResponseBody, event, events, json, refuse, status_of};
use super::gate::{Takes, single};
use crate::call::{Caller, context_for};
use crate::dispatch::{self, Kind};
use crate::stream::{CallStream, Sink};

/// How many notifications wait for the client to read.
const QUEUE: usize = 256;

/// Tells the era of a request; a header that names a modern revision demands the metadata.
pub(super) fn kind_of(head: &Parts, request: &Request) -> Result<Kind, RpcError> {
    let kind = dispatch::kind_of(request)?;
    let named = single(&head.headers, header::PROTOCOL_VERSION).and_then(Revision::parse);
    match (&kind, named) {
        (Kind::Legacy, Some(revision)) if revision.era() == Era::Modern => {
            Err(RpcError::invalid_params(format!(
                "a request of {revision} needs `_meta` with `{}` and `{}`",
                meta::PROTOCOL_VERSION,
                meta::CLIENT_CAPABILITIES
            )))
        }
        _ => Ok(kind),
    }
}

/// Cancels a request when its response is dropped before the answer was there.
struct CancelOnDrop {
    token: CancellationToken,
    answered: Arc<AtomicBool>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if !self.answered.load(Ordering::Acquire) {
            self.token.cancel();
        }
    }
}

/// The answer, and whether it is an error.
type Answer = (Raw, Result<(), i64>);

/// A response that is being made.
struct Making {
    messages: mpsc::Receiver<Raw>,
    answer: JoinHandle<Answer>,
    keep_alive: Duration,
    _cancel: CancelOnDrop,
}

impl Http {
    pub(super) async fn post_modern(
        &self,
        head: &Parts,
        request: Request,
        envelope: Envelope,
        principal: Option<String>,
        takes: Takes,
    ) -> Response<ResponseBody> {
        let token = CancellationToken::new();
        let (sender, messages) = mpsc::channel(QUEUE);
        let caller = Caller {
            principal,
            connection: None,
            stream: CallStream::new(Sink::Channel(sender)),
            cancelled: token.clone(),
        };
        if let Err(error) = self.check_headers(head, &request, &envelope, &caller).await {
            return refuse(status_of(Err(error.code)), Some(request.id), &error);
        }
        let answered = Arc::new(AtomicBool::new(false));
        let cancel = CancelOnDrop {
            token,
            answered: Arc::clone(&answered),
        };
        let server = self.0.server.clone();
        let answer = self.0.server.running.spawn(async move {
            let outcome = server.answer_modern(&request, &envelope, &caller).await;
            answered.store(true, Ordering::Release);
            caller.stream.close();
            let code = outcome.as_ref().map(|_| ()).map_err(|error| error.code);
            let response = mcp_wire::Response::new(request.id, outcome.map(Raw::from));
            (Frame::from(response).to_raw(), code)
        });
        let making = Making {
            messages,
            answer,
            keep_alive: self.0.config.keep_alive,
            _cancel: cancel,
        };
        making.respond(takes).await
    }

    /// Compares the headers with the body: whoever stands between reads the headers only.
    async fn check_headers(
        &self,
        head: &Parts,
        request: &Request,
        envelope: &Envelope,
        caller: &Caller,
    ) -> Result<(), RpcError> {
        compare(head, header::PROTOCOL_VERSION, &envelope.protocol_version)?;
        // The revision decides what the other headers mean.
        let server = &self.0.server;
        if request.method != method::DISCOVER || !server.offer().of_era(Era::Modern).is_empty() {
            server.modern_revision(envelope)?;
        }
        compare(head, header::METHOD, &request.method)?;
        // A method that this era does not have is answered as such, whatever its headers say.
        if method::is_legacy_only(&request.method) {
            return Ok(());
        }
        if let Some(name) = header::name_of(&request.method, &request.params) {
            compare(head, header::NAME, &name)?;
        }
        if request.method == method::TOOLS_CALL {
            self.check_params(head, request, envelope, caller).await?;
        }
        Ok(())
    }

    async fn check_params(
        &self,
        head: &Parts,
        request: &Request,
        envelope: &Envelope,
        caller: &Caller,
    ) -> Result<(), RpcError> {
        let server = &self.0.server;
        let tool = request.params.string("name").unwrap_or_default();
        let mut context = context_for(Era::Modern, caller);
        context.client_capabilities = envelope.client_capabilities.clone();
        let schema = server.service.input_schema(&tool, &context);
        let Ok(Some(schema)) = tokio::time::timeout(self.0.config.read, schema).await else {
            return Ok(());
        };
        // A client has to drop a tool whose annotations are forbidden; there is nothing to compare.
        let headers = header::param_headers(&schema).unwrap_or_default();
        let arguments = request.params.object("arguments").unwrap_or_default();
        for param in &headers {
            let name = format!(
                "{}{}",
                header::PARAM_PREFIX,
                param.header.to_ascii_lowercase()
            );
            let expected =
                header::param_value(param, &arguments).map_err(|error| mismatch(error.reason))?;
            match expected {
                None if head.headers.contains_key(&name) => {
                    return Err(mismatch(format!(
                        "the header `{name}` is there, and its argument is not"
                    )));
                }
                None => {}
                Some(expected) => {
                    let received = read(head, &name)?;
                    if !header::same_value(param, &received, &expected) {
                        return Err(mismatch(format!(
                            "the header `{name}` and its argument differ"
                        )));
                    }
                }
            }
        }
        Ok(())
    }
}

fn mismatch(reason: impl Into<String>) -> RpcError {
    RpcError::new(error::HEADER_MISMATCH, reason)
}

fn read(head: &Parts, name: &str) -> Result<String, RpcError> {
    if !head.headers.contains_key(name) {
        return Err(mismatch(format!("the header `{name}` is missing")));
    }
    let value = single(&head.headers, name).ok_or_else(|| {
        mismatch(format!(
            "the header `{name}` is there twice, or is not ASCII"
        ))
    })?;
    header::decode(value).map_err(|error| mismatch(format!("the header `{name}`: {error}")))
}

fn compare(head: &Parts, name: &str, expected: &str) -> Result<(), RpcError> {
    let received = read(head, name)?;
    if received == expected {
        return Ok(());
    }
    let cut: String = received.chars().take(100).collect();
    let wanted: String = expected.chars().take(100).collect();
    Err(mismatch(format!(
        "the header `{name}` says `{cut}`, the body `{wanted}`"
    )))
}

impl Making {
    /// JSON when the answer is all there is; events as soon as there is more, or it takes long.
    async fn respond(mut self, takes: Takes) -> Response<ResponseBody> {
        if !takes.events {
            // What is only good to know has no way to such a client.
            while self.messages.recv().await.is_some() {}
            return self.json().await;
        }
        if !takes.json {
            return self.events(None);
        }
        match tokio::time::timeout(self.keep_alive, self.messages.recv()).await {
            Ok(None) => self.json().await,
            Ok(Some(first)) => self.events(Some(event(&first, None))),
            Err(_) => self.events(Some(KEEP_ALIVE)),
        }
    }

    async fn json(&mut self) -> Response<ResponseBody> {
        match (&mut self.answer).await {
            Ok((message, outcome)) => json(status_of(outcome), &message),
            Err(_) => refuse(StatusCode::INTERNAL_SERVER_ERROR, None, &lost()),
        }
    }

    fn events(self, first: Option<Bytes>) -> Response<ResponseBody> {
        events(unfold((Some(self), first), |(making, first)| async move {
            let mut making = making?;
            if let Some(first) = first {
                return Some((first, (Some(making), None)));
            }
            match tokio::time::timeout(making.keep_alive, making.messages.recv()).await {
                Err(_) => Some((KEEP_ALIVE, (Some(making), None))),
                Ok(Some(message)) => Some((event(&message, None), (Some(making), None))),
                Ok(None) => {
                    let message = match (&mut making.answer).await {
                        Ok((message, _)) => message,
                        Err(_) => crate::spell::error_without_id(&lost(), false),
                    };
                    Some((event(&message, None), (None, None)))
                }
            }
        }))
    }
}

fn lost() -> RpcError {
    RpcError::new(error::INTERNAL_ERROR, "the server failed while it answered")
}
