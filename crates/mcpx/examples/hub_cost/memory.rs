//! Memory of the daemon: with nothing running, and for each server that is added.

use mcp_wire::Object;
use mcpx_api::{Op, operation};

use crate::hub::Hub;

/// Measures and prints.
pub(crate) async fn print(hub: &Hub) {
    println!("| daemon | RSS kB | of it private kB |");
    println!("|---|---|---|");
    row(hub, "idle, no server was read or started");
    let client = hub.over_unix();
    let call = Object::new()
        .with("tool", "demo.echo")
        .with("args", Object::new().with("message", "hi"));
    client.send(operation(Op::Call), &call).await.unwrap();
    row(hub, "one server runs");
    if hub.has_everything {
        let call = Object::new()
            .with("tool", "everything.echo")
            .with("args", Object::new().with("message", "hi"));
        client.send(operation(Op::Call), &call).await.unwrap();
        row(hub, "two servers run");
    }
    let status = hub.status().await;
    println!(
        "\n{} servers, {} instances",
        status.servers.len(),
        status
            .servers
            .iter()
            .map(|one| one.instances.len())
            .sum::<usize>()
    );
}

fn row(hub: &Hub, what: &str) {
    let smaps = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", hub.record.pid)).unwrap();
    let of = |name: &str| -> u64 {
        smaps
            .lines()
            .filter(|line| line.starts_with(name))
            .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
            .sum()
    };
    println!("| {what} | {} | {} |", of("Rss:"), of("Private_"));
}
