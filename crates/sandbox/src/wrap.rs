//! From a policy to the argv prefix that holds a command to it.

use std::path::{Path, PathBuf};

use child_process::Wrap;

use crate::{Backend, Detected, Mode, Policy};

/// A policy that cannot be held here. The command must not run.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// No backend works.
    #[error(
        "the sandbox mode is `{mode}` but nothing on this machine can hold a command to it: {why}\nhint: {hint}"
    )]
    NoBackend {
        /// The mode that was asked for.
        mode: &'static str,
        /// What is missing.
        why: String,
        /// What to do.
        hint: &'static str,
    },
    /// A path of the policy cannot be handed on.
    #[error("the sandbox cannot hold the path `{}`: {problem}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A private folder could not be made.
    #[error("the sandbox could not make its private folder in `/tmp`")]
    Temp(#[source] std::io::Error),
}

/// What a person can do when there is no backend.
const HINT: &str = if cfg!(target_os = "linux") {
    "install bubblewrap (`apt install bubblewrap`, `dnf install bubblewrap`), or run without a sandbox: `--sandbox danger-full-access`"
} else {
    "run without a sandbox: `--sandbox danger-full-access`"
};

/// Returns what a command that starts in `cwd` is wrapped in; none only for `danger-full-access`.
///
/// The view of the file system is taken now: call it for each command.
///
/// # Errors
///
/// [`Refused`] when the policy cannot be held: then the command must not run.
pub fn wrap(detected: &Detected, policy: &Policy, cwd: &Path) -> Result<Option<Wrap>, Refused> {
    #[cfg(not(target_os = "linux"))]
    let _ = cwd;
    if policy.mode == Mode::DangerFullAccess {
        return Ok(None);
    }
    match &detected.backend {
        #[cfg(target_os = "linux")]
        Backend::Bubblewrap { path } => {
            crate::linux::bwrap::wrap(path, detected, policy, cwd).map(Some)
        }
        #[cfg(target_os = "linux")]
        Backend::Landlock { .. } => crate::linux::landlock::wrap(detected, policy, cwd).map(Some),
        Backend::Seatbelt => Ok(Some(crate::macos::wrap(policy))),
        _ => Err(Refused::NoBackend {
            mode: policy.mode.as_str(),
            why: detected.why.clone(),
            hint: HINT,
        }),
    }
}
