//! Web pages that may ask: what a browser wants to hear before it lets them, and with each answer.
//!
//! Which pages those are is decided in [`super::access`]. Without these headers a browser keeps every answer from a page,
//! also from one whose origin is configured.

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};

use super::{Body, response};

/// How long a browser may remember what it was told, in seconds.
const REMEMBERED: &str = "600";
/// What a page may read of the head of an answer.
const SHOWN: &str = "mcp-session-id, mcp-protocol-version, allow, www-authenticate";
const PRIVATE_ASKED: HeaderName = HeaderName::from_static("access-control-request-private-network");
const PRIVATE_ALLOWED: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// Whether a browser asks if a page may ask. It sends no token with that.
pub(super) fn is_preflight(head: &Parts) -> bool {
    head.method == Method::OPTIONS
        && head.headers.contains_key(header::ORIGIN)
        && head
            .headers
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to that for a page that may: every method, and the headers it wants to send.
pub(super) fn preflight(head: &Parts) -> Response<Body> {
    let mut response = response(StatusCode::NO_CONTENT, "", String::new());
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE"),
    );
    headers.insert(
        header::ACCESS_CONTROL_MAX_AGE,
        HeaderValue::from_static(REMEMBERED),
    );
    if let Some(wanted) = head.headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    if head.headers.contains_key(PRIVATE_ASKED) {
        headers.insert(PRIVATE_ALLOWED, HeaderValue::from_static("true"));
    }
    response
}

/// Lets the page of this origin read the answer.
pub(super) fn show(origin: &HeaderValue, headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static(SHOWN),
    );
}
