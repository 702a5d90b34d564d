//! Lines that ordinary work is made of. Each must succeed, and leave nothing behind.

use std::fs;

use crate::lab::{Lab, User, backends, users};

/// Checks that a line succeeds and prints `expect`, under every backend, as every user.
fn check_in(folder: &str, line: &str, expect: &str) {
    for (name, detected) in backends() {
        for user in users() {
            let mut lab = Lab::within(folder);
            // Landlock alone pays for something hidden in a writable folder: see `Detected::gaps`.
            lab.policy
                .hidden
                .retain(|path| !path.starts_with(&lab.workspace));
            let did = lab.run(&detected, user, line);
            let case = format!("{name}, {user:?}: {line}\n{did:?}");
            assert_eq!((did.code, did.text.as_str()), (Some(0), expect), "{case}");
            let mut left: Vec<_> = fs::read_dir(&lab.workspace)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| name != "made")
                .collect();
            left.sort();
            assert_eq!(left, [".git", "file", "private"], "{case}");
        }
    }
}

fn check(line: &str, expect: &str) {
    check_in("/var/tmp", line, expect);
}

#[test]
fn the_workspace_is_read_and_written() {
    check("cat file", "in the workspace");
    check("echo x > made && cat made && rm made", "x\n");
    check(
        "mkdir made && echo a > made/a && mv made/a made/b && cat made/b",
        "a\n",
    );
    check("cat $O/file", "outside");
    check("pwd | grep -c workspace", "1\n");
    check("cat .git/config", "[core]");
}

#[test]
fn a_workspace_in_a_folder_that_is_private_stays_visible() {
    check_in(
        "/tmp",
        "cat file && echo x > made && cat made",
        "in the workspacex\n",
    );
}

#[test]
fn temporary_files_are_private() {
    let lab = Lab::new();
    for (name, detected) in backends() {
        let line = "f=$(mktemp) && echo x > $f && cat $f && echo $f";
        let did = lab.run(&detected, User::Current, line);
        assert_eq!(did.code, Some(0), "{name}: {did:?}");
        let path = did.text.lines().last().unwrap();
        assert!(
            !std::path::Path::new(path).exists(),
            "{name}: {path} was left outside"
        );
    }
}

#[test]
fn pipes_devices_and_children_work() {
    check("echo a | cat | tr a b", "b\n");
    check("echo x > /dev/null; head -c 2 /dev/zero | wc -c", "2\n");
    check("sleep 30 & kill $!; wait $! 2>/dev/null; echo $?", "143\n");
    check("(exit 3); echo $?", "3\n");
    check("cat < /dev/stdin", "");
    check("diff <(echo a) <(echo a)", "");
    check(
        "head -c 1 /dev/urandom | wc -c; test -c /dev/null && ls /dev/fd/0",
        "1\n/dev/fd/0\n",
    );
}

#[test]
fn terminals_are_made_where_they_are_the_command_s_own() {
    let lab = Lab::new();
    let line = "python3 -c 'import pty; pty.spawn([\"/bin/echo\", \"x\"])'";
    for (name, detected) in backends() {
        for user in users() {
            let did = lab.run(&detected, user, line);
            let has_none = detected
                .gaps()
                .iter()
                .any(|gap| gap.contains("no terminal"));
            assert_eq!(did.text == "x\r\n", !has_none, "{name}, {user:?}: {did:?}");
        }
    }
}

#[test]
fn socket_pairs_and_threads_work() {
    check(
        "python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); print(b.recv(1))'",
        "b'x'\n",
    );
    check(
        "python3 -c 'import threading; t = threading.Thread(target=print, args=(1,)); t.start(); t.join()'",
        "1\n",
    );
}

#[test]
fn a_server_of_its_own_is_reached_where_the_network_is_its_own() {
    let lab = Lab::new();
    let line = "python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); \
                c = socket.create_connection(s.getsockname()); print(1)'";
    for (name, detected) in backends() {
        let did = lab.run(&detected, User::Current, line);
        let is_alone = detected.gaps().iter().any(|gap| gap.contains("loopback"));
        assert_eq!(did.code == Some(0), !is_alone, "{name}: {did:?}");
    }
}

#[test]
fn with_network_the_loopback_of_the_machine_is_reached() {
    let lab = Lab::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let policy = sandbox::Policy {
        network: true,
        ..lab.policy.clone()
    };
    for (name, detected) in backends() {
        let line = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
        let did = lab.run_under(&detected, &policy, User::Current, &line);
        assert_eq!(did.code, Some(0), "{name}: {did:?}");
        let did = lab.run(&detected, User::Current, &line);
        assert_eq!(did.code, Some(1), "{name}: {did:?}");
    }
}

#[test]
fn a_worktree_s_git_folder_is_read_only_too() {
    let lab = Lab::new();
    let (tree, folder) = (
        lab.workspace.join("tree"),
        lab.workspace.join("main/.git/worktrees/tree"),
    );
    fs::create_dir_all(&tree).unwrap();
    fs::create_dir_all(&folder).unwrap();
    fs::write(tree.join(".git"), format!("gitdir: {}\n", folder.display())).unwrap();
    fs::write(folder.join("commondir"), "../..\n").unwrap();
    let mut policy = lab.policy.clone();
    policy
        .read_only_within
        .extend(sandbox::default_read_only(&tree));
    for (name, detected) in backends()
        .into_iter()
        .filter(|(name, _)| *name != "landlock")
    {
        for line in [
            "echo x > tree/.git",
            "echo x > main/.git/config",
            "touch main/.git/worktrees/tree/x",
            "mv tree moved",
            "mv main moved",
        ] {
            let did = lab.run_under(&detected, &policy, User::Current, line);
            assert_eq!(did.code, Some(1), "{name}, {line}: {did:?}");
        }
    }
}
