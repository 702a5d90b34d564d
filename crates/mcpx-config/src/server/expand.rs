//! References to variables in the texts of an entry.
//!
//! `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${env:NAME:-default}`, `${input:name}`, and of the names that editors
//! give, `${workspaceFolder}` and `${userHome}`. A default holds where the variable is missing or empty, and may hold
//! references. Whatever else begins with `${` stays as it is; a value that was put in is not looked through again.

use std::path::Path;

use super::shown::is_secret_name;
use crate::Surroundings;

/// How deep defaults may hold references with defaults.
const MAX_DEPTH: usize = 8;

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
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            rest = &rest[at + 2..];
            let Some(reference) = closing(rest).and_then(|end| reference(&rest[..end])) else {
                continue;
            };
            let name = match reference.kind {
                RefKind::Input => input_variable(reference.name),
                RefKind::Plain | RefKind::Env if is_secret_name(reference.name) => {
                    reference.name.to_owned()
                }
                RefKind::Plain | RefKind::Env => continue,
            };
            found.extend(self.surroundings.env.get(&name).cloned());
        }
        found
    }

    fn expand_within(self, text: &str, depth: usize) -> Result<String, Missing> {
        let mut whole = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, from) = rest.split_at(at);
            whole.push_str(before);
            let inner = &from[2..];
            let reference = closing(inner)
                .and_then(|end| Some((reference(&inner[..end])?, &inner[end + 1..])))
                .filter(|_| depth < MAX_DEPTH);
            match reference {
                Some((reference, after)) => {
                    whole.push_str(&self.value(&reference, depth)?);
                    rest = after;
                }
                None => {
                    whole.push_str("${");
                    rest = inner;
                }
            }
        }
        whole.push_str(rest);
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
}

/// Where the brace is closed that stands before `inner`.
fn closing(inner: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = inner.bytes().enumerate().peekable();
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

/// Reads what stands between the braces; `None` when it is no reference.
fn reference(inner: &str) -> Option<Reference<'_>> {
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
        RefKind::Plain | RefKind::Env => is_variable(name),
        RefKind::Input => is_input(name),
    };
    is_name.then_some(Reference {
        kind,
        name,
        default,
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::PathBuf};

    use proptest::prelude::*;

    use super::*;

    fn surroundings() -> Surroundings {
        let env = [
            ("A", "a"),
            ("EMPTY", ""),
            ("TRICK", "${A}"),
            ("MCPX_INPUT_API_KEY", "k"),
        ];
        Surroundings {
            cwd: PathBuf::from("/p"),
            env: env
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect::<BTreeMap<_, _>>(),
            home: Some(PathBuf::from("/home/u")),
            exe: PathBuf::from("/bin/mcpx"),
        }
    }

    fn expand(text: &str) -> Result<String, Missing> {
        Variables {
            surroundings: &surroundings(),
            folder: Path::new("/p"),
        }
        .expand(text)
    }

    #[test]
    fn each_form_is_expanded() {
        for (text, expected) in [
            ("x", "x"),
            ("<${A}>", "<a>"),
            ("${env:A}${A}", "aa"),
            ("${NONE:-d}", "d"),
            ("${EMPTY:-d}", "d"),
            ("${EMPTY}", ""),
            ("${A:-d}", "a"),
            ("${NONE:-}", ""),
            ("${NONE:-<${NO:-${A}}>}", "<a>"),
            ("${env:NONE:-d}", "d"),
            ("${input:api-key}", "k"),
            ("${TRICK}", "${A}"),
            ("${workspaceFolder}/x ${userHome}", "/p/x /home/u"),
        ] {
            assert_eq!(expand(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_reference_stays() {
        for text in [
            "$A",
            "${",
            "${}",
            "${A",
            "${A-b}",
            "${1}",
            "${a b}",
            "${file:x}",
            "$${",
            "a}b",
        ] {
            assert_eq!(expand(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(expand("${NONE}"), Err(Missing::Variable("NONE".to_owned())));
        assert_eq!(
            expand("${X:-${NONE}}"),
            Err(Missing::Variable("NONE".to_owned()))
        );
        assert_eq!(expand("${input:a b}").as_deref(), Ok("${input:a b}"),);
        assert_eq!(
            expand("${input:db-url}"),
            Err(Missing::Input {
                name: "db-url".to_owned(),
                variable: "MCPX_INPUT_DB_URL".to_owned()
            })
        );
    }

    proptest! {
        #[test]
        fn any_text_is_expanded_or_names_what_is_missing(text in r"([$}{:\-]|\$\{|A|env:|input:|ä){0,40}") {
            drop(expand(&text));
        }
    }
}
