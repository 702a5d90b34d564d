//! `cox permissions`: says what would become of a call, and which rules there are.

use std::fmt::Write as _;

use cox_permission::{
    ApprovalPolicy, Decision, Grants, Judge, Part, PathTarget, Risk, Rule, RuleSet, Subject,
    Target, Verdict, Why,
};
use cox_tools::{SubjectCx, Tool as _, bash::Bash};
use serde_json::{Value, json};

use crate::{
    args::{Args, Permissions, PermissionsCommand, PermissionsTest},
    exit::{Exit, Failure},
    printer::{NotPrinted, Printer},
    settings::{Settings, environment::Environment},
    wire_up,
};

/// Does what was asked.
///
/// # Errors
///
/// A failure names the rule that cannot be read, or what is missing.
pub(crate) fn permissions(
    permissions: &Permissions,
    args: &Args,
    printer: Printer,
) -> Result<Exit, Failure> {
    let settings = Settings::load(args, Environment::read())?;
    for warning in &settings.warnings {
        printer.warn(warning);
    }
    let rules = wire_up::rules(&settings)?;
    for warning in wire_up::rules_without_a_tool(&rules) {
        printer.warn(&warning);
    }
    match &permissions.command {
        PermissionsCommand::List => Ok(crate::printed(list(&rules, printer))),
        PermissionsCommand::Test(test) => {
            let subject = subject(test, &settings)?;
            let (judge, is_asked) = judge(&settings, rules);
            let verdict = judge.judge(&subject);
            Ok(crate::printed(show(&verdict, is_asked, printer)))
        }
    }
}

/// Returns the judge of a session, and whether somebody would be asked in it.
fn judge(settings: &Settings, rules: RuleSet) -> (Judge, bool) {
    let policy = match settings.text("permissions.approval") {
        "untrusted" => ApprovalPolicy::Untrusted,
        "on-request" => ApprovalPolicy::OnRequest,
        "on-failure" => ApprovalPolicy::OnFailure,
        _ => ApprovalPolicy::Never,
    };
    // An ask is shown as one, even where nobody would be there to answer.
    let is_asked = policy != ApprovalPolicy::Never;
    let judge = Judge {
        rules,
        mode: wire_up::mode(settings),
        policy: if is_asked {
            policy
        } else {
            ApprovalPolicy::OnRequest
        },
        grants: Grants::default(),
        sandboxed: settings.text("sandbox.mode") != "danger-full-access"
            && settings.text("sandbox.linux_backend") != "none",
    };
    (judge, is_asked)
}

fn subject(test: &PermissionsTest, settings: &Settings) -> Result<Subject, Failure> {
    let cx = SubjectCx {
        roots: std::sync::Arc::new(wire_up::roots(settings)),
    };
    match (&test.line, &test.tool) {
        (Some(line), None) => Bash
            .subject(&json!({ "command": line }), &cx)
            .map_err(|error| Failure::usage(error.to_string())),
        (None, Some(tool)) => tool_subject(tool, test.path.as_deref(), &cx),
        (Some(_), Some(_)) | (None, None) => Err(Failure::usage(
            "expected a shell line, or a tool\nhint: `cox permissions test \"cargo test\"`\n\
             hint: `cox permissions test --tool edit --path src/main.rs`",
        )),
    }
}

fn tool_subject(tool: &str, path: Option<&str>, cx: &SubjectCx) -> Result<Subject, Failure> {
    let tool = tool.to_ascii_lowercase();
    let confined = |access| -> Result<PathTarget, Failure> {
        let path = path.ok_or_else(|| Failure::usage(format!("`{tool}` needs a `--path`")))?;
        let at = cox_workspace::confine(&cx.roots, path, access)
            .map_err(|error| Failure::error(error.to_string()))?;
        Ok(PathTarget {
            written: at.written,
            lexical: at.lexical,
            real: at.real,
        })
    };
    let known = cox_tools::builtin::builtin();
    let risk = known
        .iter()
        .find(|known| known.spec().name == tool)
        .map(|known| known.spec().risk);
    let target = match tool.as_str() {
        "edit" | "write" | "apply_patch" => {
            Some(Target::Edit(confined(cox_workspace::Access::Write)?))
        }
        "read" | "grep" | "glob" | "outline" => {
            Some(Target::Read(confined(cox_workspace::Access::Read)?))
        }
        "web_fetch" => {
            let url =
                path.ok_or_else(|| Failure::usage("`web_fetch` needs its URL as `--path`"))?;
            Some(Target::Url(url.to_owned()))
        }
        name => match name
            .strip_prefix("mcp__")
            .and_then(|name| name.split_once("__"))
        {
            Some((server, tool)) => Some(Target::Mcp {
                server: server.to_owned(),
                tool: tool.to_owned(),
            }),
            None if risk.is_none() => {
                let names: Vec<&str> = known.iter().map(|tool| tool.spec().name).collect();
                return Err(Failure::usage(format!(
                    "there is no tool `{name}`\nhint: there are {}",
                    names.join(", ")
                )));
            }
            None => None,
        },
    };
    Ok(Subject {
        text: path.unwrap_or_default().to_owned(),
        risk: risk.unwrap_or(Risk::Exec),
        targets: target.into_iter().collect(),
        tool,
    })
}

fn show(verdict: &Verdict, is_asked: bool, printer: Printer) -> Result<(), NotPrinted> {
    if printer.json {
        let segments: Vec<Value> = verdict.parts.iter().map(to_json).collect();
        return printer.document(&json!({
            "verdict": word(verdict.decision),
            "why": verdict.why.text(),
            "segments": segments,
        }));
    }
    let mut text = String::new();
    for part in &verdict.parts {
        // A command can hold line breaks; one row each keeps the list readable.
        let shown = part.text.replace('\n', "⏎");
        let _ = writeln!(
            text,
            "{:<5}  {shown}\n       {}",
            word(part.decision),
            part.why.text()
        );
    }
    let _ = write!(text, "\nverdict: {}", word(verdict.decision));
    if verdict.decision == Decision::Ask && !is_asked {
        text.push_str(
            "\nwith the policy `never`, as `cox run` has it by default, an ask is a deny",
        );
    }
    printer.result(&text)
}

fn to_json(part: &Part) -> Value {
    let rule = match &part.why {
        Why::Rule { rule, .. } | Why::Grant { grant: rule } => Some(rule),
        _ => None,
    };
    json!({
        "text": part.text,
        "verdict": word(part.decision),
        "rule": rule,
        "why": part.why.text(),
    })
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

fn list(rules: &RuleSet, printer: Printer) -> Result<(), NotPrinted> {
    let kinds = [
        ("deny", &rules.deny),
        ("ask", &rules.ask),
        ("allow", &rules.allow),
    ];
    if printer.json {
        let rows = |rules: &[Rule]| -> Vec<Value> {
            let row =
                |rule: &Rule| json!({ "rule": rule.source.text, "origin": rule.source.origin });
            rules.iter().map(row).collect()
        };
        return printer.document(&json!({
            "deny": rows(&rules.deny),
            "ask": rows(&rules.ask),
            "allow": rows(&rules.allow),
        }));
    }
    let width = kinds
        .iter()
        .flat_map(|(_, rules)| rules.iter())
        .map(|rule| rule.source.text.chars().count())
        .max()
        .unwrap_or_default()
        .min(60);
    let mut text = String::new();
    for (kind, rules) in kinds {
        for rule in rules {
            let _ = writeln!(
                text,
                "{kind:<5}  {:<width$}  {}",
                rule.source.text.escape_debug().to_string(),
                rule.source.origin
            );
        }
    }
    if text.is_empty() {
        text.push_str("there are no rules");
    }
    printer.result(&text)
}
