//! Much output costs no memory.

use std::{fs, time::Duration};

use child_process::Exit;

use crate::world::{is_alone, limits, shell};

/// Returns the largest memory this process has used so far, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_gigabyte_passes_through_in_bounded_memory() {
    if !is_alone("output::a_gigabyte_passes_through_in_bounded_memory") {
        return;
    }
    let before = peak();
    let mut bytes = 0_u64;
    let ended = shell("head -c 1073741824 /dev/zero")
        .run(
            limits(Duration::from_secs(60)),
            std::future::pending(),
            &mut |_, chunk| {
                bytes += chunk.len() as u64;
            },
        )
        .await
        .unwrap();
    assert_eq!((ended.exit, bytes), (Exit::Code(0), 1 << 30));
    let grown = peak() - before;
    assert!(grown < 8 * 1024, "memory grew by {grown} KiB");
}
