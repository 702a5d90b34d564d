//! What a call costs: this client, the official Rust, TypeScript and Python SDKs, on the same servers, in turns.
//!
//! `calls [ROUNDS]` measures and prints a table; `bench/README.md` says how to read it. It starts itself as
//! `calls one CLIENT CALLERS CALLS TOOL ARGUMENTS PROGRAM-OR-URL ARGS…`, where CLIENT is `ours` or `rmcp`, and the programs
//! in `bench/mcp` for the others; each prints one JSON document with microseconds and calls per second.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program for measurements: it starts the clients it compares"
)]

#[path = "calls/compare.rs"]
mod compare;
#[path = "calls/one.rs"]
mod one;

#[tokio::main]
async fn main() {
    // The clients are built with TLS even when it is not used.
    drop(rustls::crypto::ring::default_provider().install_default());
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [
            "one",
            client,
            callers,
            calls,
            tool,
            arguments,
            server,
            ref rest @ ..,
        ] => {
            let (callers, calls) = (callers.parse().unwrap(), calls.parse().unwrap());
            let call = one::Call {
                tool: tool.to_owned(),
                arguments: arguments.to_owned(),
            };
            let told = one::measure(client, callers, calls, call, server, rest).await;
            println!("{told}");
        }
        [] => compare::run(3),
        [rounds] => compare::run(rounds.parse().unwrap()),
        _ => println!("expected nothing, a number of rounds, or `one …`"),
    }
}
