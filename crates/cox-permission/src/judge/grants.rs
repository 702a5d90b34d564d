//! What a person allowed for the rest of the session.

use crate::{
    Anchors, PathTarget, Risk, Rule, RuleSource, Segment, Segments, Subject, Target,
    risk::segment_risk,
    rule::{Part, escape, known},
};

/// Where a grant comes from, in place of a file.
const ORIGIN: &str = "this session";

/// Programs whose second word says what they do.
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt",
    "apt-get",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "deno",
    "docker",
    "dotnet",
    "flutter",
    "gem",
    "gh",
    "git",
    "glab",
    "go",
    "gradle",
    "helm",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "nix",
    "npm",
    "pdm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "stack",
    "swift",
    "systemctl",
    "task",
    "terraform",
    "tox",
    "uv",
    "yarn",
    "zig",
];

/// Programs that run whatever they are given: only the very line is granted.
const RUN_ANYTHING: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "bun",
    "command",
    "csh",
    "dash",
    "deno",
    "doas",
    "env",
    "find",
    "fish",
    "gawk",
    "ksh",
    "mawk",
    "nice",
    "node",
    "nohup",
    "nu",
    "npx",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "python",
    "python3",
    "rm",
    "ruby",
    "scp",
    "sed",
    "setsid",
    "sh",
    "ssh",
    "sudo",
    "tcsh",
    "time",
    "timeout",
    "tclsh",
    "uvx",
    "xargs",
    "zsh",
    "curl",
    "wget",
    "rsync",
    "docker",
    "podman",
    "kubectl",
];

/// What a person allowed for the rest of the session, as rules.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    rules: Vec<Rule>,
}

impl Grants {
    /// Proposes what to allow for the session so that this call, and others like it, ask no more: rules, narrow ones first
    /// read by a person. Commands: program and subcommand, or the very line where that would be too wide or the line
    /// cannot be told. Files: the very path. Empty if nothing can be granted.
    pub fn for_subject(subject: &Subject, anchors: &Anchors) -> Vec<String> {
        let mut grants = Vec::new();
        if subject.targets.is_empty() || is_raised(subject) {
            grants.push(subject.tool.clone());
            return grants;
        }
        for target in &subject.targets {
            match target {
                Target::Read(path) => grants.push(format!("Read({})", path_text(path, anchors))),
                Target::Edit(path) => grants.push(format!("Edit({})", path_text(path, anchors))),
                Target::Url(url) => {
                    grants.extend(host_of(url).map(|host| format!("WebFetch(domain:{host})")));
                }
                Target::Mcp { server, tool } => grants.push(format!("mcp__{server}__{tool}")),
                Target::Command { line, segments } => match known(segments) {
                    Some(segments) => grants.extend(for_line(line, segments, anchors)),
                    None => grants.push(format!("Bash({})", line.trim())),
                },
            }
        }
        grants.retain(|grant| is_as_narrow_as_it_looks(grant, subject, anchors));
        let mut seen = std::collections::HashSet::new();
        grants.retain(|grant| seen.insert(grant.clone()));
        grants
    }

    /// Adds grants, in the words of [`Grants::for_subject`] or as a person changed them. One that cannot be read grants
    /// nothing.
    pub fn add(&mut self, grants: &[String], anchors: &Anchors) {
        for text in grants {
            if !self.rules.iter().any(|rule| rule.source.text == *text) {
                self.rules.extend(compile(text, anchors));
            }
        }
    }

    /// Returns the grants as rules, oldest first.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

fn compile(text: &str, anchors: &Anchors) -> Option<Rule> {
    let source = RuleSource {
        text: text.to_owned(),
        origin: ORIGIN.into(),
    };
    Rule::compile_exact(source, anchors).ok()
}

/// Says whether the call is riskier than what it touches.
fn is_raised(subject: &Subject) -> bool {
    let only_reads = subject
        .targets
        .iter()
        .all(|target| matches!(target, Target::Read(_)));
    let only_files = subject
        .targets
        .iter()
        .all(|target| matches!(target, Target::Read(_) | Target::Edit(_)));
    only_reads && subject.risk > Risk::ReadOnly || only_files && subject.risk > Risk::Write
}

/// Proposes what covers every command of a line and every file that it writes to; the very line where single rules do not.
fn for_line(line: &str, segments: &[Segment], anchors: &Anchors) -> Vec<String> {
    let mut grants = Vec::new();
    let mut is_whole = false;
    for segment in segments {
        if segment_risk(segments, segment) > Risk::ReadOnly {
            let grant = for_segment(segments, segment);
            is_whole |= !segment.is_literal() && !grant.ends_with(":*)");
            grants.push(grant);
        }
        for redirect in &segment.redirects {
            match &redirect.target {
                Some(Target::Edit(path)) => {
                    grants.push(format!("Edit({})", path_text(path, anchors)));
                }
                Some(_) => {}
                None => is_whole = true,
            }
        }
    }
    match is_whole {
        true => vec![format!("Bash({})", line.trim())],
        false => grants,
    }
}

fn for_segment(line: &[Segment], segment: &Segment) -> String {
    let words = &segment.words;
    let exact = || format!("Bash({})", segment.text);
    let is_plain = |word: &String| {
        word.starts_with(|char: char| {
            char.is_ascii_alphanumeric() || matches!(char, '.' | '/' | '_')
        }) && word.bytes().all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'+' | b'@' | b':')
        })
    };
    let program = words[0].as_str();
    if segment_risk(line, segment) == Risk::Destructive || !is_plain(&words[0]) {
        return exact();
    }
    if WITH_SUBCOMMANDS.contains(&program) {
        let count = match words.get(1).map(String::as_str) {
            // The script or the container's command says what runs.
            Some("run" | "run-script" | "exec" | "x") => 3,
            _ => 2,
        };
        return match words.get(1..count) {
            Some(named)
                if named.iter().all(is_plain) && segment.open.iter().all(|open| *open >= count) =>
            {
                format!("Bash({}:*)", words[..count].join(" "))
            }
            _ => exact(),
        };
    }
    if RUN_ANYTHING.contains(&program) {
        return exact();
    }
    format!("Bash({program}:*)")
}

fn path_text(path: &PathTarget, anchors: &Anchors) -> String {
    // An allow must match both forms: a path through a link gets no grant (see the check below).
    let shown = path
        .lexical
        .strip_prefix(&anchors.root)
        .unwrap_or(&path.lexical);
    let text = escape(&shown.to_string_lossy());
    if text.starts_with('~') {
        format!("./{text}")
    } else {
        text
    }
}

fn host_of(url: &str) -> Option<String> {
    url::Url::parse(url)
        .ok()?
        .host_str()
        .map(|host| host.trim_end_matches('.').to_owned())
}

/// Says whether a proposal reads back as something that covers a part of this call, and means no more than it says.
fn is_as_narrow_as_it_looks(grant: &str, subject: &Subject, anchors: &Anchors) -> bool {
    let Some(rule) = compile(grant, anchors) else {
        return false;
    };
    // A line that ends like a prefix rule would be read as one.
    let lines = subject.targets.iter().filter_map(|target| match target {
        Target::Command { line, segments } => Some((line, segments)),
        _ => None,
    });
    for (line, segments) in lines {
        let mut texts = vec![line.trim()];
        if let Segments::Known(segments) = segments {
            texts.extend(segments.iter().map(|segment| segment.text.as_str()));
        }
        let looks_like_prefix =
            |text: &&str| text.ends_with(":*") || text.ends_with(" *") || *text == "*";
        if texts
            .iter()
            .any(|text| looks_like_prefix(text) && grant == format!("Bash({text})"))
        {
            return false;
        }
    }
    subject.targets.iter().any(|target| match target {
        Target::Command { line, segments } => match known(segments) {
            Some(segments) => segments.iter().any(|segment| {
                let mut targets = segment
                    .redirects
                    .iter()
                    .filter_map(|redirect| redirect.target.as_ref());
                rule.covers(subject, Part::Segment { line, segment })
                    || targets.any(|target| rule.covers(subject, Part::Redirect { line, target }))
            }),
            None => rule.covers(
                subject,
                Part::Untold {
                    target,
                    commands: &[],
                },
            ),
        },
        target => rule.covers(subject, Part::Target(target)),
    })
}
