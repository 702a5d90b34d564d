//! Chores of this repository: `cargo xtask` lists them.
//!
//! `tidy` holds what no compiler holds (the map against the manifests, forgotten tests, stale pages, dead links) and runs
//! as a test too. `generate` writes the reference pages. Nothing here is needed to build or use a product.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore runs cargo, reads the tree and talks to the person who called it"
)]

mod bench;
mod demo;
mod generate;
mod ready;
mod tidy;
mod tree;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;

/// One chore: its name, what it does, and the function that does it.
struct Door {
    name: &'static str,
    what: &'static str,
    open: fn(&[String]) -> anyhow::Result<ExitCode>,
}

const DOORS: &[Door] = &[
    Door {
        name: "tidy",
        what: "check what no compiler checks: the map, the tests, the pages, the links",
        open: tidy::run,
    },
    Door {
        name: "generate",
        what: "write docs/reference/ from what the binary says about itself",
        open: generate::run,
    },
    Door {
        name: "ready",
        what: "run what CI runs; same as `./test`",
        open: ready::run,
    },
    Door {
        name: "demo",
        what: "see both products work, offline and without a key; same as `cargo demo`",
        open: demo::run,
    },
    Door {
        name: "bench",
        what: "run the benchmarks; see bench/README.md",
        open: bench::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(name) = arguments.first() else {
        print!("{}", doors());
        return ExitCode::SUCCESS;
    };
    let Some(door) = DOORS.iter().find(|door| door.name == name) else {
        eprintln!("error: there is no chore `{name}`\n{}", doors());
        return ExitCode::from(5);
    };
    match (door.open)(&arguments[1..]) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the list of chores as shown to a person.
fn doors() -> String {
    let mut text = String::from("usage: cargo xtask CHORE\n\n");
    for door in DOORS {
        text.push_str(&format!("  {:<10}{}\n", door.name, door.what));
    }
    text
}

/// Returns the root of the repository, absolute.
fn root() -> anyhow::Result<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .find(|folder| folder.join("Cargo.lock").is_file())
        .map(PathBuf::from)
        .with_context(|| format!("no Cargo.lock in any folder above {}", here.display()))
}
