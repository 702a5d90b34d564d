//! Bubblewrap: the file system, processes and network by namespaces; the helper adds seccomp inside.

use std::{
    ffi::OsString,
    fs::File,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
    sync::Arc,
};

use child_process::{Env, Program, Wrap, find_program};

use super::{
    probe,
    spec::{MAX_PROCESSES, Sockets, Spec},
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
    for (own_network, own_proc) in [(true, true), (false, true), (true, false), (false, false)] {
        let features = Features {
            own_network,
            own_proc,
            own_mounts: true,
        };
        let mut args = namespaces(own_network);
        args.extend(base(features));
        args.extend(["--tmpfs", "/tmp", "--", "/bin/sh", "-c", ":"].map(OsString::from));
        let program = Program::new(&path).args(args).env(Env::empty()).cwd("/");
        match probe(&program) {
            Ok(()) => {
                let limits = match (own_network, own_proc) {
                    (true, true) => String::new(),
                    (false, _) => {
                        " without a network of its own; seccomp refuses sockets".to_owned()
                    }
                    (true, false) => " without a process table of its own".to_owned(),
                };
                return Ok(Detected {
                    why: format!("a probe run of `{}` worked{limits}", path.display()),
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
        args: namespaces(features.own_network && !policy.network),
        env: vec![("TMPDIR".into(), "/tmp".into())],
        ..Wrap::default()
    };
    wrap.args.extend(base(features));
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
    let spec = Spec {
        mounts: None,
        fence: None,
        sockets: Sockets {
            internet: features.own_network || policy.network,
            unix: true,
        },
        max_processes: Some(MAX_PROCESSES),
        warden: false,
    };
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
fn namespaces(own_network: bool) -> Vec<OsString> {
    let mut args = vec![
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--die-with-parent",
        // Root in a namespace may still unmount what hides things: it gives that up.
        "--cap-drop",
        "ALL",
    ];
    if own_network {
        args.push("--unshare-net");
    }
    args.into_iter().map(OsString::from).collect()
}

/// The whole system read-only, and fresh `/dev` and `/proc`.
fn base(features: Features) -> Vec<OsString> {
    let mut args = vec!["--ro-bind", "/", "/", "--dev", "/dev"];
    if features.own_proc {
        args.extend(["--proc", "/proc"]);
    }
    args.into_iter().map(OsString::from).collect()
}

fn mount(wrap: &mut Wrap, options: &[&str], paths: &[&Path]) {
    wrap.args.extend(options.iter().map(OsString::from));
    wrap.args
        .extend(paths.iter().map(|path| path.as_os_str().to_owned()));
}
