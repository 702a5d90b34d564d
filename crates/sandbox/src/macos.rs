//! Seatbelt: a profile in text, and the system's `sandbox-exec` that holds a command to it.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use child_process::Wrap;

use crate::{Backend, Choice, Detected, Mode, Policy, detect::Features};

/// The program that applies a profile. Part of the system; never looked up on `PATH`.
const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Temporary folders that stay writable. A private one per command does not exist here.
const TEMPORARY: [&str; 4] = [
    "/private/tmp",
    "/private/var/tmp",
    "/private/var/folders",
    "/dev",
];

/// Finds `sandbox-exec`.
pub fn detect(_choice: Choice, helper: &Path) -> Detected {
    if !Path::new(PROGRAM).is_file() {
        return Detected::none(format!("`{PROGRAM}` is not there"));
    }
    Detected {
        backend: Backend::Seatbelt,
        why: format!("`{PROGRAM}` is part of this system"),
        helper: helper.to_owned(),
        features: Features::default(),
    }
}

/// Returns what a command is wrapped in.
pub fn wrap(policy: &Policy) -> Wrap {
    Wrap {
        program: PathBuf::from(PROGRAM),
        args: vec!["-p".into(), profile(policy).into(), "--".into()],
        ..Wrap::default()
    }
}

/// Returns the policy as a Seatbelt profile. Later rules win, so the narrow ones stand last.
pub fn profile(policy: &Policy) -> String {
    let mut text = String::from(
        "(version 1)\n\
         (deny default)\n\
         (allow process-exec process-fork process-info* (target same-sandbox))\n\
         (allow process-exec process-fork)\n\
         (allow signal (target same-sandbox))\n\
         (allow sysctl-read)\n\
         (allow mach-lookup)\n\
         (deny mach-lookup (global-name \"com.apple.SecurityServer\") (global-name \"com.apple.securityd.xpc\"))\n\
         (allow ipc-posix-shm ipc-posix-sem)\n\
         (allow pseudo-tty)\n\
         (allow file-read*)\n\
         (allow file-ioctl (regex #\"^/dev/\"))\n",
    );
    let temporary = TEMPORARY.iter().map(PathBuf::from);
    let writable: Vec<PathBuf> = match policy.mode {
        Mode::WorkspaceWrite => temporary.chain(policy.writable.iter().cloned()).collect(),
        Mode::ReadOnly | Mode::DangerFullAccess => temporary.collect(),
    };
    rule(&mut text, "allow file-write*", &writable);
    if policy.mode == Mode::WorkspaceWrite {
        rule(&mut text, "deny file-write*", &policy.read_only_within);
    }
    rule(&mut text, "deny file-read* file-write*", &policy.hidden);
    if policy.network {
        text.push_str("(allow network*)\n(allow system-socket)\n");
        text.push_str(
            "(deny network-outbound (literal \"/var/run/docker.sock\") (literal \"/private/var/run/docker.sock\"))\n",
        );
    }
    text
}

fn rule(text: &mut String, operation: &str, paths: &[PathBuf]) {
    if paths.is_empty() {
        return;
    }
    // Writing to a string cannot fail.
    let _written = write!(text, "({operation}");
    for path in paths {
        let _written = write!(text, "\n  (subpath {})", quoted(path));
    }
    text.push_str(")\n");
}

/// Returns a path as a string of the profile language.
fn quoted(path: &Path) -> String {
    let mut quoted = String::from("\"");
    for character in path.to_string_lossy().chars() {
        if matches!(character, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::profile;
    use crate::{Mode, Policy};

    fn policy(mode: Mode) -> Policy {
        Policy {
            mode,
            writable: vec![PathBuf::from("/Users/a/work")],
            read_only_within: vec![PathBuf::from("/Users/a/work/.git")],
            hidden: vec![PathBuf::from("/Users/a/.ssh"), PathBuf::from("/odd\"name")],
            network: false,
        }
    }

    /// Returns the rules after the fixed beginning.
    fn tail(policy: &Policy) -> String {
        let profile = profile(policy);
        let (_, tail) = profile
            .split_once("\"^/dev/\"))\n")
            .expect("the fixed beginning");
        tail.to_owned()
    }

    const TEMPORARY: &str = "(allow file-write*\n  (subpath \"/private/tmp\")\n  (subpath \"/private/var/tmp\")\n  \
                             (subpath \"/private/var/folders\")\n  (subpath \"/dev\")";
    const HIDDEN: &str = "(deny file-read* file-write*\n  (subpath \"/Users/a/.ssh\")\n  (subpath \"/odd\\\"name\"))\n";

    #[test]
    fn narrow_rules_stand_after_wide_ones() {
        let expect = format!(
            "{TEMPORARY}\n  (subpath \"/Users/a/work\"))\n(deny file-write*\n  (subpath \"/Users/a/work/.git\"))\n{HIDDEN}"
        );
        assert_eq!(tail(&policy(Mode::WorkspaceWrite)), expect);
    }

    #[test]
    fn read_only_writes_temporary_folders_alone() {
        assert_eq!(
            tail(&policy(Mode::ReadOnly)),
            format!("{TEMPORARY})\n{HIDDEN}")
        );
    }

    #[test]
    fn the_network_is_a_rule_of_its_own() {
        let open = Policy {
            network: true,
            ..policy(Mode::ReadOnly)
        };
        assert!(tail(&open).contains("(allow network*)"));
    }
}
