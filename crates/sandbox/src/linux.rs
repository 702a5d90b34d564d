//! Linux: bubblewrap when a probe run works, else Landlock and seccomp with namespaces of our own where they work.

pub(crate) mod bwrap;
pub(crate) mod landlock;

mod mounts;
mod seccomp;
mod spec;
mod warden;

use std::{path::Path, time::Duration};

use child_process::{Program, run_briefly};

pub(crate) use self::spec::confine_self;
use crate::{Choice, Detected};

/// How long a probe may take. One that works takes milliseconds; one that hangs is as good as none.
const PROBE: Duration = Duration::from_secs(5);

/// Finds the backend that works.
pub(crate) fn detect(choice: Choice, helper: &Path) -> Detected {
    let mut missing = String::new();
    if matches!(choice, Choice::Auto | Choice::Bwrap) {
        match bwrap::detect(helper) {
            Ok(detected) => return detected,
            Err(why) if choice == Choice::Bwrap => return Detected::none(why),
            Err(why) => missing = why,
        }
    }
    match landlock::detect(choice, helper) {
        Ok(mut detected) => {
            if !missing.is_empty() {
                detected.why = format!("{missing}; {}", detected.why);
            }
            detected
        }
        Err(why) if missing.is_empty() => Detected::none(why),
        Err(why) => Detected::none(format!("{missing}; {why}")),
    }
}

/// Runs a probe; an error is what it said.
fn probe(program: &Program) -> Result<(), String> {
    let brief = run_briefly(program, PROBE).map_err(|error| {
        let source = std::error::Error::source(&error).map(ToString::to_string);
        format!("{error}: {}", source.unwrap_or_default())
    })?;
    if brief.code == Some(0) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&brief.stderr);
    let said = said
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("it said nothing");
    Err(said.chars().take(200).collect())
}
