//! What the sandbox adds to the start of a command: `/bin/true` bare and under each backend that works here, in turns.
//!
//! `cargo run --release -p sandbox --example start_cost [RUNS]`. Prints the median of each, and how much it is more than
//! bare. `bench/README.md` says how to read it.
#![allow(clippy::print_stdout, reason = "a program for measurements")]

use std::path::Path;
use std::time::{Duration, Instant};

use child_process::{Program, run_briefly};
use sandbox::{Backend, Choice, Detected, Mode, Policy, detect};

type Failed = Box<dyn std::error::Error>;
/// A name, the backend (none: bare), and the times.
type Way = (&'static str, Option<Detected>, Vec<Duration>);

fn main() -> Result<(), Failed> {
    let runs: u32 = std::env::args()
        .nth(1)
        .map_or(Ok(200), |runs| runs.parse())?;
    let folder = tempfile::tempdir()?;
    let policy = Policy {
        mode: Mode::WorkspaceWrite,
        writable: vec![folder.path().to_owned()],
        read_only_within: sandbox::default_read_only(folder.path()),
        hidden: Vec::new(),
        network: false,
    };
    let mut ways = ways()?;
    // The first round fills the system's caches.
    for round in 0..=runs {
        for (_, detected, times) in &mut ways {
            let time = once(detected.as_ref(), &policy, folder.path())?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    report(&mut ways);
    Ok(())
}

fn ways() -> Result<Vec<Way>, Failed> {
    let this = std::env::current_exe()?;
    let target = this.parent().and_then(Path::parent);
    let helper = target
        .map(|target| target.join("sandbox-helper"))
        .filter(|helper| helper.exists());
    let helper = helper.ok_or("build the helper first: cargo build --release -p sandbox")?;
    let mut ways: Vec<Way> = vec![("bare", None, Vec::new())];
    let backends = [
        ("bubblewrap", Choice::Bwrap),
        ("namespaces", Choice::Namespaces),
        ("landlock", Choice::Landlock),
    ];
    for (name, choice) in backends {
        let detected = detect(choice, &helper);
        match detected.backend {
            Backend::None => println!("{name}: {}", detected.why),
            _ => ways.push((name, Some(detected), Vec::new())),
        }
    }
    Ok(ways)
}

fn once(detected: Option<&Detected>, policy: &Policy, folder: &Path) -> Result<Duration, Failed> {
    let began = Instant::now();
    let mut program = Program::new("/bin/true").cwd(folder);
    if let Some(detected) = detected {
        program = program.wrap(sandbox::wrap(detected, policy, folder)?);
    }
    let ended = run_briefly(&program, Duration::from_secs(20))?;
    let took = began.elapsed();
    if ended.code == Some(0) {
        Ok(took)
    } else {
        Err(format!("/bin/true ended with {:?}", ended.code).into())
    }
}

fn report(ways: &mut [Way]) {
    let mut bare = 0.0;
    for (name, detected, times) in ways {
        times.sort_unstable();
        let at = |part: usize| {
            times
                .get(times.len() * part / 100)
                .map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        let (median, slow) = (at(50), at(95));
        if detected.is_none() {
            bare = median;
        }
        println!(
            "{name:12} {median:7.2} ms median, {slow:7.2} ms at 95 %, {:+7.2} ms over bare",
            median - bare
        );
    }
}
