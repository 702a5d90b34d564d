//! The relay between a client over standard streams and the daemon, which outlives the daemon.
//!
//! Messages pass as they were spelled. Of each only as much is looked at as it takes to go on when the daemon is gone: which
//! requests are open, what the handshake said, what is watched. When the connection breaks, another one is opened: what
//! provably never reached the daemon goes there; of what did, reads are asked again and calls are answered with an error
//! that says what is known. No call is made twice, and no request is left without an answer.
//!
//! Reading order: `glance` what is looked at, `ledger` what is open, `session` what the client and the daemon agreed on,
//! `relay` the streams, `way` to the daemon, `pace` how often.

mod glance;
mod ledger;
mod pace;
mod relay;
mod session;
#[cfg(test)]
mod tests;
mod way;

use std::time::Duration;

pub(crate) use relay::relay;
pub(crate) use way::ToDaemon;

/// What the relay is told.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// Bytes of one message of the client.
    pub(crate) message: usize,
    /// Time for open work when the client has said its last.
    pub(crate) drain: Duration,
    /// Tools that only read: calling one again does no harm.
    pub(crate) reads: Vec<&'static str>,
}
