//! `cox completions` and `cox man`: files for the shell and for `man`, made from the command line's definition.

use std::io::{self, Write};

use clap::{Arg, Command, CommandFactory as _};
use clap_complete::Shell;

use crate::{
    args::Args,
    exit::{Exit, Failure},
    printer::Printer,
};

/// Prints the completion script of a shell.
pub(crate) fn completions(shell: Shell, printer: Printer) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "cox", &mut script);
    crate::printed(printer.verbatim(&script))
}

/// Prints the manual page as roff: one page, with every command and its flags.
///
/// # Errors
///
/// An error when the page cannot be made; never seen.
pub(crate) fn man(printer: Printer) -> Result<Exit, Failure> {
    let mut page = Vec::new();
    write_page(&mut page)
        .map_err(|error| Failure::error(format!("cannot make the manual page: {error}")))?;
    Ok(crate::printed(printer.verbatim(&page)))
}

fn write_page(page: &mut Vec<u8>) -> io::Result<()> {
    let mut root = Args::command();
    root.build();
    let man = clap_mangen::Man::new(root.clone()).title("COX");
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    writeln!(page, ".SH COMMANDS")?;
    for command in below(&root) {
        write_command(page, command, "cox")?;
    }
    writeln!(page, ".SH EXIT STATUS")?;
    for exit in Exit::ALL {
        writeln!(page, ".TP\n.B {}\n{}", exit.code(), roff(exit.meaning()))?;
    }
    Ok(())
}

fn below(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
}

/// Writes a command with its own arguments, then those below it; what every command takes stands at the top of the page.
fn write_command(page: &mut Vec<u8>, command: &Command, above: &str) -> io::Result<()> {
    let name = format!("{above} {}", command.get_name());
    let about = command.get_about().map(ToString::to_string);
    writeln!(page, ".SS {}", roff(&name))?;
    writeln!(page, "{}", roff(&about.unwrap_or_default()))?;
    let own = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set() && !argument.is_global_set())
        .filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"));
    for argument in own {
        write_argument(page, argument)?;
    }
    for inner in below(command) {
        write_command(page, inner, &name)?;
    }
    Ok(())
}

fn write_argument(page: &mut Vec<u8>, argument: &Arg) -> io::Result<()> {
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let flags: Vec<String> = short.into_iter().chain(long).collect();
    let takes_value = flags.is_empty() || argument.get_action().takes_values();
    let value = argument
        .get_value_names()
        .and_then(|names| names.first())
        .filter(|_| takes_value);
    let mut head: Vec<String> = Vec::new();
    if !flags.is_empty() {
        head.push(format!("\\fB{}\\fR", roff(&flags.join(", "))));
    }
    head.extend(value.map(|value| format!("\\fI{}\\fR", roff(value))));
    let mut help = argument
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let words: Vec<String> = argument
        .get_possible_values()
        .iter()
        .map(|word| word.get_name().to_owned())
        .collect();
    if takes_value && !words.is_empty() {
        help.push_str(&format!(": {}", words.join(", ")));
    }
    writeln!(page, ".TP\n{}\n{}", head.join(" "), roff(&help))
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
