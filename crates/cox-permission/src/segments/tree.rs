//! The second reader: a syntax tree of the line, and an allow-list of what may stand in it.
//!
//! It reads as bash, dash and sh do. It follows lists, pipes, subshells, loops, conditions, functions, substitutions and
//! here-documents, and finds every command that a line might run, in the order in which they begin. A node that is not on
//! the list, an error in the tree, a byte that no node accounts for: the line cannot be told.

use tree_sitter::{Node, Parser};

use super::{
    MAX_LINE_BYTES,
    lexer::{check_program, check_quoted},
    word::{Command, File, Input, Value, Word, is_idle_variable, is_safe_assignment},
};

/// How deep nodes may be nested.
const MAX_DEPTH: usize = 60;

/// How often the parser may report progress before it is stopped: far more than any line of the longest length needs.
const MAX_STEPS: usize = 20_000;

type Read<T> = Result<T, String>;

/// Returns the commands of a line, or what stopped the reader.
pub(super) fn commands(line: &str) -> Read<Vec<Command>> {
    if line.len() > MAX_LINE_BYTES {
        return Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
    }
    for char in line.chars() {
        check_quoted(char)?;
    }
    let tree = parse(line).ok_or("the line takes too long to read")?;
    let root = tree.root_node();
    if root.has_error() {
        return Err("it is not a line that a shell would take".into());
    }
    let mut walk = Walk {
        line,
        commands: Vec::new(),
    };
    walk.gap(0, root.start_byte(), true)?;
    walk.gap(root.end_byte(), line.len(), true)?;
    walk.statement(root, 0)?;
    match walk.commands.is_empty() {
        true => Err("there is no command in it".into()),
        false => Ok(walk.commands),
    }
}

fn parse(line: &str) -> Option<tree_sitter::Tree> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()?;
    let mut steps = 0;
    let mut progress = |_: &tree_sitter::ParseState| {
        steps += 1;
        match steps > MAX_STEPS {
            true => std::ops::ControlFlow::Break(()),
            false => std::ops::ControlFlow::Continue(()),
        }
    };
    let options = tree_sitter::ParseOptions::new().progress_callback(&mut progress);
    let bytes = line.as_bytes();
    parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or_default(),
        None,
        Some(options),
    )
}

struct Walk<'a> {
    line: &'a str,
    commands: Vec<Command>,
}

fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

impl<'a> Walk<'a> {
    fn text(&self, node: Node) -> &'a str {
        self.line.get(node.byte_range()).unwrap_or_default()
    }

    /// Checks what stands between two nodes: blanks, and line breaks where they mean nothing.
    fn gap(&self, start: usize, end: usize, and_line_breaks: bool) -> Read<()> {
        let gap = self
            .line
            .get(start..end)
            .ok_or("it cannot be taken apart")?;
        let mut before = start
            .checked_sub(1)
            .and_then(|at| self.line.as_bytes().get(at))
            .copied();
        let mut bytes = gap.bytes().peekable();
        while let Some(byte) = bytes.next() {
            match byte {
                b' ' | b'\t' => {}
                b'\n' if and_line_breaks => {}
                // Within a word, a shell joins what stands before and after.
                b'\\'
                    if matches!(before, None | Some(b' ' | b'\t' | b'\n'))
                        && bytes.peek() == Some(&b'\n') =>
                {
                    bytes.next();
                    before = Some(b'\n');
                    continue;
                }
                b'\\' => return Err("a backslash is more than this reader understands".into()),
                _ => return Err("there is something in it that this reader does not see".into()),
            }
            before = Some(byte);
        }
        Ok(())
    }

    /// Returns the children of a node after checking that they account for all of it.
    fn parts<'t>(&self, node: Node<'t>, and_line_breaks: bool) -> Read<Vec<Node<'t>>> {
        let parts = children(node);
        let mut at = node.start_byte();
        for part in &parts {
            self.gap(at, part.start_byte(), and_line_breaks)?;
            at = part.end_byte().max(at);
        }
        self.gap(at, node.end_byte(), and_line_breaks)?;
        Ok(parts)
    }

    fn statement(&mut self, node: Node, depth: usize) -> Read<()> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deep".into());
        }
        match node.kind() {
            "comment" => Ok(()),
            "program" | "do_group" | "else_clause" | "elif_clause" | "if_statement" | "list"
            | "pipeline" | "subshell" | "compound_statement" | "negated_command"
            | "while_statement" => self.block(node, depth),
            "command" => self.command(node, depth),
            "redirected_statement" => self.redirected(node, depth),
            "for_statement" => self.for_statement(node, depth),
            "case_statement" => self.case_statement(node, depth),
            "function_definition" => self.function(node, depth),
            "test_command" => self.test(node, depth),
            "variable_assignment"
            | "variable_assignments"
            | "declaration_command"
            | "unset_command" => Err("it sets a variable".into()),
            kind => Err(unknown(kind)),
        }
    }

    fn block(&mut self, node: Node, depth: usize) -> Read<()> {
        for part in self.parts(node, true)? {
            if part.is_named() {
                self.statement(part, depth + 1)?;
                continue;
            }
            match part.kind() {
                "&&" | "||" | "|" | "|&" | ";" | "&" | "(" | ")" | "{" | "}" | "!" | "if"
                | "then" | "fi" | "else" | "elif" | "while" | "until" | "do" | "done" | "\n" => {}
                kind => return Err(unknown(kind)),
            }
        }
        Ok(())
    }

    fn command(&mut self, node: Node, depth: usize) -> Read<()> {
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
                    let value = self.word(*value, depth + 1)?;
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
                "$" | "==" | "=~" => command.words.push(Word {
                    text: part.kind().to_owned(),
                    start: part.start_byte(),
                    end: part.end_byte(),
                    ..Word::default()
                }),
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

    fn redirected(&mut self, node: Node, depth: usize) -> Read<()> {
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

    /// Reads a redirect to or from a file or a stream. Returns the words behind its target.
    fn file(&mut self, node: Node, command: &mut Command, depth: usize) -> Read<Vec<Word>> {
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

    fn here_string(&mut self, node: Node, command: &mut Command, depth: usize) -> Read<()> {
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

    fn here_document(&mut self, node: Node, command: &mut Command, depth: usize) -> Read<()> {
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

    fn for_statement(&mut self, node: Node, depth: usize) -> Read<()> {
        for part in self.parts(node, true)? {
            match part.kind() {
                "for" | "in" | ";" | "\n" => {}
                "variable_name" => {
                    let name = self.text(part);
                    if !is_idle_variable(name) {
                        return Err(format!("it sets the variable `{}`", name.escape_debug()));
                    }
                }
                "do_group" | "comment" => self.statement(part, depth + 1)?,
                _ if part.is_named() => {
                    self.word(part, depth + 1)?;
                }
                kind => return Err(unknown(kind)),
            }
        }
        Ok(())
    }

    fn case_statement(&mut self, node: Node, depth: usize) -> Read<()> {
        for part in self.parts(node, true)? {
            match part.kind() {
                "case" | "in" | "esac" | ";" | "\n" | "comment" => {}
                "case_item" => {
                    for inner in self.parts(part, true)? {
                        match inner.kind() {
                            "(" | ")" | "|" | ";;" | ";&" | ";;&" | "\n" | ";" | "&" => {}
                            "extglob_pattern" => self.plain_pattern(inner)?,
                            kind if is_word(kind) => {
                                self.word(inner, depth + 2)?;
                            }
                            _ if inner.is_named() => self.statement(inner, depth + 2)?,
                            kind => return Err(unknown(kind)),
                        }
                    }
                }
                kind if is_word(kind) => {
                    self.word(part, depth + 1)?;
                }
                kind => return Err(unknown(kind)),
            }
        }
        Ok(())
    }

    fn plain_pattern(&self, node: Node) -> Read<()> {
        match self.text(node).contains(['$', '`', '(', '\\', '"', '\'']) {
            true => Err(unknown(node.kind())),
            false => Ok(()),
        }
    }

    fn function(&mut self, node: Node, depth: usize) -> Read<()> {
        for part in self.parts(node, true)? {
            match part.kind() {
                "function" | "(" | ")" => {}
                "word" => check_program(self.text(part))?,
                "compound_statement" | "subshell" | "if_statement" => {
                    self.statement(part, depth + 1)?;
                }
                kind => return Err(unknown(kind)),
            }
        }
        Ok(())
    }

    /// `[ … ]` and `[[ … ]]`: the words of the test are those of a command.
    fn test(&mut self, node: Node, depth: usize) -> Read<()> {
        let at = self.commands.len();
        let mut words = Vec::new();
        self.test_words(node, &mut words, depth + 1)?;
        let is_double = words.first().is_some_and(|word: &Word| word.text == "[[");
        if is_double {
            for word in &mut words {
                // Nothing is split between double brackets.
                word.value = word.value.min(Value::One);
            }
        }
        self.commands.insert(
            at,
            Command {
                words,
                end: node.end_byte(),
                ..Command::default()
            },
        );
        Ok(())
    }

    fn test_words(&mut self, node: Node, words: &mut Vec<Word>, depth: usize) -> Read<()> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deep".into());
        }
        for part in self.parts(node, false)? {
            let kind = part.kind();
            match kind {
                "binary_expression" | "unary_expression" => {
                    self.test_words(part, words, depth + 1)?;
                }
                "parenthesized_expression" => return Err(unknown(kind)),
                _ if part.is_named() && is_word(kind) => {
                    let word = self.word(part, depth + 1)?;
                    words.push(word);
                }
                _ => {
                    if matches!(kind, "regex" | "extglob_pattern") {
                        self.plain_pattern(part)?;
                    } else if part.is_named() && kind != "test_operator" {
                        return Err(unknown(kind));
                    }
                    words.push(Word {
                        text: self.text(part).to_owned(),
                        start: part.start_byte(),
                        end: part.end_byte(),
                        ..Word::default()
                    });
                }
            }
        }
        Ok(())
    }

    fn word(&mut self, node: Node, depth: usize) -> Read<Word> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deep".into());
        }
        let mut word = Word {
            start: node.start_byte(),
            end: node.end_byte(),
            ..Word::default()
        };
        let raw = self.text(node);
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
    fn pieces(&mut self, node: Node, word: &mut Word, depth: usize) -> Read<()> {
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
    fn plain(&self, raw: &str, word: &mut Word) -> Read<()> {
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

    fn string(&mut self, node: Node, word: &mut Word, depth: usize) -> Read<()> {
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
    fn quoted(&self, start: usize, end: usize, word: &mut Word) -> Read<()> {
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
    fn expansion(&mut self, node: Node, _is_quoted: bool, depth: usize) -> Read<()> {
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

    fn substitution(&mut self, node: Node, depth: usize) -> Read<()> {
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

fn is_word(kind: &str) -> bool {
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
    let operand = [":-", ":+", "%%", "%", "##", "#"]
        .iter()
        .find_map(|operator| rest.strip_prefix(operator));
    let is_plain = |text: &str| {
        text.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'*' | b'-')
        })
    };
    !name.is_empty() && (rest.is_empty() || operand.is_some_and(is_plain))
}

fn unknown(kind: &str) -> String {
    let what = match kind {
        "((" | "c_style_for_statement" => "arithmetic",
        "subshell" | "(" | ")" | "parenthesized_expression" => "a parenthesis here",
        "select" => "`select`",
        "translated_string" => "a string to be translated",
        "heredoc_redirect" | "herestring_redirect" => "a here-document",
        "array" | "subscript" => "an array",
        _ => {
            return format!(
                "`{}` is more than this reader understands",
                kind.escape_debug()
            );
        }
    };
    format!("{what} is more than this reader understands")
}
