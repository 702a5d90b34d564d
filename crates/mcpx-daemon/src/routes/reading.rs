//! What a request brings: its query, the header that takes up a stream again, its body. Each name in its own place.

use std::time::Duration;

use bytes::Bytes;
use http::header;
use http::request::Parts;
use http_body_util::{BodyExt as _, Limited};
use mcp_wire::{Object, Raw};
use mcpx_api::operation::{LARGEST, Operation, Output, Place};
use mcpx_api::{ApiError, Code, Op, Params};
use mcpx_config::settings::key;
use untrusted_text::terminal::one_line;

use crate::hub::Hub;

/// Reads the query.
///
/// # Errors
/// When a value is not of its kind, is there twice, or belongs elsewhere.
pub(super) fn query(
    operation: &Operation,
    query: &str,
    given: &mut Object,
) -> Result<(), ApiError> {
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let param = operation.params.iter().find(|param| param.name == name);
        let param = match param.map(|param| (param, param.place)) {
            Some((param, Place::Query)) => param,
            Some((_, place)) => {
                let place = match place {
                    Place::Path => "is in the path",
                    _ => "goes into the body",
                };
                let name = one_line(&name, 60);
                return Err(ApiError::bad(format!(
                    "`{name}` was in the query, and {place}"
                )));
            }
            // The check of all parameters names those there are.
            None => {
                given.set(&name, value.as_ref());
                continue;
            }
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

/// A client that takes up a stream again says by a header which event it saw last: that goes over the query, which is
/// still that of the first time. What is no number of an event says nothing.
pub(super) fn last_event(operation: &Operation, head: &Parts, given: &mut Object) {
    if operation.output != Output::Events {
        return;
    }
    let seen = head
        .headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.trim().parse::<i64>().ok())
        .filter(|seen| (0..=LARGEST).contains(seen));
    if let Some(seen) = seen {
        given.set("since", seen);
    }
}

/// Reads the body whole.
///
/// # Errors
/// When it is larger than it may be, comes too slowly or breaks off. One that says how large it is is not begun.
pub(super) async fn collect<B>(hub: &Hub, operation: &Operation, body: B) -> Result<Bytes, ApiError>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: std::fmt::Display + Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (cap, too_large) = limit(hub, operation);
    if body.size_hint().lower() > cap as u64 {
        return Err(too_large);
    }
    let wait = wait(hub);
    let collected = tokio::time::timeout(wait, Limited::new(body, cap).collect()).await;
    match collected {
        Err(_) => Err(ApiError::new(
            Code::Timeout,
            format!("the body did not come within {} s", wait.as_secs()),
        )),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large),
        Ok(Err(error)) => Err(ApiError::bad(format!("the body broke off: {error}"))),
    }
}

fn wait(hub: &Hub) -> Duration {
    hub.settings()
        .duration(key::HTTP_READ_HEADER_TIMEOUT)
        .max(Duration::from_secs(1))
        * 6
}

/// How large a body may be, in bytes, and what is said of one that is larger.
fn limit(hub: &Hub, operation: &Operation) -> (usize, ApiError) {
    let is_call = matches!(
        operation.id,
        Op::Call | Op::CallPath | Op::Batch | Op::ToolInvoke
    );
    let (key, hint) = if is_call {
        (
            key::HTTP_CALL_BODY_LIMIT,
            "raise `http.callBodyLimit`, or give the server a file",
        )
    } else {
        (key::HTTP_BODY_LIMIT, "raise `http.bodyLimit`")
    };
    let cap = usize::try_from(hub.settings().bytes(key)).unwrap_or(usize::MAX);
    let message = format!("the body has more than {cap} bytes");
    (cap, ApiError::new(Code::TooLarge, message).hint(hint))
}

/// Reads what the body says.
///
/// # Errors
/// When it is no JSON in plain, no object, or says what the path or the query says.
pub(super) fn body(
    operation: &Operation,
    head: &Parts,
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
    check_type(head)?;
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
            one_line(name, 60)
        )));
    }
    for (name, value) in object.iter() {
        if given.contains(name) {
            return Err(ApiError::bad(format!(
                "`{}` is both in the path or query and in the body",
                one_line(name, 60)
            )));
        }
        given.set(name, value.clone());
    }
    Ok(())
}

/// # Errors
/// When the body is no JSON by its head, or is packed.
fn check_type(head: &Parts) -> Result<(), ApiError> {
    let text = |name: header::HeaderName, without: &'static str| {
        let value = head.headers.get(name).map(http::HeaderValue::as_bytes);
        value.map_or_else(|| without.into(), String::from_utf8_lossy)
    };
    let packed = text(header::CONTENT_ENCODING, "identity");
    if !packed.trim().eq_ignore_ascii_case("identity") {
        return Err(ApiError::bad(format!(
            "the body was packed as `{}`, expected it as it is",
            one_line(&packed, 80)
        ))
        .hint("send it without `content-encoding`"));
    }
    let media_type = text(header::CONTENT_TYPE, "application/json");
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    // A web page can send forms and plain text without asking; JSON it cannot.
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(ApiError::bad(format!(
            "the body was `{}`, expected `application/json`",
            one_line(&media_type, 80)
        ))
        .hint("send the header `content-type: application/json`; `curl` does with `--json`"));
    }
    Ok(())
}
