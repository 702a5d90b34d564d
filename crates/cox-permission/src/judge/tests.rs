use super::{ApprovalPolicy, Decision, Grants, Judge, Mode, Risk, RuleSet, Subject, Why};
use crate::{Anchors, PathTarget, RuleSource, Target, segments};

fn anchors() -> Anchors {
    Anchors {
        root: "/home/me/app".into(),
        home: "/home/me".into(),
    }
}

fn subject(tool: &str, text: &str, risk: Risk, targets: Vec<Target>) -> Subject {
    Subject {
        tool: tool.into(),
        text: text.into(),
        risk,
        targets,
    }
}

fn command(line: &str) -> Subject {
    let segments = segments(line);
    let risk = crate::command_risk(&segments);
    subject(
        "bash",
        line,
        risk,
        vec![Target::Command {
            line: line.into(),
            segments,
        }],
    )
}

fn path(path: &str) -> PathTarget {
    let absolute = crate::rule::lexical(path.as_ref(), &anchors().root);
    PathTarget {
        written: path.into(),
        lexical: absolute.clone(),
        real: absolute,
    }
}

#[test]
fn grants_are_as_narrow_as_they_can_be_and_cover_the_call() {
    let edit = |path_: &str| subject("edit", path_, Risk::Write, vec![Target::Edit(path(path_))]);
    let mcp = Target::Mcp {
        server: "github".into(),
        tool: "create_issue".into(),
    };
    let cases: Vec<(Subject, &[&str])> = vec![
        (command("cargo test --lib"), &["Bash(cargo test:*)"]),
        (command("npm run build -- --x"), &["Bash(npm run build:*)"]),
        (
            command("git add . && git commit -m 'x y' && git status"),
            &["Bash(git add:*)", "Bash(git commit:*)"],
        ),
        (command("mkdir x; mkdir y"), &["Bash(mkdir:*)"]),
        (command("./run.sh a"), &["Bash(./run.sh:*)"]),
        (command("python x.py 'a b'"), &["Bash(python x.py 'a b')"]),
        (command("rm -rf x"), &["Bash(rm -rf x)"]),
        (command("git -C x fetch"), &["Bash(git -C x fetch)"]),
        (command("git push --force"), &["Bash(git push --force)"]),
        (
            command("timeout 9 make all"),
            &["Bash(timeout 9 make all)", "Bash(make all:*)"],
        ),
        (command("echo $x > y"), &["Bash(echo $x > y)"]),
        (command("touch $x > y"), &["Bash(touch $x > y)"]),
        (command("touch $x:*"), &["Bash(touch:*)"]),
        (command("rm $x:*"), &[]),
        (command("python *"), &[]),
        (edit("src/x.rs"), &["Edit(src/x.rs)"]),
        (edit("app/[id]/page.tsx"), &["Edit(app/[[]id\\]/page.tsx)"]),
        (edit("/tmp/x"), &["Edit(/tmp/x)"]),
        (edit("~x"), &["Edit(./~x)"]),
        (
            subject(
                "web_fetch",
                "",
                Risk::ReadOnly,
                vec![Target::Url("https://docs.rs/serde".into())],
            ),
            &["WebFetch(domain:docs.rs)"],
        ),
        (
            subject("mcp__github__create_issue", "", Risk::Write, vec![mcp]),
            &["mcp__github__create_issue"],
        ),
        (
            subject(
                "diagnostics",
                "src/x.rs",
                Risk::Exec,
                vec![Target::Read(path("src/x.rs"))],
            ),
            &["diagnostics"],
        ),
        (subject("agent", "task", Risk::Exec, vec![]), &["agent"]),
    ];
    for (subject, expect) in cases {
        let proposed = Grants::for_subject(&subject, &anchors());
        assert_eq!(proposed, expect, "for {subject:?}");
        let mut judge = Judge {
            rules: RuleSet::default(),
            mode: Mode::Default,
            policy: ApprovalPolicy::Untrusted,
            grants: Grants::default(),
            sandboxed: true,
        };
        judge.grants.add(&proposed, &anchors());
        judge.grants.add(&proposed, &anchors());
        assert_eq!(judge.grants.rules().len(), proposed.len());
        let expect = if proposed.is_empty() {
            Decision::Ask
        } else {
            Decision::Allow
        };
        assert_eq!(
            judge.judge(&subject).decision,
            expect,
            "{proposed:?} for {subject:?}"
        );
    }
}

#[test]
fn a_path_through_a_link_gets_no_grant() {
    let target = PathTarget {
        real: "/etc/passwd".into(),
        ..path("link")
    };
    let subject = subject("edit", "link", Risk::Write, vec![Target::Edit(target)]);
    assert_eq!(
        Grants::for_subject(&subject, &anchors()),
        Vec::<String>::new()
    );
}

#[test]
fn a_grant_that_cannot_be_read_grants_nothing() {
    let mut grants = Grants::default();
    grants.add(&["Bash(".into(), String::new()], &anchors());
    assert!(grants.rules().is_empty());
}

#[test]
fn reasons_are_sentences() {
    let rule = Why::Rule {
        rule: "Bash(git push:*)".into(),
        origin: "~/.cox/config.toml:12".into(),
    };
    assert_eq!(
        rule.text(),
        "rule `Bash(git push:*)` from ~/.cox/config.toml:12"
    );
    let never = Why::Policy {
        policy: ApprovalPolicy::Never,
    };
    assert_eq!(never.text(), "nothing allows it and nobody is there to ask");
    let grant = Why::Grant {
        grant: "Bash(make all:*)".into(),
    };
    assert_eq!(
        grant.text(),
        "allowed for this session by `Bash(make all:*)`"
    );
}

#[test]
fn words_of_commands_are_read_from_the_folder_in_which_they_start() {
    let source = |text: &&str| RuleSource {
        text: (*text).into(),
        origin: "test".into(),
    };
    let rules = RuleSet::compile(
        [
            "Read(secrets/**)",
            "Edit(api/locked/**)",
            "Edit(Cargo.lock)",
        ]
        .iter()
        .map(source)
        .collect(),
        ["Edit(api/asked)"].iter().map(source).collect(),
        ["Bash"].iter().map(source).collect(),
        &anchors(),
    )
    .unwrap();
    let mut judge = Judge {
        rules: rules.for_commands_in("/home/me/app/api".into()),
        mode: Mode::Default,
        policy: ApprovalPolicy::OnRequest,
        grants: Grants::default(),
        sandboxed: true,
    };
    let cases = [
        ("cat ../secrets/a", Decision::Deny),
        ("cat secrets/a", Decision::Allow),
        ("cd .. && cat secrets/a", Decision::Deny),
        ("cp x locked/y", Decision::Deny),
        ("cp locked/y x", Decision::Allow),
        ("echo x | tee locked/y", Decision::Deny),
        ("mv locked/y x", Decision::Deny),
        ("mv . ../x", Decision::Ask),
        ("sed -i s/a/b/ locked/y", Decision::Deny),
        ("sed s/a/b/ locked/y", Decision::Allow),
        ("dd if=x of=locked/y", Decision::Deny),
        ("install x locked", Decision::Deny),
        ("ln -s x locked/y", Decision::Deny),
        ("touch locked/y", Decision::Deny),
        ("truncate -s 0 locked/y", Decision::Deny),
        ("git checkout -- locked/y", Decision::Deny),
        ("git -C .. checkout -- api/locked/y", Decision::Deny),
        ("rm locked/y", Decision::Deny),
        ("rm -r locked", Decision::Deny),
        ("rm -r ../api", Decision::Ask),
        ("rm ../Cargo.*", Decision::Ask),
        ("cp x ..", Decision::Allow),
        ("cp x/Cargo.lock ..", Decision::Deny),
        ("timeout 5 touch locked/y", Decision::Deny),
        ("touch asked", Decision::Ask),
        ("touch \"$x\"", Decision::Ask),
        ("touch free", Decision::Allow),
        ("echo locked/y", Decision::Allow),
    ];
    for (line, decision) in cases {
        assert_eq!(
            judge.judge(&command(line)).decision,
            decision,
            "of {line:?}"
        );
    }
    // Nothing of it is milder where everything else runs.
    judge.mode = Mode::Bypass;
    assert_eq!(
        judge.judge(&command("rm locked/y")).decision,
        Decision::Deny
    );
}

/// Checks what becomes of each part of a line that only the second reading tells whole.
fn check_parts(deny: &str, line: &str, expect: &[(&str, Decision)]) {
    let source = |text: &str| RuleSource {
        text: text.into(),
        origin: "test".into(),
    };
    let judge = Judge {
        rules: RuleSet::compile(
            vec![source(deny)],
            Vec::new(),
            vec![source("Bash(make:*)")],
            &anchors(),
        )
        .unwrap(),
        mode: Mode::Default,
        policy: ApprovalPolicy::OnRequest,
        grants: Grants::default(),
        sandboxed: true,
    };
    let verdict = judge.judge(&command(line));
    let found: Vec<_> = verdict
        .parts
        .iter()
        .map(|part| (part.text.as_str(), part.decision))
        .collect();
    assert_eq!(found, expect, "{line}");
    assert_eq!(verdict.decision, Decision::Deny, "{line}");
}

#[test]
fn a_rule_is_shown_on_the_command_that_it_is_about() {
    use Decision::{Allow, Ask, Deny};
    let deny = "Bash(git push:*)";
    check_parts(
        deny,
        "make; git push > log; ls",
        &[
            ("make", Allow),
            ("git push", Deny),
            ("log", Ask),
            ("ls", Allow),
        ],
    );
    // Nobody knows which of them hides it.
    check_parts(
        deny,
        "make > 'log; git push'; ls",
        &[("make", Deny), ("log; git push", Ask), ("ls", Deny)],
    );
}
