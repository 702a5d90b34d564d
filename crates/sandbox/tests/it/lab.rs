//! A workspace with everything in it that a command must not reach, and a way to run lines against it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use child_process::{Env, Program, Wrap, run_briefly};
use sandbox::{Choice, Detected, Mode, Policy, detect};
use tempfile::TempDir;

/// Folders of one test.
pub(crate) struct Lab {
    _dir: TempDir,
    pub(crate) workspace: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) policy: Policy,
}

/// Who runs a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Current,
    /// `nobody`; only root can become it.
    Nobody,
}

/// What a line did.
#[derive(Debug)]
pub(crate) struct Did {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

/// Returns every backend that was asked for and works here, with its name.
pub(crate) fn backends() -> Vec<(&'static str, Detected)> {
    let all = [
        ("bubblewrap", Choice::Bwrap),
        ("namespaces", Choice::Namespaces),
        ("landlock", Choice::Landlock),
    ];
    let works = |(name, choice)| {
        let detected = detect(choice, helper());
        match detected.backend {
            sandbox::Backend::None => {
                eprintln!("{name} is not tested: {}", detected.why);
                None
            }
            _ => Some((name, detected)),
        }
    };
    all.into_iter().filter_map(works).collect()
}

/// Returns who can run lines here.
pub(crate) fn users() -> Vec<User> {
    let can_become = rustix::process::getuid().is_root() && Path::new("/usr/bin/setpriv").exists();
    if can_become {
        vec![User::Current, User::Nobody]
    } else {
        vec![User::Current]
    }
}

/// Returns the helper, copied to where every user can run it.
pub(crate) fn helper() -> &'static Path {
    static HELPER: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = HELPER.get_or_init(|| {
        let dir = open_folder(tempfile::tempdir_in("/tmp").unwrap());
        let path = dir.path().join("helper");
        fs::copy(env!("CARGO_BIN_EXE_sandbox-helper"), &path).unwrap();
        (dir, path)
    });
    path
}

impl Lab {
    /// Makes a lab in a folder of the machine that is not private to a command.
    pub(crate) fn new() -> Self {
        Self::within("/var/tmp")
    }

    /// Makes a lab in `folder`.
    pub(crate) fn within(folder: &str) -> Self {
        let dir = open_folder(tempfile::tempdir_in(folder).unwrap());
        let [workspace, outside, secrets] = ["workspace", "outside", "secrets"].map(|name| {
            let path = dir.path().join(name);
            fs::create_dir(&path).unwrap();
            everyone(&path);
            path
        });
        for (path, text) in [
            (workspace.join("file"), "in the workspace"),
            (workspace.join("private"), "canary-private"),
            (workspace.join(".git/config"), "[core]"),
            (workspace.join(".git/hooks/sample"), "hook"),
            (outside.join("file"), "outside"),
            (secrets.join("key"), "canary-key"),
            (secrets.join("deep/key"), "canary-deep"),
        ] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
        }
        for path in [".git", ".git/hooks", ".git/config", "file", "private"] {
            everyone(&workspace.join(path));
        }
        let policy = Policy {
            mode: Mode::WorkspaceWrite,
            writable: vec![workspace.clone()],
            read_only_within: sandbox::default_read_only(&workspace),
            hidden: vec![
                secrets,
                workspace.join("private"),
                dir.path().join("not-there"),
            ],
            network: false,
        };
        Self {
            _dir: dir,
            workspace,
            outside,
            policy,
        }
    }

    /// Runs a line under the lab's policy; `$W` is the workspace, `$O` the folder outside, `$S` the secrets.
    pub(crate) fn run(&self, detected: &Detected, user: User, line: &str) -> Did {
        self.run_under(detected, &self.policy, user, line)
    }

    /// Runs a line under another policy.
    pub(crate) fn run_under(
        &self,
        detected: &Detected,
        policy: &Policy,
        user: User,
        line: &str,
    ) -> Did {
        let program = self.program(detected, policy, user, line);
        let brief = run_briefly(&program, Duration::from_secs(20)).unwrap();
        let mut text = String::from_utf8_lossy(&brief.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&brief.stderr));
        Did {
            code: brief.code,
            text,
        }
    }

    /// Returns a line as a program under a policy.
    pub(crate) fn program(
        &self,
        detected: &Detected,
        policy: &Policy,
        user: User,
        line: &str,
    ) -> Program {
        let mut wrap = sandbox::wrap(detected, policy, &self.workspace)
            .unwrap()
            .unwrap();
        if user == User::Nobody {
            wrap = as_nobody(wrap);
        }
        Program::new("/bin/bash")
            .args(["-c", &format!("exec 2>&1; {line}")])
            .env(
                Env::empty()
                    .set("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
                    .set("HOME", &self.workspace)
                    .set("W", &self.workspace)
                    .set("O", &self.outside)
                    .set("S", self.outside.with_file_name("secrets")),
            )
            .cwd(&self.workspace)
            .wrap(Some(wrap))
    }
}

fn as_nobody(wrap: Wrap) -> Wrap {
    let mut args: Vec<std::ffi::OsString> =
        ["--reuid=65534", "--regid=65534", "--clear-groups", "--"]
            .map(Into::into)
            .to_vec();
    args.push(wrap.program.clone().into());
    args.extend(wrap.args.iter().cloned());
    for private in wrap.env.iter().filter(|(name, _)| name == "TMPDIR") {
        let path = Path::new(&private.1);
        if path != Path::new("/tmp") {
            everyone(path);
        }
    }
    Wrap {
        program: "/usr/bin/setpriv".into(),
        args,
        ..wrap
    }
}

fn open_folder(dir: TempDir) -> TempDir {
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

fn everyone(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
}
