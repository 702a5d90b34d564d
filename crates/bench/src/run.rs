//! One run of `cox` against the mock, in a home and a folder of its own, watched from the outside.

use std::{
    fs,
    io::Read as _,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};

use crate::mock::{self, Reply, Request};

/// Longest that one run may take.
const DEADLINE: Duration = Duration::from_secs(120);

/// What one run showed.
pub(crate) struct Run {
    /// When the process was started.
    pub(crate) started: Instant,
    /// The requests in order.
    pub(crate) requests: Vec<Request>,
    /// The most memory that the process itself held, in bytes; 0 where there is no `/proc`.
    pub(crate) peak_bytes: u64,
    /// How long the process lived.
    pub(crate) lived: Duration,
}

/// Runs `cox run -p PROMPT` in `folder`, with a new home, against a server that gives these answers.
///
/// # Errors
///
/// When the run cannot be started, fails, takes too long or sends another number of requests than there are answers.
pub(crate) fn run(
    cox: &Path,
    folder: &Path,
    prompt: &str,
    replies: &[Reply],
) -> anyhow::Result<Run> {
    let home = tempfile::tempdir().context("make a home")?;
    let mock = mock::start(replies.to_vec())?;
    fs::write(
        home.path().join("config.toml"),
        format!(
            "[core]\nprovider = \"mock\"\n\n[providers.mock]\nbase_url = \"http://127.0.0.1:{}/v1\"\napi = \"chat\"\n\
             model = \"mock\"\ncontext_window = 200000\n",
            mock.port
        ),
    )
    .context("write the configuration")?;

    let mut command = Command::new(cox);
    command
        .args([
            "run",
            "--prompt",
            prompt,
            "--allowed-tools",
            "Bash(echo hi),Edit",
        ])
        .arg("--home")
        .arg(home.path())
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.path())
        .env("LANG", "C.UTF-8")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let started = Instant::now();
    let mut child = command
        .spawn()
        .with_context(|| format!("start {}", cox.display()))?;
    let peak_bytes = watch(&mut child, started)?;
    let lived = started.elapsed();

    let status = child.wait().context("wait for cox")?;
    if !status.success() {
        bail!("cox ended with {status}:\n{}", said(&mut child));
    }
    let requests: Vec<Request> = mock.requests.try_iter().collect();
    if requests.len() != replies.len() {
        bail!(
            "cox sent {} requests, {} were expected:\n{}",
            requests.len(),
            replies.len(),
            said(&mut child)
        );
    }
    Ok(Run {
        started,
        requests,
        peak_bytes,
        lived,
    })
}

/// Waits for the end of a process and returns its peak memory.
///
/// The kernel keeps the high-water mark itself, so reading it now and then misses only what grows in the last instant.
fn watch(child: &mut Child, started: Instant) -> anyhow::Result<u64> {
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        peak = peak.max(high_water(&status_file).unwrap_or(0));
        if child.try_wait().context("look after cox")?.is_some() {
            return Ok(peak);
        }
        if started.elapsed() > DEADLINE {
            child.kill().context("end cox")?;
            bail!("cox did not end within {DEADLINE:?}");
        }
        thread::sleep(Duration::from_micros(500));
    }
}

fn high_water(status_file: &str) -> Option<u64> {
    let text = fs::read_to_string(status_file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kib| kib * 1024)
}

/// Returns what the process printed on stderr, its end if it is long.
fn said(child: &mut Child) -> String {
    let mut bytes = Vec::new();
    if let Some(stderr) = child.stderr.as_mut()
        && let Err(error) = stderr.read_to_end(&mut bytes)
    {
        return format!("(its stderr could not be read: {error})");
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// Starts a program, waits for its end and returns how long it lived, in milliseconds.
pub(crate) fn time(program: &Path, arguments: &[&str]) -> anyhow::Result<f64> {
    let started = Instant::now();
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("start {}", program.display()))?;
    let lived = milliseconds(started.elapsed());
    if !status.success() {
        bail!("{} ended with {status}", program.display());
    }
    Ok(lived)
}

/// Returns a duration in milliseconds.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
