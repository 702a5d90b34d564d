//! Programs that run other programs.

mod builtins;
mod find;
mod options;
mod programs;
mod shell;

use self::{
    builtins::{is_idle_read, is_idle_set, may_be_option},
    programs::{CLOSED, OPAQUE, OPEN},
};
use super::{
    MAX_LINE_BYTES, Redirect, Segment,
    lexer::check_program,
    word::{Command, Input, Value, Word},
};
use crate::rule::base_name;

pub(crate) use shell::is_shell;

/// How deep wrappers may be nested.
const MAX_DEPTH: usize = 4;

/// Says whether a program runs another one that its arguments name.
pub(super) fn is_wrapper(program: &str) -> bool {
    OPEN.iter().any(|wrapper| wrapper.name == program)
        || CLOSED.contains(&program)
        || matches!(program, "eval" | "find" | "fd" | "fdfind")
}

/// Adds a command and the commands that it runs. `lines` is how many lines it stands in.
pub(super) fn unfold(
    line: &str,
    command: &Command,
    lines: usize,
    segments: &mut Vec<Segment>,
) -> Result<(), String> {
    let first = segments.len();
    let unfold = Unfold {
        line,
        end: command.end,
        lines,
    };
    unfold.command(&command.words, &command.input, 0, segments)?;
    let files = command.files.iter().map(|file| Redirect {
        written: file.written.clone(),
        writes: file.writes,
        target: None,
    });
    if let Some(segment) = segments.get_mut(first) {
        segment.redirects.extend(files);
    }
    Ok(())
}

struct Unfold<'a> {
    line: &'a str,
    /// Where the command ends.
    end: usize,
    lines: usize,
}

impl Unfold<'_> {
    fn command(
        &self,
        words: &[Word],
        input: &Input,
        depth: usize,
        segments: &mut Vec<Segment>,
    ) -> Result<(), String> {
        if words.is_empty() {
            return Ok(());
        }
        let at = segments.len();
        segments.push(segment(self.line, words, self.end));
        self.run_by(words, input, depth, segments)?;
        segments[at].runs = segments.len() - at - 1;
        Ok(())
    }

    /// Adds what a command runs.
    fn run_by(
        &self,
        words: &[Word],
        input: &Input,
        depth: usize,
        segments: &mut Vec<Segment>,
    ) -> Result<(), String> {
        let Some(first) = words.first() else {
            return Ok(());
        };
        let program = base_name(&first.text);
        if OPAQUE.contains(&program) {
            return Err(format!("`{program}` runs text or changes what words mean"));
        }
        if CLOSED.contains(&program) || depth >= MAX_DEPTH {
            return Err(closed(program));
        }
        let arguments = &words[1..];
        // Each sets a variable that it is told the name of: the folders of programs, say.
        let sets_variable = |option: &str| {
            arguments
                .iter()
                .any(|word| word.text.starts_with(option) || word.value != Value::Literal)
        };
        match program {
            "printf"
                if arguments.iter().any(|word| word.text.starts_with("-v"))
                    || arguments.first().is_some_and(may_be_option) =>
            {
                return Err("it sets a variable".into());
            }
            "wait" if sets_variable("-p") => return Err("it sets a variable".into()),
            "read" if !is_idle_read(arguments) => return Err("it sets a variable".into()),
            "set" if !is_idle_set(arguments) => {
                return Err("`set` runs text or changes what words mean".into());
            }
            _ => {}
        }
        if is_shell(program) {
            return self.shell(program, arguments, input, segments);
        }
        match program {
            "git" => written_by_git(arguments, segments),
            "eval" => self.text(program, arguments, segments),
            "command"
                if arguments
                    .first()
                    .is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")) =>
            {
                Ok(())
            }
            "find" | "fd" | "fdfind" => self.find(program, arguments, depth, segments),
            _ => match OPEN.iter().find(|wrapper| wrapper.name == program) {
                Some(wrapper) => self.wrapper(wrapper, arguments, input, depth, segments),
                None => Ok(()),
            },
        }
    }

    fn inner(
        &self,
        program: &str,
        words: &[Word],
        input: &Input,
        depth: usize,
        segments: &mut Vec<Segment>,
    ) -> Result<(), String> {
        match words.first() {
            None => Ok(()),
            // What a pattern would match is not known, nor what a variable holds.
            Some(word)
                if word.value != Value::Literal
                    || word.text.is_empty()
                    || word.text.starts_with(['-', '+'])
                    || word.text.contains(['*', '?', '[', '~', '{', ' ', '=']) =>
            {
                Err(closed(program))
            }
            // `!` and the words of the grammar are no programs behind `time`.
            Some(word) if check_program(&word.text).is_err() => Err(closed(program)),
            Some(_) => self.command(words, input, depth + 1, segments),
        }
    }

    /// Arguments that are joined and read as a line.
    fn text(
        &self,
        program: &str,
        arguments: &[Word],
        segments: &mut Vec<Segment>,
    ) -> Result<(), String> {
        if arguments.iter().any(|word| word.value != Value::Literal) {
            return Err(format!("`{program}` runs text or changes what words mean"));
        }
        let text: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        self.lines(&text.join(" "), segments)
    }

    fn lines(&self, text: &str, segments: &mut Vec<Segment>) -> Result<(), String> {
        if text.len() > MAX_LINE_BYTES {
            return Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
        }
        segments.extend(super::read(text, self.lines + 1)?);
        Ok(())
    }
}

fn closed(program: &str) -> String {
    format!("`{program}` runs another command")
}

fn segment(line: &str, words: &[Word], end: usize) -> Segment {
    let start = words.first().map_or(0, |word| word.start);
    let open = words
        .iter()
        .enumerate()
        .filter(|(_, word)| word.value != Value::Literal);
    Segment {
        text: line.get(start..end).unwrap_or_default().trim().to_owned(),
        words: words.iter().map(|word| word.text.clone()).collect(),
        open: open.map(|(at, _)| at).collect(),
        may_split: words.iter().any(|word| word.value == Value::Any),
        begins_with_pattern: words.iter().any(|word| word.begins_with_pattern),
        runs: 0,
        redirects: Vec::new(),
    }
}

/// Adds the file that git is told to write a difference to: a rule for `git log` was not meant for it.
fn written_by_git(arguments: &[Word], segments: &mut [Segment]) -> Result<(), String> {
    let Some(segment) = segments.last_mut() else {
        return Ok(());
    };
    for (at, word) in arguments.iter().enumerate() {
        // A beginning of the option is taken for it.
        let (name, glued) = match word.text.split_once('=') {
            Some((name, glued)) => (name, Some(glued)),
            None => (word.text.as_str(), None),
        };
        if name.len() < "--ou".len() || !"--output".starts_with(name) {
            continue;
        }
        let target = match glued {
            Some(glued) => glued,
            None => arguments.get(at + 1).map_or("", |next| next.text.as_str()),
        };
        segment.redirects.push(Redirect {
            written: target.to_owned(),
            writes: true,
            target: None,
        });
    }
    Ok(())
}
