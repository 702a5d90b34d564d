//! A command line that was not understood: what was typed, and what there is instead.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use mcpx_config::settings::registry::SETTINGS;
use untrusted_text::terminal::one_line;

use super::nearest::{did_you_mean, nearest};
use super::{Understood, tree};
use crate::exit::Failure;

/// Longest piece of what was typed that a message shows.
const SHOWN: usize = 200;

/// Help and the version are texts to print; everything else is a failure. `line`: what was typed.
pub(super) fn told(error: &clap::Error, line: &[String]) -> Result<Understood, Failure> {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // A bare `mcpx` is a request for help; a group without its word lacks something.
            if error.kind() == ErrorKind::DisplayHelp || line.is_empty() {
                return Ok(Understood::Print { what: "help", text });
            }
            let words = tree::command_at(line).join(" ");
            Err(Failure::usage(format!("`mcpx {words}` needs another word"))
                .hint(format!("`mcpx {words} --help` lists them")))
        }
        ErrorKind::DisplayVersion => Ok(Understood::Print {
            what: "version",
            text,
        }),
        kind => Err(failure(error, kind, line)),
    }
}

fn failure(error: &clap::Error, kind: ErrorKind, line: &[String]) -> Failure {
    let path = tree::command_at(line);
    let name = std::iter::once("mcpx")
        .chain(path.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join(" ");
    let root = tree::root();
    let command = tree::at(&root, &path);
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(one_line(text, SHOWN)),
        Some(ContextValue::Strings(texts)) => Some(
            texts
                .iter()
                .map(|text| format!("`{}`", one_line(text, SHOWN)))
                .collect::<Vec<_>>()
                .join(", "),
        ),
        _ => None,
    };
    let help = format!("`{name} --help` shows what it takes");
    match kind {
        ErrorKind::InvalidSubcommand => {
            let word = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            let names = command
                .get_subcommands()
                .filter(|below| !below.is_hide_set())
                .flat_map(|below| std::iter::once(below.get_name()).chain(below.get_all_aliases()));
            let near = nearest(&word, names);
            Failure::usage(format!("`{name}` has no command `{word}`"))
                .hint(did_you_mean(&near).unwrap_or_else(|| format!("`{name} --help` lists them")))
        }
        ErrorKind::UnknownArgument => unknown(&name, command, context(ContextKind::InvalidArg)),
        ErrorKind::MissingRequiredArgument => {
            let missing = context(ContextKind::InvalidArg).unwrap_or_default();
            let failure = Failure::usage(format!("`{name}` needs {missing}"));
            match where_to_look(&missing) {
                Some(look) => failure.hint(format!("{look}; {help}")),
                None => failure.hint(help),
            }
        }
        ErrorKind::MissingSubcommand => {
            Failure::usage(format!("`{name}` needs another word")).hint(help)
        }
        ErrorKind::InvalidValue => {
            let arg = context(ContextKind::InvalidArg).unwrap_or_default();
            let value = context(ContextKind::InvalidValue).unwrap_or_default();
            let valid = context(ContextKind::ValidValue);
            let found = if value.is_empty() {
                format!("`{arg}` has no value")
            } else {
                format!("`{arg}` was `{value}`")
            };
            match valid.filter(|valid| !valid.is_empty()) {
                Some(valid) => Failure::usage(format!("{found}, expected one of {valid}")),
                None => Failure::usage(found).hint(help),
            }
        }
        _ => {
            let text = error.render().to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            let first = first.strip_prefix("error: ").unwrap_or(first);
            Failure::usage(one_line(first, 600)).hint(help)
        }
    }
}

/// Which command shows what may stand for an argument that is missing.
fn where_to_look(missing: &str) -> Option<&'static str> {
    [
        ("<NS>", "`mcpx ls` shows the namespaces"),
        ("<TOOL>", "`mcpx search WORDS` finds tools"),
        ("<PROMPT>", "`mcpx prompts` shows them"),
        ("<URI>", "`mcpx resources` shows them"),
        ("<PATH>", "`mcpx settings list` shows them"),
        ("<WORDS>", "such as `mcpx search create issue`"),
    ]
    .into_iter()
    .find(|(name, _)| missing.contains(name))
    .map(|(_, look)| look)
}

fn unknown(name: &str, command: &Command, arg: Option<String>) -> Failure {
    let arg = arg.unwrap_or_default();
    let help = format!("`{name} --help` shows what it takes");
    if !arg.starts_with('-') {
        let failure = Failure::usage(format!("`{name}` has no use for `{arg}`"));
        return match name {
            "mcpx ls" => failure.hint(format!(
                "the tools of a namespace: `mcpx catalog --ns {arg}`; their signatures: `mcpx types {arg}`"
            )),
            _ => failure.hint(help),
        };
    }
    let typed = arg
        .split('=')
        .next()
        .unwrap_or_default()
        .trim_start_matches('-');
    let own = command.get_arguments().filter_map(|arg| arg.get_long());
    let settings: Vec<String> = SETTINGS
        .iter()
        .flat_map(|setting| setting.flags_all())
        .map(|flag| flag.trim_start_matches('-').to_owned())
        .collect();
    let near: Vec<String> = nearest(
        typed,
        own.chain(settings.iter().map(String::as_str))
            .chain(["demo"]),
    )
    .into_iter()
    .map(|flag| format!("--{flag}"))
    .collect();
    let near: Vec<&str> = near.iter().map(String::as_str).collect();
    let failure = Failure::usage(format!("`{name}` has no flag `{arg}`"));
    let takes_pairs = command
        .get_arguments()
        .any(|own| own.get_id() == "arguments");
    match did_you_mean(&near) {
        Some(meant) => failure.hint(meant),
        // What other programs write as `--message hi`.
        None if takes_pairs && !typed.is_empty() => failure.hint(format!(
            "an argument of what is called is typed as `{typed}=…`; {help}"
        )),
        None => failure.hint(help),
    }
}
