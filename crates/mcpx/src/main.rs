//! The hub's binary: arguments, settings, the connection to the daemon, commands. No logic of its own.

fn main() {}
