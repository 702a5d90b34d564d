//! Finds out how a server behind a URL is spoken to: modern, legacy with one endpoint, or the HTTP+SSE of 2024-11-05.
//!
//! The first message is the modern `server/discover`. An answer to it says which era it is, and so do the statuses 400, 404
//! and 405, which are what servers that do not know it reply. Refused credentials, load and broken servers say nothing:
//! the attempt ends with them. Silence, a closed connection and what cannot be read say nothing either, but a server that
//! then answers `initialize` is used, and what was found is not remembered.

use std::sync::Arc;

use mcp_wire::Era;
use tokio::sync::mpsc;

use super::{Probed, Verdict, failed, no_handshake, probe, too_new, verdict};
use crate::ask::Ask;
use crate::clock::Clocks;
use crate::connection::{Connection, Inner};
use crate::failure::{Cause, Failure, FailureKind};
use crate::handshake;
use crate::server::{HttpReach, ServerSpec};
use crate::transport::http::Http;
use crate::transport::sse::Sse;
use crate::transport::{Broken, Stray};

/// How many messages that belong to no call wait to be looked at.
const STRAYS: usize = 1_024;

/// Connects to a server behind a URL.
///
/// # Errors
/// When it finishes a handshake of neither era.
pub(super) async fn connect(
    spec: &ServerSpec,
    reach: &HttpReach,
    ask: Option<Arc<dyn Ask>>,
    clocks: &Arc<Clocks>,
) -> Result<Connection, Failure> {
    let remembered = spec.remembered.filter(|verdict| verdict.era == Era::Legacy);
    let again = match remembered {
        None => None,
        Some(verdict) if verdict.old_sse => Some(old_sse(spec, reach, ask.clone(), clocks).await),
        Some(_) => Some(legacy(spec, reach, ask.clone(), clocks).await),
    };
    let connected = match again {
        Some(Ok(connection)) => return Ok(connection),
        // What was remembered may be out of date: it is found out again, unless nothing would be different then.
        Some(Err(failure)) if proves_nothing(&failure) => Err(failure),
        Some(Err(_)) | None => find_out(spec, reach, ask, clocks).await,
    };
    connected.map_err(no_handshake)
}

async fn find_out(
    spec: &ServerSpec,
    reach: &HttpReach,
    ask: Option<Arc<dyn Ask>>,
    clocks: &Arc<Clocks>,
) -> Result<Connection, Failure> {
    let inner = begin(spec, reach, ask.clone(), clocks).map_err(|broken| failed(spec, broken))?;
    let is_certain = match probe(&inner).await {
        Ok(Probed::Modern(agreed)) => {
            return Ok(Connection::new(inner, *agreed, verdict(Era::Modern)));
        }
        Ok(Probed::TooNew(supported)) => return Err(too_new(&inner, &supported)),
        Ok(Probed::Legacy) => true,
        Err(failure) if is_no_such_place(&failure) => true,
        Err(failure) if proves_nothing(&failure) => return Err(failure),
        Err(_) => false,
    };
    match handshake::initialize(&inner).await {
        Ok(agreed) => {
            let verdict = verdict(Era::Legacy).filter(|_| is_certain);
            Ok(Connection::new(inner, agreed, verdict))
        }
        Err(failure) if is_no_such_place(&failure) => old_sse(spec, reach, ask, clocks)
            .await
            .map_err(|older| both(failure, older)),
        Err(failure) => {
            // It may have been slow to wake up, and be modern alone.
            if !is_certain
                && failure.answered().is_some()
                && let Ok(Probed::Modern(agreed)) = probe(&inner).await
            {
                return Ok(Connection::new(inner, *agreed, verdict(Era::Modern)));
            }
            inner.end().await;
            Err(failure)
        }
    }
}

/// Without a probe.
async fn legacy(
    spec: &ServerSpec,
    reach: &HttpReach,
    ask: Option<Arc<dyn Ask>>,
    clocks: &Arc<Clocks>,
) -> Result<Connection, Failure> {
    let inner = begin(spec, reach, ask, clocks).map_err(|broken| failed(spec, broken))?;
    match handshake::initialize(&inner).await {
        Ok(agreed) => Ok(Connection::new(inner, agreed, verdict(Era::Legacy))),
        Err(failure) => {
            inner.end().await;
            Err(failure)
        }
    }
}

async fn old_sse(
    spec: &ServerSpec,
    reach: &HttpReach,
    ask: Option<Arc<dyn Ask>>,
    clocks: &Arc<Clocks>,
) -> Result<Connection, Failure> {
    let (strays_in, strays) = mpsc::channel(STRAYS);
    let sse = Sse::open(reach, spec, strays_in, Arc::clone(clocks))
        .await
        .map_err(|broken| failed(spec, broken))?;
    let inner = Inner::new(spec.clone(), Box::new(sse), ask, strays, Arc::clone(clocks));
    let agreed = handshake::initialize(&inner).await?;
    let verdict = Verdict {
        era: Era::Legacy,
        old_sse: true,
    };
    Ok(Connection::new(inner, agreed, Some(verdict)))
}

fn begin(
    spec: &ServerSpec,
    reach: &HttpReach,
    ask: Option<Arc<dyn Ask>>,
    clocks: &Arc<Clocks>,
) -> Result<Arc<Inner>, Broken> {
    let (strays_in, strays): (mpsc::Sender<Stray>, _) = mpsc::channel(STRAYS);
    let http = Http::new(reach, spec, strays_in, Arc::clone(clocks))?;
    Ok(Inner::new(
        spec.clone(),
        Box::new(http),
        ask,
        strays,
        Arc::clone(clocks),
    ))
}

/// Neither way led anywhere.
fn both(newer: Failure, older: Failure) -> Failure {
    match (newer.kind, older.kind) {
        (
            FailureKind::NoAnswer {
                cause,
                delivery,
                why,
            },
            FailureKind::NoAnswer { why: older, .. },
        ) => {
            let why = format!("{why}; as a server of HTTP+SSE: {older}");
            let kind = FailureKind::NoAnswer {
                delivery,
                cause,
                why,
            };
            Failure {
                kind,
                server: newer.server,
                stderr: None,
            }
        }
        (_, kind) => Failure {
            kind,
            server: older.server,
            stderr: None,
        },
    }
}

/// Whether nobody speaks the protocol at this address in this way, as far as the status says.
fn is_no_such_place(failure: &Failure) -> bool {
    matches!(
        failure.kind,
        FailureKind::NoAnswer {
            cause: Cause::Status(400 | 404 | 405),
            ..
        }
    )
}

/// Whether another way of speaking would end in the same: the server is not there, wants credentials, or is not well.
fn proves_nothing(failure: &Failure) -> bool {
    match &failure.kind {
        FailureKind::Answered(_) => false,
        FailureKind::Refused { .. } => true,
        FailureKind::NoAnswer { cause, .. } => match cause {
            Cause::Start => true,
            Cause::Status(code) => !matches!(code, 400 | 404 | 405),
            _ => false,
        },
    }
}
