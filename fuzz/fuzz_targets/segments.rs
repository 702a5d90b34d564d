//! Reads any line: never a panic, never a known line without a command; and a further deny never makes a verdict milder.
#![no_main]

use cox_permission::{
    Anchors, ApprovalPolicy, Grants, Judge, Mode, RuleSet, RuleSource, Segments, Subject, Target,
    command_risk, segments,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // Few bytes stand for the words of a shell, so that most lines are nearly right.
    const PIECES: [&str; 32] = [
        " ", "a", "rm", "git", "push", ";", "|", "&&", "\n", "$(", ")", "`", "\"", "'", "\\", "{",
        "}", "<<E\n", "\nE\n", "> f", "if ", "; then ", "; fi", "for x in ", "; do ", "; done",
        "bash -c ", "$x", "${x}", "[ ", " ]", "#",
    ];
    let line: String = match data.split_first() {
        Some((0, rest)) => String::from_utf8_lossy(rest).into_owned(),
        _ => data
            .iter()
            .map(|byte| PIECES[usize::from(byte % 32)])
            .collect(),
    };
    let told = segments(&line);
    if let Segments::Known(segments) = &told {
        assert!(!segments.is_empty());
        for segment in segments {
            assert!(!segment.words.is_empty());
            assert!(segment.open.iter().all(|at| (1..segment.words.len()).contains(at)));
        }
    }
    let subject = Subject {
        tool: "bash".into(),
        text: line.clone(),
        risk: command_risk(&told),
        targets: vec![Target::Command {
            line,
            segments: told,
        }],
    };
    let anchors = Anchors {
        root: "/home/me/app".into(),
        home: "/home/me".into(),
    };
    let verdict = |deny: &[&str]| {
        let sources = |rules: &[&str]| {
            let source = |text: &&str| RuleSource {
                text: (*text).to_owned(),
                origin: String::new(),
            };
            rules.iter().map(source).collect()
        };
        let rules = RuleSet::compile(
            sources(deny),
            Vec::new(),
            sources(&["Bash(git:*)", "Bash(a:*)"]),
            &anchors,
        )
        .expect("the rules read");
        let judge = Judge {
            rules,
            mode: Mode::Auto,
            policy: ApprovalPolicy::OnRequest,
            grants: Grants::default(),
            sandboxed: true,
        };
        judge.judge(&subject).decision
    };
    assert!(verdict(&["Bash(rm:*)", "Bash(git push:*)"]) >= verdict(&[]));
});
