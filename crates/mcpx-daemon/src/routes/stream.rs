//! Events as a stream that a client can take up again where it broke.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use mcp_wire::{Object, Raw};
use mcpx_config::settings::key;
use tokio::sync::broadcast::error::RecvError;

use super::Body;
use crate::events::{Event, Subscription};
use crate::hub::Hub;
use crate::ops::listening::EventFilter;
use crate::registry::watch::Watching;

/// A response that streams the events.
pub fn events(
    hub: &Arc<Hub>,
    subscription: Subscription,
    filter: EventFilter,
    watching: Option<Watching>,
) -> Response<Body> {
    let settings = hub.settings();
    let retry = settings.duration(key::HTTP_SSE_RETRY).as_millis();
    let mut first = VecDeque::from([format!("retry: {retry}\n\n")]);
    if let Some((since, oldest)) = subscription.gap {
        let data = Object::new()
            .with("since", Raw::of(&since))
            .with("oldest", Raw::of(&oldest));
        first.push_back(format!("event: gap\ndata: {}\n\n", Raw::from(data)));
    }
    first.extend(
        subscription
            .replay
            .iter()
            .filter(|event| filter.wants(event))
            .map(|event| written(event)),
    );
    let state = State {
        waiting: first,
        live: subscription.live,
        filter,
        quiet: settings.duration(key::HTTP_SSE_PING),
        hub: Arc::clone(hub),
        watching,
    };
    let frames = futures::stream::unfold(state, next);
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

struct State {
    waiting: VecDeque<String>,
    live: tokio::sync::broadcast::Receiver<Arc<Event>>,
    filter: EventFilter,
    quiet: std::time::Duration,
    hub: Arc<Hub>,
    watching: Option<Watching>,
}

impl Drop for State {
    fn drop(&mut self) {
        // The listener is gone: the server need not tell any more. A runtime that is going down tells nobody anyway.
        if let (Some(watching), Ok(runtime)) =
            (self.watching.take(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(watching.end());
        }
    }
}

async fn next(mut state: State) -> Option<(std::io::Result<Frame<Bytes>>, State)> {
    let text = loop {
        if let Some(text) = state.waiting.pop_front() {
            break text;
        }
        let received = tokio::select! {
            received = tokio::time::timeout(state.quiet, state.live.recv()) => received,
            () = state.hub.stopping.cancelled() => return None,
        };
        match received {
            Err(_) => break ": quiet\n\n".to_owned(),
            Ok(Ok(event)) if state.filter.wants(&event) => break written(&event),
            Ok(Ok(_)) => {}
            Ok(Err(RecvError::Lagged(missed))) => {
                break format!("event: gap\ndata: {{\"missed\":{missed}}}\n\n");
            }
            Ok(Err(RecvError::Closed)) => return None,
        }
    };
    Some((Ok(Frame::data(Bytes::from(text))), state))
}

fn written(event: &Event) -> String {
    format!(
        "id: {}\nevent: {}\ndata: {}\n\n",
        event.seq,
        event.kind,
        Raw::from(event.to_document())
    )
}
