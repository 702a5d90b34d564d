//! Measures what is quoted: start, memory, prefix, search, changes of files, size; each beside a baseline of the same run.
//!
//! Absolute times on a shared machine are good to about half of themselves, so every figure that is a time comes with a
//! baseline measured in turns with it, and the ratio is what to compare. It measures the binary that users run, from the
//! outside. It asserts nothing: a figure over its target is marked, and the exit code stays 0.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a harness starts programs, makes folders and prints a table"
)]

mod figure;
mod files;
mod mock;
mod report;
mod run;
mod search;
mod size;
mod start;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};

use crate::figure::Figure;

const USAGE: &str = "\
usage: bench [WHAT…] [--runs N] [--files N] [--cox PATH] [--json]

  start    process start to the first byte of the first request; peak memory of a run of two requests and one command
  version  `cox --version`
  prefix   size of the first request: system texts and tools
  search   the `grep` tool over a generated tree, in turns with ripgrep
  files    `edit` and `apply_patch`, in turns with plain reads and writes of the same files
  size     size of the binary

Without WHAT: all of them.
  --runs N    runs of each (default 15; files 7; search 5)
  --files N   files of the generated tree (default 200000)
  --cox PATH  the binary (default target/release/cox)
  --json      one JSON document instead of the table
";

/// What to measure and how often.
struct Config {
    what: Vec<String>,
    runs: Option<usize>,
    files: usize,
    cox: PathBuf,
    json: bool,
}

const ALL: &[&str] = &["start", "version", "prefix", "search", "files", "size"];

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> anyhow::Result<()> {
    let Some(config) = read_arguments(std::env::args().skip(1))? else {
        print!("{USAGE}");
        return Ok(());
    };
    if !config.cox.is_file() {
        bail!(
            "{} is not there\nhint: cargo build --release -p cox",
            config.cox.display()
        );
    }
    let mut figures: Vec<Figure> = Vec::new();
    for what in &config.what {
        eprintln!("measuring {what}");
        let measured = match what.as_str() {
            "start" => start::first_request(&config.cox, config.runs.unwrap_or(15)),
            "version" => start::version(&config.cox, config.runs.unwrap_or(15)),
            "prefix" => size::prefix(&config.cox),
            "search" => {
                search::against_ripgrep(&config.cox, config.files, config.runs.unwrap_or(5))
            }
            "files" => files::against_plain_writes(&config.cox, config.runs.unwrap_or(7)),
            "size" => size::binary(&config.cox),
            other => bail!("there is no measurement `{other}`\n{USAGE}"),
        };
        figures.extend(measured.with_context(|| format!("measure {what}"))?);
    }
    if config.json {
        println!("{}", report::json(&figures));
    } else {
        print!("{}", report::table(&figures));
    }
    Ok(())
}

/// Returns what was asked for; none for `--help`.
fn read_arguments(arguments: impl Iterator<Item = String>) -> anyhow::Result<Option<Config>> {
    let mut config = Config {
        what: Vec::new(),
        runs: None,
        files: 200_000,
        cox: PathBuf::from("target/release/cox"),
        json: false,
    };
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .with_context(|| format!("`{argument}` needs a value\n{USAGE}"))
        };
        match argument.as_str() {
            "-h" | "--help" => return Ok(None),
            "--runs" => {
                config.runs = Some(value()?.parse().context("`--runs` takes a whole number")?);
            }
            "--files" => {
                config.files = value()?.parse().context("`--files` takes a whole number")?;
            }
            "--cox" => config.cox = PathBuf::from(value()?),
            "--json" => config.json = true,
            what if ALL.contains(&what) => config.what.push(what.to_owned()),
            other => bail!("`{other}` is neither a measurement nor a flag\n{USAGE}"),
        }
    }
    if config.runs == Some(0) {
        bail!("`--runs 0` measures nothing");
    }
    if config.what.is_empty() {
        config.what = ALL.iter().map(|&what| what.to_owned()).collect();
    }
    config.cox = std::path::absolute(&config.cox).context("make the path of cox absolute")?;
    Ok(Some(config))
}
