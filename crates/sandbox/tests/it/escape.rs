//! Lines that try to get out. Each must fail with words that say why, and change nothing.

use std::fs;

use crate::lab::{Lab, User, backends, users};

/// Checks that a line fails, says one of `words` and never shows a canary, under every backend but those in `except`.
pub(crate) fn check(line: &str, words: &[&str], except: &[&str]) {
    for (name, detected) in backends() {
        if except.contains(&name) {
            continue;
        }
        for user in users() {
            let lab = Lab::new();
            let did = lab.run(&detected, user, line);
            let case = format!("{name}, {user:?}: {line}\n{did:?}");
            assert_ne!(did.code, Some(0), "{case}");
            assert!(did.code.is_some(), "{case}");
            let lower = did.text.to_lowercase();
            assert!(words.iter().any(|word| lower.contains(word)), "{case}");
            assert!(!lower.contains("canary"), "{case}");
            assert_eq!(
                fs::read_to_string(lab.outside.join("file")).unwrap(),
                "outside",
                "{case}"
            );
            assert_eq!(fs::read_dir(&lab.outside).unwrap().count(), 1, "{case}");
        }
    }
}

const WRITE: &[&str] = &[
    "read-only file system",
    "permission denied",
    "operation not permitted",
];
const HIDDEN: &[&str] = &["permission denied", "no such file or directory"];
const NETWORK: &[&str] = &[
    "network is unreachable",
    "operation not permitted",
    "permission denied",
    "could not resolve",
];

/// Landlock alone cannot take rights away inside a folder that is writable.
const LANDLOCK: &[&str] = &["landlock"];

#[test]
fn nothing_outside_can_be_written() {
    check("echo x > $O/file", WRITE, &[]);
    check("echo x > $O/new", WRITE, &[]);
    check("mkdir $O/new", WRITE, &[]);
    check("rm $O/file", WRITE, &[]);
    check("mv $O/file $W/taken", WRITE, &[]);
    check(
        "ln $O/file $W/link && echo x > $W/link",
        &["read-only", "permitted", "denied", "cross-device"],
        &[],
    );
    check("ln -s $O/file $W/link && echo x > $W/link", WRITE, &[]);
    check("truncate -s 0 $O/file", WRITE, &[]);
    check("echo x > /etc/new", WRITE, &[]);
    check(
        "echo x > /proc/$PPID/root$O/file",
        &["no such", "read-only", "denied", "permitted"],
        &[],
    );
    check(
        "echo x > /proc/1/root$O/file",
        &["no such", "read-only", "denied", "permitted"],
        &[],
    );
}

#[test]
fn what_decides_what_runs_later_is_read_only() {
    check("echo x > .git/hooks/pre-commit", WRITE, LANDLOCK);
    check("echo x >> .git/config", WRITE, LANDLOCK);
    check("mv .git .git2", &["busy", "denied", "read-only"], LANDLOCK);
    check("rm -rf .git", &["busy", "denied", "read-only"], LANDLOCK);
    check(
        "mkdir .cox/x",
        &["read-only", "no such", "denied"],
        LANDLOCK,
    );
    check("echo x > .cox", &["is a directory"], LANDLOCK);
    check(
        "mkdir -p .claude/commands",
        &["read-only", "denied"],
        LANDLOCK,
    );
    check(
        "rmdir .cox && mkdir .cox",
        &["busy", "denied", "read-only"],
        LANDLOCK,
    );
    check(
        "mkdir x && mv x .cox",
        &["read-only", "denied", "busy", "not permitted"],
        LANDLOCK,
    );
}

#[test]
fn what_is_hidden_cannot_be_read() {
    check("cat $S/key", HIDDEN, &[]);
    check("cat $S/deep/key", HIDDEN, &[]);
    check("cat private", HIDDEN, &[]);
    check("ls $S", HIDDEN, LANDLOCK);
    check("cp -r $S $W/copy", HIDDEN, &[]);
    check("ln -s $S/key $W/link && cat $W/link", HIDDEN, &[]);
    check(
        "ln $S/key $W/link && cat $W/link",
        &["denied", "no such", "cross-device", "permitted"],
        &[],
    );
    check("mv private shown && cat shown", &["busy", "denied"], &[]);
    check(
        "cat /proc/$PPID/root$S/key",
        &["denied", "no such", "permitted"],
        &[],
    );
    check(
        "chmod 700 $S && cat $S/key",
        &["denied", "no such", "read-only", "permitted"],
        &[],
    );
}

#[test]
fn there_is_no_network() {
    check("exec 3<>/dev/tcp/192.0.2.1/80", NETWORK, &[]);
    check("exec 3<>/dev/udp/192.0.2.1/53 && echo x >&3", NETWORK, &[]);
    check(
        "python3 -c 'import socket; socket.socket(socket.AF_VSOCK)'",
        &["not permitted"],
        &[],
    );
    check(
        "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'",
        &["not permitted"],
        &[],
    );
}

#[test]
fn system_calls_of_escapes_are_refused() {
    check("unshare -U true", &["not permitted"], &[]);
    check("unshare -m true", &["not permitted"], &[]);
    check(
        "mount -t tmpfs x $W",
        &["denied", "not permitted", "superuser", "must be"],
        &[],
    );
    check(
        "umount $S",
        &[
            "denied",
            "not permitted",
            "superuser",
            "must be",
            "not mounted",
            "no mount point",
        ],
        &[],
    );
    let call = |number: u32| {
        format!(
            "python3 -c 'import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); \
             r = libc.syscall({number}, 0, 0, 0, 0, 0); print(r, os.strerror(ctypes.get_errno())); exit(r < 0)'"
        )
    };
    if cfg!(target_arch = "x86_64") {
        // ptrace, keyctl, bpf, userfaultfd, perf_event_open, open_by_handle_at
        for number in [101, 250, 321, 323, 298, 304] {
            check(&call(number), &["not permitted"], &[]);
        }
        // io_uring_setup, clone3, and write under the second numbering.
        for number in [425, 435, 0x4000_0001] {
            check(&call(number), &["not implemented"], &[]);
        }
    }
}

#[test]
fn processes_outside_cannot_be_signalled_or_read() {
    let mut outside = child_process_outside("/bin/sleep", "60");
    let pid = outside.id();
    check(
        &format!("kill -9 {pid}"),
        &["not permitted", "no such process"],
        &[],
    );
    check(
        &format!("cat /proc/{pid}/environ"),
        &["denied", "no such"],
        &[],
    );
    assert!(
        outside.try_wait().unwrap().is_none(),
        "the process outside lives"
    );
    outside.kill().unwrap();
    outside.wait().unwrap();
}

#[expect(clippy::disallowed_methods, reason = "a process that is none of ours")]
fn child_process_outside(program: &str, arg: &str) -> std::process::Child {
    std::process::Command::new(program)
        .arg(arg)
        .spawn()
        .unwrap()
}

#[test]
fn sockets_of_agents_cannot_be_reached() {
    let lab = Lab::new();
    // A socket where agents and container engines have theirs; only root can make one there.
    let folder = if rustix::process::getuid().is_root() {
        "/run"
    } else {
        "/tmp"
    };
    let dir = tempfile::tempdir_in(folder).unwrap();
    fs::set_permissions(
        dir.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .unwrap();
    let path = dir.path().join("agent.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let line = format!(
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{}\")'",
        path.display()
    );
    for (name, detected) in backends() {
        for user in users() {
            let did = lab.run(&detected, user, &line);
            let case = format!("{name}, {user:?}: {did:?}");
            assert_eq!(did.code, Some(1), "{case}");
            let words = ["No such file", "not permitted", "denied"];
            assert!(words.iter().any(|word| did.text.contains(word)), "{case}");
        }
    }
}

#[test]
fn read_only_writes_nothing_but_its_private_folder() {
    let lab = Lab::new();
    let policy = sandbox::Policy {
        mode: sandbox::Mode::ReadOnly,
        ..lab.policy.clone()
    };
    for (name, detected) in backends() {
        for user in [User::Current] {
            for line in ["echo x > file", "rm file", "touch new"] {
                let did = lab.run_under(&detected, &policy, user, line);
                assert_eq!(did.code, Some(1), "{name}, {line}: {did:?}");
            }
            let line = "cat file && echo x > $TMPDIR/y && cat $TMPDIR/y";
            let did = lab.run_under(&detected, &policy, user, line);
            assert_eq!(did.text, "in the workspacex\n", "{name}");
        }
    }
    assert!(!lab.workspace.join("new").exists());
}

/// Beside the limit of the whole call, an ordinary user's processes have one of their own inside.
#[test]
fn the_kernel_refuses_a_fork_too_many() {
    for (name, detected) in backends() {
        let did = Lab::new().run(&detected, User::Current, "ulimit -u");
        let is_counted_apart = name != "landlock";
        assert_eq!(did.text == "8192\n", is_counted_apart, "{name}: {did:?}");
    }
}

/// A repository that a command makes in a folder of the workspace is its own; what lies above stays as it was.
#[test]
fn a_repository_in_a_subfolder_can_be_made() {
    for (name, detected) in backends() {
        let mut lab = Lab::new();
        lab.policy.hidden.clear();
        let line = "mkdir sub && git init -q sub && ls sub/.git/HEAD";
        let did = lab.run(&detected, User::Current, line);
        assert_eq!(did.code, Some(0), "{name}: {did:?}");
    }
}

#[test]
fn the_disk_under_the_files_cannot_be_read() {
    let words = &[
        "permission denied",
        "no such file",
        "is a directory",
        "not permitted",
    ];
    check(
        "head -c 1 /dev/$(ls /sys/class/block | head -1)",
        words,
        &[],
    );
    check("head -c 1 /dev/mem", words, &[]);
    check("mknod $W/made b 1 0 && cat $W/made", words, &[]);
}

#[test]
fn two_programs_in_one_workspace_do_not_lose_each_other_s_block() {
    let lab = Lab::new();
    for (name, detected) in backends()
        .into_iter()
        .filter(|(name, _)| !LANDLOCK.contains(name))
    {
        let hold = || sandbox::wrap(&detected, &lab.policy, &lab.workspace).unwrap();
        // The first began before the second and ends while it runs.
        let (first, second) = (hold(), hold());
        drop(first);
        assert!(lab.workspace.join(".cox").is_dir(), "{name}");
        let did = lab.run(&detected, User::Current, "rmdir .cox; mkdir -p .cox/x");
        assert_ne!(did.code, Some(0), "{name}: {did:?}");
        assert!(lab.workspace.join(".cox").is_dir(), "{name}");
        drop(second);
        assert!(!lab.workspace.join(".cox").exists(), "{name}");
    }
}
