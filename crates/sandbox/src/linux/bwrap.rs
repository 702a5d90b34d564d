//! Bubblewrap: the file system, processes and network by namespaces; the helper adds seccomp inside.

use std::{
    ffi::OsString,
    fs::File,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::fs::PermissionsExt,
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use child_process::{Env, Program, Wrap, find_program};

use super::{
    probe,
    spec::{MAX_PROCESSES, Sockets, Spec},
    warden::{Duty, Sight},
};
use crate::{
    Backend, Detected, Policy, Refused,
    detect::Features,
    helper,
    mountpoint::MountPoint,
    view::{Place, View},
};

/// Where the program is looked for. Never on `PATH`: a folder on it may be writable.
const FOLDERS: [&str; 5] = [
    "/usr/bin",
    "/bin",
    "/usr/local/bin",
    "/run/current-system/sw/bin",
    "/run/wrappers/bin",
];

/// Most files that are hidden as unreadable; what is beyond is shown empty, because each costs a descriptor.
const MAX_UNREADABLE: usize = 64;

/// Finds bubblewrap and the most it can do here.
pub(super) fn detect(helper: &Path) -> Result<Detected, String> {
    let Some(path) = find_program("bwrap", FOLDERS) else {
        return Err("bubblewrap (`bwrap`) is not installed".to_owned());
    };
    let mut first_problem = None;
    for case in 0_u8..8 {
        // What the last bits leave out is missed least.
        let [own_links, own_network, own_proc] = [1, 2, 4].map(|bit| case & bit == 0);
        let features = Features {
            own_network,
            own_proc,
            own_mounts: true,
            own_links,
        };
        let probed = probe_args(features, helper).map_err(|error| error.to_string());
        let probed = probed
            .and_then(|args| probe(&Program::new(&path).args(args).env(Env::empty()).cwd("/")));
        match probed {
            Ok(()) => {
                let limits = match (own_network, own_proc) {
                    (true, true) => String::new(),
                    (false, _) => {
                        " without a network of its own; seccomp refuses sockets".to_owned()
                    }
                    (true, false) => " without a process table of its own".to_owned(),
                };
                return Ok(Detected {
                    why: format!("a trial run of `{}` worked{limits}", path.display()),
                    backend: Backend::Bubblewrap { path },
                    helper: helper.to_owned(),
                    features,
                });
            }
            Err(problem) => {
                first_problem.get_or_insert(problem);
            }
        }
    }
    Err(format!(
        "`{}` does not work here: {}",
        path.display(),
        first_problem.unwrap_or_default()
    ))
}

/// A link that the probe keeps, to see whether that works.
const PROBE_LINK: &str = "/tmp/link";

/// Returns the arguments of a run that does nothing, with everything that `features` ask for.
fn probe_args(features: Features, helper: &Path) -> Result<Vec<OsString>, Refused> {
    let mut args = namespaces(features.own_network, features.own_links);
    args.extend(base(features));
    args.extend(["--tmpfs", "/tmp", "--symlink", "/", PROBE_LINK].map(OsString::from));
    // It may lie in the folder that was just made private.
    args.extend(["--ro-bind".into(), helper.into(), helper.into()]);
    let links = features.own_links.then(|| PathBuf::from(PROBE_LINK));
    let spec = spec(
        features,
        features.own_network,
        links.into_iter().collect(),
        None,
    );
    args.push("--".into());
    args.extend(helper_args(helper, &spec)?);
    args.extend(["/bin/sh", "-c", ":"].map(OsString::from));
    Ok(args)
}

/// Returns what the helper does inside.
fn spec(features: Features, internet: bool, links: Vec<PathBuf>, report: Option<RawFd>) -> Spec {
    Spec {
        mounts: None,
        fence: None,
        sockets: Sockets {
            internet,
            unix: true,
        },
        max_processes: Some(MAX_PROCESSES),
        links,
        warden: Duty {
            report,
            sight: if features.own_proc {
                Sight::Namespace
            } else {
                Sight::Blind
            },
        },
    }
}

/// Makes the pipe on which the helper says what a command left behind. Returns the number under which it finds it.
pub(super) fn report_into(wrap: &mut Wrap) -> Option<RawFd> {
    // Without it, what is left behind is ended all the same, and not told.
    let (read, write) = std::io::pipe().ok()?;
    let write: Arc<OwnedFd> = Arc::new(write.into());
    let number = write.as_raw_fd();
    wrap.descriptors.push(write);
    wrap.report = Some(Arc::new(read.into()));
    Some(number)
}

/// Returns the wrap of one command.
pub(crate) fn wrap(
    bwrap: &Path,
    detected: &Detected,
    policy: &Policy,
    cwd: &Path,
) -> Result<Wrap, Refused> {
    let features = detected.features;
    let view = View::new(policy, cwd, &[&detected.helper]);
    let mut wrap = Wrap {
        program: bwrap.to_owned(),
        args: namespaces(
            features.own_network && !policy.network,
            features.own_links && view.of(Place::Link).next().is_some(),
        ),
        env: vec![("TMPDIR".into(), "/tmp".into())],
        // It itself and its first process inside, neither of which passes a signal on.
        generations: 2,
        ..Wrap::default()
    };
    wrap.args.extend(base(features));
    let mut links = Vec::new();
    let mut unreadable = 0;
    for (path, place) in &view.places {
        match place {
            Place::Writable => mount(&mut wrap, &["--bind"], &[path, path]),
            Place::ReadOnly => mount(&mut wrap, &["--ro-bind"], &[path, path]),
            Place::Blocked => {
                match MountPoint::make(path) {
                    Ok(point) => wrap.keep.push(Arc::new(point)),
                    // It has come to exist since the view was taken: it is bound below as it is.
                    Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                    // What we may not make, the command may not make either.
                    Err(_) => continue,
                }
                mount(&mut wrap, &["--ro-bind"], &[path, path]);
            }
            Place::Fresh => mount(&mut wrap, &["--perms", "1777", "--tmpfs"], &[path]),
            Place::HiddenFolder => {
                mount(&mut wrap, &["--perms", "0000", "--tmpfs"], &[path]);
                mount(&mut wrap, &["--remount-ro"], &[path]);
            }
            Place::HiddenPassage => mount(&mut wrap, &["--perms", "0111", "--tmpfs"], &[path]),
            Place::Link if features.own_links => links.push(path.clone()),
            // What it leads to is kept all the same; `Detected::gaps` tells of the link.
            Place::Link => {}
            Place::HiddenFile => {
                unreadable += 1;
                match (unreadable <= MAX_UNREADABLE).then(|| File::open("/dev/null")) {
                    Some(Ok(empty)) => {
                        let empty: Arc<OwnedFd> = Arc::new(empty.into());
                        let number = empty.as_raw_fd().to_string();
                        let options = ["--perms", "0000", "--ro-bind-data", &number];
                        mount(&mut wrap, &options, &[path]);
                        wrap.descriptors.push(empty);
                    }
                    _ => mount(&mut wrap, &["--ro-bind"], &[Path::new("/dev/null"), path]),
                }
            }
        }
    }
    mount(&mut wrap, &["--chdir"], &[cwd]);
    let report = report_into(&mut wrap);
    let internet = features.own_network || policy.network;
    let spec = spec(features, internet, links, report);
    wrap.args.push("--".into());
    wrap.args.extend(helper_args(&detected.helper, &spec)?);
    Ok(wrap)
}

/// Returns the call of the helper, up to the command.
pub(super) fn helper_args(helper: &Path, spec: &Spec) -> Result<Vec<OsString>, Refused> {
    let spec = serde_json::to_string(spec).map_err(|error| Refused::Path {
        path: PathBuf::from("…"),
        problem: format!("{error}; only UTF-8 paths can be handed to the sandbox"),
    })?;
    Ok(vec![
        helper.into(),
        helper::COMMAND.into(),
        spec.into(),
        "--".into(),
    ])
}

/// What is unshared, and what dies with whom.
fn namespaces(own_network: bool, has_links: bool) -> Vec<OsString> {
    let mut args = vec![
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--die-with-parent",
        // Root in a namespace may still unmount what hides things: it gives that up.
        "--cap-drop",
        "ALL",
    ];
    if has_links {
        // Root may name itself in the namespace in which links are mounted only with this; the helper gives it up.
        args.extend(["--cap-add", "CAP_SETFCAP"]);
    }
    if own_network {
        args.push("--unshare-net");
    }
    args.into_iter().map(OsString::from).collect()
}

/// The whole system read-only, and fresh `/dev` and `/proc`.
fn base(features: Features) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["--ro-bind", "/", "/", "--dev", "/dev"]
        .map(OsString::from)
        .to_vec();
    if features.own_proc {
        args.extend(["--proc", "/proc"].map(OsString::from));
        for setting in settings_of_the_kernel() {
            args.extend(["--ro-bind".into(), setting.clone().into(), setting.into()]);
        }
    }
    args
}

/// Returns what root may write in a new `/proc` without any capability, because the files are its own: such as
/// `/proc/sys/kernel/core_pattern`, which names a program that the kernel runs outside.
fn settings_of_the_kernel() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let is_process = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_none_or(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_setting = |path: &Path| {
        path.symlink_metadata().is_ok_and(|metadata| {
            metadata.is_dir() || metadata.is_file() && metadata.permissions().mode() & 0o222 != 0
        })
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .filter(|path| !is_process(path) && is_setting(path))
        .collect()
}

fn mount(wrap: &mut Wrap, options: &[&str], paths: &[&Path]) {
    wrap.args.extend(options.iter().map(OsString::from));
    wrap.args
        .extend(paths.iter().map(|path| path.as_os_str().to_owned()));
}
