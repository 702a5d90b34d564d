//! What may be typed, and what was.
//!
//! Most commands are made from the table of operations (`tree`), the rest stand in `local`. Every setting is a flag of
//! every command, before or after its words; `setting_flags` takes those out first, so that they cost a command nothing.

pub(crate) mod from_table;
mod local;
pub(crate) mod nearest;
mod setting_flags;
pub(crate) mod tree;
mod usage;

use std::ffi::OsString;

use clap::ArgMatches;
use mcpx_config::Choice;

use crate::exit::Failure;

/// A command line that was understood.
#[derive(Debug)]
pub(crate) struct Typed {
    /// The command's words, `servers add`.
    pub(crate) words: String,
    /// What stood behind them.
    pub(crate) matches: ArgMatches,
    /// Files and settings, for the configuration.
    pub(crate) choice: Choice,
}

/// What to do with a command line.
#[derive(Debug)]
pub(crate) enum Understood {
    /// A command.
    Command(Box<Typed>),
    /// Print this text: help or the version.
    Print {
        /// `help` or `version`, for the document.
        what: &'static str,
        /// The text.
        text: String,
    },
}

/// Whether a command line asks for JSON, also one that cannot be understood. `variable`: what `MCPX_OUTPUT_JSON` says.
#[must_use]
pub(crate) fn wants_json(argv: &[OsString], variable: Option<&str>) -> bool {
    let mut wanted = matches!(variable, Some("1" | "true" | "yes" | "on"));
    for word in argv.iter().skip(1).filter_map(|word| word.to_str()) {
        match word {
            "--" => break,
            "--json" | "--json=true" | "--output-json" | "--output-json=true" => wanted = true,
            "--json=false" | "--output-json=false" => wanted = false,
            _ => {}
        }
    }
    wanted
}

/// Reads a command line; the first element is the program.
///
/// # Errors
/// When it cannot be understood: what was typed, what there is instead.
pub(crate) fn understand(argv: Vec<OsString>) -> Result<Understood, Failure> {
    let argv: Vec<String> = argv
        .into_iter()
        .map(|word| {
            word.into_string().map_err(|word| {
                Failure::usage(format!(
                    "an argument is not UTF-8: `{}`",
                    word.to_string_lossy()
                ))
            })
        })
        .collect::<Result<_, _>>()?;
    let mut root = tree::root();
    let sorted = setting_flags::sort(&root, argv.get(1..).unwrap_or_default())?;
    let line = std::iter::once("mcpx".to_owned()).chain(sorted.line.iter().cloned());
    let matches = match root.try_get_matches_from_mut(line) {
        Ok(matches) => matches,
        Err(error) => return usage::told(&error, &sorted.line),
    };
    let mut words = Vec::new();
    let mut inner = matches;
    while let Some((name, below)) = inner.remove_subcommand() {
        words.push(name);
        inner = below;
    }
    let words = tree::with_default(&words);
    Ok(Understood::Command(Box::new(Typed {
        words,
        matches: inner,
        choice: sorted.choice,
    })))
}

/// A line that is still being typed, as far as it goes.
#[derive(Debug)]
pub(crate) struct Placed {
    /// The command's words.
    pub(crate) words: String,
    /// What stands behind them and is no flag.
    pub(crate) arguments: Vec<String>,
    /// Files and settings.
    pub(crate) choice: Choice,
}

/// Where somebody stands who has typed this; nothing behind a flag whose value comes next.
pub(crate) fn placed(typed: &[String]) -> Option<Placed> {
    let root = tree::root();
    let sorted = setting_flags::sort(&root, typed).ok()?;
    let path = tree::command_at(&sorted.line);
    let command = tree::at(&root, &path);
    let mut arguments = Vec::new();
    let mut rest = sorted.line.iter().skip(path.len());
    while let Some(word) = rest.next() {
        if setting_flags::is_flag(word) {
            if setting_flags::takes_next_word(command, word) {
                rest.next()?;
            }
        } else {
            arguments.push(word.clone());
        }
    }
    Some(Placed {
        words: path.join(" "),
        arguments,
        choice: sorted.choice,
    })
}

#[cfg(test)]
mod tests;
