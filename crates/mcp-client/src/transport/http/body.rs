//! What comes back in an HTTP response, read under a limit.

use mcp_wire::sse::{Decoder, Event};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;

use super::client;
use crate::failure::{Cause, Delivery};
use crate::transport::Broken;

/// The media type of a response, in lower case and without parameters; empty when there is none.
pub(crate) fn media_type(response: &Response) -> String {
    response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .map(|value| value.trim().to_ascii_lowercase())
        .unwrap_or_default()
}

/// Whether the body is a stream of events.
pub(crate) fn is_events(response: &Response) -> bool {
    media_type(response) == "text/event-stream"
}

/// Reads the whole body.
///
/// # Errors
/// When it is over the limit, or the connection breaks before it is whole.
pub(crate) async fn whole(response: &mut Response, limit: usize) -> Result<Vec<u8>, Broken> {
    let too_long = || {
        let why =
            format!("its answer cannot be read: it is longer than the limit of {limit} bytes");
        Broken::new(Delivery::OutcomeUnknown, Cause::Unreadable, why)
    };
    if response
        .content_length()
        .is_some_and(|length| length > limit as u64)
    {
        return Err(too_long());
    }
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(body),
            Ok(Some(chunk)) if body.len() + chunk.len() > limit => return Err(too_long()),
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Err(error) => {
                let why = format!(
                    "the connection broke in the middle of its answer: {}",
                    client::chain(&error)
                );
                return Err(Broken::new(Delivery::OutcomeUnknown, Cause::Closed, why));
            }
        }
    }
}

/// Reads a stream of events.
pub(crate) struct Events {
    response: Response,
    decoder: Decoder,
    /// Why the stream broke, when it did not simply end.
    broke: Option<String>,
}

impl Events {
    pub(crate) fn new(response: Response, limit: usize) -> Self {
        Self {
            response,
            decoder: Decoder::new(limit),
            broke: None,
        }
    }

    /// The next event; `None` when the stream is over.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.decoder.next() {
                return Some(event);
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.decoder.push(&chunk),
                Ok(None) => return None,
                Err(error) => {
                    self.broke = Some(client::chain(&error));
                    return None;
                }
            }
        }
    }

    /// The last id that was seen on this stream.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.decoder.last_id()
    }

    /// How the stream ended, in words.
    pub(crate) fn ending(&self) -> String {
        match &self.broke {
            Some(why) => format!("the stream broke: {why}"),
            None => "the stream ended".to_owned(),
        }
    }
}
