//! The algebra of judgement.

use cox_permission::{ApprovalPolicy, Decision, Mode, Segments, Target, segments};
use proptest::{prelude::*, sample::select};

use crate::calls::{call, judge, rules};

const RULES: &[&str] = &[
    "Bash",
    "Bash(git:*)",
    "Bash(git push:*)",
    "Bash(cat:*)",
    "Bash(rm:*)",
    "Bash(ls -la)",
    "Bash(:*)",
    "Bash(make)",
    "Bash(timeout:*)",
    "Edit",
    "Edit(src/**)",
    "Edit(**)",
    "Edit(src/a)",
    "Read",
    "Read(src/**)",
    "Read(.env)",
    "Read(**/*.pem)",
    "Read(~/.ssh/**)",
    "Write",
    "grep",
    "WebFetch",
    "WebFetch(domain:docs.rs)",
    "mcp__github__*",
    "mcp__github__create_issue",
    "diagnostics",
    "agent(x)",
    "agent(x:*)",
];

const CALLS: &[&str] = &[
    "edit src/a",
    "write src/b",
    "apply_patch src/a, other/b",
    "edit .git/config",
    "edit link -> /etc/passwd",
    "read src/a",
    "read .env",
    "grep src",
    "read ~/.ssh/id",
    "web_fetch https://docs.rs/x",
    "mcp__github__create_issue",
    "mcp__other__x",
    "diagnostics src/a",
    "agent x y",
    "todo",
];

const WORDS: &[&str] = &[
    "git",
    "push",
    "status",
    "cat",
    "rm",
    "-rf",
    "ls",
    "-la",
    "make",
    "timeout",
    "9",
    "sudo",
    "bash",
    "-c",
    "'x y'",
    "\"z\"",
    ".env",
    "src/a",
    "~/.ssh/id",
    "*",
    "*.pem",
    "&&",
    "||",
    ";",
    "|",
    "&",
    "\n",
    "$x",
    "$(rm x)",
    "`",
    ">",
    ">/dev/null",
    "2>&1",
    "cd",
    "grep",
    "-r",
    "foo",
    "env",
    "A=1",
    "xargs",
    "find",
    "-exec",
    "{}",
    "+",
    "eval",
    "#",
];

fn some_rules() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(select(RULES).prop_map(String::from), 0..4)
}

fn words() -> impl Strategy<Value = Vec<&'static str>> {
    proptest::collection::vec(select(WORDS), 0..9)
}

fn some_call() -> impl Strategy<Value = String> {
    prop_oneof![
        select(CALLS).prop_map(String::from),
        words().prop_map(|words| format!("bash {}", words.join(" ")))
    ]
}

fn some_mode() -> impl Strategy<Value = Mode> {
    select(vec![Mode::Plan, Mode::Default, Mode::Auto, Mode::Bypass])
}

fn some_policy() -> impl Strategy<Value = ApprovalPolicy> {
    select(vec![
        ApprovalPolicy::Untrusted,
        ApprovalPolicy::OnRequest,
        ApprovalPolicy::OnFailure,
        ApprovalPolicy::Never,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_further_deny_never_widens(
        (deny, ask, allow) in (some_rules(), some_rules(), some_rules()),
        further in select(RULES),
        (call_, mode, policy, sandboxed) in (some_call(), some_mode(), some_policy(), any::<bool>()),
    ) {
        let more = [deny.clone(), vec![further.into()]].concat();
        let before = judge(rules(&deny, &ask, &allow), mode, policy, sandboxed).judge(&call(&call_));
        let after = judge(rules(&more, &ask, &allow), mode, policy, sandboxed).judge(&call(&call_));
        prop_assert!(after.decision >= before.decision, "{before:?} became {after:?}");
        prop_assert_eq!(before.parts.len(), after.parts.len());
    }

    #[test]
    fn a_further_ask_never_widens_and_a_further_allow_never_narrows(
        (deny, ask, allow) in (some_rules(), some_rules(), some_rules()),
        further in select(RULES),
        (call_, mode, policy, sandboxed) in (some_call(), some_mode(), some_policy(), any::<bool>()),
    ) {
        let with = |rules: &[String]| [rules.to_vec(), vec![further.to_owned()]].concat();
        let decide = |ask: &[String], allow: &[String]| judge(rules(&deny, ask, allow), mode, policy, sandboxed).judge(&call(&call_)).decision;
        prop_assert!(decide(&with(&ask), &allow) >= decide(&ask, &allow));
        prop_assert!(decide(&ask, &with(&allow)) <= decide(&ask, &allow));
    }

    #[test]
    fn the_strictest_part_decides_and_nobody_asks_where_nobody_is(
        (deny, ask, allow) in (some_rules(), some_rules(), some_rules()),
        (call_, mode, policy, sandboxed) in (some_call(), some_mode(), some_policy(), any::<bool>()),
    ) {
        let verdict = judge(rules(&deny, &ask, &allow), mode, policy, sandboxed).judge(&call(&call_));
        prop_assert_eq!(Some(verdict.decision), verdict.parts.iter().map(|part| part.decision).max());
        prop_assert!(policy != ApprovalPolicy::Never || verdict.decision != Decision::Ask);
        prop_assert!(mode != Mode::Plan || verdict.decision != Decision::Ask);
        prop_assert!(!verdict.why.text().is_empty());
    }

    #[test]
    fn verdicts_do_not_depend_on_extra_blanks(
        words in words(),
        gaps in proptest::collection::vec(select(vec![" ", "  ", "\t", " \t "]), 10),
        (deny, ask, allow) in (some_rules(), some_rules(), some_rules()),
        (mode, policy) in (some_mode(), some_policy()),
    ) {
        let plain = words.join(" ");
        let spread: String = words.iter().zip(&gaps).flat_map(|(word, gap)| [gap, *word]).collect();
        let judge = judge(rules(&deny, &ask, &allow), mode, policy, true);
        let (plain, spread) = (judge.judge(&call(&format!("bash {plain}"))), judge.judge(&call(&format!("bash {spread} "))));
        let decisions = |verdict: cox_permission::Verdict| verdict.parts.into_iter().map(|part| (part.decision, part.why)).collect::<Vec<_>>();
        prop_assert_eq!(decisions(plain), decisions(spread));
    }

    #[test]
    fn any_line_is_read_and_none_is_known_without_a_command(line in any::<String>(), tail in words()) {
        for line in [line.clone(), format!("{line} {}", tail.join(" "))] {
            if let Segments::Known(segments) = segments(&line) {
                prop_assert!(!segments.is_empty());
                // `eval` joins its words without their quotes.
                let bare = |text: &str| text.replace(['\'', '"', '\\'], "");
                prop_assert!(segments.iter().all(|segment| !segment.words.is_empty() && bare(&line).contains(&bare(&segment.text))));
            }
        }
    }

    #[test]
    fn no_command_is_never_allowed(allow in some_rules(), policy in some_policy(), mode in select(vec![Mode::Default, Mode::Auto])) {
        let allow: Vec<String> = allow.into_iter().filter(|rule| rule != "Bash" && rule != "Bash(:*)").collect();
        let judge = judge(rules(&[], &[], &allow), mode, policy, true);
        let mut subject = call("bash x");
        for line in ["", "  "] {
            for segments in [Segments::Known(Vec::new()), segments(line)] {
                subject.targets = vec![Target::Command { line: line.into(), segments }];
                prop_assert!(judge.judge(&subject).decision >= Decision::Ask);
            }
        }
    }
}
