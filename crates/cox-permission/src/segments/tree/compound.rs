//! Loops, cases, functions and tests, for the commands in them.

use tree_sitter::Node;

use super::{
    super::{
        lexer::check_program,
        word::{Command, Value, Word, is_idle_variable},
    },
    MAX_DEPTH, Read, Walk, unknown,
    words::is_word,
};

impl Walk<'_> {
    pub(super) fn for_statement(&mut self, node: Node, depth: usize) -> Read<()> {
        for part in self.parts(node, true)? {
            match part.kind() {
                "for" | "in" | ";" | "\n" => {}
                "variable_name" => {
                    let name = self.text(part);
                    if !is_idle_variable(name) {
                        return Err(format!("it sets the variable `{}`", name.escape_debug()));
                    }
                }
                "do_group" => self.statement(part, depth + 1)?,
                _ if part.is_named() => {
                    self.word(part, depth + 1)?;
                }
                kind => return Err(unknown(kind)),
            }
        }
        Ok(())
    }

    pub(super) fn case_statement(&mut self, node: Node, depth: usize) -> Read<()> {
        for part in self.parts(node, true)? {
            match part.kind() {
                "case" | "in" | "esac" | ";" | "\n" => {}
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

    pub(super) fn plain_pattern(&self, node: Node) -> Read<()> {
        match self.text(node).contains(['$', '`', '(', '\\', '"', '\'']) {
            true => Err(unknown(node.kind())),
            false => Ok(()),
        }
    }

    pub(super) fn function(&mut self, node: Node, depth: usize) -> Read<()> {
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
    pub(super) fn test(&mut self, node: Node, depth: usize) -> Read<()> {
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

    pub(super) fn test_words(
        &mut self,
        node: Node,
        words: &mut Vec<Word>,
        depth: usize,
    ) -> Read<()> {
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
                    let is_double = words.first().is_some_and(|word| word.text == "[[");
                    if matches!(kind, "regex" | "extglob_pattern") {
                        self.plain_pattern(part)?;
                    } else if !part.is_named()
                        && !is_double
                        && !matches!(kind, "[" | "[[" | "]" | "!" | "=" | "==" | "!=")
                    {
                        // Between single brackets a shell sees redirects and lists there.
                        return Err(unknown(kind));
                    } else if part.is_named() && kind != "test_operator" {
                        return Err(unknown(kind));
                    } else if !matches!(kind, "&&" | "||" | "<" | ">") {
                        self.is_whole(part)?;
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
}
