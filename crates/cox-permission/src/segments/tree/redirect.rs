//! What a command is connected to: files, here-strings and here-documents.

use tree_sitter::Node;

use super::{
    super::word::{Command, File, Input, Value, Word},
    Read, Walk, children, unknown,
    words::is_word,
};

impl Walk<'_> {
    /// Reads a redirect to or from a file or a stream. Returns the words behind its target.
    pub(super) fn file(
        &mut self,
        node: Node,
        command: &mut Command,
        depth: usize,
    ) -> Read<Vec<Word>> {
        let mut operator = "";
        let mut words = Vec::new();
        for part in self.parts(node, false)? {
            match part.kind() {
                "file_descriptor" if self.text(part).bytes().all(|byte| byte.is_ascii_digit()) => {}
                "<" | ">" | ">>" | "&>" | "&>>" | "<&" | ">&" | ">|" | "<&-" | ">&-"
                    if operator.is_empty() =>
                {
                    operator = part.kind();
                }
                _ if part.is_named() => words.push(self.word(part, depth + 1)?),
                kind => return Err(unknown(kind)),
            }
        }
        if matches!(operator, "<&-" | ">&-") {
            return Ok(words);
        }
        if words.is_empty() || operator.is_empty() {
            return Err("a redirect has no target".into());
        }
        let target = words.remove(0);
        let has_pattern = target.text.contains(['*', '?', '[']);
        if target.value != Value::Literal || has_pattern {
            return Err("where a redirect leads cannot be told".into());
        }
        let is_stream =
            !target.text.is_empty() && target.text.bytes().all(|byte| byte.is_ascii_digit());
        if matches!(operator, "<&" | ">&") && (is_stream || target.text == "-") {
            return Ok(words);
        }
        if operator == "<&" {
            return Err("a redirect to `&` is more than this reader understands".into());
        }
        match target.text.as_str() {
            "/dev/null" | "/dev/stdout" | "/dev/stderr" => {}
            // Names under `/dev` open connections, or devices.
            text if text.split('/').any(|part| part == "dev") && text.starts_with('/') => {
                return Err("it is connected to a device".into());
            }
            "" => return Err("a redirect has no target".into()),
            text => {
                let is_quoted_tilde =
                    text.starts_with('~') && !self.line[target.start..].starts_with('~');
                let written = if is_quoted_tilde {
                    format!("./{text}")
                } else {
                    text.to_owned()
                };
                command.files.push(File {
                    written,
                    writes: operator != "<",
                });
            }
        }
        if operator == "<" {
            command.input = Input::Unknown;
        }
        Ok(words)
    }

    pub(super) fn here_string(
        &mut self,
        node: Node,
        command: &mut Command,
        depth: usize,
    ) -> Read<()> {
        for part in self.parts(node, false)? {
            match part.kind() {
                "<<<" | "file_descriptor" => {}
                _ if part.is_named() => {
                    let word = self.word(part, depth + 1)?;
                    command.input = match word.value {
                        Value::Literal => Input::Text(word.text),
                        Value::One | Value::Any => Input::Unknown,
                    };
                }
                kind => return Err(unknown(kind)),
            }
        }
        Ok(())
    }

    pub(super) fn here_document(
        &mut self,
        node: Node,
        command: &mut Command,
        depth: usize,
    ) -> Read<()> {
        let mut is_quoted = false;
        let mut text = None;
        let mut is_open = false;
        let mut starts = 0;
        for part in children(node) {
            match part.kind() {
                "<<" | "<<-" | "heredoc_end" | "file_descriptor" | "&&" | "||" | "\n" => {}
                "heredoc_start" => {
                    starts += 1;
                    is_quoted = self.text(part).contains(['\'', '"', '\\']);
                }
                "heredoc_body" => {
                    let body = self.text(part);
                    if !is_quoted {
                        let mut rest = part.start_byte();
                        let mut outside = String::new();
                        for inner in children(part) {
                            if inner.kind() == "heredoc_content" {
                                continue;
                            }
                            outside.push_str(
                                self.line.get(rest..inner.start_byte()).unwrap_or_default(),
                            );
                            rest = inner.end_byte();
                            is_open = true;
                            self.expansion(inner, true, depth + 1)?;
                        }
                        outside.push_str(self.line.get(rest..part.end_byte()).unwrap_or_default());
                        if outside.contains('`')
                            || outside.contains("$(")
                            || outside.contains("${")
                            || outside.contains("$[")
                        {
                            return Err("a here-document runs a command".into());
                        }
                        is_open |= outside.contains(['\\', '$']);
                    }
                    text = Some(body.to_owned());
                }
                "file_redirect" => {
                    let more = self.file(part, command, depth)?;
                    command.words.extend(more);
                }
                "pipeline" => self.block(part, depth + 1)?,
                "herestring_redirect" | "heredoc_redirect" => return Err(unknown(part.kind())),
                kind if part.is_named() => {
                    if is_word(kind) {
                        let word = self.word(part, depth + 1)?;
                        command.words.push(word);
                    } else {
                        self.statement(part, depth + 1)?;
                    }
                }
                kind => return Err(unknown(kind)),
            }
        }
        if starts != 1 {
            return Err("a here-document is more than this reader understands".into());
        }
        command.input = match text {
            Some(text) if !is_open => Input::Text(text),
            Some(_) => Input::Unknown,
            None => Input::Text(String::new()),
        };
        Ok(())
    }
}
