//! Reads any line and judges it.
//!
//! Never a panic, never a known line without a command. White space and comments around a line, or between its commands
//! and those around it, do not change its verdict; what stands around a command and a further deny never make it milder.
#![no_main]

use std::sync::LazyLock;

use cox_permission::{
    Anchors, ApprovalPolicy, Decision, Grants, Judge, Mode, RuleSet, RuleSource, Segments, Subject,
    Target, command_risk, segments,
};
use libfuzzer_sys::fuzz_target;

const MODES: [Mode; 4] = [Mode::Default, Mode::Auto, Mode::Plan, Mode::Bypass];
const ALLOWED: [&str; 3] = ["Bash(git:*)", "Bash(a:*)", "Bash(ls -la)"];
const DENIED: [&str; 6] = [
    "Bash(rm:*)",
    "Bash(git push:*)",
    "Bash(bash:*)",
    "Bash(a)",
    "Read(~/.ssh/**)",
    "Edit(canary/**)",
];

/// A comment full of what is denied, quotes and parentheses.
const COMMENT: &str =
    "# it's \"; rm -rf x; git push `bash` $(a) <<E ) fi done ;; cat ~/.ssh/id > canary/x \\";

/// For each mode: without a deny, then with each of them.
static JUDGES: LazyLock<Vec<Judge>> = LazyLock::new(|| {
    let denies = std::iter::once(None).chain(DENIED.iter().map(Some));
    let of = |mode: Mode| {
        denies
            .clone()
            .map(move |deny| judge(mode, deny.map(|deny| *deny)))
    };
    MODES.into_iter().flat_map(of).collect()
});

fn judge(mode: Mode, deny: Option<&str>) -> Judge {
    let source = |text: &str| RuleSource {
        text: text.to_owned(),
        origin: String::new(),
    };
    let anchors = Anchors {
        root: "/home/me/app".into(),
        home: "/home/me".into(),
    };
    let rules = RuleSet::compile(
        deny.into_iter().map(source).collect(),
        Vec::new(),
        ALLOWED.into_iter().map(source).collect(),
        &anchors,
    );
    Judge {
        rules: rules.expect("the rules read"),
        mode,
        policy: ApprovalPolicy::OnRequest,
        grants: Grants::default(),
        sandboxed: true,
    }
}

fn decide(judge: &Judge, line: &str) -> Decision {
    let told = segments(line);
    let subject = Subject {
        tool: "bash".into(),
        text: line.to_owned(),
        risk: command_risk(&told),
        targets: vec![Target::Command {
            line: line.to_owned(),
            segments: told,
        }],
    };
    let verdict = judge.judge(&subject);
    assert!(!verdict.why.text().is_empty());
    verdict.decision
}

// The line; after a NUL byte, the mode and the deny.
fuzz_target!(|data: &[u8]| {
    let (line, options) = match data.iter().position(|byte| *byte == 0) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &b""[..]),
    };
    let option = |nth: usize| usize::from(options.get(nth).copied().unwrap_or(0));
    let line = &*String::from_utf8_lossy(line);
    let told = segments(line);
    if let Segments::Known(segments) = &told {
        assert!(!segments.is_empty());
        for segment in segments {
            assert!(!segment.words.is_empty());
            let is_word = |at: &usize| (1..segment.words.len()).contains(at);
            assert!(segment.open.iter().all(is_word));
            assert!(segment.open.is_sorted_by(|one, other| one < other));
        }
    }
    let of_mode = &JUDGES[option(0) % MODES.len() * (DENIED.len() + 1)..][..=DENIED.len()];
    let further = &of_mode[1 + option(1) % DENIED.len()];
    let before = decide(&of_mode[0], line);
    let after = decide(further, line);
    assert!(after >= before, "{before:?} became {after:?}");

    // A line that is cut short reads on in what follows, and a long one is not read.
    let is_known = matches!(told, Segments::Known(_));
    let is_cut_short = line.trim_end().ends_with('\\') || (line.contains("<<") && !is_known);
    if is_cut_short || line.len() > 9900 {
        return;
    }
    for around in [
        format!("  {line}"),
        format!("\n\t{line}"),
        format!("{line} "),
        format!("{line}\n"),
        format!("# remark\n{line}"),
        format!("{line}\n# remark"),
    ] {
        let decision = decide(further, &around);
        // A blank behind the end of a here-document makes it none.
        match is_known && !(line.contains("<<") && around.ends_with(' ')) {
            true => assert_eq!(decision, after, "{around:?}"),
            // What cannot be told may be denied by one guess and asked for by another.
            false => assert!(decision >= after.min(Decision::Ask), "{around:?}"),
        }
    }
    if !is_known {
        return;
    }
    // What a comment says does not matter; `…` stands for one.
    let has_document = line.contains("<<");
    let behind = match has_document {
        true => "\n…\n",
        false => " …\n",
    };
    for frame in [
        format!("…\n\n{line}{behind}"),
        format!("git status …\n{line}{behind}"),
        format!("git status && …\n {line}{behind}"),
        format!("git status |…\n {line}{behind}"),
        format!("git status;…\n {line}{behind}"),
        format!("git status \\\n…\n {line}{behind}"),
        format!("( …\n{line}{behind})…"),
        format!("if git status …\nthen …\n{line}{behind}fi …\n"),
        format!("for x in 1 …\n…\ndo …\n{line}{behind}done …"),
        format!("case x in …\nx) …\n{line}{behind}…\n;; …\nesac …"),
    ] {
        if line.contains('…') {
            break;
        }
        let bare = frame.replace('…', "");
        let commented = frame.replace('…', COMMENT);
        if commented.len() < 9900 {
            assert_eq!(
                decide(further, &commented),
                decide(further, &bare),
                "{commented:?}"
            );
        }
    }
    if !has_document {
        assert_eq!(decide(further, &format!("{line} \\\n")), after, "{line:?}");
    }
    // A line that is read as a whole is one in any place.
    for around in [
        format!("git status\n{line}"),
        format!("{line}\ngit status"),
        format!("if git status; then\n{line}\nfi"),
        format!("(\n{line}\n)"),
        format!("for x in 1; do\n{line}\ndone"),
    ] {
        assert!(decide(further, &around) >= after, "{around:?}");
    }
});
