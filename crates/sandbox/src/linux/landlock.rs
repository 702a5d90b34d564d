//! Landlock: rights on files that a process gives up for good, for itself and all it starts.
//!
//! Rights add up along the path and cannot be taken away below: what must not be read is left out by granting its
//! neighbours instead, and what must not be written inside a writable folder needs mounts of our own. Where the
//! kernel gives us those ([`super::mounts`]), this is the second lock; where not, [`crate::Detected::gaps`] says what
//! stays open.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use child_process::{Program, Wrap};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::{
    bwrap::{helper_args, report_into},
    probe,
    spec::{Fence, MAX_PROCESSES, Mounts, Sockets, Spec},
    warden::{Duty, Sight},
};
use crate::{
    Backend, Choice, Detected, Mode, Policy, Refused,
    detect::Features,
    mountpoint::MountPoint,
    view::{FRESH, Place, View},
};

/// Devices that every program may write to.
const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// Terminals, where mounts make them the command's own: into those of the machine people type.
const TERMINALS: [&str; 2] = ["/dev/ptmx", "/dev/pts"];

/// Private shared memory, where mounts make it private.
const SHARED_MEMORY: &str = "/dev/shm";

/// Returns the kernel's Landlock version, 0 when it has none.
fn kernel_abi() -> u32 {
    const VERSION: libc::c_ulong = 1;
    // SAFETY: with this flag the call takes no attributes and only returns a number.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            VERSION,
        )
    };
    u32::try_from(answer).unwrap_or(0)
}

/// Finds what the kernel has, by running the helper.
pub(super) fn detect(choice: Choice, helper: &Path) -> Result<Detected, String> {
    let abi = kernel_abi();
    if abi == 0 {
        return Err("this kernel has no Landlock".to_owned());
    }
    let mut why_no_mounts = None;
    let mut last = String::new();
    let with_mounts = [
        (true, true, true),
        (true, false, true),
        (true, true, false),
        (true, false, false),
    ];
    let alone = [(false, false, false)];
    let candidates = match choice {
        Choice::Landlock => alone.to_vec(),
        Choice::Namespaces => with_mounts.to_vec(),
        _ => [with_mounts.as_slice(), &alone].concat(),
    };
    for (own_mounts, own_network, own_proc) in candidates {
        let features = Features {
            own_network,
            own_mounts,
            own_proc,
            own_links: own_mounts,
        };
        let detected = Detected {
            backend: Backend::Landlock { abi },
            why: why(abi, features, why_no_mounts.as_deref()),
            helper: helper.to_owned(),
            features,
        };
        let policy = Policy {
            mode: Mode::ReadOnly,
            ..Policy::default()
        };
        let probed = wrap(&detected, &policy, Path::new("/"))
            .map_err(|error| error.to_string())
            .and_then(|wrap| {
                probe(
                    &Program::new("/bin/sh")
                        .args(["-c", ":"])
                        .cwd("/")
                        .wrap(Some(wrap)),
                )
            });
        match probed {
            Ok(()) => return Ok(detected),
            Err(problem) => {
                if own_mounts {
                    why_no_mounts.get_or_insert_with(|| problem.clone());
                }
                last = problem;
            }
        }
    }
    Err(format!(
        "Landlock (version {abi}) does not work here: {last}"
    ))
}

fn why(abi: u32, features: Features, why_no_mounts: Option<&str>) -> String {
    let version = format!("Landlock (version {abi}) and seccomp work");
    match (features.own_mounts, why_no_mounts) {
        (true, _) => format!("{version}, with mounts of our own"),
        (false, Some(problem)) => {
            format!("{version}; the kernel allows no mounts of our own: {problem}")
        }
        (false, None) => version,
    }
}

/// Returns the wrap of one command.
pub(crate) fn wrap(detected: &Detected, policy: &Policy, cwd: &Path) -> Result<Wrap, Refused> {
    let features = detected.features;
    let mut wrap = Wrap::default();
    let mut view = View::new(policy, cwd, &[&detected.helper]);
    let mut writable: Vec<PathBuf> = view.of(Place::Writable).map(Path::to_owned).collect();
    let (mounts, fence) = if features.own_mounts {
        view.places.retain(|(path, place)| {
            if *place != Place::Blocked {
                return true;
            }
            match MountPoint::make(path) {
                Ok(point) => wrap.keep.push(Arc::new(point)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                // What we may not make, the command may not make either.
                Err(_) => return false,
            }
            true
        });
        writable.extend(FRESH.iter().map(PathBuf::from));
        writable.push(PathBuf::from(SHARED_MEMORY));
        let devices = TERMINALS.map(PathBuf::from).to_vec();
        wrap.env.push(("TMPDIR".into(), "/tmp".into()));
        let own_network = features.own_network && !policy.network;
        (
            Some(Mounts {
                view,
                own_network,
                own_proc: features.own_proc,
            }),
            Fence {
                writable,
                hidden: Vec::new(),
                devices,
            },
        )
    } else {
        let private = tempfile::Builder::new()
            .prefix("cox-private-")
            .tempdir_in("/tmp")
            .map_err(Refused::Temp)?;
        writable.push(private.path().to_owned());
        wrap.env.push(("TMPDIR".into(), private.path().into()));
        wrap.keep.push(Arc::new(private));
        let hidden = policy
            .hidden
            .iter()
            .filter_map(|path| path.canonicalize().ok())
            .collect();
        let devices = Vec::new();
        (
            None,
            Fence {
                writable,
                hidden,
                devices,
            },
        )
    };
    let report = report_into(&mut wrap);
    let sight = if features.own_proc {
        Sight::Namespace
    } else {
        Sight::Machine
    };
    let spec = Spec {
        mounts,
        fence: Some(fence),
        sockets: Sockets {
            internet: features.own_network || policy.network,
            unix: features.own_mounts,
        },
        // Without a user namespace the limit would count everything else that the user runs.
        max_processes: features.own_mounts.then_some(MAX_PROCESSES),
        links: Vec::new(),
        warden: Duty { report, sight },
    };
    let mut args: Vec<OsString> = helper_args(&detected.helper, &spec)?;
    wrap.program = PathBuf::from(args.remove(0));
    wrap.args = args;
    Ok(wrap)
}

/// Restricts this process. Without a fence only what reaches outside is restricted: signals and abstract sockets.
pub(super) fn restrict(fence: Option<&Fence>) -> Result<(), String> {
    let result = match fence {
        Some(fence) => enforce(fence).map(|status| (status, true)),
        None => scope().map(|status| (status, false)),
    };
    match result {
        Ok((RulesetStatus::NotEnforced, true)) => {
            Err("the kernel did not take Landlock rules".to_owned())
        }
        Ok(_) => Ok(()),
        Err(problem) if fence.is_some() => Err(format!("cannot set Landlock rules: {problem}")),
        // Under bubblewrap this is the second lock: namespaces hold signals and, without network, abstract sockets.
        Err(_) => Ok(()),
    }
}

fn scope() -> Result<RulesetStatus, String> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(ABI::V6))
        .and_then(Ruleset::create)
        .map_err(|error| error.to_string())?;
    Ok(ruleset
        .restrict_self()
        .map_err(|error| error.to_string())?
        .ruleset)
}

fn enforce(fence: &Fence) -> Result<RulesetStatus, String> {
    // Everything that the newest kernels know is handled; an older one holds what it can.
    let all = AccessFs::from_all(ABI::V9);
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create)
        .map_err(|error| error.to_string())?;
    // Devices are not made by commands, and no file they make becomes one.
    let change = all & !(AccessFs::MakeBlock | AccessFs::MakeChar | read);
    let files = read & !AccessFs::ReadDir;
    // The devices of the machine stay out of reach: root owns its disks, and a disk has every file on it.
    let mut hidden = fence.hidden.clone();
    hidden.push(PathBuf::from("/dev"));
    ruleset = allow(ruleset, Path::new("/"), AccessFs::ReadDir.into())?;
    ruleset = allow_around(ruleset, Path::new("/"), files, &hidden)?;
    for path in &fence.writable {
        let hides = fence.hidden.iter().any(|hidden| hidden.starts_with(path));
        // A writable folder with something hidden in it lends only its changes; what stands around the hidden is
        // readable by the rules above. A writable folder inside a hidden one is named on purpose, so it is readable.
        let access = if hides { change } else { change | read };
        ruleset = allow(ruleset, path, access)?;
    }
    let devices = DEVICES.iter().map(Path::new);
    for device in devices.chain(fence.devices.iter().map(PathBuf::as_path)) {
        let access = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        ruleset = allow(ruleset, device, access)?;
    }
    Ok(ruleset
        .restrict_self()
        .map_err(|error| error.to_string())?
        .ruleset)
}

/// Grants `access` to everything in `folder` but the hidden paths. A hidden path may be the folder's own.
fn allow_around(
    mut ruleset: RulesetCreated,
    folder: &Path,
    access: BitFlags<AccessFs>,
    hidden: &[PathBuf],
) -> Result<RulesetCreated, String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(ruleset);
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if hidden.contains(&path) || entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            // A link needs no right of its own: rights are looked up where it leads.
            continue;
        }
        ruleset = if hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            allow_around(ruleset, &path, access, hidden)?
        } else {
            allow(ruleset, &path, access)?
        };
    }
    Ok(ruleset)
}

/// Grants `access` below `path`. What cannot be opened is left out: it cannot be read by the command either.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, String> {
    let Ok(descriptor) = PathFd::new(path) else {
        return Ok(ruleset);
    };
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(ABI::V9)
    };
    ruleset
        .add_rule(PathBeneath::new(descriptor, access))
        .map_err(|error| error.to_string())
}
