//! Why a call was wrong: the server's answer, the schema and what the schema used to be, put next to each other.
//!
//! Only an answer of a server is explained, and only where the tools of the server were read. An error is about the
//! arguments by its code or its words; codes of -32000 to -32099 never are, because whoever carries the message uses them.
//! A result that says `isError` is explained when the arguments contradict the schema, or when it names an argument that
//! the history knows to have changed. The server's text is not repeated here: it stays first and whole elsewhere.
//!
//! Findings hold no value that was sent, and a [`Finding::fix`] is a call that fits the schema as far as can be told.

mod answered;
mod gate;
mod minimal;
mod rejected;

pub use answered::{unlike_declared, verify_with};
use jiff::Timestamp;
use mcp_wire::{Object, Tool};
use serde_json::{Value, json};
use untrusted_text::terminal;

use crate::history::{Change, History};
use crate::names::Names;
use crate::reference::local;
use crate::typescript::literal;
use rejected::About;

/// Most names that a message lists.
const MAX_LISTED: usize = 20;
/// Longest name in a message, in characters.
const MAX_SHOWN: usize = 120;
/// Longest call that is shown as a fix, in bytes.
const MAX_FIX_BYTES: usize = 2_000;

/// What kind of mistake was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An argument that is required is not in the call.
    MissingArgument,
    /// An argument that the tool does not take.
    UnknownArgument,
    /// The server has no such tool.
    UnknownTool,
    /// No server goes by this name.
    UnknownNamespace,
    /// The server rejected the arguments.
    InvalidParams,
}

impl Kind {
    /// The word for it on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::MissingArgument => "missing-argument",
            Self::UnknownArgument => "unknown-argument",
            Self::UnknownTool => "unknown-tool",
            Self::UnknownNamespace => "unknown-namespace",
            Self::InvalidParams => "invalid-params",
        }
    }
}

/// A change of the schema that may be the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// When the reading was made that showed it.
    pub when: Timestamp,
    /// The word for what changed, as `argument-added`.
    pub kind: String,
    /// A phrase for people.
    pub what: String,
}

/// Where in a script the call was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The line, from 1.
    pub line: usize,
    /// The call as it stands there.
    pub text: String,
}

/// One thing that is wrong with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind of mistake.
    pub kind: Kind,
    /// `namespace.function`.
    pub tool: String,
    /// The path of the argument that it is about.
    pub field: Option<String>,
    /// One line for people, safe to print.
    pub message: String,
    /// What changed since it may have worked.
    pub changed: Option<Changed>,
    /// Where it was written, when a script was read.
    pub written: Option<Written>,
    /// A call that works, to be pasted; nothing when none could be made.
    pub fix: Option<String>,
    /// Whether the call cannot work as it is.
    pub fatal: bool,
}

impl Finding {
    /// As data: `kind, tool, field, message, changed{when, kind, what}, source{line, text}, fix, fatal`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut value = json!({"kind": self.kind.word(), "tool": self.tool, "message": self.message, "fatal": self.fatal});
        if let Some(field) = &self.field {
            value["field"] = json!(field);
        }
        if let Some(changed) = &self.changed {
            value["changed"] = json!({"when": changed.when.to_string(), "kind": changed.kind, "what": changed.what});
        }
        if let Some(written) = &self.written {
            value["source"] = json!({"line": written.line, "text": written.text});
        }
        if let Some(fix) = &self.fix {
            value["fix"] = json!(fix);
        }
        value
    }
}

/// Findings as people read them: each a line, what was written, and the smallest call that works, said once.
#[must_use]
pub fn render(findings: &[Finding]) -> String {
    let mut lines = Vec::new();
    for (at, finding) in findings.iter().enumerate() {
        let changed = finding
            .changed
            .as_ref()
            .map_or_else(String::new, |changed| {
                format!(
                    " (schema changed {}: {})",
                    changed.when.strftime("%Y-%m-%d"),
                    changed.what
                )
            });
        lines.push(format!("{}: {}{changed}", finding.tool, finding.message));
        if let Some(written) = &finding.written {
            let text = terminal::one_line(&written.text, MAX_SHOWN);
            lines.push(format!("  you wrote:  {text}   (line {})", written.line));
        }
        let is_said_again = findings
            .get(at + 1)
            .is_some_and(|next| next.fix == finding.fix);
        if let Some(fix) = finding.fix.as_ref().filter(|_| !is_said_again) {
            lines.push(format!("  minimum:    {fix}"));
        }
    }
    lines.join("\n")
}

/// A call that was made.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The server, by its own name.
    pub server: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The tool, by the name that was sent.
    pub tool: &'a str,
    /// The tools of the server as they were last read. `None`: they never were, and nothing is explained.
    pub tools: Option<&'a [Tool]>,
    /// What was sent.
    pub arguments: &'a Object,
}

/// What a server answered to it.
#[derive(Debug, Clone, Copy)]
pub enum Refusal<'a> {
    /// An error.
    Error {
        /// Its code.
        code: i64,
        /// Its message.
        message: &'a str,
    },
    /// A result that says `isError`.
    Result {
        /// Its text.
        text: &'a str,
    },
}

impl<'a> Refusal<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Error { message, .. } => message,
            Self::Result { text } => text,
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Error { .. } => "the call was rejected",
            Self::Result { .. } => "the tool failed",
        }
    }
}

/// What was wrong with `call`, as far as it can be told; the gravest first. Nothing when the failure is not about it.
#[must_use]
pub fn explain(call: &Call<'_>, refusal: Refusal<'_>, history: &History) -> Vec<Finding> {
    let Some(tools) = call.tools else {
        return Vec::new();
    };
    let is_about = match refusal {
        Refusal::Error { code, .. } if gate::is_carriers(code) => return Vec::new(),
        Refusal::Error { code, message } => gate::is_about_arguments(code, message),
        Refusal::Result { .. } => false,
    };
    let names = Names::of_tools(tools.iter().map(|tool| tool.name.clone()));
    let Some(tool) = tools.iter().find(|tool| tool.name == call.tool) else {
        // That the list lacks it is a fact; that this was the reason is not, unless the server says so.
        let says_so = is_about
            || gate::names(refusal.text(), call.tool)
            || matches!(refusal, Refusal::Error { code, .. } if code == mcp_wire::error::METHOD_NOT_FOUND);
        return if says_so {
            vec![unknown_tool(
                call.server,
                call.namespace,
                call.tool,
                tools,
                history,
            )]
        } else {
            Vec::new()
        };
    };
    if matches!(refusal, Refusal::Error { .. }) && !is_about {
        return Vec::new();
    }
    let about = About {
        call,
        refusal,
        history,
        tool,
        path: format!("{}.{}", call.namespace, names.identifier(call.tool)),
    };
    about.findings()
}

fn changed(change: &Change) -> Changed {
    Changed {
        when: change.when,
        kind: change.difference.kind.word().to_owned(),
        what: terminal::one_line(&change.difference.what, 400),
    }
}

/// The smallest call of the function at `path`, as a script writes it.
fn minimal_call(path: &str, schema: &Value) -> Option<String> {
    let value = minimal::minimal(schema)?;
    let members = value.as_object()?;
    let call = if members.is_empty() {
        format!("await {path}()")
    } else {
        format!("await {path}({})", literal(&value))
    };
    (call.len() <= MAX_FIX_BYTES).then_some(call)
}

/// That a server has no tool of this name, with the nearest ones and what became of it.
#[must_use]
pub fn unknown_tool(
    server: &str,
    namespace: &str,
    tool: &str,
    tools: &[Tool],
    history: &History,
) -> Finding {
    let names = Names::of_tools(tools.iter().map(|tool| tool.name.clone()));
    let near = names.nearest(tool, 3);
    let shown = terminal::one_line(tool, MAX_SHOWN);
    let fix = near.first().and_then(|name| {
        let tool = tools.iter().find(|tool| tool.name == *name)?;
        let path = format!("{namespace}.{}", names.identifier(name));
        minimal_call(&path, &local(tool.input_schema().value().ok()?))
    });
    let all: Vec<&str> = names.iter().map(|(_, identifier)| identifier).collect();
    let near: Vec<String> = near
        .into_iter()
        .map(|name| names.identifier(name))
        .collect();
    let near: Vec<&str> = near.iter().map(String::as_str).collect();
    let record = history.record(server, tool);
    Finding {
        kind: Kind::UnknownTool,
        tool: format!("{namespace}.{shown}"),
        field: None,
        message: format!(
            "{namespace} has no tool {shown}; {}",
            instead(&near, &all, "its tools are")
        ),
        changed: record
            .filter(|record| record.gone.is_some())
            .and_then(|record| record.changes.first())
            .map(changed),
        written: None,
        fix,
        fatal: true,
    }
}

/// That no server goes by this name, with the nearest ones.
#[must_use]
pub fn unknown_namespace(namespace: &str, tool: &str, servers: &Names) -> Finding {
    let shown = terminal::one_line(namespace, MAX_SHOWN);
    let near: Vec<String> = servers
        .nearest(namespace, 3)
        .into_iter()
        .map(|name| servers.identifier(name))
        .collect();
    let near: Vec<&str> = near.iter().map(String::as_str).collect();
    let all: Vec<&str> = servers.iter().map(|(_, identifier)| identifier).collect();
    let path = if tool.is_empty() {
        shown.clone()
    } else {
        format!("{shown}.{}", terminal::one_line(tool, MAX_SHOWN))
    };
    Finding {
        kind: Kind::UnknownNamespace,
        tool: path,
        field: None,
        message: format!(
            "no server is configured under {shown}; {}",
            instead(&near, &all, "there are")
        ),
        changed: None,
        written: None,
        fix: None,
        fatal: true,
    }
}

fn instead(near: &[&str], all: &[&str], are: &str) -> String {
    let more = all.len().saturating_sub(MAX_LISTED);
    match (near, all) {
        ([], []) => "there is none at all".to_owned(),
        ([], all) => {
            let first: Vec<&str> = all.iter().take(MAX_LISTED).copied().collect();
            let more = if more == 0 {
                String::new()
            } else {
                format!(" and {more} more")
            };
            format!("{are} {}{more}", first.join(", "))
        }
        (near, _) => format!("did you mean {}?", near.join(" or ")),
    }
}

#[cfg(test)]
mod tests;
