//! What a mark and a guardian cost: starting `/bin/true` without and with a mark, in turns; one look for a mark; starting
//! a guardian, and what it holds in memory.
//!
//! `cargo build -p child-process --examples && cargo run -p child-process --example mark_cost [RUNS]`. Prints medians.
#![allow(clippy::print_stdout, reason = "a program for measurements")]

use std::{
    fs,
    time::{Duration, Instant},
};

use child_process::{GuardCommand, GuardLimits, Guardian, Mark, Program};

type Failed = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failed> {
    let runs: usize = std::env::args()
        .nth(1)
        .map_or(Ok(200), |runs| runs.parse())?;
    let mark = Mark::new("measurement-0000000000000000")?;
    let program = std::env::current_exe()?.with_file_name("guardian");
    let (mut bare, mut marked) = (Vec::new(), Vec::new());
    let (mut looks, mut guardians) = (Vec::new(), Vec::new());
    let mut memory = String::new();
    for _ in 0..runs {
        bare.push(start(Program::new("/bin/true")).await?);
        marked.push(start(Program::new("/bin/true").mark(mark.clone())).await?);
        let begun = Instant::now();
        mark.find()?;
        looks.push(begun.elapsed());
        let command = GuardCommand {
            program: program.clone(),
            args: Vec::new(),
        };
        let begun = Instant::now();
        let guardian = Guardian::start(command, mark.clone(), GuardLimits::default())?;
        guardians.push(begun.elapsed());
        memory = fs::read_to_string(format!("/proc/{}/status", guardian.id()))?;
        guardian.disarm();
    }
    println!("start without a mark  {:?}", median(bare));
    println!("start with a mark     {:?}", median(marked));
    let processes = fs::read_dir("/proc")?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .count();
    println!(
        "one look              {:?} ({processes} processes)",
        median(looks)
    );
    println!("start of a guardian   {:?}", median(guardians));
    for line in memory.lines().filter(|line| line.contains("Rss")) {
        println!("guardian {line}");
    }
    Ok(())
}

/// Starts a program, waits for its end, and returns how long both took.
async fn start(program: Program) -> Result<Duration, Failed> {
    let begun = Instant::now();
    let mut running = program.start().await?;
    running.wait().await?;
    let took = begun.elapsed();
    running.end(Duration::ZERO).await;
    Ok(took)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
