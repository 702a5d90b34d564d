//! The responses: JSON, a stream of events, a plain refusal.

use std::convert::Infallible;

use bytes::Bytes;
use futures::Stream;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use mcp_wire::{Frame, Id, Raw, RpcError, error, sse};

use crate::server::BUSY;
use crate::spell;

/// The body of a response.
pub type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// A request that goes no further, and what it is answered with.
pub(super) type Refused = Box<Response<ResponseBody>>;

fn whole(status: StatusCode, media_type: &'static str, body: Vec<u8>) -> Response<ResponseBody> {
    let mut response = Response::new(Full::new(Bytes::from(body)).boxed_unsync());
    *response.status_mut() = status;
    if !media_type.is_empty() {
        let value = HeaderValue::from_static(media_type);
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    response
}

/// A refusal that is no message of the protocol.
pub(super) fn plain(status: StatusCode, text: &str) -> Response<ResponseBody> {
    whole(
        status,
        "text/plain; charset=utf-8",
        format!("{text}\n").into_bytes(),
    )
}

/// No body.
pub(super) fn empty(status: StatusCode) -> Response<ResponseBody> {
    whole(status, "", Vec::new())
}

/// One message.
pub(super) fn json(status: StatusCode, message: &Raw) -> Response<ResponseBody> {
    whole(status, "application/json", spell::one_line(message))
}

/// An error about a request.
pub(super) fn refuse(
    status: StatusCode,
    id: Option<Id>,
    error: &RpcError,
) -> Response<ResponseBody> {
    let message = match id {
        Some(id) => Frame::from(mcp_wire::Response::new(id, Err(error.clone()))).to_raw(),
        None => spell::error_without_id(error, false),
    };
    json(status, &message)
}

/// The status of a modern answer.
pub(super) fn status_of(outcome: Result<(), i64>) -> StatusCode {
    match outcome {
        Err(error::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Err(
            error::HEADER_MISMATCH
            | error::MISSING_CLIENT_CAPABILITY
            | error::UNSUPPORTED_PROTOCOL_VERSION
            | error::INVALID_REQUEST
            | error::PARSE_ERROR,
        ) => StatusCode::BAD_REQUEST,
        Err(BUSY) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::OK,
    }
}

/// A stream of events.
pub(super) fn events(stream: impl Stream<Item = Bytes> + Send + 'static) -> Response<ResponseBody> {
    use futures::StreamExt as _;
    let frames = stream.map(|bytes| Ok::<_, Infallible>(http_body::Frame::data(bytes)));
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// One message as an event.
pub(super) fn event(message: &Raw, id: Option<String>) -> Bytes {
    let mut event = sse::Message::of(spell::one_line(message));
    event.id = id;
    Bytes::from(event.to_bytes())
}

/// The event that gives a client an id to come back with, before there is anything to say.
pub(super) fn priming(id: String, retry_ms: u64) -> Bytes {
    let mut event = sse::Message::of(Vec::new());
    event.id = Some(id);
    event.retry_ms = Some(retry_ms);
    Bytes::from(event.to_bytes())
}

/// A comment.
pub(super) const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");
