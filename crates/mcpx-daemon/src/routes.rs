//! The operations over HTTP: from a request to an operation of the table, and from its reply to a response.

pub mod access;
pub mod matching;
mod repoll;
pub mod serve;
pub mod stream;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use mcp_wire::{Object, Raw};
use mcpx_api::operation::{Operation, Place};
use mcpx_api::{ApiError, Caller, Code, Op, Params};
use mcpx_config::settings::key;

use self::matching::{Found, find};
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
    let (operation, in_path) = match find(&head.method, head.uri.path()) {
        Found::One(operation, in_path) => (operation, in_path),
        Found::OtherMethod(allowed) => {
            return Err(ApiError::new(
                Code::MethodNotAllowed,
                format!("`{}` is not for {}", head.uri.path(), head.method),
            )
            .hint(format!("it takes {allowed}"))
            .with("allow", allowed.as_str()));
        }
        Found::None => {
            return Err(ApiError::not_found(format!(
                "no operation has the path `{}`",
                untrusted_text::terminal::one_line(head.uri.path(), 200)
            ))
            .hint("GET /v1/openapi.json lists them"));
        }
    };
    let mut given = Object::new();
    for (name, value) in in_path {
        given.set(name, value.as_str());
    }
    read_query(operation, head.uri.query().unwrap_or_default(), &mut given)?;
    let cap = limit(hub, operation);
    let body = collect(body, cap, wait(hub)).await?;
    read_body(operation, &head, &body, &mut given)?;
    let params = Params::check(operation, given)?;
    let caller = Caller::from_headers(&head.headers);
    let reply = ops::perform(hub, operation, caller, params).await?;
    Ok(spell(hub, reply))
}

fn wait(hub: &Hub) -> std::time::Duration {
    hub.settings()
        .duration(key::HTTP_READ_HEADER_TIMEOUT)
        .max(std::time::Duration::from_secs(1))
        * 6
}

/// How large a body may be, in bytes.
fn limit(hub: &Hub, operation: &Operation) -> u64 {
    let settings = hub.settings();
    match operation.id {
        Op::Call | Op::CallPath | Op::Batch | Op::ToolInvoke => {
            settings.bytes(key::HTTP_CALL_BODY_LIMIT)
        }
        _ => settings.bytes(key::HTTP_BODY_LIMIT),
    }
}

async fn collect<B>(body: B, cap: u64, wait: std::time::Duration) -> Result<Bytes, ApiError>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: std::fmt::Display + Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let cap = usize::try_from(cap).unwrap_or(usize::MAX);
    let collected = tokio::time::timeout(wait, Limited::new(body, cap).collect()).await;
    match collected {
        Err(_) => Err(ApiError::new(
            Code::Timeout,
            format!("the body did not come within {} s", wait.as_secs()),
        )),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(ApiError::new(
            Code::TooLarge,
            format!("the body has more than {cap} bytes"),
        )
        .hint("raise `http.callBodyLimit`, or give the server a file")),
        Ok(Err(error)) => Err(ApiError::bad(format!("the body broke off: {error}"))),
    }
}

fn read_query(operation: &Operation, query: &str, given: &mut Object) -> Result<(), ApiError> {
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let param = operation
            .params
            .iter()
            .find(|param| param.name == name && param.place == Place::Query);
        let Some(param) = param else {
            // The check of all parameters names those there are.
            given.set(&name, value.as_ref());
            continue;
        };
        let value = Params::read_text(param, &value)?;
        match (
            given.get(&name).map(Raw::read::<Vec<String>>),
            value.read::<Vec<String>>(),
        ) {
            // A list may be given piece by piece.
            (Some(Ok(mut before)), Ok(more)) => {
                before.extend(more);
                given.set(&name, Raw::of(&before));
            }
            (Some(_), _) => {
                return Err(ApiError::bad(format!("`{name}` was given twice")));
            }
            (None, _) => given.set(&name, value),
        }
    }
    Ok(())
}

fn read_body(
    operation: &Operation,
    head: &http::request::Parts,
    body: &Bytes,
    given: &mut Object,
) -> Result<(), ApiError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let takes = operation
        .params
        .iter()
        .any(|param| matches!(param.place, Place::Body | Place::Whole));
    if !takes {
        return Err(ApiError::bad(format!("`{}` takes no body", operation.name)));
    }
    let media_type = head
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("application/json");
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    // A web page can send forms and plain text without asking; JSON it cannot.
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(ApiError::bad(format!(
            "the body was `{}`, expected `application/json`",
            untrusted_text::terminal::one_line(media_type, 80)
        )));
    }
    let raw = Raw::parse_bytes(body)
        .map_err(|error| ApiError::bad(format!("the body is no JSON: {error}")))?;
    let whole = operation
        .params
        .iter()
        .find(|param| param.place == Place::Whole);
    if let Some(param) = whole {
        given.set(param.name, raw);
        return Ok(());
    }
    let object = raw.object().map_err(|_| {
        ApiError::bad(format!(
            "the body was {}, expected a JSON object",
            raw.kind().word()
        ))
    })?;
    if let Some(name) = object.duplicate() {
        return Err(ApiError::bad(format!(
            "`{}` is in the body twice",
            untrusted_text::terminal::one_line(name, 60)
        )));
    }
    for (name, value) in object.iter() {
        if given.contains(name) {
            return Err(ApiError::bad(format!(
                "`{}` is both in the path or query and in the body",
                untrusted_text::terminal::one_line(name, 60)
            )));
        }
        given.set(name, value.clone());
    }
    Ok(())
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
