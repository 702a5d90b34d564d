//! `cargo xtask ready`: what CI runs, through the same script.

use std::process::{Command, ExitCode};

use anyhow::Context as _;

/// Runs `./test` with the stages given.
pub(crate) fn run(stages: &[String]) -> anyhow::Result<ExitCode> {
    let script = crate::root()?.join("test");
    let status = Command::new(&script)
        .args(stages)
        .status()
        .with_context(|| format!("start {}", script.display()))?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
