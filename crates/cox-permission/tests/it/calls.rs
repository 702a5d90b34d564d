//! Calls and rules as tests write them.

use std::path::{Path, PathBuf};

use cox_permission::{
    Anchors, ApprovalPolicy, Grants, Judge, Mode, PathTarget, Risk, RuleSet, RuleSource, Subject,
    Target, command_risk, rule::lexical, segments,
};

pub(crate) fn anchors() -> Anchors {
    Anchors {
        root: "/home/me/app".into(),
        home: "/home/me".into(),
    }
}

pub(crate) fn rules(deny: &[String], ask: &[String], allow: &[String]) -> RuleSet {
    let sources = |texts: &[String]| {
        let source = |text: &String| RuleSource {
            text: text.clone(),
            origin: "spec".into(),
        };
        texts.iter().map(source).collect()
    };
    RuleSet::compile(sources(deny), sources(ask), sources(allow), &anchors())
        .unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn judge(rules: RuleSet, mode: Mode, policy: ApprovalPolicy, sandboxed: bool) -> Judge {
    Judge {
        rules,
        mode,
        policy,
        grants: Grants::default(),
        sandboxed,
    }
}

/// Reads a call: a tool and what it is given. Paths are separated by commas; `link -> /real/path` is a link.
pub(crate) fn call(text: &str) -> Subject {
    let (tool, argument) = text.split_once(' ').unwrap_or((text, ""));
    let paths = |target: fn(PathTarget) -> Target| {
        argument
            .split(", ")
            .map(|path| target(path_target(path)))
            .collect()
    };
    let (risk, targets) = match tool {
        "bash" => {
            let mut segments = segments(argument);
            segments.resolve(|written, _| {
                let mut path = path_target(written);
                if let Some(rest) = written.strip_prefix("link") {
                    path.real = absolute(&format!("canary{}", rest.trim_start_matches("dir")));
                }
                path.real.starts_with(anchors().root).then_some(path)
            });
            (
                command_risk(&segments),
                vec![Target::Command {
                    line: argument.into(),
                    segments,
                }],
            )
        }
        "read" | "grep" | "glob" => (Risk::ReadOnly, paths(Target::Read)),
        "edit" | "write" | "apply_patch" | "rename_symbol" => (Risk::Write, paths(Target::Edit)),
        // A reading tool that starts a server first.
        "diagnostics" => (Risk::Exec, paths(Target::Read)),
        "web_fetch" => (Risk::ReadOnly, vec![Target::Url(argument.into())]),
        "agent" => (Risk::Exec, vec![]),
        _ => match tool
            .strip_prefix("mcp__")
            .and_then(|name| name.split_once("__"))
        {
            Some((server, tool)) => (
                Risk::Write,
                vec![Target::Mcp {
                    server: server.into(),
                    tool: tool.into(),
                }],
            ),
            None => (Risk::ReadOnly, vec![]),
        },
    };
    Subject {
        tool: tool.into(),
        text: argument.into(),
        risk,
        targets,
    }
}

fn path_target(text: &str) -> PathTarget {
    let (written, real) = text.split_once(" -> ").unwrap_or((text, text));
    PathTarget {
        written: written.into(),
        lexical: absolute(written),
        real: absolute(real),
    }
}

fn absolute(path: &str) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => anchors().home.join(rest),
        None => lexical(Path::new(path), &anchors().root),
    }
}
