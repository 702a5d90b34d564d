//! What a model is told about each kind of refusal: the path or host, the rule, and what to do.

use sandbox::{Mode, Policy, denial};

use crate::lab::{Lab, User, backends};

/// Checks what is read from the output of a line, under every backend but those in `except`. `$W`, `$O` and `$S` stand
/// for the folders of the lab in the expectation too.
fn check(change: impl Fn(&mut Policy), line: &str, expect: (&str, &str), except: &[&str]) {
    for (name, detected) in backends() {
        if except.contains(&name) {
            continue;
        }
        let mut lab = Lab::new();
        change(&mut lab.policy);
        let secrets = lab.outside.with_file_name("secrets");
        let did = lab.run(&detected, User::Current, line);
        let denial = denial(did.code.unwrap(), &did.text, &lab.policy);
        let found = denial.map(|denial| (denial.to_string(), denial.hint));
        let told = [
            ("$W", &lab.workspace),
            ("$O", &lab.outside),
            ("$S", &secrets),
        ]
        .iter()
        .fold(expect.0.to_owned(), |text, (name, path)| {
            text.replace(name, &path.display().to_string())
        });
        assert_eq!(found, Some((told, expect.1)), "{name}: {line}: {did:?}");
    }
}

fn as_it_is(_policy: &mut Policy) {}

/// What Landlock alone cannot hold.
const LANDLOCK: &[&str] = &["landlock"];

#[test]
fn a_refused_write_is_told_with_path_and_rule() {
    let outside = |path: &str| format!("the sandbox lets only `$W` and `/tmp` be written ({path})");
    let hint = "write there, or ask the user for `--add-dir`";
    for (line, path) in [
        ("echo x > $O/file", "$O/file"),
        ("mkdir $O/new", "$O/new"),
        ("rm $O/file", "$O/file"),
        ("truncate -s 0 $O/file", "$O/file"),
        ("cp file /etc/new", "/etc/new"),
        ("python3 -c 'open(\"/etc/new\", \"w\")'", "/etc/new"),
    ] {
        check(as_it_is, line, (&outside(path), hint), &[]);
    }
    let kept = "the sandbox keeps `$W/.git` read-only (.git/hooks/pre-commit)";
    let hint = "leave it as it is, or tell the user what to change in it";
    check(
        as_it_is,
        "echo x > .git/hooks/pre-commit",
        (kept, hint),
        LANDLOCK,
    );
    let read_only = "the sandbox is read-only: only `/tmp` may be written ($W/new)";
    let hint = "write to `$TMPDIR`, or tell the user what you would change";
    let change = |policy: &mut Policy| policy.mode = Mode::ReadOnly;
    check(change, "touch $W/new", (read_only, hint), &[]);
}

#[test]
fn a_refused_read_is_told_with_path_and_rule() {
    let hint = "do without it, or ask the user for what you need of it";
    check(
        as_it_is,
        "cat ./private",
        ("the sandbox hides `$W/private` (./private)", hint),
        &[],
    );
    let hidden = "the sandbox hides `$S` ($S/key)";
    check(as_it_is, "cat $S/key", (hidden, hint), &[]);
}

#[test]
fn a_refused_host_is_told() {
    let hint = "only the user can allow it, by `sandbox.network = true`";
    let line = "exec 3<>/dev/tcp/example.com/80";
    let told = "the sandbox has no network (example.com)";
    check(as_it_is, line, (told, hint), &[]);
    let line = "python3 -c 'import urllib.request as r; r.urlopen(\"http://example.com\")'";
    check(as_it_is, line, ("the sandbox has no network", hint), &[]);
}
