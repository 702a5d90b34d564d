//! The lines of `corpus/`: what must not get through, and what must not ask.

use std::{fs, path::Path};

use cox_permission::{ApprovalPolicy, Decision, Mode};

use crate::calls::{call, judge, rules};

/// Allow rules as people have them; none of them is for what the lines of the corpus do.
pub(crate) const ALLOWED: &[&str] = &[
    "Bash(git status:*)",
    "Bash(git log:*)",
    "Bash(git diff:*)",
    "Bash(git show:*)",
    "Bash(git branch:*)",
    "Bash(echo:*)",
    "Bash(ls:*)",
    "Bash(cat:*)",
    "Bash(cargo test:*)",
    "Bash(npm run build:*)",
    "Edit(docs/**)",
];

/// Returns the lines of a corpus with where they stand.
pub(crate) fn lines(name: &str) -> Vec<(usize, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name);
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}"));
    text.lines()
        .enumerate()
        .filter(|(_, line)| {
            !line.is_empty()
                && !line.starts_with("# ")
                && !line.starts_with("#! ")
                && !line.starts_with("## ")
                && *line != "#"
        })
        .map(|(at, line)| (at + 1, line.replace('⏎', "\n")))
        .collect()
}

pub(crate) fn texts(rules: &[&str]) -> Vec<String> {
    rules.iter().map(|rule| (*rule).to_owned()).collect()
}

#[test]
fn nothing_gets_through_unasked() {
    let lines = lines("bypass.txt");
    let deny = texts(&["Edit(canary/**)", "Read(~/.ssh/**)"]);
    let mut through = Vec::new();
    for mode in [Mode::Default, Mode::Auto] {
        for sandboxed in [true, false] {
            let judge = judge(
                rules(&deny, &[], &texts(ALLOWED)),
                mode,
                ApprovalPolicy::OnRequest,
                sandboxed,
            );
            for (at, line) in &lines {
                let line = line.strip_prefix("~ ").unwrap_or(line);
                let verdict = judge.judge(&call(&format!("bash {line}")));
                if verdict.decision == Decision::Allow {
                    through.push(format!("{at}: {line} ({mode:?})"));
                }
            }
        }
    }
    through.sort();
    through.dedup();
    println!(
        "bypass: {} of {} lines got through unasked",
        through.len(),
        lines.len()
    );
    assert!(lines.len() >= 300, "only {} lines", lines.len());
    assert!(through.is_empty(), "{}", through.join("\n"));
}

#[test]
fn everyday_lines_do_not_ask() {
    let lines = lines("everyday.txt");
    let judge = judge(
        rules(
            &texts(&["Read(~/.ssh/**)", "Read(~/.aws/**)", "Bash(rm -rf /*)"]),
            &[],
            &[],
        ),
        Mode::Default,
        ApprovalPolicy::OnRequest,
        true,
    );
    let asking: Vec<String> = lines
        .iter()
        .filter_map(|(at, line)| {
            let verdict = judge.judge(&call(&format!("bash {line}")));
            (verdict.decision != Decision::Allow)
                .then(|| format!("{at}: {line}: {}", verdict.why.text()))
        })
        .collect();
    println!("everyday: {} of {} lines ask", asking.len(), lines.len());
    assert!(lines.len() >= 150, "only {} lines", lines.len());
    assert!(asking.is_empty(), "{}", asking.join("\n"));
}
