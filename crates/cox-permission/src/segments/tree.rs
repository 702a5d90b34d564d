//! The second reader: a syntax tree of the line, and an allow-list of what may stand in it.
//!
//! It reads as bash, dash and sh do. It follows lists, pipes, subshells, loops, conditions, functions, substitutions and
//! here-documents, and finds every command that a line might run, in the order in which they begin. A node that is not on
//! the list, an error in the tree, a byte that no node accounts for: the line cannot be told.

mod command;
mod compound;
mod redirect;
mod words;

use std::cell::RefCell;

use tree_sitter::{Node, Parser};

use super::{outline::Outline, word::Command};

/// How deep nodes may be nested.
const MAX_DEPTH: usize = 60;

/// How often the parser may report progress before it is stopped: far more than any line of the longest length needs.
const MAX_STEPS: usize = 20_000;

type Read<T> = Result<T, String>;

/// Returns the commands of a line, or what stopped the reader.
pub(super) fn commands(outline: &Outline) -> Read<Vec<Command>> {
    walk(&outline.bare, Some(outline))
}

/// Returns what stops the reader in a line whose words cannot be told; none if it would read it.
pub(super) fn refusal(line: &str) -> Option<String> {
    walk(line, None).err()
}

fn walk(line: &str, outline: Option<&Outline>) -> Read<Vec<Command>> {
    let tree = parse(line).ok_or("the line takes too long to read")?;
    let root = tree.root_node();
    if root.has_error() {
        return Err("it is not a line that a shell would take".into());
    }
    let mut walk = Walk {
        line,
        outline,
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

thread_local! {
    /// Making one costs more than most lines take to read.
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

fn parse(line: &str) -> Option<tree_sitter::Tree> {
    PARSER.with_borrow_mut(|kept| {
        if kept.is_none() {
            let mut parser = Parser::new();
            parser
                .set_language(&tree_sitter_bash::LANGUAGE.into())
                .ok()?;
            *kept = Some(parser);
        }
        let parser = kept.as_mut()?;
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
        let tree = parser.parse_with_options(
            &mut |at, _| bytes.get(at..).unwrap_or_default(),
            None,
            Some(options),
        );
        // One that was stopped would go on with the line before.
        if tree.is_none() {
            *kept = None;
        }
        tree
    })
}

struct Walk<'a> {
    line: &'a str,
    /// Where the words are; none when only the reason is wanted why a line cannot be told.
    outline: Option<&'a Outline>,
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

    /// Checks that a shell sees a word where the tree has one.
    fn is_whole(&self, node: Node) -> Read<()> {
        match self.outline {
            Some(outline) if !outline.is_word(node.start_byte(), node.end_byte()) => Err(format!(
                "`{}` is no word to a shell",
                self.text(node).escape_debug()
            )),
            _ => Ok(()),
        }
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
