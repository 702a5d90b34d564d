//! One request from its POST to its answer, on one stream or, in the legacy era, on several.

use std::time::Duration;

use mcp_wire::{Era, Frame, Request, header, method};
use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use tokio::sync::mpsc;

use super::stream::{Position, Reader, unreadable};
use super::{
    Events, MAX_SESSION, Refusal, Sending, Shared, body, is_events, put, quoted, session_lost,
    too_late,
};
use crate::failure::{Cause, Delivery};
use crate::transport::{Answered, Broken, Outgoing};

/// How long to wait before going on with a stream whose server did not say.
const DEFAULT_RETRY: Duration = Duration::from_secs(1);
/// How long to wait at least, whatever the server says.
const SHORTEST_RETRY: Duration = Duration::from_millis(20);
/// How often in a row going on may fail.
const MAX_FAILURES: u32 = 5;

/// Makes a request and waits for the answer. Messages about it go to `messages`.
pub(super) async fn exchange(
    shared: &Shared,
    outgoing: Outgoing,
    messages: &mpsc::Sender<Box<Frame>>,
) -> Answered {
    let Outgoing {
        request,
        param_headers,
    } = outgoing;
    // Only what is on the wire is timed here: credentials may take longer than a server may be silent.
    let patience = (request.method == method::DISCOVER).then_some(shared.probe);
    let (mut headers, has_session) = shared.headers(&request.method);
    let initializes = request.method == method::INITIALIZE;
    let modern = !initializes && shared.is_modern();
    if modern {
        mirror(&mut headers, &request, &param_headers)?;
    }
    let id = request.id.clone();
    let tentative = initializes || request.method == method::DISCOVER;
    let response = shared
        .post(&headers, &Frame::from(request), patience)
        .await?;
    if initializes && response.status().is_success() {
        shared.state().begun = Some(session_of(&response));
    }
    let reader = Reader {
        shared,
        id: &id,
        modern,
        messages,
    };
    let reading = async {
        if response.status().is_success() {
            read(&reader, response).await
        } else {
            let refusal = Refusal::read(response, shared.limit).await;
            refused(&refusal, &reader, has_session, tentative)
        }
    };
    match patience {
        None => reading.await,
        Some(patience) => tokio::time::timeout(patience, reading)
            .await
            .unwrap_or_else(|_| Err(too_late(patience))),
    }
}

/// Puts into headers what a modern request says in its body.
fn mirror(
    headers: &mut HeaderMap,
    request: &Request,
    param_headers: &[(String, String)],
) -> Result<(), Broken> {
    if let Some(name) = header::name_of(&request.method, &request.params) {
        put(headers, header::NAME, &header::encode(&name));
    }
    for (name, value) in param_headers {
        let refuse = |_| {
            let why = format!("the argument for the header `{name}` cannot be sent as one");
            Broken::new(Delivery::NotSent, Cause::Unreadable, why)
        };
        let key = format!("{}{name}", header::PARAM_PREFIX).to_ascii_lowercase();
        let key =
            HeaderName::from_bytes(key.as_bytes()).map_err(|error| refuse(error.to_string()))?;
        let value = HeaderValue::from_str(&header::encode(value))
            .map_err(|error| refuse(error.to_string()))?;
        headers.insert(key, value);
    }
    Ok(())
}

fn session_of(response: &Response) -> Option<String> {
    let value = response.headers().get(header::SESSION_ID)?.to_str().ok()?;
    let visible = value.bytes().all(|byte| (0x21..0x7f).contains(&byte));
    (visible && !value.is_empty() && value.len() <= MAX_SESSION).then(|| value.to_owned())
}

/// How a body is encoded, when it is. This client asks for no encoding.
fn encoding_of(response: &Response) -> Option<String> {
    let value = response.headers().get(reqwest::header::CONTENT_ENCODING)?;
    let value = value.to_str().unwrap_or("?").trim();
    (!value.eq_ignore_ascii_case("identity")).then(|| value.chars().take(40).collect())
}

/// A status that is no success: an answer when a JSON-RPC error came with it, whatever id a server that could not read
/// ours put there.
fn refused(refusal: &Refusal, reader: &Reader<'_>, has_session: bool, tentative: bool) -> Answered {
    let code = refusal.status.as_u16();
    let Some((error, id)) = &refusal.error else {
        return Err(if has_session && code == 404 {
            session_lost()
        } else {
            refusal.broken()
        });
    };
    let ours = id.as_ref() == Some(reader.id);
    if has_session && code == 404 && !(ours && error.code == mcp_wire::error::METHOD_NOT_FOUND) {
        return Err(session_lost());
    }
    // What a gateway says about itself is not what the server behind it speaks.
    let says_nothing = tentative && refusal.is_inconclusive() && !error.is_modern();
    if code == 401 || says_nothing {
        return Err(refusal.broken());
    }
    Ok(Err(error.clone()))
}

/// Reads the answer out of a response, and goes on elsewhere when the server wants that.
async fn read(reader: &Reader<'_>, mut response: Response) -> Answered {
    let shared = reader.shared;
    if !is_events(&response) {
        let (status, media) = (response.status(), body::media_type(&response));
        let bytes = body::whole(&mut response, shared.limit).await?;
        if let Some(answered) = reader.take(&bytes).await {
            return answered;
        }
        let encoding = encoding_of(&response);
        let what = match (bytes.is_empty(), media.as_str()) {
            _ if encoding.is_some() => format!(
                "HTTP {status} with a body encoded as `{}`, which was not asked for",
                encoding.unwrap_or_default()
            ),
            (true, _) => format!("HTTP {status} without a body"),
            (false, "") => format!("HTTP {status} with a body of no type: {}", quoted(&bytes)),
            (false, media) => format!("HTTP {status} with {media}: {}", quoted(&bytes)),
        };
        let expected = match Frame::parse_batch(&bytes) {
            Ok(_) => format!("expected the answer to the request {}", reader.id),
            Err(error) if media == "application/json" && !bytes.is_empty() => {
                format!("{}; expected one JSON-RPC message", error.reason)
            }
            Err(_) => "expected JSON or a stream of events".to_owned(),
        };
        return Err(unreadable(&format!("{what}; {expected}")));
    }
    let mut position = Position::default();
    let events = Events::new(response, shared.limit);
    if let Some(answered) = reader.events(events, &mut position).await {
        return answered;
    }
    let mut failures = 0;
    while !reader.modern && position.last_id.is_some() && failures < MAX_FAILURES {
        let pause = position
            .retry_ms
            .map_or(DEFAULT_RETRY, Duration::from_millis);
        let pause = pause
            .max(SHORTEST_RETRY)
            .saturating_mul(2_u32.pow(failures));
        tokio::time::sleep(pause).await;
        match go_on(shared, &position).await? {
            None => failures += 1,
            Some(response) => {
                failures = 0;
                let events = Events::new(response, shared.limit);
                if let Some(answered) = reader.events(events, &mut position).await {
                    return answered;
                }
            }
        }
    }
    let why = format!("{} without an answer", position.ending);
    Err(Broken::new(Delivery::OutcomeUnknown, Cause::Closed, why))
}

/// Asks for the rest of a stream. `None` when another attempt may help.
async fn go_on(shared: &Shared, position: &Position) -> Result<Option<Response>, Broken> {
    if shared.state().revision.era() == Era::Modern {
        return Ok(None);
    }
    let response = match open(shared, position.last_id.as_deref()).await {
        Ok(response) => response,
        // The request itself was sent, so what is not sent here is not what the caller asks about.
        Err(Broken {
            cause: Cause::Credentials,
            why,
            ..
        }) => {
            return Err(Broken::new(Delivery::OutcomeUnknown, Cause::Closed, why));
        }
        Err(_) => return Ok(None),
    };
    if response.status().is_success() && is_events(&response) {
        return Ok(Some(response));
    }
    let refusal = Refusal::read(response, shared.limit).await;
    match refusal.status.as_u16() {
        408 | 409 | 425 | 429 | 500.. => Ok(None),
        404 => Err(session_lost()),
        _ => {
            let why = format!(
                "{} without an answer, and it cannot be gone on with: {}",
                position.ending,
                refusal.broken().why
            );
            Err(Broken::new(Delivery::OutcomeUnknown, Cause::Closed, why))
        }
    }
}

/// Opens a stream by GET, behind `last_id` when there is one.
pub(super) async fn open(shared: &Shared, last_id: Option<&str>) -> Result<Response, Broken> {
    let (mut headers, _) = shared.headers("");
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.remove(reqwest::header::CONTENT_TYPE);
    if let Some(id) = last_id {
        put(&mut headers, header::LAST_EVENT_ID, id);
    }
    let sending = Sending {
        method: Method::GET,
        url: shared.endpoint.url(),
        headers: &headers,
        body: None,
        patience: None,
    };
    shared.endpoint.send(sending).await
}
