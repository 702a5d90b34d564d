//! Words, quotes and operators of a line of plain commands.

use super::{
    MAX_LINE_BYTES,
    word::{Command, Word},
};

/// Words that are no programs but grammar.
const KEYWORDS: &[&str] = &[
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "foreach", "function", "if", "in", "repeat", "select", "then", "until", "while", "end",
    "begin", "not", "and", "or", "switch",
];

/// Returns the plain commands of a line, or what stopped the reader.
pub(super) fn commands(line: &str) -> Result<Vec<Command>, String> {
    if line.len() > MAX_LINE_BYTES {
        return Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
    }
    let mut reader = Reader { line, at: 0 };
    let mut commands = Vec::new();
    // Whether an operator waits for its right side.
    let mut is_open = false;
    loop {
        reader.skip_blanks(is_open || commands.is_empty());
        if reader.peek().is_none() {
            break;
        }
        commands.push(reader.command()?);
        is_open = match (reader.next(), reader.peek()) {
            (None, _) => return Ok(commands),
            (Some('&'), Some('&')) | (Some('|'), Some('|')) => {
                reader.next();
                true
            }
            (Some('|'), Some('&')) => {
                return Err("`|&` is more than this reader understands".into());
            }
            (Some('|'), _) => true,
            (Some('&'), _) => return Err("`&` runs a command in the background".into()),
            (Some(';'), Some(';' | '&' | '|')) => {
                return Err("`;;` is more than this reader understands".into());
            }
            (Some(';' | '\n'), _) => {
                reader.skip_blanks(true);
                false
            }
            (Some(other), _) => return Err(unexpected(other)),
        };
    }
    match (is_open, commands.is_empty()) {
        (true, _) => Err("the line ends after an operator".into()),
        (_, true) => Err("there is no command in it".into()),
        _ => Ok(commands),
    }
}

struct Reader<'a> {
    line: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.line[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        Some(char)
    }

    fn skip_blanks(&mut self, and_line_breaks: bool) {
        while matches!(self.peek(), Some(' ' | '\t'))
            || and_line_breaks && self.peek() == Some('\n')
        {
            self.at += 1;
        }
    }

    /// Reads a command up to an operator or the end.
    fn command(&mut self) -> Result<Command, String> {
        let mut words: Vec<Word> = Vec::new();
        let mut end = self.at;
        loop {
            self.skip_blanks(false);
            match self.peek() {
                None | Some('|' | ';' | '\n') => break,
                Some('&') if self.line[self.at..].starts_with("&>") => {
                    self.at += 1;
                    self.redirect()?;
                }
                Some('&') => break,
                Some('>' | '<') => self.redirect()?,
                Some('#') => return Err("a comment hides the rest of the line".into()),
                Some(_) => {
                    if let Some(word) = self.word(words.is_empty())? {
                        words.push(word);
                    }
                }
            }
            end = self.at;
        }
        match words.first() {
            None => Err(match self.peek() {
                Some(operator) => unexpected(operator),
                None => "there is no command in it".into(),
            }),
            Some(program) => {
                check_program(&program.text)?;
                Ok(Command {
                    words,
                    end,
                    ..Command::default()
                })
            }
        }
    }

    /// Reads a word; none if it was the number of a redirect.
    fn word(&mut self, is_program: bool) -> Result<Option<Word>, String> {
        let start = self.at;
        let mut text = String::new();
        let mut is_quoted = false;
        while let Some(char) = self.peek() {
            match char {
                ' ' | '\t' | '\n' | '|' | '&' | ';' => break,
                '>' | '<' => {
                    if !is_quoted && matches!(text.as_str(), "0" | "1" | "2") {
                        self.redirect()?;
                        return Ok(None);
                    }
                    if !is_quoted
                        && !text.is_empty()
                        && text.bytes().all(|byte| byte.is_ascii_digit())
                    {
                        return Err(format!(
                            "a redirect of `{text}` is more than this reader understands"
                        ));
                    }
                    break;
                }
                '\'' => {
                    self.next();
                    is_quoted = true;
                    self.single_quoted(&mut text)?;
                }
                '"' => {
                    self.next();
                    is_quoted = true;
                    self.double_quoted(&mut text)?;
                }
                '{' if self.line[self.at..].starts_with("{}") && self.at == start => {
                    self.at += 2;
                    text.push_str("{}");
                    if !matches!(
                        self.peek(),
                        None | Some(' ' | '\t' | '\n' | '|' | '&' | ';')
                    ) {
                        return Err(unexpected('{'));
                    }
                }
                '~' if self.at == start
                    && !matches!(
                        self.line[start + 1..].chars().next(),
                        None | Some('/' | ' ' | '\t' | '\n')
                    ) =>
                {
                    return Err("`~` names another person's home".into());
                }
                // Some shells expand it here as they would in an assignment.
                '~' if text.ends_with(['=', ':']) => return Err(unexpected('~')),
                // `=x` is the path of a program to one shell, `^x` a redirect to an old other one.
                '=' | '^' if self.at == start => return Err(unexpected(char)),
                '*' | '?' | '[' | ']' | '~'
                    if is_program && self.line[start..].split_whitespace().next() != Some("[") =>
                {
                    return Err("the program's name is a pattern".into());
                }
                'a'..='z' | 'A'..='Z' | '0'..='9' => self.take(&mut text),
                '_' | '-' | '.' | '/' | ':' | '=' | '@' | '%' | '+' | ',' | '^' | '!' | '#' => {
                    self.take(&mut text);
                }
                '*' | '?' | '[' | ']' | '~' => self.take(&mut text),
                other => return Err(unexpected(other)),
            }
        }
        if is_program && !is_quoted && text.contains('=') {
            return Err("it sets a variable".into());
        }
        let begins_with_pattern =
            self.line[start..].starts_with(['*', '?', '[']) && !matches!(text.as_str(), "[" | "[[");
        Ok(Some(Word {
            text,
            start,
            end: self.at,
            begins_with_pattern,
            ..Word::default()
        }))
    }

    fn take(&mut self, text: &mut String) {
        text.extend(self.next());
    }

    fn single_quoted(&mut self, text: &mut String) -> Result<(), String> {
        while let Some(char) = self.next() {
            match char {
                '\'' => return Ok(()),
                // Some shells let a backslash quote the quote.
                '\\' if self.peek() == Some('\'') => {
                    return Err("a backslash stands before a quote".into());
                }
                char => text.push(check_quoted(char)?),
            }
        }
        Err("a quote is not closed".into())
    }

    fn double_quoted(&mut self, text: &mut String) -> Result<(), String> {
        while let Some(char) = self.next() {
            match char {
                '"' => return Ok(()),
                '$' | '`' => return Err(unexpected(char)),
                '\\' => match self.peek() {
                    Some('"' | '\\' | '$' | '`') => self.take(text),
                    Some('\n') | None => return Err("a backslash ends a line".into()),
                    Some(_) => text.push('\\'),
                },
                char => text.push(check_quoted(char)?),
            }
        }
        Err("a quote is not closed".into())
    }

    /// Reads a redirect that changes nothing: of one stream to another, or to or from `/dev/null`.
    fn redirect(&mut self) -> Result<(), String> {
        let is_input = self.next() == Some('<');
        let rest = &self.line[self.at..];
        let after = if is_input {
            rest
        } else if let Some(stream) = rest.strip_prefix('&') {
            if !stream.starts_with(['1', '2']) || !ends_word(&stream[1..]) {
                return Err("a redirect to `&` is more than this reader understands".into());
            }
            self.at += 2;
            return Ok(());
        } else {
            rest.strip_prefix('>').unwrap_or(rest)
        };
        let target = after.trim_start_matches([' ', '\t']);
        match target.strip_prefix("/dev/null") {
            Some(after) if ends_word(after) => {
                self.at = self.line.len() - after.len();
                Ok(())
            }
            _ if is_input && target.starts_with('<') => {
                Err("a here-document is more than this reader understands".into())
            }
            _ if is_input => Err("it reads from a file by `<`".into()),
            _ => Err("it writes to a file by `>`".into()),
        }
    }
}

fn ends_word(rest: &str) -> bool {
    rest.is_empty()
        || rest.starts_with([' ', '\t', '\n', '|', ';', '&', '<', '>']) && !rest.starts_with("&>")
}

/// Says whether a character may stand in quotes: letters of any script may, characters that hide may not.
pub(super) fn check_quoted(char: char) -> Result<char, String> {
    match char {
        '\n' | '\t' | ' '..='~' => Ok(char),
        char if char.is_alphanumeric() => Ok(char),
        '‘' | '’' | '“' | '”' | '–' | '—' | '…' | '·' | '•' | '→' | '←' | '✓' | '✗' | '€' | '£'
        | '§' | '°' | '×' | '«' | '»' => Ok(char),
        char => Err(unexpected(char)),
    }
}

pub(super) fn check_program(program: &str) -> Result<(), String> {
    let is_plain = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'_' | b'-' | b'.' | b'/' | b'+' | b'@' | b':' | b'%' | b','
            )
    };
    if KEYWORDS.contains(&program) {
        return Err(format!("`{program}` is more than this reader understands"));
    }
    if program == "[" {
        return Ok(());
    }
    if program.is_empty() || program.starts_with('-') || !program.bytes().all(is_plain) {
        return Err("the program's name is unusual".into());
    }
    Ok(())
}

fn unexpected(char: char) -> String {
    match char {
        '$' => "`$` stands for something else".into(),
        '`' => "a backtick runs another command".into(),
        '(' | ')' => "parentheses are more than this reader understands".into(),
        '{' | '}' => "braces are more than this reader understands".into(),
        '\\' => "a backslash is more than this reader understands".into(),
        char if char.is_control() || !char.is_ascii() => {
            format!("there is an unusual character, U+{:04X}", u32::from(char))
        }
        char => format!("`{char}` is more than this reader understands"),
    }
}
