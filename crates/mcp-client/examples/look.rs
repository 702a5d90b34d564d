//! Connects to a program and prints what it is: `cargo run -p mcp-client --example look -- PROGRAM ARGS…`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example")]

use mcp_client::{CallOptions, Reach, ServerSpec, connect};

#[tokio::main]
async fn main() {
    let mut args = std::env::args_os().skip(1);
    let program = child_process::Program::new(args.next().unwrap())
        .args(args)
        .env(child_process::Env::allowlisted(
            &std::env::vars_os().collect(),
        ));
    let spec = ServerSpec::new(
        "look",
        Reach::Stdio(program),
        mcp_wire::Implementation::new("look", "0"),
    );
    let began = std::time::Instant::now();
    match connect(spec, None).await {
        Err(failure) => println!("{failure}"),
        Ok(connection) => {
            println!(
                "{:?} {:?} {:?}",
                began.elapsed(),
                connection.verdict(),
                connection.agreed()
            );
            let tools = connection.tools(&CallOptions::default()).await.unwrap();
            for tool in &tools.elements {
                println!("{} {:?}", tool.name, tool.hints());
            }
            println!("{:?} left {:?}", tools.set_aside, connection.close().await);
        }
    }
}
