//! Measures how long a shell line takes to be read and judged, in turns with a bare parse of the same line by tree-sitter:
//! `cargo run --release -p cox-permission --example judging`.
#![expect(clippy::print_stdout, reason = "the measurement is printed")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use cox_permission::{
    Anchors, ApprovalPolicy, Grants, Judge, Mode, RuleSet, RuleSource, Subject, Target,
    command_risk, segments,
};

const ROUNDS: u32 = 5_000;

fn main() {
    let sources = |rules: &[&str]| {
        let source = |text: &&str| RuleSource {
            text: (*text).to_owned(),
            origin: String::new(),
        };
        rules.iter().map(source).collect()
    };
    let anchors = Anchors {
        root: "/home/me/app".into(),
        home: "/home/me".into(),
    };
    let rules = RuleSet::compile(
        sources(&["Read(~/.ssh/**)", "Read(~/.aws/**)", "Bash(git push:*)"]),
        sources(&["Bash(docker run:*)"]),
        sources(&["Bash(cargo test:*)", "Bash(cargo build:*)", "Edit(src/**)"]),
        &anchors,
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let judge = Judge {
        rules,
        mode: Mode::Default,
        policy: ApprovalPolicy::OnRequest,
        grants: Grants::default(),
        sandboxed: true,
    };
    let plain = format!(
        "cargo test --lib -- {} 2>&1 | tail -n 40",
        "some_test ".repeat(16)
    );
    let nested = format!(
        "for f in $(git ls-files '*.rs' | head -20); do if grep -q unsafe \"$f\"; then echo \"== $f: $(wc -l < \"$f\")\"; fi; done; {}",
        "ls -la src && ".repeat(5) + "pwd"
    );
    let long = "ls -la src; ".repeat(800) + "pwd";
    let deep = "$(".repeat(2_000) + "ls" + &")".repeat(2_000);
    let broken = "$( \"` <<E { ( ".repeat(700);
    for (name, line) in [
        ("`ls`", "ls"),
        ("a plain line", &plain),
        ("loops and substitutions", &nested),
        ("800 commands", &long),
        ("2,000 substitutions in each other", &deep),
        ("nothing closed", &broken),
    ] {
        let rounds = if line.len() > 1_000 { 20 } else { ROUNDS };
        let mut parser = tree_sitter::Parser::new();
        parser
            .set_language(&tree_sitter_bash::LANGUAGE.into())
            .unwrap_or_else(|error| panic!("{error}"));
        let (mut bare, mut read, mut judged) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let start = Instant::now();
            black_box(parser.parse(black_box(line), None));
            bare.push(start.elapsed());
            let start = Instant::now();
            black_box(segments(black_box(line)));
            read.push(start.elapsed());
            let start = Instant::now();
            let segments = segments(black_box(line));
            let subject = Subject {
                tool: "bash".into(),
                text: line.to_owned(),
                risk: command_risk(&segments),
                targets: vec![Target::Command {
                    line: line.to_owned(),
                    segments,
                }],
            };
            black_box(judge.judge(&subject));
            judged.push(start.elapsed());
        }
        let (bare, read, judged) = (median(bare), median(read), median(judged));
        println!(
            "{name}, {} bytes: parsed by tree-sitter alone in {bare:?}, read in {read:?}, read and judged in {judged:?}: {:.1} times the parse",
            line.len(),
            judged.as_secs_f64() / bare.as_secs_f64()
        );
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
