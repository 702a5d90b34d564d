//! Finds out which era a server speaks, and begins a connection in it.
//!
//! The first message is the modern `server/discover`. A server that answers it as a modern one is modern; any other
//! answer is legacy, and so are silence and a process that ends during the probe: those get a fresh process and
//! `initialize`. What was found is the [`Verdict`], to be remembered for the same configuration.

mod http;

use std::sync::{Arc, Mutex, PoisonError};

use mcp_wire::{Era, Revision};
use untrusted_text::Untrusted;

use crate::ask::Ask;
use crate::clock::{Clock, Clocks};
use crate::connection::{Agreed, Connection, Inner};
use crate::failure::{Cause, Delivery, Failure, FailureKind, Refuser};
use crate::handshake::{self, Discovered};
use crate::server::{Reach, ServerSpec};
use crate::transport::{self, Broken};

/// How a server is spoken to, once it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The era.
    pub era: Era,
    /// Whether it only speaks the HTTP+SSE of 2024-11-05.
    pub old_sse: bool,
}

/// The process that was started last, to quote when the time is over.
#[derive(Default)]
struct Latest(Mutex<Option<Arc<Inner>>>);

impl Latest {
    fn set(&self, inner: &Arc<Inner>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(inner));
    }

    fn stderr(&self) -> Option<Untrusted> {
        let latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        latest.as_ref()?.transport.stderr()
    }
}

/// Connects.
///
/// # Errors
/// When the server cannot be started or reached, or does not finish a handshake of either era within the start time.
pub async fn connect(spec: ServerSpec, ask: Option<Arc<dyn Ask>>) -> Result<Connection, Failure> {
    let latest = Latest::default();
    let (label, start) = (spec.label(), spec.timeouts.start);
    // Stands while a person signs in.
    let clocks: Arc<Clocks> = Arc::default();
    let clock = Arc::new(Clock::new(start, start));
    clocks.add(&clock);
    let connecting = async {
        match &spec.reach {
            Reach::Stdio(_) => stdio(&spec, ask, &latest).await,
            Reach::Http(reach) => http::connect(&spec, reach, ask, &clocks).await,
        }
    };
    tokio::select! {
        connected = connecting => connected,
        _ = clock.expired() => {
            let why = format!(
                "its handshake was not finished within {} s",
                start.as_secs_f64()
            );
            let cause = Cause::Timeout(crate::clock::Expiry::Max(start));
            Err(Failure {
                server: label,
                kind: FailureKind::NoAnswer {
                    delivery: Delivery::NotSent,
                    cause,
                    why,
                },
                stderr: latest.stderr(),
            })
        }
    }
}

async fn stdio(
    spec: &ServerSpec,
    ask: Option<Arc<dyn Ask>>,
    latest: &Latest,
) -> Result<Connection, Failure> {
    if let Some(Verdict {
        era: Era::Legacy, ..
    }) = spec.remembered
    {
        let inner = start(spec, ask.clone(), latest).await?;
        match handshake::initialize(&inner).await {
            Ok(agreed) => return Ok(Connection::new(inner, agreed, verdict(Era::Legacy))),
            // What was remembered may be out of date: it is found out again.
            Err(failure) if failure.answered().is_none() => {
                return Err(with_noise(&inner, failure));
            }
            Err(_) => inner.end().await,
        }
    }
    let inner = start(spec, ask.clone(), latest).await?;
    let probe = tokio::time::timeout(spec.timeouts.probe, probe(&inner)).await;
    match probe {
        Ok(Ok(Probed::Modern(agreed))) => Ok(Connection::new(inner, *agreed, verdict(Era::Modern))),
        Ok(Ok(Probed::TooNew(supported))) => Err(too_new(&inner, &supported)),
        // It answered: the same process goes on with `initialize`.
        Ok(Ok(Probed::Legacy)) => {
            let agreed = handshake::initialize(&inner)
                .await
                .map_err(|failure| with_noise(&inner, failure))?;
            Ok(Connection::new(inner, agreed, verdict(Era::Legacy)))
        }
        // It ended or was silent: an answer that is late must not meet another handshake.
        Ok(Err(_)) | Err(_) => {
            inner.end().await;
            legacy_in_fresh_process(spec, ask, latest).await
        }
    }
}

/// A fresh process, for a server that was silent on the probe or ended on it. A server that takes its time to start
/// may have been silent for that alone, so nothing is remembered then.
async fn legacy_in_fresh_process(
    spec: &ServerSpec,
    ask: Option<Arc<dyn Ask>>,
    latest: &Latest,
) -> Result<Connection, Failure> {
    let began = tokio::time::Instant::now();
    let inner = start(spec, ask, latest).await?;
    let agreed = match handshake::initialize(&inner).await {
        Ok(agreed) => agreed,
        // It may have been slow to start, and be modern alone.
        Err(failure) => match &failure.kind {
            FailureKind::Answered(_) => match probe(&inner).await {
                Ok(Probed::Modern(agreed)) => {
                    return Ok(Connection::new(inner, *agreed, verdict(Era::Modern)));
                }
                _ => return Err(with_noise(&inner, failure)),
            },
            _ => return Err(with_noise(&inner, failure)),
        },
    };
    let certain = began.elapsed() < spec.timeouts.probe;
    Ok(Connection::new(
        inner,
        agreed,
        verdict(Era::Legacy).filter(|_| certain),
    ))
}

pub(crate) enum Probed {
    Modern(Box<Agreed>),
    Legacy,
    TooNew(Vec<String>),
}

/// One `server/discover`, and a second one when the first answer names another revision.
pub(crate) async fn probe(inner: &Arc<Inner>) -> Result<Probed, Failure> {
    let again = match handshake::discover(inner, Revision::NEWEST).await? {
        Discovered::Modern(agreed) if agreed.is_complete() => return Ok(Probed::Modern(agreed)),
        Discovered::Modern(agreed) => agreed.revision,
        Discovered::Pick(revision) => revision,
        Discovered::TooNew(supported) => return Ok(Probed::TooNew(supported)),
        Discovered::Legacy => return Ok(Probed::Legacy),
    };
    match handshake::discover(inner, again).await? {
        Discovered::Modern(agreed) => Ok(Probed::Modern(agreed)),
        Discovered::TooNew(supported) => Ok(Probed::TooNew(supported)),
        // What it refuses twice it does not speak, whatever it says.
        Discovered::Pick(_) | Discovered::Legacy => Ok(Probed::Legacy),
    }
}

pub(crate) fn verdict(era: Era) -> Option<Verdict> {
    Some(Verdict {
        era,
        old_sse: false,
    })
}

pub(crate) fn too_new(inner: &Inner, supported: &[String]) -> Failure {
    let why = format!(
        "it speaks {}; this client speaks up to {}",
        supported.join(", "),
        Revision::NEWEST
    );
    inner.no_answer(Broken::new(Delivery::NotSent, Cause::Unreadable, why))
}

async fn start(
    spec: &ServerSpec,
    ask: Option<Arc<dyn Ask>>,
    latest: &Latest,
) -> Result<Arc<Inner>, Failure> {
    let Reach::Stdio(program) = &spec.reach else {
        return Err(Failure {
            server: spec.label(),
            kind: FailureKind::Refused {
                by: Refuser::Client,
                why: "it is no program".to_owned(),
            },
            stderr: None,
        });
    };
    let (strays_in, strays) = tokio::sync::mpsc::channel(1_024);
    let started = transport::stdio::Stdio::start(
        program.clone(),
        spec.limits.message,
        spec.timeouts.shutdown,
        strays_in,
        spec.redactor.clone(),
    )
    .await;
    match started {
        Ok(stdio) => {
            let inner = Inner::new(spec.clone(), Box::new(stdio), ask, strays, Arc::default());
            latest.set(&inner);
            Ok(inner)
        }
        Err(broken) => Err(failed(spec, broken)),
    }
}

/// The failure of a handshake: what the caller wanted was not sent.
fn no_handshake(failure: Failure) -> Failure {
    let kind = match failure.kind {
        FailureKind::NoAnswer { cause, why, .. } => FailureKind::NoAnswer {
            delivery: Delivery::NotSent,
            cause,
            why: format!("no handshake: {why}"),
        },
        FailureKind::Answered(error) => FailureKind::NoAnswer {
            delivery: Delivery::NotSent,
            cause: Cause::Start,
            why: format!("no handshake: it answered {error}"),
        },
        refused @ FailureKind::Refused { .. } => refused,
    };
    Failure { kind, ..failure }
}

/// The same with what the server wrote until now.
fn with_noise(inner: &Inner, failure: Failure) -> Failure {
    Failure {
        stderr: inner.transport.stderr(),
        ..no_handshake(failure)
    }
}

/// The failure of something that broke before there was a connection.
fn failed(spec: &ServerSpec, broken: Broken) -> Failure {
    let Broken {
        delivery,
        cause,
        why,
    } = broken;
    let kind = match cause {
        Cause::Credentials => FailureKind::Refused {
            by: Refuser::Credentials,
            why,
        },
        cause => FailureKind::NoAnswer {
            delivery,
            cause,
            why,
        },
    };
    Failure {
        server: spec.label(),
        kind,
        stderr: None,
    }
}
