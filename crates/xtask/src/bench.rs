//! `cargo xtask bench`: builds the release binaries, then runs the harness with the arguments given.

use std::process::{Command, ExitCode};

use anyhow::Context as _;

/// Builds `cox`, its search example and `bench` for release, then runs `bench` with the arguments given.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let root = crate::root()?;
    let built = Command::new("cargo")
        .args([
            "build",
            "--release",
            "--package",
            "cox",
            "--package",
            "bench",
        ])
        .current_dir(&root)
        .status()
        .context("start cargo")?;
    if !built.success() {
        return Ok(ExitCode::FAILURE);
    }
    let ran = Command::new(root.join("target/release/bench"))
        .args(arguments)
        .current_dir(&root)
        .status()
        .context("start target/release/bench")?;
    Ok(if ran.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
