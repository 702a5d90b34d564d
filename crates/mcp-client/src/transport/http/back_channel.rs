//! Legacy: the stream of messages that belong to no request, opened by GET. A server need not have one.
//!
//! Some servers ask their questions on it, and lose what they say while it is not open. So a call waits a moment for it,
//! and for no longer: a server that leaves the GET unanswered is slow once.

use std::sync::Arc;
use std::time::Duration;

use mcp_wire::Frame;
use mcp_wire::sse::Event;
use tokio::sync::watch;

use super::{Events, Shared, is_events, post, quoted};
use crate::failure::Cause;
use crate::transport::{Broken, Stray};

/// How long the first pause before opening it again is, when the server did not say; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// How long a pause is at most, when the server did not say.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long a call waits for it.
const MOMENT: Duration = Duration::from_millis(250);

/// Waits until the server has said whether there is one, for a moment at most.
pub(super) async fn wait(shared: &Shared) {
    let settled = shared.state().back_channel_settled.clone();
    if let Some(mut settled) = settled {
        let settling = settled.wait_for(|settled| *settled);
        let _in_time_or_not = tokio::time::timeout(MOMENT, settling).await;
        // Once is enough.
        shared.state().back_channel_settled = None;
    }
}

/// Opens it in a task, instead of the one of an earlier session.
pub(super) fn open(shared: &Arc<Shared>) {
    let (settled_in, settled) = watch::channel(false);
    shared.state().back_channel_settled = Some(settled);
    let task = tokio::spawn({
        let shared = Arc::clone(shared);
        async move {
            tokio::select! {
                () = keep_open(&shared, &settled_in) => {}
                () = shared.closed.cancelled() => {}
            }
        }
    });
    let before = shared.state().back_channel.replace(task.abort_handle());
    if let Some(before) = before {
        before.abort();
    }
}

/// Keeps it open until the server says that there is none.
async fn keep_open(shared: &Shared, settled: &watch::Sender<bool>) {
    let (mut last_id, mut retry_ms) = (None, None);
    let mut pause = FIRST_PAUSE;
    loop {
        let opened = post::open(shared, last_id.as_deref()).await;
        settled.send_replace(true);
        match opened {
            Ok(response) if response.status().is_success() && is_events(&response) => {
                let events = Events::new(response, shared.limit);
                if follow(shared, events, &mut last_id, &mut retry_ms).await {
                    pause = FIRST_PAUSE;
                }
            }
            Ok(response) => match response.status().as_u16() {
                408 | 409 | 425 | 429 | 500.. => {}
                // 405: there is none. The rest is as good as that.
                _ => return,
            },
            Err(Broken {
                cause: Cause::Credentials | Cause::Status(_),
                ..
            }) => return,
            Err(_) => {}
        }
        tokio::time::sleep(retry_ms.map_or(pause, Duration::from_millis).max(pause / 2)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Takes what comes until the stream ends. Whether anything came.
async fn follow(
    shared: &Shared,
    mut events: Events,
    last_id: &mut Option<String>,
    retry_ms: &mut Option<u64>,
) -> bool {
    let mut any = false;
    while let Some(event) = events.next().await {
        match event {
            Event::Message(message) => {
                *retry_ms = message.retry_ms.or(*retry_ms);
                let blank = message.data.iter().all(u8::is_ascii_whitespace);
                if !blank && message.event == "message" {
                    any = true;
                    take(shared, &message.data);
                }
            }
            Event::TooLong { bytes, .. } => {
                any = true;
                shared.noise(format!("a message of {bytes} bytes, more than the limit"));
            }
        }
        if let Some(id) = events.last_id() {
            *last_id = Some(id.to_owned());
        }
    }
    any
}

fn take(shared: &Shared, bytes: &[u8]) {
    let frames = match Frame::parse_batch(bytes) {
        Ok(frames) => frames,
        Err(error) => return shared.noise(format!("{}: {}", error.reason, quoted(bytes))),
    };
    for frame in frames {
        match frame {
            // A server of sessions may take this stream for the one that goes on.
            Ok(Frame::Response(response)) if shared.deliver(&response) => {}
            Ok(Frame::Response(response)) => {
                let id = response
                    .id
                    .map_or_else(|| "nothing".to_owned(), |id| id.to_string());
                shared.noise(format!("an answer to {id} outside of its stream"));
            }
            Ok(frame) => shared.stray(Stray::Message(frame)),
            Err(error) => shared.noise(error.reason),
        }
    }
}
