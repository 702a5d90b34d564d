//! References to variables in the texts of an entry.
//!
//! `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${env:NAME:-default}`, `${input:name}`, and of the names that editors
//! give, `${workspaceFolder}`, `${workspaceFolderBasename}`, `${userHome}`, `${pathSeparator}` and `${/}`. A default holds
//! where the variable is missing or empty, and may hold references. `$${` is `${` itself. Whatever else begins with `${`
//! stays as it is, and can be named ([`unread`]); a value that was put in is not looked through again.

use std::path::Path;

use super::shown::{HIDDEN, is_secret_name};
use crate::Surroundings;

/// How deep defaults may hold references with defaults.
const MAX_DEPTH: usize = 8;

/// Longest reference, default included, in bytes. Something longer stays as it is.
const MAX_BYTES: usize = 4096;

/// What references are looked up in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variables<'a> {
    pub(crate) surroundings: &'a Surroundings,
    /// What relative paths of the file are relative to.
    pub(crate) folder: &'a Path,
}

/// A reference that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    Variable(String),
    Input { name: String, variable: String },
}

impl Variables<'_> {
    /// Puts values in place of references.
    ///
    /// # Errors
    ///
    /// The first reference without a value and without a default.
    pub(crate) fn expand(self, text: &str) -> Result<String, Missing> {
        self.expand_within(text, 0)
    }

    /// The values of the variables that a text refers to, when their names or the question for them say that they are
    /// secrets.
    pub(crate) fn secrets_in(self, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut texts = vec![text];
        while let Some(text) = texts.pop() {
            for part in parts(text) {
                let Part::Reference(reference) = part else {
                    continue;
                };
                texts.extend(reference.default);
                let name = match reference.kind {
                    RefKind::Input => input_variable(reference.name),
                    RefKind::Plain | RefKind::Env if is_secret_name(reference.name) => {
                        reference.name.to_owned()
                    }
                    RefKind::Plain | RefKind::Env => continue,
                };
                found.extend(self.surroundings.env.get(&name).cloned());
            }
        }
        found
    }

    fn expand_within(self, text: &str, depth: usize) -> Result<String, Missing> {
        let mut whole = String::with_capacity(text.len());
        for part in parts(text) {
            match part {
                Part::Reference(reference) if depth < MAX_DEPTH => {
                    whole.push_str(&self.value(&reference, depth)?);
                }
                Part::Reference(reference) => whole.push_str(reference.written),
                Part::Literal(text) | Part::Unread(text) => whole.push_str(text),
            }
        }
        Ok(whole)
    }

    fn value(self, reference: &Reference<'_>, depth: usize) -> Result<String, Missing> {
        let (found, missing) = match reference.kind {
            RefKind::Plain => (
                self.surroundings
                    .env
                    .get(reference.name)
                    .cloned()
                    .or_else(|| self.of_editor(reference.name)),
                Missing::Variable(reference.name.to_owned()),
            ),
            RefKind::Env => (
                self.surroundings.env.get(reference.name).cloned(),
                Missing::Variable(reference.name.to_owned()),
            ),
            RefKind::Input => {
                let variable = input_variable(reference.name);
                (
                    self.surroundings.env.get(&variable).cloned(),
                    Missing::Input {
                        name: reference.name.to_owned(),
                        variable,
                    },
                )
            }
        };
        match (found, reference.default) {
            (Some(value), Some(_)) if !value.is_empty() => Ok(value),
            (_, Some(default)) => self.expand_within(default, depth + 1),
            (Some(value), None) => Ok(value),
            (None, None) => Err(missing),
        }
    }

    fn of_editor(self, name: &str) -> Option<String> {
        match name {
            "workspaceFolder" => Some(self.folder.to_string_lossy().into_owned()),
            "workspaceFolderBasename" => {
                let name = self.folder.file_name().unwrap_or_default();
                Some(name.to_string_lossy().into_owned())
            }
            "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
            "userHome" => self
                .surroundings
                .home
                .as_ref()
                .map(|home| home.to_string_lossy().into_owned()),
            _ => None,
        }
    }
}

/// The variable that answers an input: `MCPX_INPUT_` and the name in capitals, with `_` for what a variable cannot hold.
pub(crate) fn input_variable(name: &str) -> String {
    let upper: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    format!("MCPX_INPUT_{upper}")
}

/// The text with every `${` written so that [`Variables::expand`] leaves it as it is: for what a host without references
/// wrote.
pub(crate) fn escaped(text: &str) -> String {
    text.replace("${", "$${")
}

/// What looks like a reference and is none that is known here, such as `${command:x}` or `${NAME:?}`.
pub(crate) fn unread(text: &str) -> Vec<&str> {
    let found = parts(text).into_iter();
    let found = found.filter_map(|part| match part {
        Part::Unread(text) => Some(text),
        Part::Literal(_) | Part::Reference(_) => None,
    });
    found.collect()
}

/// The text with `…` in place of everything that is no reference, and of defaults; `Bearer` and `Basic` stay.
pub(crate) fn masked(text: &str) -> String {
    masked_within(text, 0)
}

fn masked_within(text: &str, depth: usize) -> String {
    let (scheme, rest) = ["Bearer ", "Basic "]
        .into_iter()
        .find_map(|scheme| Some((scheme, text.strip_prefix(scheme)?)))
        .filter(|(_, rest)| rest.starts_with("${"))
        .unwrap_or(("", text));
    let mut safe = scheme.to_owned();
    for part in parts(rest) {
        match part {
            Part::Reference(reference) if depth < MAX_DEPTH => match reference.default {
                None => safe.push_str(reference.written),
                Some(default) => {
                    let until = reference.written.len() - default.len() - 1;
                    safe.push_str(&reference.written[..until]);
                    if !default.is_empty() {
                        safe.push_str(&masked_within(default, depth + 1));
                    }
                    safe.push('}');
                }
            },
            _ if safe.ends_with(HIDDEN) => {}
            _ => safe.push_str(HIDDEN),
        }
    }
    safe
}

#[derive(Clone, Copy)]
enum RefKind {
    Plain,
    Env,
    Input,
}

struct Reference<'a> {
    kind: RefKind,
    name: &'a str,
    default: Option<&'a str>,
    /// With its braces.
    written: &'a str,
}

/// A piece of a text.
enum Part<'a> {
    /// Itself.
    Literal(&'a str),
    /// Itself too, though it looks like a reference.
    Unread(&'a str),
    Reference(Reference<'a>),
}

/// Takes a text apart.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            parts.push(Part::Literal(before));
            parts.push(Part::Literal("${"));
            rest = &from[2..];
            continue;
        }
        parts.push(Part::Literal(before));
        let Some(end) = closing(&from[2..]).map(|end| end + 2) else {
            parts.push(Part::Literal("${"));
            rest = &from[2..];
            continue;
        };
        let written = &from[..=end];
        let (part, after) = match reference(written) {
            Some(reference) => (Part::Reference(reference), &from[end + 1..]),
            // What is in it may be a reference.
            None if from[2..end].contains("${") => (Part::Literal("${"), &from[2..]),
            None => (Part::Unread(written), &from[end + 1..]),
        };
        parts.push(part);
        rest = after;
    }
    parts.push(Part::Literal(rest));
    parts.retain(|part| !matches!(part, Part::Literal("")));
    parts
}

/// Where the brace is closed that stands before `inner`. A hostile text of nothing but open braces is not read to its end
/// for each of them.
fn closing(inner: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = inner.bytes().take(MAX_BYTES).enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'$' if bytes.peek().is_some_and(|(_, next)| *next == b'{') => {
                bytes.next();
                depth += 1;
            }
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Reads a reference with its braces; `None` when it is none.
fn reference(written: &str) -> Option<Reference<'_>> {
    let inner = written.strip_prefix("${")?.strip_suffix('}')?;
    let (kind, rest) = if let Some(rest) = inner.strip_prefix("env:") {
        (RefKind::Env, rest)
    } else if let Some(rest) = inner.strip_prefix("input:") {
        (RefKind::Input, rest)
    } else {
        (RefKind::Plain, inner)
    };
    let (name, default) = match rest.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (rest, None),
    };
    let is_variable = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let is_input = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    let is_name = match kind {
        RefKind::Plain if inner == "/" => true,
        RefKind::Plain | RefKind::Env => is_variable(name),
        RefKind::Input => is_input(name),
    };
    is_name.then_some(Reference {
        kind,
        name,
        default,
        written,
    })
}

#[cfg(test)]
mod tests;
