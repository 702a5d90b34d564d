//! What an HTTP status other than success says about a request.

use std::time::Duration;

use mcp_wire::{Frame, Id, RpcError};
use reqwest::header::{LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Response, StatusCode};

use super::body;
use crate::failure::{Cause, Delivery};
use crate::transport::Broken;

/// How much of a body that is no answer is quoted, in characters.
const QUOTED: usize = 200;
/// How many bytes of an error's body are read.
const MAX_BODY: usize = 1024 * 1024;

/// How long such a body is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A response whose status is no success.
pub(crate) struct Refusal {
    pub status: StatusCode,
    /// The JSON-RPC error in the body, and the id of the request that it names.
    pub error: Option<(RpcError, Option<Id>)>,
    challenges: bool,
    /// After how many seconds it may be asked again.
    retry_after: Option<u32>,
    /// Where it redirects to, without a query.
    location: Option<String>,
    head: String,
}

impl Refusal {
    /// Reads the response.
    pub(crate) async fn read(mut response: Response, limit: usize) -> Self {
        let status = response.status();
        let challenges = response.headers().contains_key(WWW_AUTHENTICATE);
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.trim().parse().ok());
        let location = response.headers().get(LOCATION);
        let location = location
            .and_then(|value| value.to_str().ok())
            .map(without_query);
        let reading = body::whole(&mut response, limit.min(MAX_BODY));
        let bytes = match tokio::time::timeout(PATIENCE, reading).await {
            Ok(Ok(bytes)) => bytes,
            // The status says enough.
            Ok(Err(_)) | Err(_) => Vec::new(),
        };
        let error = match Frame::parse_batch(&bytes).map(Vec::into_iter) {
            Ok(mut frames) => match (frames.next(), frames.next()) {
                (Some(Ok(Frame::Response(response))), None) => {
                    response.outcome.err().map(|error| (error, response.id))
                }
                _ => None,
            },
            Err(_) => None,
        };
        Self {
            status,
            error,
            challenges,
            retry_after,
            location,
            head: quoted(&bytes),
        }
    }

    /// Whether the status says nothing about what the server speaks: credentials, load, a proxy, a broken server.
    pub(crate) fn is_inconclusive(&self) -> bool {
        matches!(
            self.status.as_u16(),
            401 | 403 | 407 | 408 | 425 | 429 | 500..
        )
    }

    /// The same as a failure. A request is taken for not processed by the statuses that say so: by those about
    /// credentials, address, method and headers, and by 429. 400 and everything from 500 may come from a server that
    /// has begun to work.
    pub(crate) fn broken(&self) -> Broken {
        let code = self.status.as_u16();
        let may_have_run =
            !matches!(code, 300..=399 | 401..=407 | 410..=417 | 421 | 425 | 426 | 428 | 429 | 431);
        let delivery = if may_have_run {
            Delivery::OutcomeUnknown
        } else {
            Delivery::NotSent
        };
        let words = match &self.error {
            Some((error, _)) => format!(": {error}"),
            None if self.status.is_redirection() => match &self.location {
                Some(place) => format!(": it redirects to {place}, which is not followed"),
                None => String::new(),
            },
            None if self.head.is_empty() => String::new(),
            None => format!(": {}", self.head),
        };
        let wants_credentials = code == 401 || (code == 403 && self.challenges);
        let cause = if wants_credentials {
            Cause::Credentials
        } else {
            Cause::Status(code)
        };
        let hint = match self.retry_after {
            _ if wants_credentials => {
                "; it wants credentials, or others: sign in, or configure its `Authorization` header"
                    .to_owned()
            }
            Some(seconds) => format!("; it may be asked again after {seconds} s"),
            None => String::new(),
        };
        Broken::new(
            delivery,
            cause,
            format!("HTTP {}{words}{hint}", self.status),
        )
    }
}

fn without_query(place: &str) -> String {
    let place = place.split(['?', '#']).next().unwrap_or_default();
    place.chars().take(QUOTED).collect()
}

/// The beginning of a body that is no answer, in one line.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes.get(..4 * QUOTED).unwrap_or(bytes));
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let head: String = line.chars().take(QUOTED).collect();
    if head.len() < line.len() || bytes.len() > 4 * QUOTED {
        format!("{head} […, {} bytes in all]", bytes.len())
    } else {
        head
    }
}
