//! Shells, and the lines that they are given to run.

use super::{
    super::{
        Segment,
        word::{Input, Value, Word},
    },
    Unfold,
};

/// Says whether a program is a shell.
pub(crate) fn is_shell(program: &str) -> bool {
    matches!(
        program,
        "sh" | "bash"
            | "zsh"
            | "dash"
            | "ksh"
            | "mksh"
            | "ash"
            | "fish"
            | "csh"
            | "tcsh"
            | "rbash"
            | "nu"
            | "pwsh"
    )
}

impl Unfold<'_> {
    pub(super) fn shell(
        &self,
        program: &str,
        arguments: &[Word],
        input: &Input,
        segments: &mut Vec<Segment>,
    ) -> Result<(), String> {
        let own_line = || Err(format!("`{program} -c` runs a line of its own"));
        // Other shells have other grammars.
        let is_read = matches!(program, "sh" | "bash" | "dash" | "ash" | "ksh");
        let mut rest = arguments;
        let mut takes_text = false;
        while let Some((word, after)) = rest.split_first() {
            if word.value != Value::Literal {
                return own_line();
            }
            if !word.text.starts_with(['-', '+']) {
                break;
            }
            rest = after;
            // With `i` or `H`, `!` stands for lines of the past.
            takes_text = match word.text.as_str() {
                "-c" | "-lc" | "-ec" | "-uc" | "-euc" | "-exc" | "-xc" if is_read => true,
                text if text.starts_with("--c")
                    || !text.starts_with("--") && text.contains(['c', 's', 'o', 'O', 'i', 'H']) =>
                {
                    return own_line();
                }
                text if text.starts_with("--rc") || text.starts_with("--init") => {
                    return own_line();
                }
                _ => takes_text,
            };
        }
        if takes_text {
            return match rest.first() {
                Some(text) if text.value == Value::Literal => self.lines(&text.text, segments),
                _ => own_line(),
            };
        }
        if !rest.is_empty() && rest[0].text != "/dev/stdin" && rest[0].text != "-" {
            return Ok(());
        }
        match input {
            Input::Inherited => Ok(()),
            Input::Text(text) if is_read => {
                if text.trim().is_empty() {
                    Ok(())
                } else {
                    self.lines(text, segments)
                }
            }
            Input::Text(_) | Input::Unknown => Err(format!("`{program}` runs what it reads")),
        }
    }
}
