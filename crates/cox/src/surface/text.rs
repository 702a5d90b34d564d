//! Events as lines for people, on stderr.
//!
//! One line when a call is asked for, one with its result, the diff of a change, and what the person should know.
//! The final answer is not among them: it goes to stdout when the turn has ended.

pub(crate) mod painted;

use std::collections::{HashMap, HashSet};

use cox_protocol::{CallId, DecidedBy, Event, Item, Level, ToolDone};
use cox_workspace::in_words::counted;
use untrusted_text::terminal::{TerminalStream, for_terminal};

use crate::surface::outcome::text_of;

/// Lines of a diff that are shown.
const DIFF_LINES: usize = 40;
/// Lines of what a failed call said that are shown.
const ERROR_LINES: usize = 6;
/// Characters of a subject that are shown.
const SUBJECT_CHARS: usize = 160;

/// Turns events into lines. Each piece from outside is made safe before it joins a line, so that an escape sequence that
/// never ends in one piece cannot take the next one with it.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    verbose: bool,
    /// Whether a result names where its whole output lies.
    points: bool,
    subjects: HashMap<CallId, (String, String)>,
    /// Calls whose denial was printed.
    denied: HashSet<CallId>,
    /// The call whose line was printed last; a result under another line names its call again.
    last: Option<CallId>,
    /// The text of the last answer, not printed yet: the final one belongs on stdout.
    held: String,
    /// Makes thinking safe, which comes in pieces.
    thinking: TerminalStream,
}

impl Lines {
    /// Starts. `verbose` adds what calls print while they run, thinking, and the figures of each request.
    pub(crate) fn new(verbose: bool) -> Self {
        Self {
            verbose,
            ..Self::default()
        }
    }

    /// Adds to each result how to see its whole output.
    pub(crate) fn with_pointers(mut self) -> Self {
        self.points = true;
        self
    }

    /// Returns the lines for an event, without a line break at the end; empty when there is nothing to say. The text
    /// may hold anything from outside: print it through the terminal filter.
    pub(crate) fn lines(&mut self, event: &Event) -> String {
        match event {
            Event::SessionStarted { session, provider, model, mode, sandbox, resumed, .. } => {
                let again = if *resumed { ", continued" } else { "" };
                let mode = word(mode);
                format!("session {session}{again}: {provider} {model}, {mode} mode, {sandbox}")
            }
            Event::ItemAdded { item: Item::Assistant { blocks, .. } } => {
                self.thinking = TerminalStream::new();
                let held = std::mem::replace(&mut self.held, for_terminal(&text_of(blocks)));
                self.other(held)
            }
            Event::ThinkingDelta { text } if self.verbose => {
                // A sequence may be split between two pieces.
                let safe = self.thinking.push(text.verbatim());
                self.other(indent(&safe))
            }
            Event::ToolRequested { call, name, input, subject, .. } => {
                // Text before a call is commentary; the text that no call follows is the answer.
                let held = std::mem::take(&mut self.held);
                let mut subject = one_line(subject.verbatim());
                // A search is about what is looked for more than about where.
                if let Some(pattern) = input.get("pattern").and_then(serde_json::Value::as_str)
                    && !subject.contains(pattern)
                {
                    subject = format!("`{}` {subject}", one_line(pattern));
                }
                self.subjects.insert(*call, (one_line(name), subject.clone()));
                self.last = Some(*call);
                let line = format!("* {} {subject}", one_line(name)).trim_end().to_owned();
                if held.is_empty() { line } else { format!("{held}\n{line}") }
            }
            Event::ApprovalRequired { call, why, subject, .. } => {
                let mut why = why.text();
                // A call may ask again, about something else than it was asked for: to run without the sandbox.
                let line = one_line(subject.verbatim());
                if self.subjects.get(call).is_some_and(|(_, asked)| !asked.contains(&line)) {
                    why = format!("{line}; {why}");
                }
                let answers =
                    format!("{{\"approve\": \"{call}\"}} or {{\"deny\": \"{call}\"}}");
                // Nobody can allow what they cannot see.
                let whole = for_terminal(subject.verbatim()).trim_end().to_owned();
                let whole = if line == whole {
                    String::new()
                } else {
                    format!(" all of this:\n{}\n ", indent(&indent(&whole)))
                };
                self.under(*call, format!("asks,{whole} {why}; answer {answers} on stdin"))
            }
            Event::ApprovalDecided { call, allowed: false, reason, by } => {
                let by = match by {
                    DecidedBy::Engine | DecidedBy::Person => "",
                    DecidedBy::Nobody => "nobody answered, ",
                };
                self.denied.insert(*call);
                self.under(*call, format!("denied: {by}{}", for_terminal(reason)))
            }
            Event::ApprovalDecided { call, allowed: true, reason, by: DecidedBy::Engine } if self.verbose => {
                self.under(*call, format!("allowed: {reason}"))
            }
            Event::ToolOutput { call, text } if self.verbose => {
                self.under(*call, indent(for_terminal(text.verbatim()).trim_end()))
            }
            Event::ToolDone(done) => {
                let result = self.result(done);
                match diff_of(done) {
                    Some(diff) => format!("{result}\n{}", indent(&diff)),
                    None => result,
                }
            }
            Event::QuestionAsked { call, question, options } => {
                let mut text = format!("asks: {}", for_terminal(question.verbatim()));
                for option in options {
                    text.push_str("\n  - ");
                    text.push_str(&for_terminal(option.verbatim()));
                }
                text.push_str(&format!("\n  answer {{\"answer\": \"{call}\", \"text\": \"…\"}} on stdin"));
                self.under(*call, text)
            }
            Event::Usage { model, tokens, cost, latency_ms, .. } if self.verbose => {
                let cost = cost.map_or_else(|| "price unknown".to_owned(), |cost| format!("${:.4}", cost.usd()));
                self.other(format!(
                    "  {model}: {} in, {} from cache, {} to cache, {} out, {cost}, {}",
                    tokens.input,
                    tokens.cache_read,
                    tokens.cache_write,
                    tokens.output,
                    duration(*latency_ms)
                ))
            }
            Event::Retrying { reason, attempt, after_ms } => {
                self.other(format!("retry {attempt} in {}: {reason}", duration(*after_ms)))
            }
            Event::Compacted { calls, before_tokens, after_tokens } => self.other(format!(
                "{} old results became pointers: about {before_tokens} tokens are now {after_tokens}",
                calls.len()
            )),
            Event::ModeChanged { mode } => self.other(format!("{} mode", word(mode))),
            Event::Notice { level, text } => {
                let level = match level {
                    Level::Info => "note",
                    Level::Warning => "warning",
                    Level::Security => "security",
                };
                self.other(format!("{level}: {}", text.verbatim()))
            }
            Event::TurnDone { .. } => {
                self.held.clear();
                String::new()
            }
            Event::ThinkingDelta { .. }
            | Event::ApprovalDecided { .. }
            | Event::ToolOutput { .. }
            | Event::Usage { .. }
            | Event::PrefixBuilt { .. }
            | Event::TurnStarted { .. }
            | Event::ItemAdded { .. }
            | Event::TextDelta { .. }
            | Event::QuestionAnswered { .. } => String::new(),
        }
    }

    /// Returns the lines for an event and the diff below them by itself, not indented, so that it can be painted.
    pub(crate) fn lines_and_diff(&mut self, event: &Event) -> (String, Option<String>) {
        match event {
            Event::ToolDone(done) => (self.result(done), diff_of(done)),
            _ => (self.lines(event), None),
        }
    }

    /// The result of a call without its diff.
    fn result(&mut self, done: &ToolDone) -> String {
        if done.denied {
            // The reason was printed when it was decided; a call refused without judgement says why here.
            if self.denied.remove(&done.call) {
                return String::new();
            }
            return self.under(
                done.call,
                format!("refused: {}", one_line(done.visible.verbatim())),
            );
        }
        let state = match (done.ok, done.exit_code) {
            (true, None | Some(0)) => "ok".to_owned(),
            (_, Some(code)) => format!("exit code {code}"),
            (false, None) => "failed".to_owned(),
        };
        let mut text = format!(
            "{state}, {}, {}",
            size(done.bytes),
            duration(done.duration_ms)
        );
        if let (true, Some(archive)) = (self.points, done.archive) {
            text.push_str(&format!(", cox expand {archive}"));
        }
        if !done.ok {
            text.push('\n');
            let visible = for_terminal(done.visible.verbatim());
            text.push_str(&indent(&last_lines(&visible, ERROR_LINES)));
        }
        self.under(done.call, text)
    }

    /// Puts text under the line of its call; after it, when another line came between.
    fn under(&mut self, call: CallId, text: impl AsRef<str>) -> String {
        let text = text.as_ref();
        if self.last == Some(call) {
            return format!("  {text}");
        }
        self.last = Some(call);
        match self.subjects.get(&call) {
            Some((name, subject)) => {
                format!("{}: {text}", format!("* {name} {subject}").trim_end())
            }
            None => format!("  {text}"),
        }
    }

    /// Text that belongs to no call.
    fn other(&mut self, text: String) -> String {
        if !text.is_empty() {
            self.last = None;
        }
        text
    }
}

/// What is shown of the change that a call made, safe for a terminal.
fn diff_of(done: &ToolDone) -> Option<String> {
    let diff = done.diff.as_ref().filter(|_| !done.denied)?;
    let safe = for_terminal(diff.verbatim());
    Some(first_lines(safe.trim_end(), DIFF_LINES))
}

/// Returns the word that a value has on the wire.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => "?".to_owned(),
    }
}

fn one_line(text: &str) -> String {
    let text = &for_terminal(text);
    let mut line: String = text
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(SUBJECT_CHARS)
        .collect();
    if line.len() < text.trim_end().len() {
        line.push_str(" …");
    }
    line
}

fn indent(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| format!("  {line}").trim_end().to_owned())
        .collect();
    lines.join("\n")
}

fn first_lines(text: &str, most: usize) -> String {
    let total = text.lines().count();
    let mut shown: Vec<&str> = text.lines().take(most).collect();
    let rest = format!("… {} more", counted(total.saturating_sub(most), "line"));
    if total > most {
        shown.push(&rest);
    }
    shown.join("\n")
}

fn last_lines(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(most)..].join("\n")
}

/// Returns a size in bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// Returns a time in milliseconds for people.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1000.0),
        _ => format!("{} min {} s", ms / 60_000, ms / 1000 % 60),
    }
}

#[cfg(test)]
mod tests;
