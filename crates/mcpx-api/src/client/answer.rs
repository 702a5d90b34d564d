//! Answers: read whole, and told apart from refusals.

use bytes::Bytes;
use http::{Response, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use mcp_wire::Raw;

use super::ClientError;
use crate::{ApiError, Code};

/// The largest answer that is read, in bytes.
pub(super) const MAX_ANSWER: usize = 256 << 20;

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status: 200, 201 or 202.
    pub status: u16,
    /// The media type, without parameters.
    pub media_type: String,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// When it is none.
    pub fn json(&self) -> Result<Raw, ClientError> {
        Raw::parse_bytes(&self.body)
            .map_err(|error| ClientError::Broken(format!("the answer cannot be read: {error}")))
    }

    /// The body as a shape of [`crate::reply`].
    ///
    /// # Errors
    /// When it is none.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| ClientError::Broken(format!("the answer cannot be read: {error}")))
    }
}

/// What a response says.
///
/// # Errors
/// When it says no, or breaks off.
pub(super) async fn read(response: Response<Incoming>) -> Result<Answer, ClientError> {
    let status = response.status().as_u16();
    let media_type = response
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim()
        .to_owned();
    let body = http_body_util::Limited::new(response.into_body(), MAX_ANSWER)
        .collect()
        .await
        .map_err(|error| ClientError::Broken(format!("the answer broke off: {error}")))?
        .to_bytes();
    if (200..300).contains(&status) {
        return Ok(Answer {
            status,
            media_type,
            body,
        });
    }
    let document = Raw::parse_bytes(&body).and_then(|raw| raw.object());
    Err(ClientError::Api(match document {
        Ok(document) => ApiError::from_document(status, &document),
        Err(_) => ApiError::new(
            Code::of_status(status),
            format!("the daemon answered with status {status}"),
        ),
    }))
}
