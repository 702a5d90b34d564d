//! Definitions by a parse: one walk over the tree, without recursion and with a deadline.

use std::{ops::ControlFlow, time::Instant};

use tree_sitter::{Node, ParseOptions, Parser, TreeCursor};

use super::{
    Definition,
    languages::{Language, Name, Rule, When},
    names, one_line,
};

/// Nodes between two looks at the clock.
const NODES_PER_LOOK: usize = 4096;

/// Declarators inside each other at most: C allows more than anyone writes.
const MAX_DECLARATORS: usize = 32;

/// Nodes that stand around a definition and belong to it.
const WRAPPERS: [&str; 10] = [
    "export_statement",
    "ambient_declaration",
    "lexical_declaration",
    "variable_declaration",
    "decorated_definition",
    "template_declaration",
    "type_declaration",
    "const_declaration",
    "var_declaration",
    "expression_statement",
];

/// Nodes that stand before a definition and belong to it.
const ATTACHED: [&str; 6] = [
    "comment",
    "line_comment",
    "block_comment",
    "attribute_item",
    "decorator",
    "attribute_declaration",
];

/// Values that make a variable a definition of its own.
const FUNCTIONS: [&str; 8] = [
    "arrow_function",
    "function_expression",
    "function",
    "generator_function",
    "func_literal",
    "lambda_expression",
    "class",
    "class_expression",
];

/// Long nodes without a definition in them.
const SKIPPED: [&str; 2] = ["initializer_list", "token_tree"];

/// What a parse came to.
pub(super) struct Parsed {
    pub(super) definitions: Vec<Definition>,
    /// Whether some of the text is not of the language.
    pub(super) has_errors: bool,
}

/// Parses and walks; `None` when that takes longer than until the deadline.
pub(super) fn definitions(language: &Language, text: &str, deadline: Instant) -> Option<Parsed> {
    let mut parser = Parser::new();
    parser.set_language(&(language.grammar)()).ok()?;
    let bytes = text.as_bytes();
    let mut in_time = |_: &tree_sitter::ParseState| {
        if Instant::now() < deadline {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut in_time);
    let mut chunk = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut chunk, None, Some(options))?;
    let mut walk = Walk {
        text,
        rules: language.rules,
        levels: vec![Level {
            is_top: true,
            ..Level::default()
        }],
        found: Vec::new(),
    };
    walk.run(tree.walk(), deadline)?;
    // The name of a `typedef` stands behind what it names.
    walk.found.sort_by_key(|definition| definition.line);
    Some(Parsed {
        definitions: walk.found,
        has_errors: tree.root_node().has_error(),
    })
}

struct Walk<'a> {
    text: &'a str,
    rules: &'static [Rule],
    /// Where the walk is: one for each node above the current one.
    levels: Vec<Level>,
    found: Vec<Definition>,
}

/// What is known while the children of one node are looked at.
#[derive(Clone, Copy, Default)]
struct Level {
    /// The definition that they lie in.
    owner: Option<usize>,
    /// Whether they stand at the top of the file.
    is_top: bool,
    /// Whether they lie in the body of a definition such as a function.
    is_local: bool,
    /// What stands around them, until the first definition in it has taken it.
    wrapper: Option<Wrapper>,
    /// The rows of the comments and attributes just before the next child.
    attached: Option<(usize, usize)>,
    /// The row on which the last child ended that was no comment.
    ended: Option<usize>,
}

#[derive(Clone, Copy)]
struct Wrapper {
    first_row: usize,
    start_byte: usize,
    /// Whether a signature begins with it whatever line it is on.
    is_prefix: bool,
}

impl Walk<'_> {
    /// Visits the children of the root and all that may hold definitions. `None` when the deadline passes.
    fn run(&mut self, mut cursor: TreeCursor<'_>, deadline: Instant) -> Option<()> {
        if !cursor.goto_first_child() {
            return Some(());
        }
        for visited in 0_usize.. {
            if visited.is_multiple_of(NODES_PER_LOOK) && Instant::now() >= deadline {
                return None;
            }
            let node = cursor.node();
            let inside = if node.is_named() {
                self.visit(node)
            } else {
                None
            };
            if let Some(level) = inside
                && cursor.goto_first_child()
            {
                self.levels.push(level);
                continue;
            }
            while !cursor.goto_next_sibling() {
                self.levels.pop();
                if self.levels.is_empty() || !cursor.goto_parent() {
                    return Some(());
                }
            }
        }
        Some(())
    }

    /// Takes a node into account; says how to look at its children, if they matter.
    fn visit(&mut self, node: Node<'_>) -> Option<Level> {
        let kind = node.kind();
        let level = self.levels.last_mut()?;
        let (start_row, end_row) = (node.start_position().row, last_row(node));
        if ATTACHED.contains(&kind) {
            // A comment behind something on its line belongs to that.
            if level.ended != Some(start_row) {
                level.attached = match level.attached {
                    Some((first, ended)) if ended + 1 >= start_row => Some((first, end_row)),
                    _ => Some((start_row, end_row)),
                };
            }
            return None;
        }
        let first_row = match level.attached.take() {
            Some((first, ended)) if ended + 1 >= start_row => first,
            _ => start_row,
        };
        level.ended = Some(end_row);
        let level = *level;

        if SKIPPED.contains(&kind) {
            return None;
        }
        if let Some(rule) = self.rule_for(node, level) {
            return self.define(node, rule, first_row, level);
        }
        let is_wrapper = WRAPPERS.contains(&kind);
        let wrapper = is_wrapper.then(|| Wrapper {
            first_row: level.wrapper.map_or(first_row, |outer| outer.first_row),
            start_byte: level
                .wrapper
                .map_or(node.start_byte(), |outer| outer.start_byte),
            is_prefix: kind == "template_declaration"
                || level.wrapper.is_some_and(|outer| outer.is_prefix),
        });
        Some(Level {
            owner: level.owner,
            is_top: level.is_top && is_wrapper,
            is_local: level.is_local,
            wrapper,
            ..Level::default()
        })
    }

    fn rule_for(&self, node: Node<'_>, level: Level) -> Option<&'static Rule> {
        let is_function = || value_of(node).is_some_and(|value| FUNCTIONS.contains(&value.kind()));
        self.rules.iter().find(|rule| {
            rule.kind == node.kind()
                && !(rule.is_value && level.is_local && !is_function())
                && match rule.when {
                    When::Always => true,
                    When::HasBody => node.child_by_field_name("body").is_some(),
                    When::Function => is_function(),
                    When::TopOrFunction => level.is_top || is_function(),
                    When::Top => {
                        level.is_top
                            && node
                                .child_by_field_name("left")
                                .is_some_and(|left| left.kind() == "identifier")
                    }
                    When::DeclaresFunction => innermost(node).is_some_and(|(_, is)| is),
                    When::DeclaresOther => innermost(node).is_some_and(|(_, is)| !is),
                    When::DeclaresLambda => node
                        .child_by_field_name("declarator")
                        .and_then(|declared| declared.child_by_field_name("value"))
                        .is_some_and(|value| value.kind() == "lambda_expression"),
                    When::UnnamedDefault => {
                        default_of(node).is_some() && exported(node).is_some_and(is_unnamed)
                    }
                }
        })
    }

    /// Adds a definition; says how to look inside it.
    fn define(
        &mut self,
        node: Node<'_>,
        rule: &Rule,
        first_row: usize,
        level: Level,
    ) -> Option<Level> {
        let is_container = rule.is_container
            && !(rule.when == When::UnnamedDefault && exported(node).is_some_and(is_callable));
        let inside = |owner| {
            Some(Level {
                owner: if rule.is_transparent {
                    level.owner
                } else {
                    owner
                },
                is_local: level.is_local || !(is_container || rule.is_transparent),
                ..Level::default()
            })
        };
        let Some((name_node, own_path)) = self.name(node, rule.name) else {
            // Something without a name may still hold what has one.
            return inside(level.owner);
        };
        let mut wrapper = None;
        if let Some(level) = self.levels.last_mut() {
            wrapper = level.wrapper.take();
        }
        let start = match wrapper {
            Some(wrapper)
                if wrapper.is_prefix
                    || !self.text[wrapper.start_byte..node.start_byte()].contains('\n') =>
            {
                wrapper.start_byte
            }
            _ => node.start_byte(),
        };
        let owner = level.owner.map(|owner| &self.found[owner]);
        let depth = owner.map_or(0, |owner| owner.depth + 1);
        let mut path = owner.map(|owner| owner.path.clone()).unwrap_or_default();
        path.extend(own_path);
        let definition = Definition {
            path,
            depth,
            line: name_node.start_position().row + 1,
            first: wrapper.map_or(first_row, |wrapper| wrapper.first_row) + 1,
            last: last_row(node) + 1,
            signature: self.signature(node, start, name_node.end_byte()),
            is_main: rule.is_main,
            is_local: level.is_local,
        };
        self.found.push(definition);
        inside(Some(self.found.len() - 1))
    }

    fn name<'t>(&self, node: Node<'t>, name: Name) -> Option<(Node<'t>, Vec<String>)> {
        let text = |node: Node<'_>| self.text.get(node.byte_range()).unwrap_or_default();
        let (node, path) = match name {
            Name::Field(field) => {
                let node = node.child_by_field_name(field)?;
                let path = match node.kind() {
                    "nested_identifier" => text(node).split('.').map(str::to_owned).collect(),
                    _ => names::plain(text(node)),
                };
                (node, path)
            }
            Name::Default => (default_of(node)?, vec!["default".to_owned()]),
            Name::ImplType => {
                let node = node.child_by_field_name("type")?;
                (node, names::of_type(text(node)))
            }
            Name::Receiver => {
                let receiver = node.child_by_field_name("receiver")?;
                let node = node.child_by_field_name("name")?;
                let mut path = names::of_receiver(text(receiver));
                path.extend(names::plain(text(node)));
                (node, path)
            }
            Name::Declarator => {
                let (node, _) = innermost(node)?;
                (node, names::plain(text(node)))
            }
        };
        (!path.is_empty()).then_some((node, path))
    }

    /// The text from `start` to the body, on one line.
    fn signature(&self, node: Node<'_>, start: usize, name_end: usize) -> String {
        let value = value_of(node).or_else(|| exported(node));
        let body = node
            .child_by_field_name("body")
            .or_else(|| value.and_then(|value| value.child_by_field_name("body")));
        let body = body
            .map(|body| body.start_byte())
            .filter(|at| *at > start && !self.text[*at..].starts_with('('));
        let end = body.unwrap_or_else(|| node.end_byte().max(name_end));
        let mut signature = self.text.get(start..end).unwrap_or_default();
        if body.is_none()
            && let Some(brace) = self.text[name_end..end.max(name_end)].find('{')
        {
            signature = &self.text[start..name_end + brace];
        }
        let unfinished = |c: char| c.is_whitespace() || matches!(c, '{' | '=' | ':' | ';' | '(');
        one_line(signature.trim_end_matches(unfinished))
    }
}

/// The value that a node gives a name to; in Go it is a list of one.
fn value_of(node: Node<'_>) -> Option<Node<'_>> {
    let value = node
        .child_by_field_name("value")
        .or_else(|| node.child_by_field_name("right"))?;
    if value.kind() == "expression_list" && value.named_child_count() == 1 {
        return value.named_child(0);
    }
    Some(value)
}

/// The word `default` of an export.
fn default_of(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor)
        .find(|child| child.kind() == "default")
}

/// What an export exports.
fn exported(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("declaration")
        .or_else(|| node.child_by_field_name("value"))
}

fn is_unnamed(node: Node<'_>) -> bool {
    let has_name = node.child_by_field_name("name").is_some();
    !has_name
        && (is_callable(node)
            || FUNCTIONS.contains(&node.kind())
            || matches!(
                node.kind(),
                "object" | "call_expression" | "class_declaration" | "abstract_class_declaration"
            ))
}

fn is_callable(node: Node<'_>) -> bool {
    let kind = node.kind();
    kind.contains("function") || kind == "call_expression"
}

/// The row that a node ends on. One that includes its line break ends on the line before.
fn last_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row {
        end.row - 1
    } else {
        end.row
    }
}

/// The name inside the declarators of C, and whether it is that of a function.
fn innermost(node: Node<'_>) -> Option<(Node<'_>, bool)> {
    let mut at = node.child_by_field_name("declarator")?;
    let mut is_function = false;
    for _ in 0..MAX_DECLARATORS {
        is_function |= at.kind() == "function_declarator";
        let bare = matches!(
            at.kind(),
            "parenthesized_declarator" | "reference_declarator" | "attributed_declarator"
        );
        let inner = match at.child_by_field_name("declarator") {
            Some(inner) => Some(inner),
            None if bare => at.named_child(0),
            None => None,
        };
        match inner {
            Some(inner) => at = inner,
            None => return Some((at, is_function)),
        }
    }
    None
}
