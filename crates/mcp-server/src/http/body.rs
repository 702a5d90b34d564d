//! Reads the body of a request: all of it, under a limit, before a deadline.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt as _;

use super::answer::{Refused, plain};

pub(super) async fn read<B>(body: B, limit: usize, wait: Duration) -> Result<Bytes, Refused>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: fmt::Display,
{
    let too_large = || {
        Box::new(plain(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("the body is larger than {limit} bytes"),
        ))
    };
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    let mut body = pin!(body);
    let mut bytes = BytesMut::new();
    let read = async {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                Box::new(plain(
                    StatusCode::BAD_REQUEST,
                    &format!("the body broke off: {error}"),
                ))
            })?;
            if let Ok(data) = frame.into_data() {
                if bytes.len() + data.len() > limit {
                    return Err(too_large());
                }
                bytes.extend_from_slice(&data);
            }
        }
        Ok(())
    };
    match tokio::time::timeout(wait, read).await {
        Ok(Ok(())) => Ok(bytes.freeze()),
        Ok(Err(refused)) => Err(refused),
        Err(_) => Err(Box::new(plain(
            StatusCode::REQUEST_TIMEOUT,
            &format!("the body did not arrive within {} s", wait.as_secs()),
        ))),
    }
}
