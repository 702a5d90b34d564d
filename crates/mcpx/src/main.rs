//! The hub's binary: arguments, settings, the connection to the daemon, commands. No logic of its own.

#[allow(
    dead_code,
    reason = "the command that starts it comes with the arguments"
)]
mod demo_server;

fn main() {}
