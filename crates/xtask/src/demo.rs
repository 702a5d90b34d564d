//! `cargo demo`: both products do their main job, offline and without a key.

use std::{
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use anyhow::Context as _;

/// What the hub is asked, after what a person would type.
const CALL: [&str; 4] = ["--demo", "call", "demo.echo", r#"{"message":"hi"}"#];

/// Builds both binaries and runs what each is for.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        arguments.is_empty(),
        "`demo` takes nothing, received `{}`",
        arguments.join(" ")
    );
    let root = crate::root()?;
    let build = ["build", "--release", "--locked", "-p", "cox", "-p", "mcpx"];
    anyhow::ensure!(
        cargo(&root).args(build).status()?.success(),
        "the build failed"
    );

    say("cox: a scripted model repairs a small repository with the real tools");
    let cox = product(&root, "cox").arg("demo").status();
    anyhow::ensure!(cox.context("cox")?.success(), "`cox demo` failed");

    say("mcpx: a daemon starts the demo server, and one of its tools is called");
    println!("$ mcpx {}", CALL.join(" "));
    let called = product(&root, "mcpx").args(CALL).status();
    let stopped = product(&root, "mcpx")
        .args(["--demo", "stop"])
        .stderr(Stdio::null())
        .status();
    anyhow::ensure!(called.context("mcpx")?.success(), "`mcpx call` failed");
    anyhow::ensure!(stopped?.success(), "the daemon could not be stopped");
    Ok(ExitCode::SUCCESS)
}

fn say(text: &str) {
    println!("\n== {text}\n");
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root);
    command
}

/// A product of the release build, through cargo: it knows where it put it.
fn product(root: &Path, name: &str) -> Command {
    let mut command = cargo(root);
    command
        .args(["run", "--quiet", "--release", "--locked", "-p", name, "--"])
        .stdin(Stdio::null());
    command
}
