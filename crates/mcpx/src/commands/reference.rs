//! The generated reference pages: commands and flags with the exit codes, and the settings.

use std::fmt::Write as _;

use clap::{ArgMatches, Command};
use mcpx_config::settings::reference::markdown;

use super::shell_files::{below, own, words};
use crate::args::from_table::text;
use crate::args::tree;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;

/// Prints a page in Markdown.
pub(super) fn reference(matches: &ArgMatches, printer: Printer) -> Result<Exit, Failure> {
    let page = match text(matches, "page").as_deref() {
        Some("settings") => settings_page(),
        Some("api") => mcpx_api::reference::page(),
        _ => cli_page(),
    };
    super::shell_files::print(page.as_bytes(), "page", printer)
}

fn cli_page() -> String {
    let mut root = tree::root();
    root.build();
    let mut page = String::from(
        "# The commands of mcpx\n\n\
         Generated from the program; do not edit.\n\n\
         Every command takes these, before or after its words, and every [setting](mcpx-settings.md) as a flag:\n\n\
         | flag | meaning |\n|---|---|\n",
    );
    for (flag, meaning) in tree::EVERYWHERE {
        let _never_fails = writeln!(page, "| `{flag}` | {meaning} |");
    }
    for command in below(&root) {
        describe(command, "mcpx", &mut page);
    }
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for exit in Exit::ALL {
        let _never_fails = writeln!(page, "| {} | {} |", exit.code(), exit.meaning());
    }
    page
}

fn describe(command: &Command, above: &str, page: &mut String) {
    let name = format!("{above} {}", command.get_name());
    let _never_fails = write!(page, "\n## `{name}`\n\n");
    if let Some(about) = command.get_about() {
        let about = about.to_string();
        let _never_fails = writeln!(page, "{}.", about.trim_end_matches('.'));
    }
    let aliases: Vec<String> = command
        .get_visible_aliases()
        .map(|alias| format!("`{alias}`"))
        .collect();
    if !aliases.is_empty() {
        let _never_fails = writeln!(page, "Also: {}.", aliases.join(", "));
    }
    let rows: Vec<String> = own(command)
        .map(|argument| {
            let mut meaning = argument
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let choices: Vec<String> = argument
                .get_possible_values()
                .iter()
                .filter(|_| argument.get_action().takes_values())
                .map(|value| format!("`{}`", value.get_name()))
                .collect();
            if !choices.is_empty() {
                let _never_fails = write!(meaning, ": {}", choices.join(", "));
            }
            format!(
                "| `{}` | {} |\n",
                words(argument),
                meaning.replace('|', "\\|")
            )
        })
        .collect();
    if !rows.is_empty() {
        page.push_str("\n| argument | meaning |\n|---|---|\n");
        page.extend(rows);
    }
    for inner in below(command) {
        describe(inner, &name, page);
    }
}

fn settings_page() -> String {
    format!(
        "# The settings of mcpx\n\n\
         Generated from the program; do not edit.\n\n\
         A later layer wins: default, files from the farthest to the nearest, environment, presets, flags, and what was set while the daemon runs.\n\
         `mcpx settings get PATH` says which layer won.\n\
         The key in a file is the path as objects in each other.\n\
         A hot setting holds from the next use on.\n\n{}",
        markdown()
    )
}
