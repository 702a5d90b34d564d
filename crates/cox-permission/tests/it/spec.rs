//! Runs the tables in `spec/*.md`.
//!
//! A heading begins anew. Lines `Deny:`, `Ask:`, `Allow:` and `Granted:` list rules in backticks, `Mode:`, `Policy:` and `Sandbox:` set
//! the rest. Each row of a table is a call, the verdict, and why: a rule in backticks, or the sentence itself.

use std::{fs, path::Path};

use cox_permission::{ApprovalPolicy, Decision, Mode, Why};

use crate::calls::{anchors, call, judge, rules};

#[derive(Default)]
struct Setting {
    deny: Vec<String>,
    ask: Vec<String>,
    allow: Vec<String>,
    granted: Vec<String>,
    mode: Mode,
    policy: ApprovalPolicy,
    sandboxed: bool,
}

#[test]
fn the_specifications_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("spec");
    let mut rows = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut setting = Setting::default();
        for (at, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            if line.starts_with('#') {
                setting = Setting::default();
            } else if let Some(row) = line.strip_prefix("| `") {
                rows += 1;
                wrong.extend(
                    check(&setting, row).map(|wrong| format!("{name}:{}: {wrong}", at + 1)),
                );
            } else if let Some((key, value)) = line.split_once(": ") {
                set(&mut setting, key, value);
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {rows} rows do not hold:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(rows > 100, "only {rows} rows were read");
}

fn set(setting: &mut Setting, key: &str, value: &str) {
    let rules = || {
        value
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    match key {
        "Deny" => setting.deny = rules(),
        "Ask" => setting.ask = rules(),
        "Allow" => setting.allow = rules(),
        "Granted" => setting.granted = rules(),
        "Mode" => {
            setting.mode = match value {
                "plan" => Mode::Plan,
                "default" => Mode::Default,
                "auto" => Mode::Auto,
                "bypass" => Mode::Bypass,
                other => panic!("no mode {other}"),
            }
        }
        "Policy" => {
            setting.policy = match value {
                "untrusted" => ApprovalPolicy::Untrusted,
                "on-request" => ApprovalPolicy::OnRequest,
                "on-failure" => ApprovalPolicy::OnFailure,
                "never" => ApprovalPolicy::Never,
                other => panic!("no policy {other}"),
            }
        }
        "Sandbox" => setting.sandboxed = value == "on",
        _ => {}
    }
}

/// Judges the call of a row (its first `| `` is cut off) and says what is wrong.
fn check(setting: &Setting, row: &str) -> Option<String> {
    let cells: Vec<String> = row
        .replace("\\|", "\u{0}")
        .split('|')
        .map(|cell| cell.trim().replace('\u{0}', "|"))
        .collect();
    let [text, verdict, why, ..] = cells.as_slice() else {
        return Some("a row has three cells".into());
    };
    let text = text.trim_end_matches('`').replace("⏎", "\n");
    let rules = rules(&setting.deny, &setting.ask, &setting.allow);
    let mut judge = judge(rules, setting.mode, setting.policy, setting.sandboxed);
    judge.grants.add(&setting.granted, &anchors());
    let got = judge.judge(&call(&text));
    let decision = match got.decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    };
    let got_why = match &got.why {
        Why::Rule { rule, .. } | Why::Grant { grant: rule } => format!("`{rule}`"),
        why => why.text(),
    };
    let holds = decision == verdict && got_why == *why;
    (!holds).then(|| format!("`{text}`: {decision}, {got_why}; the table says {verdict}, {why}"))
}
