//! Many calls from many callers: each has its own outcome, and nothing of them stays in memory.
#![cfg(target_os = "linux")]

use std::sync::Arc;

use mcp_client::{CallOptions, Connection};

use crate::setup::{connected, example, object, program};

const CALLERS: usize = 64;

/// Makes so many calls and returns how many were answered with their own text.
async fn calls(connection: &Arc<Connection>, from: usize, to: usize) -> usize {
    let callers = (0..CALLERS).map(|caller| {
        let connection = Arc::clone(connection);
        tokio::spawn(async move {
            let mut answered = 0;
            for number in (from + caller..to).step_by(CALLERS) {
                let text = format!("{number} {}", "x".repeat(1_000));
                let arguments = object(&format!(r#"{{"text":"{text}"}}"#));
                let result = connection
                    .call_tool("echo", arguments, &CallOptions::default())
                    .await;
                assert_eq!(result.unwrap().joined_text(), text);
                answered += 1;
            }
            answered
        })
    });
    let mut answered = 0;
    for caller in callers.collect::<Vec<_>>() {
        answered += caller.await.unwrap();
    }
    answered
}

/// The memory of this process, in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_calls_of_64_callers_have_one_outcome_each_and_leave_nothing_in_memory() {
    let server = example("rmcp_server").arg("stdio");
    let (connection, _) = connected(program(&server, "load")).await;
    let connection = Arc::new(connection);
    assert_eq!(calls(&connection, 0, 2_000).await, 2_000);
    let early = resident();
    assert_eq!(calls(&connection, 2_000, 10_000).await, 8_000);
    let late = resident();
    // It grows by 300 KiB, which are the allocator's. Half a KiB kept of each call would be 4 MiB.
    assert!(
        late < early + 4_096,
        "{early} KiB after 2,000 calls, {late} KiB after 10,000"
    );
    connection.close().await;
}
