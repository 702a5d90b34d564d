//! Several messages in one body, as 2025-03-26 allows it.

use std::sync::Arc;

use futures::future::join_all;
use http::request::Parts;
use http::{Response, StatusCode};
use mcp_wire::{Frame, Id, Raw, RpcError, error, method};
use tokio_util::sync::CancellationToken;

use super::Http;
use super::answer::{ResponseBody, empty, refuse};
use super::gate::Takes;
use super::legacy::is_modern;
use crate::call::Caller;
use crate::stream::CallStream;

impl Http {
    pub(super) async fn post_batch(
        &self,
        head: &Parts,
        bytes: &[u8],
        principal: Option<String>,
        takes: Takes,
    ) -> Response<ResponseBody> {
        let bad = |reason: &str| {
            refuse(
                StatusCode::BAD_REQUEST,
                None,
                &RpcError::new(error::INVALID_REQUEST, reason),
            )
        };
        if is_modern(head) || !head.headers.contains_key(mcp_wire::header::SESSION_ID) {
            return bad("several messages at once: send one");
        }
        let session = match self.session(head, principal.as_deref(), None) {
            Ok(session) => session,
            Err(refused) => return *refused,
        };
        if !session
            .connection
            .handshake()
            .is_some_and(|handshake| handshake.revision.batches())
        {
            return bad("several messages at once: the revision of this session sends one");
        }
        let frames = match Frame::parse_batch(bytes) {
            Ok(frames) => frames,
            Err(broken) => return bad(&broken.reason),
        };
        let log = session.begin_log();
        let (mut refused, mut works) = (Vec::new(), Vec::new());
        let refusal = |id: Id, error| Frame::from(mcp_wire::Response::new(id, Err(error))).to_raw();
        for frame in frames {
            match frame {
                Ok(Frame::Request(request)) if request.method == method::INITIALIZE => {
                    let error = RpcError::new(error::INVALID_REQUEST, "`initialize` comes alone");
                    refused.push(refusal(request.id, error));
                }
                Ok(Frame::Request(request)) => match self.start(&session, request, &log) {
                    Ok(work) => works.push(work),
                    Err((id, error)) => refused.push(refusal(id, error)),
                },
                Ok(Frame::Response(response)) => session.connection.answered(response),
                Ok(Frame::Notification(notification)) => {
                    let caller = Caller {
                        principal: session.connection.principal.clone(),
                        connection: Some(Arc::clone(&session.connection)),
                        stream: CallStream::default(),
                        cancelled: CancellationToken::new(),
                    };
                    self.0.server.take_notification(notification, &caller).await;
                }
                Err(broken) => {
                    let error = RpcError::new(error::INVALID_REQUEST, broken.reason);
                    refused.push(match broken.id {
                        Some(id) => refusal(id, error),
                        None => crate::spell::error_without_id(&error, true),
                    });
                }
            }
        }
        if works.is_empty() && refused.is_empty() {
            session.forget_log(log.stream);
            return empty(StatusCode::ACCEPTED);
        }
        let ending = Arc::clone(&log);
        self.0.server.running.spawn(async move {
            refused.extend(join_all(works).await.into_iter().flatten());
            ending.end(Some(Raw::of(&refused)));
        });
        self.answer_from(session, log, takes).await
    }
}
