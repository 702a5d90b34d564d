//! The catalog in few words: every namespace, and as many signatures as a budget holds.
//!
//! Signatures are added in turns, one of each server, the short ones first, so that no server crowds another out. Tools
//! that hold a word of the bias come before all others. The same input always gives the same text.

use mcp_wire::Tool;
use untrusted_text::terminal;

use crate::names::Names;
use crate::search::stem;
use crate::shape::{Field, Shape};
use crate::typescript::Namespace;
use crate::{search, words};

/// Bytes that count as a token.
pub const BYTES_A_TOKEN: usize = 4;

/// What a text costs, in quarters of a token: a byte is one, and a character of a script that is written without an alphabet,
/// or an emoji, is a whole token.
fn cost(text: &str) -> usize {
    text.chars()
        .map(|c| match c.len_utf8() {
            3 => BYTES_A_TOKEN,
            bytes => bytes,
        })
        .sum()
}

/// Longest text about a server, and about a tool, in characters.
const MAX_ABOUT: usize = 120;
const MAX_TOOL_ABOUT: usize = 80;
/// Longest signature without what is said about the tool, in characters; optional arguments beyond it are counted.
const MAX_SIGNATURE: usize = 160;
/// Longest list of allowed values, in characters.
const MAX_VALUES: usize = 48;

/// A listing, and how much of the whole it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The text.
    pub text: String,
    /// How many tools it shows.
    pub shown: usize,
    /// How many there are.
    pub total: usize,
}

/// Lists `namespaces` in at most `budget` tokens; a namespace is shown even when nothing is left of it. Tools that hold
/// words of `bias` come first.
#[must_use]
pub fn listing(namespaces: &[Namespace<'_>], budget: usize, bias: &[&str]) -> Listing {
    let bias: Vec<String> = bias
        .iter()
        .flat_map(|text| words::split(text))
        .filter(|word| !stem::is_filler(word))
        .map(|word| stem::stem(&word))
        .collect();
    let mut spaces: Vec<Space> = namespaces
        .iter()
        .map(|namespace| Space::new(namespace, &bias))
        .collect();
    spaces.sort_by(|a, b| a.name.cmp(&b.name));
    let total: usize = spaces.iter().map(|space| space.lines.len()).sum();
    let heads: usize = spaces.iter().map(|space| cost(&space.head) + 1).sum();
    let all = |space: &Space| {
        space
            .lines
            .iter()
            .map(|line| cost(&line.text) + 1)
            .sum::<usize>()
    };
    let bytes = budget
        .saturating_mul(BYTES_A_TOKEN)
        .saturating_sub(heads + 2);
    let whole = spaces.iter().map(all).sum::<usize>() + footer(total, total, None).len();
    let longest = spaces.iter().flat_map(|space| &space.lines);
    let longest = longest
        .map(|line| line.path.as_str())
        .max_by_key(|path| path.len());
    let room = if whole <= bytes {
        bytes
    } else {
        bytes.saturating_sub(footer(total, total, longest).len())
    };
    let shown = fill(&mut spaces, room);
    let hidden = spaces.iter().find_map(Space::first_hidden);
    let mut text = String::new();
    for space in &spaces {
        text.push_str(&space.head);
        text.push('\n');
        for line in space.lines.iter().filter(|line| line.is_shown) {
            text.push_str(&line.text);
            text.push('\n');
        }
    }
    if !spaces.is_empty() {
        text.push('\n');
    }
    text.push_str(&footer(shown, total, hidden.as_deref()));
    text.push('\n');
    Listing { text, shown, total }
}

/// One signature after the other, in turns, as long as one fits. First those that the bias names, then the others.
fn fill(spaces: &mut [Space], mut room: usize) -> usize {
    let mut shown = 0;
    for is_biased in [true, false] {
        let mut queues: Vec<Vec<usize>> =
            spaces.iter().map(|space| space.order(is_biased)).collect();
        while queues.iter().any(|queue| !queue.is_empty()) {
            for (space, queue) in spaces.iter_mut().zip(&mut queues) {
                // What is too long does not keep a shorter one out.
                while let Some(at) = queue.pop() {
                    let Some(line) = space.lines.get_mut(at) else {
                        continue;
                    };
                    if let Some(left) = room.checked_sub(cost(&line.text) + 1) {
                        room = left;
                        line.is_shown = true;
                        shown += 1;
                        break;
                    }
                }
            }
        }
    }
    shown
}

fn footer(shown: usize, total: usize, hidden: Option<&str>) -> String {
    match hidden {
        None if total == 0 => "There is no tool.".to_owned(),
        None => {
            format!("All {total} tools are shown. `mcpx types NAMESPACE.TOOL` says more of one.")
        }
        Some(path) => format!(
            "{shown} of {total} tools are shown. `mcpx types {path}` says all of one, `mcpx search WORDS` finds others."
        ),
    }
}

struct Space {
    name: String,
    head: String,
    /// By name.
    lines: Vec<Line>,
}

struct Line {
    path: String,
    text: String,
    /// How many words of the bias it holds.
    hits: usize,
    is_shown: bool,
}

impl Space {
    fn new(namespace: &Namespace<'_>, bias: &[String]) -> Self {
        let name = namespace.identifier();
        let names = Names::of_tools(namespace.tools.iter().map(|tool| tool.name.clone()));
        let mut lines: Vec<Line> = namespace
            .tools
            .iter()
            .map(|tool| {
                let function = names.identifier(&tool.name);
                let shape = Shape::of(&tool.input_schema());
                Line {
                    path: format!("{name}.{function}"),
                    text: format!("  {}{}", signature(&function, &shape), about(tool)),
                    hits: hits(namespace.server, tool, &shape, bias),
                    is_shown: false,
                }
            })
            .collect();
        lines.sort_by(|a, b| a.path.cmp(&b.path));
        lines.dedup_by(|a, b| a.path == b.path);
        let said = namespace.description.or(namespace.instructions);
        let said = said.map(first_sentence).filter(|text| !text.is_empty());
        let said = said.map_or_else(String::new, |text| {
            format!(": {}", terminal::one_line(text, MAX_ABOUT))
        });
        let count = match lines.len() {
            1 => "1 tool".to_owned(),
            many => format!("{many} tools"),
        };
        Self {
            head: format!("{name} ({count}){said}"),
            name,
            lines,
        }
    }

    /// The lines that are to be shown first, the first one last.
    fn order(&self, is_biased: bool) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.lines.len())
            .filter(|at| (self.lines[*at].hits > 0) == is_biased)
            .collect();
        order.sort_by_key(|at| {
            let line = &self.lines[*at];
            std::cmp::Reverse((std::cmp::Reverse(line.hits), line.text.len(), *at))
        });
        order
    }

    fn first_hidden(&self) -> Option<String> {
        let hidden = self.lines.iter().find(|line| !line.is_shown);
        hidden.map(|line| line.path.clone())
    }
}

fn hits(server: &str, tool: &Tool, shape: &Shape, bias: &[String]) -> usize {
    if bias.is_empty() {
        return 0;
    }
    let entry = search::Entry::of(tool, shape);
    let end = entry
        .text
        .char_indices()
        .nth(search::MAX_TEXT_CHARS)
        .map_or(entry.text.len(), |(at, _)| at);
    let parameters = entry.parameters.join(" ");
    let known: Vec<String> = [server, &entry.name, &entry.text[..end], &parameters]
        .into_iter()
        .flat_map(words::split)
        .map(|word| stem::stem(&word))
        .collect();
    bias.iter().filter(|word| known.contains(word)).count()
}

fn about(tool: &Tool) -> String {
    let text = tool
        .description()
        .or_else(|| tool.title())
        .unwrap_or_default();
    match first_sentence(&text) {
        "" => String::new(),
        text => format!("  {}", terminal::one_line(text, MAX_TOOL_ABOUT)),
    }
}

fn first_sentence(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |at| &line[..=at])
}

/// A function with its arguments in one line, the required ones first.
fn signature(function: &str, shape: &Shape) -> String {
    let mut fields: Vec<&Field> = shape
        .arguments()
        .filter(|field| !field.path.contains('*'))
        .collect();
    fields.sort_by_key(|field| !field.required);
    let mut text = String::new();
    let mut left_out = 0_usize;
    for field in fields {
        let mark = if field.required { "" } else { "?" };
        let name = terminal::one_line(&field.path, MAX_TOOL_ABOUT);
        let one = format!("{name}{mark}: {}", kind(field, shape));
        let is_long = text.chars().count() + one.chars().count() > MAX_SIGNATURE;
        if is_long && !field.required || left_out > 0 {
            left_out += 1;
            continue;
        }
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&one);
        // Even what is required ends somewhere.
        if text.chars().count() > 2 * MAX_SIGNATURE {
            left_out += 1;
        }
    }
    match (text.as_str(), left_out) {
        ("", 0) => format!("{function}()"),
        ("", more) => format!("{function}({{ {more} more }})"),
        (text, 0) => format!("{function}({{ {text} }})"),
        (text, more) => format!("{function}({{ {text}, {more} more }})"),
    }
}

/// A type in few words.
fn kind(field: &Field, shape: &Shape) -> String {
    let values = field
        .allowed
        .as_ref()
        .filter(|allowed| allowed.more.is_none() && !allowed.values.is_empty())
        .map(|allowed| allowed.values.join(" | "))
        .filter(|text| text.chars().count() <= MAX_VALUES);
    let text = values.unwrap_or_else(|| {
        let words = field.types.split('|').map(|word| match word {
            "integer" => "number".to_owned(),
            "array" => {
                let element = shape.get(&format!("{}[]", field.path));
                let word = element.map_or("unknown", |element| element.types.as_str());
                let word = if word == "integer" { "number" } else { word };
                if word.contains('|') {
                    format!("({word})[]")
                } else {
                    format!("{word}[]")
                }
            }
            word => word.trim_start_matches('$').to_owned(),
        });
        words.collect::<Vec<_>>().join(" | ")
    });
    let null = if field.nullable { " | null" } else { "" };
    terminal::one_line(&format!("{text}{null}"), MAX_TOOL_ABOUT)
}

#[cfg(test)]
mod tests;
