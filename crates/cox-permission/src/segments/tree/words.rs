//! Words: quotes, expansions, and the commands of substitutions in them.

use tree_sitter::Node;

use super::{
    super::word::{Command, Value, Word},
    MAX_DEPTH, Read, Walk, children, unknown,
};

impl Walk<'_> {
    /// Reads a word.
    pub(super) fn word(&mut self, node: Node, depth: usize) -> Read<Word> {
        self.is_whole(node)?;
        self.part_of_word(node, depth)
    }

    /// Reads a word, or what stands behind `=` in one.
    pub(super) fn part_of_word(&mut self, node: Node, depth: usize) -> Read<Word> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deep".into());
        }
        let mut word = Word {
            start: node.start_byte(),
            end: node.end_byte(),
            ..Word::default()
        };
        let raw = self.text(node);
        if is_hole(raw) {
            raw.clone_into(&mut word.text);
            return Ok(word);
        }
        self.pieces(node, &mut word, depth)?;
        if raw.starts_with('~') && !matches!(raw.as_bytes().get(1), None | Some(b'/')) {
            return Err("`~` names another person's home".into());
        }
        word.begins_with_pattern =
            raw.starts_with(['*', '?', '[']) && word.text != "[" && word.text != "[[";
        if word.value != Value::Literal {
            raw.clone_into(&mut word.text);
        }
        Ok(word)
    }

    /// Adds what a node stands for to a word.
    pub(super) fn pieces(&mut self, node: Node, word: &mut Word, depth: usize) -> Read<()> {
        let raw = self.text(node);
        match node.kind() {
            "concatenation" => {
                let mut at = node.start_byte();
                for part in children(node) {
                    if part.start_byte() != at {
                        return Err("a word cannot be taken apart".into());
                    }
                    at = part.end_byte();
                    if part.is_named() {
                        self.pieces(part, word, depth + 1)?;
                    } else if part.kind() == "$" {
                        word.text.push('$');
                    } else {
                        return Err(unknown(part.kind()));
                    }
                }
                if at != node.end_byte() {
                    return Err("a word cannot be taken apart".into());
                }
                Ok(())
            }
            "word" | "number" if node.named_child_count() == 0 => self.plain(raw, word),
            "raw_string" => {
                word.text.push_str(
                    raw.strip_prefix('\'')
                        .and_then(|raw| raw.strip_suffix('\''))
                        .ok_or("a quote is not closed")?,
                );
                Ok(())
            }
            "string" => self.string(node, word, depth),
            // What the escapes mean is not worked out.
            "ansi_c_string" => {
                word.value = word.value.max(Value::One);
                Ok(())
            }
            "brace_expression" => {
                word.value = Value::Any;
                Ok(())
            }
            "simple_expansion" | "expansion" | "command_substitution" | "arithmetic_expansion" => {
                word.value = Value::Any;
                self.expansion(node, false, depth)
            }
            "process_substitution" => {
                word.value = word.value.max(Value::One);
                self.substitution(node, depth)
            }
            kind => Err(unknown(kind)),
        }
    }

    /// Adds unquoted text to a word.
    pub(super) fn plain(&self, raw: &str, word: &mut Word) -> Read<()> {
        if raw == "{}" {
            word.text.push_str(raw);
            return Ok(());
        }
        let mut chars = raw.chars();
        while let Some(char) = chars.next() {
            match char {
                '\\' => match chars.next() {
                    Some(next @ (' ' | '!'..='~')) => {
                        // Only a shell takes the backslash for a quote; a pattern or a brace behind it is none.
                        word.text.push(next);
                        if matches!(next, '*' | '?' | '[' | ']' | '~' | '{' | '}') {
                            word.value = word.value.max(Value::One);
                        }
                    }
                    _ => return Err("a backslash is more than this reader understands".into()),
                },
                '{' | '}' => {
                    word.text.push(char);
                    word.value = Value::Any;
                }
                '~' if word.text.ends_with(['=', ':']) => {
                    return Err("`~` is more than this reader understands".into());
                }
                ' '..='~' => word.text.push(char),
                other => {
                    return Err(format!(
                        "there is an unusual character, U+{:04X}",
                        u32::from(other)
                    ));
                }
            }
        }
        Ok(())
    }

    pub(super) fn string(&mut self, node: Node, word: &mut Word, depth: usize) -> Read<()> {
        let (start, end) = (node.start_byte() + 1, node.end_byte().saturating_sub(1));
        let mut at = start;
        for part in children(node) {
            match part.kind() {
                "\"" | "string_content" | "$" => continue,
                _ => {}
            }
            self.quoted(at, part.start_byte(), word)?;
            at = part.end_byte();
            word.value = word.value.max(match self.text(part) {
                "$@" | "${@}" => Value::Any,
                _ => Value::One,
            });
            self.expansion(part, true, depth + 1)?;
        }
        self.quoted(at, end, word)
    }

    /// Adds the text between double quotes to a word.
    pub(super) fn quoted(&self, start: usize, end: usize, word: &mut Word) -> Read<()> {
        let text = self.line.get(start..end).ok_or("a quote is not closed")?;
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                '\\' => match chars.peek() {
                    Some('"' | '\\' | '$' | '`') => word.text.extend(chars.next()),
                    Some('\n') | None => return Err("a backslash ends a line".into()),
                    Some(_) => word.text.push('\\'),
                },
                '"' | '`' => return Err("a quote cannot be taken apart".into()),
                '$' if chars
                    .peek()
                    .is_some_and(|next| !matches!(next, ' ' | '/' | '|' | ')' | '.' | ',')) =>
                {
                    return Err("`$` stands for something else".into());
                }
                char => word.text.push(char),
            }
        }
        Ok(())
    }

    /// Reads an expansion whose value is not known, for the commands in it.
    pub(super) fn expansion(&mut self, node: Node, _is_quoted: bool, depth: usize) -> Read<()> {
        match node.kind() {
            "simple_expansion" => Ok(()),
            "expansion" => match is_plain_expansion(self.text(node)) {
                true => Ok(()),
                false => Err("`${` stands for something else".into()),
            },
            "arithmetic_expansion" => {
                let text = self.text(node);
                let is_plain = text
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || b"$()+-*/% ".contains(&byte));
                match is_plain {
                    true => Ok(()),
                    // A variable in it is evaluated, subscripts and all.
                    false => Err("arithmetic is more than this reader understands".into()),
                }
            }
            "command_substitution" => {
                if self.text(node).starts_with('`') && self.text(node).contains('\\') {
                    return Err("a backtick runs another command".into());
                }
                self.substitution(node, depth)
            }
            kind => Err(unknown(kind)),
        }
    }

    pub(super) fn substitution(&mut self, node: Node, depth: usize) -> Read<()> {
        let before = self.commands.len();
        let mut from_file = Command::default();
        for part in self.parts(node, true)? {
            match part.kind() {
                "$(" | ")" | "`" | "<(" | ">(" | ";" | "&" | "\n" => {}
                "file_redirect" => {
                    let more = self.file(part, &mut from_file, depth + 1)?;
                    if !more.is_empty() || from_file.files.iter().any(|file| file.writes) {
                        return Err("there are words behind a redirect".into());
                    }
                    // `$(<file)` is how bash writes `$(cat file)`.
                    from_file.words.push(Word {
                        text: "cat".into(),
                        start: part.start_byte(),
                        end: part.end_byte(),
                        ..Word::default()
                    });
                    from_file.end = part.end_byte();
                    self.commands.push(std::mem::take(&mut from_file));
                }
                _ if part.is_named() => self.statement(part, depth + 1)?,
                kind => return Err(unknown(kind)),
            }
        }
        match self.commands.len() > before {
            true => Ok(()),
            false => Err("there is no command in a substitution".into()),
        }
    }
}

/// Says whether a word stands for itself though it holds `{}`, as `xargs` and `find` are given them.
fn is_hole(raw: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    raw.contains("{}") && raw.replace("{}", "").bytes().all(is_plain)
}

pub(super) fn is_word(kind: &str) -> bool {
    matches!(
        kind,
        "word"
            | "number"
            | "concatenation"
            | "raw_string"
            | "string"
            | "ansi_c_string"
            | "brace_expression"
            | "simple_expansion"
            | "expansion"
            | "command_substitution"
            | "arithmetic_expansion"
            | "process_substitution"
    )
}

/// Says whether `${…}` is a variable with at most a plain default or a plain end to cut off.
fn is_plain_expansion(text: &str) -> bool {
    let Some(inner) = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'))
    else {
        return false;
    };
    if let Some(name) = inner.strip_prefix('#') {
        return !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    }
    let length = inner
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        .count();
    let (name, rest) = inner.split_at(length);
    let operand = [":-", ":+", "%%", "%", "##", "#", "//", "/"]
        .iter()
        .find_map(|operator| rest.strip_prefix(operator));
    let is_plain = |text: &str| {
        text.bytes().all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'.' | b'/' | b'*' | b'-' | b':' | b',' | b' ')
        })
    };
    !name.is_empty() && (rest.is_empty() || operand.is_some_and(is_plain))
}
