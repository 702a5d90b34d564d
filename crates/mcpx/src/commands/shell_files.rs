//! `mcpx completion` and `mcpx man`: files for the shell and for `man`, made from the command line's definition.

use std::io::{self, Write};

use clap::{Arg, ArgMatches, Command};
use clap_complete::Shell;
use mcp_wire::{Object, Raw};
use mcpx_config::settings::reference;
use mcpx_config::settings::registry::{Kind, SETTINGS};

use crate::args::tree;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;

/// Prints the completion script of a shell.
pub(super) fn completion(matches: &ArgMatches, printer: Printer) -> Result<Exit, Failure> {
    let shell = *matches
        .get_one::<Shell>("shell")
        .ok_or_else(|| Failure::usage("`mcpx completion` needs a shell"))?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_settings(), "mcpx", &mut script);
    let script = with_names(shell, &String::from_utf8_lossy(&script));
    print(script.as_bytes(), "script", printer)
}

/// The script, which knows commands and flags, with the way to the names that only a running hub knows.
fn with_names(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => {
            let script = script.replace("complete -F _mcpx ", "complete -F _mcpx_words ");
            format!("{}{script}", include_str!("shell_files/words.bash"))
        }
        Shell::Zsh => {
            // Its first line says what it is for; its last ones begin it.
            let script = script
                .replace("    _mcpx \"$@\"\n", "    _mcpx_words \"$@\"\n")
                .replace("compdef _mcpx mcpx", "compdef _mcpx_words mcpx");
            match script.split_once("\n\n") {
                Some((head, rest)) => {
                    format!(
                        "{head}\n\n{}\n{rest}",
                        include_str!("shell_files/words.zsh")
                    )
                }
                None => script,
            }
        }
        Shell::Fish => format!("{script}{}", include_str!("shell_files/words.fish")),
        _ => script.to_owned(),
    }
}

/// Prints a text that is no document; with `--json` as the one member of one.
pub(super) fn print(bytes: &[u8], name: &str, printer: Printer) -> Result<Exit, Failure> {
    if printer.json {
        let text = String::from_utf8_lossy(bytes).into_owned();
        printer.document(&Raw::from(Object::new().with(name, text)))?;
    } else {
        printer.verbatim(bytes)?;
    }
    Ok(Exit::Ok)
}

/// The command line with the flags of settings at its root, for completion.
fn with_settings() -> Command {
    let mut root = tree::root().arg(
        Arg::new("demo")
            .long("demo")
            .action(clap::ArgAction::SetTrue),
    );
    for setting in SETTINGS.iter().filter(|setting| !setting.plumbing) {
        let alias = setting.flag_aliases.iter().find(|alias| {
            alias.starts_with("--")
                && matches!(
                    setting.path,
                    "output.json"
                        | "paths.configFile"
                        | "profile.names"
                        | "profile.skipDefault"
                        | "profile.all"
                )
        });
        let flag = alias.map_or_else(|| setting.flag(), |alias| (*alias).to_owned());
        let mut arg = Arg::new(setting.path)
            .long(flag.trim_start_matches('-').to_owned())
            .help(setting.help);
        arg = if setting.kind == Kind::Bool {
            arg.action(clap::ArgAction::SetTrue)
        } else {
            arg.value_parser(clap::builder::PossibleValuesParser::new(setting.choices))
        };
        if setting.kind != Kind::Bool && setting.choices.is_empty() {
            arg = arg.value_parser(clap::value_parser!(String));
        }
        root = root.arg(arg);
    }
    root
}

/// Prints the manual page as roff: one page, with every command, its flags, and the settings.
pub(super) fn man(printer: Printer) -> Result<Exit, Failure> {
    let mut page = Vec::new();
    write_page(&mut page)
        .map_err(|error| Failure::failed(format!("the manual page cannot be made: {error}")))?;
    print(&page, "page", printer)
}

fn write_page(page: &mut Vec<u8>) -> io::Result<()> {
    let mut root = tree::root();
    root.build();
    let man = clap_mangen::Man::new(root.clone()).title("MCPX");
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    writeln!(
        page,
        ".SH FLAGS OF EVERY COMMAND\nBefore or after its words."
    )?;
    for (flag, meaning) in tree::EVERYWHERE {
        writeln!(page, ".TP\n\\fB{}\\fR\n{}", roff(flag), roff(meaning))?;
    }
    writeln!(page, ".SH COMMANDS")?;
    for command in below(&root) {
        write_command(page, command, "mcpx")?;
    }
    writeln!(
        page,
        ".SH SETTINGS\nEvery setting is a key of a file, a variable, and a flag of every command."
    )?;
    for row in reference::rows().into_iter().filter(|row| !row.is_plumbing) {
        writeln!(
            page,
            ".TP\n\\fB{}\\fR ({}, default {})\n{}. {}. {}.",
            roff(row.path),
            roff(&row.kind),
            roff(&row.default),
            roff(row.help),
            roff(&row.flags),
            roff(&row.variables)
        )?;
    }
    writeln!(page, ".SH EXIT STATUS")?;
    for exit in Exit::ALL {
        writeln!(page, ".TP\n.B {}\n{}", exit.code(), roff(exit.meaning()))?;
    }
    Ok(())
}

/// The commands below one, without the hidden ones.
pub(super) fn below(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
}

/// The arguments of a command that are shown.
pub(super) fn own(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
        .filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"))
}

fn write_command(page: &mut Vec<u8>, command: &Command, above: &str) -> io::Result<()> {
    let name = format!("{above} {}", command.get_name());
    let about = command.get_about().map(ToString::to_string);
    writeln!(page, ".SS {}", roff(&name))?;
    writeln!(page, "{}", roff(&about.unwrap_or_default()))?;
    for argument in own(command) {
        let words = words(argument);
        let help = argument
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        writeln!(page, ".TP\n\\fB{}\\fR\n{}", roff(&words), roff(&help))?;
    }
    for inner in below(command) {
        write_command(page, inner, &name)?;
    }
    Ok(())
}

/// `-n, --limit N`.
pub(super) fn words(argument: &Arg) -> String {
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let flags: Vec<String> = short.into_iter().chain(long).collect();
    let mut words = flags.join(", ");
    if flags.is_empty() || argument.get_action().takes_values() {
        let name = argument
            .get_value_names()
            .and_then(|names| names.first())
            .map_or_else(
                || argument.get_id().to_string().to_uppercase(),
                ToString::to_string,
            );
        if !words.is_empty() {
            words.push(if argument.is_require_equals_set() {
                '='
            } else {
                ' '
            });
        }
        words.push_str(&name);
    }
    words
}

/// Escapes what roff would take for its own.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text
    }
}
