//! Commands as whole processes: a call while the daemon runs, one that has to start it, the list.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::calls::median;
use crate::hub::Hub;

/// How often each is run in a round.
const RUNS: usize = 9;

/// Measures and prints.
pub(crate) fn print(hub: &Hub, rounds: usize) {
    let call = ["call", "demo.echo", "message=hi"];
    let mut rows: Vec<(&str, Vec<f64>)> = vec![
        ("/bin/true", Vec::new()),
        ("mcpx --version", Vec::new()),
        ("mcpx call, warm", Vec::new()),
        ("mcpx ls, from the cache", Vec::new()),
        (
            "mcpx call, cold: starts the daemon and the server",
            Vec::new(),
        ),
    ];
    for _ in 0..rounds * RUNS {
        rows[0].1.push(timed(&mut Command::new("/bin/true")));
        rows[1].1.push(timed(&mut hub.command(&["--version"])));
        rows[2].1.push(timed(&mut hub.command(&call)));
        rows[3].1.push(timed(&mut hub.command(&["ls"])));
    }
    let cold = tempfile::tempdir().unwrap();
    for _ in 0..RUNS {
        let state = cold.path().join("state");
        let with = |args: &[&str]| {
            let mut command = hub.command(args);
            command.env("MCPX_STATE_DIR", &state);
            command
        };
        rows[4].1.push(timed(&mut with(&call)));
        assert!(
            with(&["stop"])
                .stderr(Stdio::null())
                .status()
                .unwrap()
                .success()
        );
    }
    println!("\n| process | median ms | fastest ms | runs |");
    println!("|---|---|---|---|");
    for (name, times) in &rows {
        let fastest = times.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "| {name} | {:.1} | {fastest:.1} | {} |",
            median(times, |time| *time),
            times.len()
        );
    }
}

/// Milliseconds of a whole process.
pub(crate) fn timed(command: &mut Command) -> f64 {
    let began = Instant::now();
    let ended = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let took = began.elapsed();
    assert!(ended.unwrap().success(), "{command:?}");
    took.as_secs_f64() * 1e3
}
