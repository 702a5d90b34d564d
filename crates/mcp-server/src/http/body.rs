//! Reads the body of a request: all of it, under a limit, before a deadline. A small one is read at once; a large one waits
//! for room, so that clients that send slowly hold up no small ones.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt as _;
use tokio::sync::Semaphore;

use super::answer::{Refused, plain};

/// How large a body may be that needs no room.
const SMALL: usize = 64 * 1024;

pub(super) async fn read<B>(
    body: B,
    limit: usize,
    wait: Duration,
    room: &Semaphore,
) -> Result<Bytes, Refused>
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
    let mut taken = None;
    let no_room = || {
        let message = "too many large requests are being read; try again later";
        Box::new(plain(StatusCode::SERVICE_UNAVAILABLE, message))
    };
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
                if bytes.len() + data.len() > SMALL && taken.is_none() {
                    let waiting = tokio::time::timeout(wait / 2, room.acquire());
                    let permit = waiting.await.ok().and_then(Result::ok);
                    taken = Some(permit.ok_or_else(no_room)?);
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

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_small_body_needs_no_room_and_a_large_one_waits_for_it() {
        let wait = Duration::from_secs(30);
        let room = Semaphore::new(1);
        let taken = room.acquire().await;
        let body = |bytes: usize| Full::new(Bytes::from(vec![b' '; bytes]));
        assert!(read(body(SMALL), 1 << 20, wait, &room).await.is_ok());
        let refused = read(body(SMALL + 1), 1 << 20, wait, &room).await;
        assert_eq!(
            refused.map_err(|refused| refused.status()),
            Err(StatusCode::SERVICE_UNAVAILABLE)
        );
        drop(taken);
        assert!(read(body(SMALL + 1), 1 << 20, wait, &room).await.is_ok());
        assert_eq!(room.available_permits(), 1);
    }
}
