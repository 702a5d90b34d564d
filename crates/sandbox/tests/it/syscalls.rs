//! Ways out that do not go by a shell: system calls, kernel files, sockets and other processes.

use crate::{
    escape::check,
    lab::{Lab, User, backends},
};

/// A line that makes system calls by name through the C library, and fails with what the last one said.
fn python(code: &str) -> String {
    format!(
        "python3 -c 'import ctypes, os, socket, sys\n\
         libc = ctypes.CDLL(None, use_errno=True)\n\
         def call(name, *args):\n  \
           r = getattr(libc, name)(*args)\n  \
           if r < 0: sys.exit(os.strerror(ctypes.get_errno()))\n  \
           return r\n\
         def number(n, *args): return call(\"syscall\", n, *args)\n\
         {code}'"
    )
}

const REFUSED: &[&str] = &["not permitted", "permission denied"];
const GONE: &[&str] = &["not permitted", "permission denied", "no such", "read-only"];

#[test]
fn mounts_and_namespaces_are_refused() {
    for code in [
        "call(\"mount\", b\"none\", b\"/tmp\", b\"tmpfs\", 0, None)",
        "call(\"umount2\", b\"/tmp\", 2)",
        "number(155, b\".\", b\".\")",
        "call(\"chroot\", b\"/tmp\")",
        "call(\"unshare\", 0x10000000)",
        "call(\"unshare\", 0x20000)",
        "call(\"setns\", os.open(\"/proc/self/ns/mnt\", 0), 0)",
        "number(428, -100, b\"/\", 1)",
        "number(442, -100, b\"/\", 0, None, 0)",
        "number(430, b\"tmpfs\", 0)",
        "number(56, 0x10000000 | 17, 0, 0, 0, 0)",
    ] {
        check(&python(code), REFUSED, &[]);
    }
}

#[test]
fn doubtful_parts_of_the_kernel_are_refused() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    // keyctl, add_key, request_key, bpf, userfaultfd, perf_event_open, open_by_handle_at, kexec_load, init_module, reboot,
    // swapon, acct, syslog, settimeofday, sethostname, iopl, ioperm, kexec_file_load.
    for number in [
        250, 248, 249, 321, 323, 298, 304, 246, 175, 169, 167, 163, 103, 164, 170, 172, 173, 320,
    ] {
        let words = &["not permitted", "permission denied", "not implemented"];
        check(
            &python(&format!("number({number}, 0, 0, 0, 0, 0)")),
            words,
            &[],
        );
    }
    check(&python("number(425, 8, 0)"), &["not implemented"], &[]);
}

#[test]
fn other_processes_are_out_of_reach() {
    let pid = std::process::id();
    for code in [
        format!("call(\"ptrace\", 16, {pid}, 0, 0)"),
        format!("number(310, {pid}, 0, 0, 0, 0, 0)"),
        format!("number(311, {pid}, 0, 0, 0, 0, 0)"),
        format!("open(\"/proc/{pid}/mem\", \"r+b\")"),
        format!("os.listdir(\"/proc/{pid}/root\")"),
        format!("os.readlink(\"/proc/{pid}/fd/0\"); sys.exit(\"read\")"),
        format!("os.readlink(\"/proc/{pid}/cwd\"); sys.exit(\"read\")"),
        format!("os.kill({pid}, 15)"),
        format!("number(438, number(434, {pid}, 0), 0, 0)"),
        format!("import resource; resource.prlimit({pid}, resource.RLIMIT_CPU, (1, 1))"),
    ] {
        check(&python(&code), GONE, &[]);
    }
    for code in [
        format!("os.setpriority(os.PRIO_PROCESS, {pid}, 19)"),
        format!("os.sched_setaffinity({pid}, [0])"),
        format!("os.sched_setscheduler({pid}, os.SCHED_IDLE, os.sched_param(0))"),
    ] {
        // Threads schedule each other by the same calls and numbers: only a process table of one's own tells them apart.
        check(&python(&code), GONE, &["landlock"]);
    }
    // Its own warden is out of reach too.
    for code in [
        "call(\"ptrace\", 16, os.getppid(), 0, 0)",
        "open(\"/proc/%d/mem\" % os.getppid(), \"r+b\").read(1)",
        "open(\"/proc/%d/environ\" % os.getppid()).read()",
    ] {
        let line = python(code);
        // The shell becomes the program, so that its parent is the warden.
        check(&format!("exec {line}"), GONE, &[]);
    }
}

#[test]
fn a_program_without_a_file_is_confined_too() {
    let code = "fd = os.memfd_create(\"x\")\n\
                os.write(fd, open(\"/bin/cp\", \"rb\").read())\n\
                os.execve(fd, [\"cp\", \"/etc/hostname\", os.environ[\"O\"] + \"/new\"], {})";
    check(&python(code), GONE, &[]);
}

#[test]
fn kernel_files_are_not_written() {
    for path in [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sysrq-trigger",
        "/sys/kernel/uevent_helper",
        "/sys/power/state",
        "/dev/kmsg",
        "/dev/mem",
        "/dev/console",
    ] {
        check(
            // Opened to write, never written: a failure here must do no harm.
            &format!("[ -e {path} ] || {{ echo no such file; exit 1; }}; : >> {path}"),
            &[
                "not permitted",
                "permission denied",
                "no such",
                "read-only",
                "input/output",
            ],
            &[],
        );
    }
    check(": >> /sys/fs/cgroup/pids/cgroup.procs", GONE, &[]);
}

#[test]
fn links_and_descriptors_do_not_lead_outside() {
    for line in [
        "ln $O/file $W/hard && echo x > $W/hard",
        "exec 3<$O/file && echo x > /proc/self/fd/3",
        "python3 -c 'import os; d = os.open(os.environ[\"O\"], os.O_PATH); os.open(\"new\", os.O_CREAT | os.O_WRONLY, dir_fd=d)'",
        "mv $W/file $O/moved",
        "cp $W/file $O/copied",
        "chmod 777 $O/file",
        "chown 0 $O/file",
        "setfattr -n user.x -v y $O/file || python3 -c 'import os; os.setxattr(os.environ[\"O\"] + \"/file\", \"user.x\", b\"y\")'",
        "touch -d @0 $O/file",
        "python3 -c 'import os; os.mkfifo(os.environ[\"O\"] + \"/fifo\")'",
    ] {
        check(
            line,
            &[
                "not permitted",
                "permission denied",
                "read-only",
                "cross-device",
                "not found",
            ],
            // Mode, owner and times are no rights that Landlock knows.
            if line.starts_with("ch") || line.starts_with("touch") || line.starts_with("setfattr") {
                &["landlock"]
            } else {
                &[]
            },
        );
    }
    // A link that is swapped between two looks.
    let race = "mkdir a; ln -s $O b; (for i in {1..300}; do mv -T a c 2>/dev/null; ln -sfn $O a; rm -f a; mv -T c a 2>/dev/null; done) & \
                for i in {1..300}; do echo x > a/new 2>/dev/null; done; wait; cat $O/new";
    check(race, &["no such"], &[]);
}

#[test]
fn what_is_read_only_stays_so() {
    for line in [
        "chmod 777 .git/config",
        "python3 -c 'import os; os.setxattr(\".git/config\", \"user.x\", b\"y\")'",
        "touch -d @0 .git/config",
        "mount -o remount,rw .git",
        "ln .git/config copied && echo x > copied",
        "exec 3<.git/config && echo x > /proc/self/fd/3",
        "git config core.fsmonitor ./x",
        "git config --file .git/config core.hooksPath x",
        "mkdir -p .claude && echo x > .claude/settings.json",
    ] {
        check(
            line,
            &[
                "read-only",
                "permission denied",
                "not permitted",
                "cross-device",
                "could not lock",
                "must be superuser",
                "busy",
                "not in a git directory",
            ],
            &["landlock"],
        );
    }
}

#[test]
fn sockets_reach_nothing_outside() {
    for code in [
        "socket.socket(socket.AF_VSOCK)",
        "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
        "socket.socket(38)",
        "socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW)",
        "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
        "socket.create_connection((\"192.0.2.1\", 80), 1)",
        "socket.create_connection((\"2001:db8::1\", 80), 1)",
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b\"x\", (\"8.8.8.8\", 53))",
        "socket.getaddrinfo(\"example.com\", 80)",
    ] {
        check(
            &python(code),
            &[
                "not permitted",
                "unreachable",
                "name resolution",
                "not supported",
                "not known",
                "address family",
            ],
            &[],
        );
    }
}

#[test]
fn agents_and_buses_are_not_reached() {
    for path in [
        "/var/run/docker.sock",
        "/run/docker.sock",
        "/run/containerd/containerd.sock",
        "/run/podman/podman.sock",
        "/run/dbus/system_bus_socket",
        "/run/systemd/private",
        "/run/user/0/bus",
        "/tmp/.X11-unix/X0",
        "/tmp/ssh-agent.sock",
        "/run/user/0/gnupg/S.gpg-agent",
        "/run/snapd.socket",
    ] {
        check(
            &python(&format!(
                "socket.socket(socket.AF_UNIX).connect(\"{path}\")"
            )),
            &["no such", "not permitted", "permission denied"],
            &[],
        );
    }
    check(
        "systemd-run --user true",
        &[
            "not found",
            "failed to connect",
            "no such",
            "not permitted",
            "no medium",
        ],
        &[],
    );
}

#[test]
fn an_abstract_socket_outside_is_not_reached() {
    use std::os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    };
    let name = format!("sandbox-test-{}", std::process::id());
    let _listener =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    check(
        &python(&format!(
            "socket.socket(socket.AF_UNIX).connect(\"\\0{name}\")"
        )),
        &["refused", "not permitted"],
        &[],
    );
}

#[test]
fn shared_memory_outside_is_not_seen() {
    let file = tempfile::Builder::new()
        .prefix("sandbox-test-")
        .tempfile_in("/dev/shm")
        .unwrap();
    std::fs::write(file.path(), "canary").unwrap();
    check(
        &format!("cat {}", file.path().display()),
        &["no such", "permission denied"],
        &[],
    );
    check(
        &format!(
            "echo x > {} && cat {0} && exit 1 || echo no such; exit 1",
            file.path().display()
        ),
        &["no such", "x"],
        &[],
    );
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "canary");
}

/// A terminal of the machine, into which a person types.
#[test]
fn terminals_of_people_are_not_reached() {
    let outside = rustix_terminal();
    for (name, detected) in backends() {
        let lab = Lab::new();
        let line = format!("echo typed > {}", outside.1);
        let did = lab.run(&detected, User::Current, &line);
        assert_eq!(did.code, Some(1), "{name}: {did:?}");
    }
    let mut bytes = [0; 16];
    let read = rustix::io::read(&outside.0, &mut bytes);
    assert_eq!(read, Err(rustix::io::Errno::AGAIN), "{bytes:?}");
}

/// Opens a terminal outside; returns its reader and the name of its other end.
fn rustix_terminal() -> (std::os::fd::OwnedFd, String) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let reader = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&reader).unwrap();
    unlockpt(&reader).unwrap();
    let name = ptsname(&reader, Vec::new()).unwrap().into_string().unwrap();
    rustix::io::ioctl_fionbio(&reader, true).unwrap();
    (reader, name)
}
