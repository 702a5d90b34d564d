//! `cox completions` and `cox man`: files for the shell and for `man`, made from the command line's definition.

use clap::CommandFactory as _;
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

/// Prints the manual page as roff.
///
/// # Errors
///
/// An error when the page cannot be made; never seen.
pub(crate) fn man(printer: Printer) -> Result<Exit, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Args::command())
        .render(&mut page)
        .map_err(|error| Failure::error(format!("cannot make the manual page: {error}")))?;
    Ok(crate::printed(printer.verbatim(&page)))
}
