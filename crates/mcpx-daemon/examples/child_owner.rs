//! The smallest daemon that owns children, for tests that kill it: `child_owner STATE_DIR NONCE SAID LINE` takes hold of
//! its children in a state directory, runs a line of shell as a server would be run, writes the guardian's process id to
//! the file `SAID`, and waits. `child_owner guard` is its guardian.
#![allow(clippy::disallowed_methods, reason = "the file here is the tests' own")]

use std::{error::Error, fs, process::ExitCode};

use child_process::{Env, Program, Stdin};
use mcpx_daemon::lifecycle::{
    children::Children,
    guard::{self, GuardCommand},
};
use mcpx_store::StateDir;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [word] if word == guard::WORD => Ok(ExitCode::from(guard::run())),
        [state, nonce, said, line] => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(own(state, nonce, said, line))?;
            Ok(ExitCode::SUCCESS)
        }
        _ => Ok(ExitCode::from(2)),
    }
}

async fn own(state: &str, nonce: &str, said: &str, line: &str) -> Result<(), Box<dyn Error>> {
    let guard = GuardCommand {
        program: std::env::current_exe()?,
        args: vec![guard::WORD.into()],
    };
    let now = jiff::Timestamp::UNIX_EPOCH;
    let begun = Children::begin(StateDir::open(state)?, nonce.to_owned(), guard, now).await?;
    let env = Env::empty().set("PATH", "/usr/local/bin:/usr/bin:/bin");
    let program = Program::new("/bin/sh").args(["-c", line]).env(env);
    let program = program.stdin(Stdin::Pipe).mark(begun.children.mark());
    let mut running = program.start().await?;
    let guardian = begun.children.guardian().unwrap_or_default();
    fs::write(format!("{said}.new"), guardian.to_string())?;
    fs::rename(format!("{said}.new"), said)?;
    running.wait().await?;
    std::future::pending::<()>().await;
    Ok(())
}
