//! What the helper is told to do to itself, and the doing of it in the one order that works.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{landlock, mounts, seccomp, warden};
use crate::view::View;

/// What the helper does to itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spec {
    /// Namespaces and mounts of its own; none where bubblewrap has made them or the kernel forbids them.
    pub(crate) mounts: Option<Mounts>,
    /// The Landlock rules; none leaves the file system to the mounts.
    pub(crate) fence: Option<Fence>,
    /// Which sockets may be opened.
    pub(crate) sockets: Sockets,
    /// Most processes and threads at a time, where the command's are counted apart from its user's others.
    pub(crate) max_processes: Option<u64>,
    /// Links that bubblewrap cannot mount over: the helper does, in namespaces inside its.
    pub(crate) links: Vec<PathBuf>,
    /// What the helper does that stays beside the command.
    pub(crate) warden: warden::Duty,
}

/// Most processes and threads of a command.
pub(crate) const MAX_PROCESSES: u64 = child_process::MAX_PROCESSES;

/// Namespaces and mounts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mounts {
    /// The file system.
    pub(crate) view: View,
    /// Whether the command gets a network of its own, with nothing but a loopback.
    pub(crate) own_network: bool,
    /// Whether it gets a process table of its own.
    pub(crate) own_proc: bool,
}

/// Landlock rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fence {
    /// Folders and files that may be written.
    pub(crate) writable: Vec<PathBuf>,
    /// Folders and files whose content may not be read.
    pub(crate) hidden: Vec<PathBuf>,
    /// Devices besides the usual ones that may be used.
    pub(crate) devices: Vec<PathBuf>,
}

/// Which sockets may be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sockets {
    /// IPv4 and IPv6.
    pub(crate) internet: bool,
    /// Unix sockets by name. Pairs are always allowed.
    pub(crate) unix: bool,
}

/// Confines this process; every step that was asked for has been done when this returns without an error.
pub(crate) fn confine_self(spec: &str) -> Result<(), String> {
    let spec: Spec =
        serde_json::from_str(spec).map_err(|error| format!("the spec cannot be read: {error}"))?;
    // Mounting needs capabilities, which the next steps take away; Landlock forbids mounting; seccomp forbids both.
    match &spec.mounts {
        Some(mounts) if mounts.own_proc => {
            // The first process of a process namespace is a child of the one that made it, and the command's warden.
            mounts::separate(mounts.own_network, true)?;
            warden::stay_outside()?;
            mounts::enter(&mounts.view, true)?;
            warden::split(spec.warden)?;
            mounts::be_oneself()?;
        }
        Some(mounts) => {
            warden::split(spec.warden)?;
            mounts::separate(mounts.own_network, false)?;
            mounts::enter(&mounts.view, false)?;
            mounts::be_oneself()?;
        }
        None => {
            warden::split(spec.warden)?;
            mounts::guard(&spec.links)?;
        }
    }
    rustix::thread::set_no_new_privs(true)
        .map_err(|error| format!("cannot give up new privileges: {error}"))?;
    if let Some(max) = spec.max_processes {
        cap_processes(max)?;
    }
    landlock::restrict(spec.fence.as_ref())?;
    mounts::drop_capabilities()?;
    seccomp::apply(spec.sockets, spec.warden.sight == warden::Sight::Machine)
}

/// Caps processes and threads. The kernel does not hold the real root to it.
fn cap_processes(max: u64) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nproc);
    let lower = |limit: Option<u64>| Some(limit.map_or(max, |limit| limit.min(max)));
    let capped = Rlimit {
        current: lower(now.current),
        maximum: lower(now.maximum),
    };
    setrlimit(Resource::Nproc, capped).map_err(|error| format!("cannot cap processes: {error}"))
}
