//! What the hub costs: a call through it against the same call without it, a command as a whole process, memory.
//!
//! `hub_cost BINARY [ROUNDS]` starts a daemon of its own in a temporary folder, with the demo server behind it and, when it
//! is installed, the official `server-everything`; `bench/README.md` says how to read what it prints. Peers that are
//! installed under `.peers/hubs` take part.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program for measurements: it starts what it compares"
)]

#[path = "hub_cost/calls.rs"]
mod calls;
#[path = "hub_cost/hub.rs"]
mod hub;
#[path = "hub_cost/memory.rs"]
mod memory;
#[path = "hub_cost/peers.rs"]
mod peers;
#[path = "hub_cost/processes.rs"]
mod processes;

use std::path::PathBuf;

use crate::hub::Hub;

#[tokio::main]
async fn main() {
    // The clients are built with TLS even when it is not used.
    drop(rustls::crypto::ring::default_provider().install_default());
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(binary) = args.first().map(PathBuf::from) else {
        println!("expected the path of `mcpx`, and perhaps a number of rounds");
        return;
    };
    let rounds = args.get(1).map_or(5, |rounds| rounds.parse().unwrap());
    let binary = binary.canonicalize().unwrap();
    let hub = Hub::start(&binary).await;
    memory::print(&hub).await;
    calls::print(&hub, rounds).await;
    processes::print(&hub, rounds);
    peers::print(&hub, rounds).await;
    hub.stop();
}
