//! The smallest binary that can be a guardian: what a hidden subcommand does.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(child_process::guard::run())
}
