//! The commands as one tree: those of the table of operations, and those that are the binary's own.

use clap::Command;
use mcpx_api::operations;

use super::{from_table, local};
use crate::exit::Exit;

/// The words of the first level, in the order of the help.
const ORDER: &[&str] = &[
    "ls",
    "search",
    "types",
    "call",
    "batch",
    "read",
    "catalog",
    "tools",
    "schema",
    "client",
    "globals",
    "history",
    "resources",
    "prompts",
    "complete",
    "task",
    "serve",
    "servers",
    "init",
    "config",
    "settings",
    "doctor",
    "status",
    "health",
    "daemon",
    "daemons",
    "stop",
    "restart",
    "refresh",
    "reload",
    "resolve",
    "session",
    "protocol",
    "openapi",
    "events",
    "log",
    "stats",
    "tool",
    "demo-server",
    "completion",
    "man",
];

/// Groups that do something when nothing follows them.
const DEFAULTS: &[(&str, &str)] = &[
    ("servers", "servers list"),
    ("settings", "settings list"),
    ("task", "task list"),
];

/// What the groups without a command of their own are for.
const GROUPS: &[(&str, &str)] = &[
    (
        "servers",
        "The configured servers: list, add, remove, import, trust",
    ),
    ("settings", "The settings: list, get, set, unset"),
    ("task", "Calls that run as tasks: list, get, result, cancel"),
    ("session", "What was started for one session alone"),
];

/// Every command with its words: the operations' and the binary's own.
pub(crate) fn commands() -> Vec<(&'static str, Command)> {
    let mut all: Vec<(&str, Command)> = operations::all()
        .filter_map(|operation| {
            let word = operation.word?;
            let name = word.rsplit(' ').next()?;
            let command = local::of_operation(operation)
                .unwrap_or_else(|| from_table::command(name, operation));
            Some((word, command))
        })
        .collect();
    all.extend(local::commands());
    all
}

/// The whole command line.
pub(crate) fn root() -> Command {
    let all = commands();
    let mut root = Command::new("mcpx")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A hub for MCP servers: one daemon keeps them, every agent and script asks it")
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .after_help(after_help());
    for first in ORDER.iter().copied().chain(local::HIDDEN.iter().copied()) {
        root = root.subcommand(group(first, &all));
    }
    root
}

/// The flags that every command takes before or after its words, besides those of the settings.
pub(crate) const EVERYWHERE: &[(&str, &str)] = &[
    (
        "--json",
        "Print one JSON document on stdout, in every case; streams print one a line",
    ),
    (
        "--config <FILE>",
        "Read this configuration file and no other",
    ),
    (
        "--demo",
        "Use the built-in demo server and no configuration",
    ),
    ("--profile <NAMES>", "Servers of these groups too"),
    ("--skip-default", "The named groups alone"),
    ("--all-profiles", "Every server"),
];

fn after_help() -> String {
    let mut text = "Flags of every command, before or after its words:\n".to_owned();
    for (flag, meaning) in EVERYWHERE {
        text.push_str(&format!("  {flag:18} {meaning}\n"));
    }
    text.push_str("Every setting is a flag too, `pool.callTimeout` is `--pool-call-timeout`: see `mcpx settings list`.\n\nExit codes:");
    for exit in Exit::ALL {
        text.push_str(&format!("\n  {:<4} {}", exit.code(), exit.meaning()));
    }
    text.push_str("\n\nTry `mcpx --demo call demo.echo '{\"message\":\"hi\"}'`.");
    text
}

/// A word of the first level with what is below it.
fn group(first: &'static str, all: &[(&'static str, Command)]) -> Command {
    let own = all.iter().find(|(words, _)| *words == first);
    let mut command = match own {
        Some((_, command)) => command.clone(),
        None => {
            let about = GROUPS.iter().find(|(name, _)| *name == first);
            Command::new(first).about(about.map_or("", |(_, about)| about))
        }
    };
    let mut has_below = false;
    for (words, below) in all {
        if words.split_once(' ').is_some_and(|(head, _)| head == first) {
            has_below = true;
            command = command.subcommand(below.clone());
        }
    }
    if has_below {
        command = command.disable_help_subcommand(true);
        if own.is_none() && !DEFAULTS.iter().any(|(name, _)| *name == first) {
            command = command
                .subcommand_required(true)
                .arg_required_else_help(true);
        }
        if own.is_some() {
            command = command
                .args_conflicts_with_subcommands(true)
                .subcommand_negates_reqs(true);
        }
    }
    command
}

/// The words of what was typed; a group that is named alone stands for its default.
pub(crate) fn with_default(words: &[String]) -> String {
    let words = words.join(" ");
    DEFAULTS
        .iter()
        .find(|(group, _)| *group == words)
        .map_or(words, |(_, default)| (*default).to_owned())
}

/// The command that a line of words first names, as far as it names one.
pub(crate) fn command_at(line: &[String]) -> Vec<String> {
    let root = root();
    let mut command = &root;
    let mut path = Vec::new();
    for word in line {
        match command.find_subcommand(word) {
            Some(below) => {
                path.push(below.get_name().to_owned());
                command = below;
            }
            None => break,
        }
    }
    path
}

/// The command at a path; the last one there is.
pub(crate) fn at<'a>(root: &'a Command, path: &[String]) -> &'a Command {
    let mut command = root;
    for word in path {
        match command.find_subcommand(word) {
            Some(below) => command = below,
            None => break,
        }
    }
    command
}
