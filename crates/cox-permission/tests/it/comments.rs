//! White space and comments change no verdict.

use cox_permission::{ApprovalPolicy, Decision, Judge, Mode, Segments, segments};
use proptest::{prelude::*, sample::Index};

use crate::{
    calls::{call, judge, rules},
    corpus::{ALLOWED, lines, texts},
};

/// What may stand between two words.
const BLANKS: &[&str] = &["  ", "\t", " \t ", " \\\n", "\t\\\n \\\n  "];

/// What may stand where a command ends; each ends as a line break does.
const COMMENTS: &[&str] = &[
    " # x\n",
    "\n\n",
    " # it's \"; rm -rf canary/x; git push $(a `b` <<E ) fi } done ;; \\\n",
    "\n#\n # cat ~/.ssh/id > canary/x\n\t",
    " \t\n",
];

/// What may stand where a command ends inside of a substitution: older shells look for its end in comments too.
const PLAIN_COMMENTS: &[&str] = &[" # rm -rf canary/x; git push\n", "\n\n", "\n# x\n"];

/// A place in a line where a shell lets more stand.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Gap {
    /// Between words: a blank stands there.
    Blank,
    /// Behind a line break or an operator.
    Break { is_substitution: bool },
}

/// Returns the gaps of a line: those that a plain look at quotes finds.
fn gaps(line: &str) -> Vec<(usize, Gap)> {
    // What is open, innermost last: a quote, or what closes a substitution or a subshell.
    let mut open: Vec<char> = Vec::new();
    let mut gaps = Vec::new();
    let mut chars = line.char_indices().peekable();
    let mut before = '\n';
    while let Some((at, char)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let is_substitution = open.iter().any(|char| matches!(char, '$' | '`'));
        match (open.last().copied(), char) {
            (Some('\''), '\'') => drop(open.pop()),
            (Some('\''), _) => {}
            (_, '\\') => drop(chars.next()),
            (Some('`'), '`') | (Some('"'), '"') | (Some('$' | '('), ')') => drop(open.pop()),
            (_, '$') if next == Some('(') => {
                open.push('$');
                chars.next();
            }
            (_, '`') => open.push('`'),
            (Some('"'), _) => {}
            (_, '\'' | '"') => open.push(char),
            (_, '(') if matches!(before, '<' | '>') => open.push('$'),
            (_, '(') => open.push('('),
            // A backslash between backticks is read differently.
            (Some('`'), ' ' | '\t') => {}
            (_, ' ' | '\t') => gaps.push((at, Gap::Blank)),
            (_, '\n') => gaps.push((at, Gap::Break { is_substitution })),
            (_, ';' | '|' | '&')
                if !matches!(before, '>' | '<') && !matches!(next, Some(';' | '&' | '|' | '>')) =>
            {
                gaps.push((at + 1, Gap::Break { is_substitution }));
            }
            _ => {}
        }
        before = char;
    }
    gaps
}

/// Puts more into some of the gaps of a line.
fn spread(line: &str, picks: &[(Index, Index)]) -> String {
    let gaps = gaps(line);
    let mut places: Vec<(usize, &str)> = Vec::new();
    if !gaps.is_empty() {
        for (gap, more) in picks {
            let (at, gap) = gaps[gap.index(gaps.len())];
            let more = match gap {
                Gap::Blank => BLANKS[more.index(BLANKS.len())],
                Gap::Break {
                    is_substitution: true,
                } => PLAIN_COMMENTS[more.index(PLAIN_COMMENTS.len())],
                Gap::Break { .. } => COMMENTS[more.index(COMMENTS.len())],
            };
            places.push((at, more));
        }
    }
    places.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    places.dedup_by_key(|(at, _)| *at);
    let mut spread = line.to_owned();
    for (at, more) in places {
        spread.insert_str(at, more);
    }
    spread
}

fn judges() -> Vec<Judge> {
    let deny = texts(&[
        "Edit(canary/**)",
        "Read(~/.ssh/**)",
        "Bash(git push:*)",
        "Bash(rm:*)",
    ]);
    [Mode::Default, Mode::Auto, Mode::Plan, Mode::Bypass]
        .into_iter()
        .flat_map(|mode| {
            [deny.clone(), Vec::new()].map(|deny| {
                judge(
                    rules(&deny, &[], &texts(ALLOWED)),
                    mode,
                    ApprovalPolicy::OnRequest,
                    true,
                )
            })
        })
        .collect()
}

fn decisions(judges: &[Judge], line: &str) -> Vec<Decision> {
    let call = call(&format!("bash {line}"));
    judges
        .iter()
        .map(|judge| judge.judge(&call).decision)
        .collect()
}

fn all_lines() -> Vec<String> {
    let names = ["bypass.txt", "everyday.txt", "grammar.txt"];
    let all = names.into_iter().flat_map(lines);
    all.map(|(_, line)| line.strip_prefix("~ ").unwrap_or(&line).to_owned())
        .collect()
}

#[test]
fn a_comment_before_or_behind_a_line_of_the_corpora_changes_no_verdict() {
    let judges = judges();
    let mut wrong = Vec::new();
    for line in all_lines() {
        let is_known = matches!(segments(&line), Segments::Known(_));
        let before = decisions(&judges, &line);
        let mut around = vec![
            format!("# it's \"; rm -rf canary/x; git push\n{line}"),
            format!("\n \t\n{line}"),
        ];
        if is_known {
            around.push(format!("{line}\n# it's \"; rm -rf canary/x; git push"));
        }
        if is_known && !line.contains("<<") {
            around.push(format!("{line} # it's \"; rm -rf canary/x; git push"));
            around.push(format!("{line}   \t "));
            around.push(format!("{line} \\\n"));
        }
        for around in around {
            let after = decisions(&judges, &around);
            // Where a line cannot be cut, its comments are looked at for what is denied.
            let is_stricter = before.iter().zip(&after).all(|(one, other)| one <= other);
            if before != after && (is_known || !is_stricter) {
                wrong.push(format!("{around:?}: {before:?}, {after:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn comments_and_blanks_in_a_line_of_the_corpora_change_no_verdict(
        line in any::<Index>(),
        picks in proptest::collection::vec(any::<(Index, Index)>(), 1..5),
    ) {
        thread_local! {
            static KNOWN: (Vec<Judge>, Vec<String>) = (
                judges(),
                all_lines()
                    .into_iter()
                    .filter(|line| {
                        let has_blanks_that_count = ["<<", "[[", " #", "${", "(("]
                            .iter()
                            .any(|text| line.contains(text));
                        !has_blanks_that_count && matches!(segments(line), Segments::Known(_))
                    })
                    .collect(),
            );
        }
        KNOWN.with(|(judges, lines)| {
            let line = &lines[line.index(lines.len())];
            let spread = spread(line, &picks);
            prop_assert_eq!(decisions(judges, line), decisions(judges, &spread), "{:?} and {:?}", line, spread);
            Ok(())
        })?;
    }
}
