//! `cargo demo`: both products do their main job, offline and without a key.

use std::{
    path::{Path, PathBuf},
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
    let built = build(&crate::root()?)?;
    let product = |name: &str| {
        let program = built
            .iter()
            .find(|program| program.file_stem().is_some_and(|stem| stem == name))
            .with_context(|| format!("the build made no `{name}`"))?;
        let mut command = Command::new(program);
        command.stdin(Stdio::null());
        anyhow::Ok(command)
    };

    say("cox: a scripted model repairs a small repository with the real tools");
    let cox = product("cox")?.arg("demo").status();
    anyhow::ensure!(cox.context("cox")?.success(), "`cox demo` failed");

    say("mcpx: a daemon starts the demo server, and one of its tools is called");
    println!("$ mcpx {}", CALL.join(" "));
    let called = product("mcpx")?.args(CALL).status();
    let stopped = product("mcpx")?
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

/// Builds both at once, so that what they share is built once, and says where they are.
fn build(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let built = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["build", "--release", "--locked", "-p", "cox", "-p", "mcpx"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("cargo build")?;
    anyhow::ensure!(built.status.success(), "the build failed");
    let messages = String::from_utf8_lossy(&built.stdout);
    Ok(messages.lines().filter_map(executable).collect())
}

/// The program of one of cargo's messages, when it is about one.
fn executable(message: &str) -> Option<PathBuf> {
    let (_, rest) = message.split_once("\"executable\":\"")?;
    let (path, _) = rest.split_once('"')?;
    Some(PathBuf::from(path.replace("\\\\", "\\")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_what_cargo_says() {
        let made =
            r#"{"reason":"compiler-artifact","executable":"/a/target/release/mcpx","fresh":true}"#;
        assert_eq!(
            executable(made),
            Some(PathBuf::from("/a/target/release/mcpx"))
        );
        assert_eq!(
            executable(r#"{"reason":"compiler-artifact","executable":null}"#),
            None
        );
    }
}
