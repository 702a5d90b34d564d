//! The generated reference pages: commands and flags with the exit codes, configuration keys.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};
use layered_config::{Kind, Project};

use crate::{
    args::{Args, ReferencePage},
    exit::Exit,
    printer::Printer,
    settings::registry::{PROVIDER_SETTINGS, SEED_PROVIDERS, SETTINGS, Setting},
};

/// Prints a page in Markdown.
pub(crate) fn reference(page: ReferencePage, printer: Printer) -> Exit {
    let text = match page {
        ReferencePage::Cli => cli_page(),
        ReferencePage::Config => config_page(),
    };
    crate::printed(printer.verbatim(text.as_bytes()))
}

fn cli_page() -> String {
    let mut root = Args::command();
    root.build();
    let mut page =
        String::from("# Commands and flags\n\nGenerated from the program; do not edit.\n");
    let mut first = true;
    describe(&root, "cox", &mut first, &mut page);
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for exit in Exit::ALL {
        let _ = writeln!(page, "| {} | {} |", exit.code(), exit.meaning());
    }
    page
}

/// Writes a command and those below it. Global flags stand with the root alone.
fn describe(command: &Command, path: &str, is_root: &mut bool, page: &mut String) {
    let _ = write!(page, "\n## `{path}`\n\n");
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        let about = about.to_string();
        let _ = writeln!(page, "{}.", about.trim_end_matches('.'));
    }
    let rows: Vec<String> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set() && (*is_root || !argument.is_global_set()))
        .filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"))
        .map(argument_row)
        .collect();
    *is_root = false;
    if !rows.is_empty() {
        page.push_str("\n| argument | meaning |\n|---|---|\n");
        for row in rows {
            page.push_str(&row);
        }
    }
    for inner in command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
    {
        if inner.get_name() != "help" {
            describe(
                inner,
                &format!("{path} {}", inner.get_name()),
                is_root,
                page,
            );
        }
    }
}

fn argument_row(argument: &clap::Arg) -> String {
    let mut name = String::new();
    if let Some(short) = argument.get_short() {
        let _ = write!(name, "-{short}, ");
    }
    if let Some(long) = argument.get_long() {
        let _ = write!(name, "--{long}");
    }
    if argument.get_action().takes_values() {
        let value = argument
            .get_value_names()
            .and_then(|names| names.first())
            .map_or_else(
                || argument.get_id().to_string().to_uppercase(),
                ToString::to_string,
            );
        if argument.get_long().is_some() {
            name.push(' ');
        }
        name.push_str(&value);
    }
    let mut meaning = argument
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let words: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|_| argument.get_action().takes_values())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !words.is_empty() {
        let _ = write!(meaning, ": {}", words.join(", "));
    }
    let defaults: Vec<String> = argument
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    if argument.get_action().takes_values() && !defaults.is_empty() {
        let _ = write!(meaning, " (default `{}`)", defaults.join(" "));
    }
    format!("| `{name}` | {} |\n", meaning.replace('|', "\\|"))
}

fn config_page() -> String {
    let mut page = String::from(
        "# Configuration keys\n\n\
         Generated from the program; do not edit.\n\n\
         A later layer wins: defaults, `~/.cox/config.toml`, `.cox/config.toml` at the git root, environment variables, flags.\n\
         The variable of a key is `COX_` and the key in capitals with `_` for `.` and `-`.\n\
         A project file may set what the column *project* says; anything else in it is refused with a warning that names file and line.\n\n\
         | key | values | default | flag | project | meaning |\n|---|---|---|---|---|---|\n",
    );
    for setting in SETTINGS {
        setting_row(setting, &mut page);
    }
    page.push_str(
        "\n## Providers\n\nEach table `[providers.NAME]` is one provider; `core.provider` or `--provider` picks it.\n\n\
         | key | values | default | flag | project | meaning |\n|---|---|---|---|---|---|\n",
    );
    for setting in PROVIDER_SETTINGS {
        setting_row(setting, &mut page);
    }
    let _ = write!(
        page,
        "\nThese tables are there from the start:\n\n```toml\n{}\n```\n",
        SEED_PROVIDERS.trim()
    );
    let _ = writeln!(
        page,
        "\nThe home of cox is `~/.cox`, or what `COX_HOME` or `--home` says. For example, `{}` is the variable of `core.max_turns`.",
        layered_config::env_name(crate::settings::VARIABLE_PREFIX, "core.max_turns")
    );
    page
}

fn setting_row(setting: &Setting, page: &mut String) {
    let key = setting.key.replace('*', "NAME");
    let project = match setting.project {
        Project::Yes | Project::NarrowOnly if setting.kind.is_added() => "may add",
        Project::Yes => "may set",
        Project::NarrowOnly => "may narrow",
        Project::No => "no",
    };
    let flag = setting
        .flag
        .map_or_else(String::new, |flag| format!("`{flag}`"));
    let _ = writeln!(
        page,
        "| `{key}` | {} | `{}` | {flag} | {project} | {} |",
        kind_words(setting.kind),
        setting.default,
        setting.help
    );
}

fn kind_words(kind: Kind) -> String {
    match kind {
        Kind::Text => "text".to_owned(),
        Kind::Choice(words) => {
            let words: Vec<String> = words
                .iter()
                .map(|word| {
                    if word.is_empty() {
                        "empty".to_owned()
                    } else {
                        format!("`{word}`")
                    }
                })
                .collect();
            words.join(", ")
        }
        Kind::Count { min, max } => format!("whole number, {min} to {max}"),
        Kind::Number { min, max } => format!("number, {min} to {max}"),
        Kind::Switch => "`true`, `false`".to_owned(),
        Kind::List => "list of texts".to_owned(),
        Kind::Any => "anything".to_owned(),
        Kind::AddedList => "list of texts, added to the layers below".to_owned(),
        Kind::AddedRecords { .. } => {
            "list of texts or tables, added to the layers below".to_owned()
        }
    }
}
