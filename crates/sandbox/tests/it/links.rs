//! A `.git` that is a link, a chain of links or a pointer: nothing takes its place.

use crate::lab::{Lab, backends, users};

/// Checks a line in a lab whose `.git` was made by `make`, where mounts hold links.
fn check_link(make: &str, line: &str, words: &[&str]) {
    for (name, detected) in backends() {
        if name == "landlock" {
            continue;
        }
        for user in users() {
            let lab = Lab::new();
            let made = std::process::Command::new("/bin/sh")
                .args(["-c", &format!("rm -rf .git; {make}; chmod -R a+rwX .")])
                .current_dir(&lab.workspace)
                .status();
            assert!(made.unwrap().success(), "{make}");
            let before = std::fs::read_link(lab.workspace.join(".git"));
            let did = lab.run(&detected, user, line);
            let case = format!("{name}, {user:?}: {make}; {line}\n{did:?}");
            assert!(!matches!(did.code, Some(0) | None), "{case}");
            let lower = did.text.to_lowercase();
            assert!(words.iter().any(|word| lower.contains(word)), "{case}");
            let after = std::fs::read_link(lab.workspace.join(".git"));
            assert_eq!(before.ok(), after.ok(), "{case}");
        }
    }
}

#[test]
fn a_git_folder_that_is_a_link_is_not_replaced() {
    const KEPT: &[&str] = &[
        "busy",
        "read-only",
        "denied",
        "not permitted",
        "cannot overwrite",
    ];
    let real = "mkdir -p store/real/hooks; ln -s store/real .git";
    for line in [
        "rm .git && mkdir .git",
        "ln -sfn store .git",
        "mv .git old",
        "mv store moved",
        "mv store/real store/moved",
        "echo x > .git/config",
        "echo x > store/real/hooks/pre-commit",
        "mkdir x && mv -T x .git",
        "python3 -c 'import os; os.symlink(\"x\", \"y\"); os.rename(\"y\", \".git\")'",
    ] {
        check_link(real, line, KEPT);
    }
    let chain = "mkdir -p store/real; ln -s store/real second; ln -s second .git";
    for line in [
        "rm second",
        "ln -sfn /tmp second",
        "rm .git",
        "touch second/x",
    ] {
        check_link(chain, line, KEPT);
    }
    let nowhere = "ln -s missing/deep .git";
    for line in ["mkdir -p missing/deep", "rm .git", "mkdir missing/x"] {
        check_link(nowhere, line, KEPT);
    }
    let pointer = "mkdir -p store/real; echo gitdir: store/real > .git";
    for line in [
        "rm .git",
        "echo gitdir: /tmp > .git",
        "echo x > store/real/config",
        "mv store x",
    ] {
        check_link(pointer, line, KEPT);
    }
    for line in ["git init -q .", "mkdir -p .git/hooks", "ln -s /tmp .git"] {
        check_link(
            "true",
            line,
            &["read-only", "denied", "exists", "busy", "not permitted"],
        );
    }
}
