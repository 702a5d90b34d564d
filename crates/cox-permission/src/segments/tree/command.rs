//! Simple commands: their words, what is set before them, and the redirects behind them.

use tree_sitter::Node;

use super::{
    super::{
        lexer::check_program,
        word::{Command, Input, Value, Word, is_safe_assignment},
    },
    Read, Walk, unknown,
};

impl Walk<'_> {
    pub(super) fn command(&mut self, node: Node, depth: usize) -> Read<()> {
        let at = self.commands.len();
        let mut command = Command::default();
        let mut assignments = Vec::new();
        for part in self.parts(node, false)? {
            match part.kind() {
                "command_name" => {
                    let inner = self.parts(part, false)?;
                    let [name] = inner.as_slice() else {
                        return Err(unknown("command_name"));
                    };
                    let word = self.word(*name, depth + 1)?;
                    let has_pattern = self
                        .line
                        .get(word.start..word.end)
                        .unwrap_or_default()
                        .contains(['*', '?', '[', '~', '{', '=']);
                    if word.value != Value::Literal || has_pattern && word.text != "[" {
                        return Err("the program's name is not plain".into());
                    }
                    check_program(&word.text)?;
                    command.words.push(word);
                }
                "variable_assignment" if command.words.is_empty() => {
                    self.is_whole(part)?;
                    let inner = self.parts(part, false)?;
                    let [name, equals, value] = inner.as_slice() else {
                        return match inner.as_slice() {
                            [name, equals] if self.text(*equals) == "=" => {
                                assignments.push((self.text(*name).to_owned(), String::new()));
                                continue;
                            }
                            _ => Err("it sets a variable".into()),
                        };
                    };
                    let is_plain = name.kind() == "variable_name" && self.text(*equals) == "=";
                    let value = self.part_of_word(*value, depth + 1)?;
                    if !is_plain || value.value != Value::Literal {
                        return Err("it sets a variable".into());
                    }
                    assignments.push((self.text(*name).to_owned(), value.text));
                }
                "file_redirect" => {
                    let more = self.file(part, &mut command, depth)?;
                    // Words behind a target are arguments; before the program they would be the program.
                    if !more.is_empty() && command.words.is_empty() {
                        return Err("the program stands behind a redirect".into());
                    }
                    command.words.extend(more);
                }
                "herestring_redirect" => self.here_string(part, &mut command, depth)?,
                "subshell" => return Err(unknown("subshell")),
                _ if part.is_named() => {
                    let word = self.word(part, depth + 1)?;
                    command.words.push(word);
                }
                "$" | "==" | "=~" => {
                    self.is_whole(part)?;
                    command.words.push(Word {
                        text: part.kind().to_owned(),
                        start: part.start_byte(),
                        end: part.end_byte(),
                        ..Word::default()
                    });
                }
                kind => return Err(unknown(kind)),
            }
        }
        let Some(program) = command.words.first() else {
            return Err("there is no command in it".into());
        };
        for (name, value) in &assignments {
            // For one reading alone, an empty separator keeps the blanks.
            let is_ifs = name == "IFS" && value.is_empty() && program.text == "read";
            if !is_ifs && !is_safe_assignment(name, value) {
                return Err(format!("it sets the variable `{}`", name.escape_debug()));
            }
        }
        command.end = command
            .words
            .iter()
            .map(|word| word.end)
            .max()
            .unwrap_or_default();
        self.commands.insert(at, command);
        Ok(())
    }

    pub(super) fn redirected(&mut self, node: Node, depth: usize) -> Read<()> {
        let at = self.commands.len();
        // What the redirects bring; given to the first command of the body.
        let mut brought = Command::default();
        let mut is_simple = false;
        let mut later = Vec::new();
        for part in self.parts(node, false)? {
            match part.kind() {
                "file_redirect" => {
                    let more = self.file(part, &mut brought, depth)?;
                    brought.words.extend(more);
                }
                "herestring_redirect" => self.here_string(part, &mut brought, depth)?,
                "heredoc_redirect" => later.push(part),
                _ if part.is_named() && self.commands.len() == at => {
                    is_simple = part.kind() == "command";
                    self.statement(part, depth + 1)?;
                }
                kind => return Err(unknown(kind)),
            }
        }
        for part in later {
            self.here_document(part, &mut brought, depth)?;
        }
        let Some(first) = self.commands.get_mut(at) else {
            return Err("there is no command before a redirect".into());
        };
        if !brought.words.is_empty() && !is_simple {
            return Err("there are words behind a redirect".into());
        }
        first.end = first.end.max(
            brought
                .words
                .iter()
                .map(|word| word.end)
                .max()
                .unwrap_or_default(),
        );
        first.words.append(&mut brought.words);
        first.files.append(&mut brought.files);
        match brought.input {
            Input::Inherited => {}
            input if is_simple => first.input = input,
            // Whatever reads it stands inside a block.
            _ => {
                for command in self.commands.iter_mut().skip(at) {
                    command.input = Input::Unknown;
                }
            }
        }
        Ok(())
    }
}
