//! The flags of settings, taken out of a command line wherever they stand, and the rest put in order: words first.

use std::path::PathBuf;

use clap::{Arg, Command};
use mcpx_config::Choice;
use mcpx_config::settings::registry::{Kind, Setting, by_flag};

use crate::exit::Failure;

/// A command line without the flags of settings.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sorted {
    /// The command's words, then everything else in the order it was typed.
    pub(crate) line: Vec<String>,
    /// What the flags said.
    pub(crate) choice: Choice,
}

/// Takes the flags of settings out of `typed`. A command's own flag of the same name stays with the command.
///
/// # Errors
/// When a setting's flag has no value.
pub(crate) fn sort(root: &Command, typed: &[String]) -> Result<Sorted, Failure> {
    let (words, command) = command_of(root, typed);
    let mut sorted = Sorted::default();
    let mut rest = Vec::new();
    let mut words_left = words;
    let mut at = 0;
    while let Some(token) = typed.get(at) {
        at += 1;
        if token == "--" {
            rest.extend(typed[at - 1..].iter().cloned());
            break;
        }
        if !is_flag(token) {
            if words_left > 0 {
                words_left -= 1;
                sorted.line.push(token.clone());
            } else {
                rest.push(token.clone());
            }
            continue;
        }
        let (name, inline) = split(token);
        if let Some(own) = own_flag(command, name) {
            rest.push(token.clone());
            if inline.is_none() && takes_next(own) {
                rest.extend(typed.get(at).cloned());
                at += 1;
            }
            continue;
        }
        if name == "--demo" {
            sorted.choice.demo = !matches!(inline, Some("false" | "0" | "no"));
            continue;
        }
        let Some((setting, is_negated)) = setting_of(name) else {
            rest.push(token.clone());
            continue;
        };
        let value = match inline {
            Some(value) => value.to_owned(),
            None if setting.kind == Kind::Bool => "true".to_owned(),
            None => {
                let value = typed.get(at).filter(|next| *next != "--").ok_or_else(|| {
                    Failure::usage(format!(
                        "`{name}` has no value, expected {} for `{}`",
                        expected(setting),
                        setting.path
                    ))
                })?;
                at += 1;
                value.clone()
            }
        };
        if setting.path == "paths.configFile" {
            sorted.choice.config_file = Some(PathBuf::from(value));
            continue;
        }
        let value = match (is_negated, value.as_str()) {
            (true, "false") => "true".to_owned(),
            (true, _) => "false".to_owned(),
            (false, _) => value,
        };
        sorted.choice.flags.push((setting.path.to_owned(), value));
    }
    sorted.line.append(&mut rest);
    // `mcpx help call` is `mcpx call --help`.
    if sorted.line.first().is_some_and(|word| word == "help") {
        sorted.line.remove(0);
        sorted.line.push("--help".to_owned());
    }
    Ok(sorted)
}

/// Whether a word is a flag.
pub(super) fn is_flag(token: &str) -> bool {
    token.len() > 1 && token.starts_with('-') && !token.starts_with("---")
}

fn split(token: &str) -> (&str, Option<&str>) {
    if !token.starts_with("--") {
        return (token, None);
    }
    match token.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (token, None),
    }
}

/// The setting of a flag; a switch can also be written `--no-…`.
fn setting_of(name: &str) -> Option<(&'static Setting, bool)> {
    if let Some(setting) = by_flag(name) {
        return Some((setting, false));
    }
    let positive = format!("--{}", name.strip_prefix("--no-")?);
    by_flag(&positive)
        .filter(|setting| setting.kind == Kind::Bool)
        .map(|setting| (setting, true))
}

fn expected(setting: &Setting) -> String {
    if setting.choices.is_empty() {
        match setting.kind {
            Kind::Duration => "a time such as `1m30s`".to_owned(),
            Kind::Bytes => "a size such as `256KiB`".to_owned(),
            Kind::Int => "a whole number".to_owned(),
            Kind::List | Kind::Paths => "a list".to_owned(),
            _ => "a text".to_owned(),
        }
    } else {
        format!("one of {}", setting.choices.join(", "))
    }
}

/// How many of the words without a dash name the command, and the command.
fn command_of<'a>(root: &'a Command, typed: &[String]) -> (usize, &'a Command) {
    let mut command = root;
    let mut words = 0;
    let mut at = 0;
    while let Some(token) = typed.get(at) {
        at += 1;
        if token == "--" {
            break;
        }
        if is_flag(token) {
            let (name, inline) = split(token);
            let takes_value = match own_flag(command, name) {
                Some(own) => takes_next(own),
                None => match setting_of(name) {
                    Some((setting, _)) => setting.kind != Kind::Bool,
                    None => any_takes_next(root, name),
                },
            };
            if inline.is_none() && takes_value {
                at += 1;
            }
            continue;
        }
        match command.find_subcommand(token) {
            Some(below) => {
                command = below;
                words += 1;
            }
            None => break,
        }
    }
    (words, command)
}

/// The flag of a command, by a name as it is typed.
fn own_flag<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| {
        if let Some(long) = name.strip_prefix("--") {
            return arg.get_long() == Some(long)
                || arg.get_all_aliases().is_some_and(|all| all.contains(&long));
        }
        let mut short = name.chars().skip(1);
        arg.get_short().is_some() && arg.get_short() == short.next()
    })
}

/// Whether the word behind a flag of the command is the flag's value.
pub(super) fn takes_next_word(command: &Command, token: &str) -> bool {
    let (name, inline) = split(token);
    inline.is_none() && own_flag(command, name).is_some_and(takes_next)
}

fn takes_next(arg: &Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}

fn any_takes_next(command: &Command, name: &str) -> bool {
    own_flag(command, name).is_some_and(takes_next)
        || command
            .get_subcommands()
            .any(|below| any_takes_next(below, name))
}
