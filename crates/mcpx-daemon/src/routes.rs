//! The operations over HTTP: from a request to an operation of the table, and from its reply to a response.

pub mod access;
pub mod matching;
mod pages;
mod reading;
mod repoll;
pub mod serve;
pub mod stream;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use mcp_wire::{Object, Raw};
use mcpx_api::{ApiError, Caller, Code, Params};

use self::matching::{Found, find, without_slash};
use crate::hub::Hub;
use crate::ops::{self, Reply};

/// The body of a response.
pub type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// Answers one request of `/v1`. Who may ask was decided before.
pub async fn respond<B>(hub: &Arc<Hub>, request: Request<B>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: std::fmt::Display + Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match answer(hub, request).await {
        Ok(response) => response,
        Err(error) => refused(&error),
    }
}

async fn answer<B>(hub: &Arc<Hub>, request: Request<B>) -> Result<Response<Body>, ApiError>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: std::fmt::Display + Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let path = untrusted_text::terminal::one_line(head.uri.path(), 200);
    let (operation, in_path) = match find(&head.method, head.uri.path()) {
        Found::One(operation, in_path) => (operation, in_path),
        Found::OtherMethod(allowed) if head.method == http::Method::OPTIONS => {
            return Ok(options(&allowed));
        }
        Found::OtherMethod(allowed) => {
            return Err(ApiError::new(
                Code::MethodNotAllowed,
                format!("`{path}` is not for {}", head.method),
            )
            .hint(format!("it takes {allowed}"))
            .with("allow", allowed.as_str()));
        }
        Found::None => {
            let hint = match without_slash(head.uri.path()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "GET /v1/openapi.json lists them".to_owned(),
            };
            return Err(
                ApiError::not_found(format!("no operation has the path `{path}`")).hint(hint),
            );
        }
    };
    let mut given = Object::new();
    for (name, value) in in_path {
        given.set(name, value.as_str());
    }
    reading::query(operation, head.uri.query().unwrap_or_default(), &mut given)?;
    reading::last_event(operation, &head, &mut given);
    let body = reading::collect(hub, operation, body).await?;
    reading::body(operation, &head, &body, &mut given)?;
    let params = Params::check(operation, given)?;
    let caller = Caller::from_headers(&head.headers);
    let reply = ops::perform(hub, operation, caller, params).await?;
    Ok(spell(hub, reply))
}

/// What a path takes, and nothing else.
fn options(allowed: &str) -> Response<Body> {
    let mut response = response(StatusCode::NO_CONTENT, "", String::new());
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    if let Ok(value) = HeaderValue::from_str(allowed) {
        headers.insert(header::ALLOW, value);
    }
    response
}

fn spell(hub: &Arc<Hub>, reply: Reply) -> Response<Body> {
    match reply {
        Reply::Json { status, body } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
            response(status, "application/json", body.as_str().to_owned())
        }
        Reply::Text { media_type, body } => response(
            StatusCode::OK,
            &format!("{media_type}; charset=utf-8"),
            body,
        ),
        Reply::Events {
            subscription,
            filter,
            watching,
        } => stream::events(hub, subscription, filter, watching),
    }
}

/// An error's document.
#[must_use]
pub fn refused(error: &ApiError) -> Response<Body> {
    let status =
        StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let document = Raw::from(error.to_document());
    let mut response = response(status, "application/json", document.as_str().to_owned());
    if let (Code::MethodNotAllowed, Some(allowed)) = (error.code, error.data.string("allow"))
        && let Ok(value) = HeaderValue::from_str(&allowed)
    {
        response.headers_mut().insert(header::ALLOW, value);
    }
    if error.code == Code::Unauthorized {
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// A whole response.
#[must_use]
pub fn response(status: StatusCode, media_type: &str, body: String) -> Response<Body> {
    let mut response = Response::new(full(body));
    *response.status_mut() = status;
    if let Ok(value) = HeaderValue::from_str(media_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// A body that is there already.
pub fn full(text: impl Into<Bytes>) -> Body {
    Full::new(text.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}
