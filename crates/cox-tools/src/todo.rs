//! `todo`: the list of what is to be done, as the model keeps it.
//!
//! Keeps nothing: each call carries the whole list and gets it back as people see it.

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Concurrency, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, parse_input};

/// The tool.
#[derive(Debug)]
pub struct Todo {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Input {
    items: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Item {
    text: String,
    #[serde(default)]
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    #[default]
    Pending,
    InProgress,
    Done,
}

impl Todo {
    /// Makes the tool.
    pub fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "todo",
                description: "Shows the person your list of steps. Send the whole list every time a step starts or ends.",
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "items": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "id": { "type": "string" },
                                    "text": { "type": "string" },
                                    "state": { "enum": ["pending", "in_progress", "done"] }
                                },
                                "required": ["text", "state"]
                            }
                        }
                    },
                    "required": ["items"]
                }),
                deferred: false,
                risk: Risk::ReadOnly,
                concurrency: Concurrency::Parallel,
            },
        }
    }
}

impl Default for Todo {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Tool for Todo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value, _cx: &SubjectCx) -> Result<Subject, ToolError> {
        let Input { items } = parse_input(&self.spec, input)?;
        Ok(Subject {
            tool: self.spec.name.to_owned(),
            text: tally(&items),
            risk: self.spec.risk,
            targets: Vec::new(),
        })
    }

    async fn call(&self, input: Value, _cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let Input { items } = parse_input(&self.spec, &input)?;
        Ok(ToolOutput::text(render(&items)))
    }
}

fn tally(items: &[Item]) -> String {
    let done = items
        .iter()
        .filter(|item| item.state == State::Done)
        .count();
    format!("{done} of {} done", items.len())
}

/// Renders the list: `[x]` done, `[>]` in progress, `[ ]` pending, one item a line, and how far it is.
fn render(items: &[Item]) -> String {
    let rows = items.iter().map(|item| {
        let mark = match item.state {
            State::Pending => "[ ]",
            State::InProgress => "[>]",
            State::Done => "[x]",
        };
        let text: Vec<&str> = item.text.split_whitespace().collect();
        format!("{mark} {}\n", text.join(" "))
    });
    format!("{}({})", rows.collect::<String>(), tally(items))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_shown_as_people_read_it() {
        let check = |items: Value, expected: &str| {
            let Input { items } =
                parse_input(&Todo::new().spec, &json!({ "items": items })).unwrap();
            assert_eq!(render(&items), expected);
        };
        check(json!([]), "(0 of 0 done)");
        check(
            json!([
                { "id": "1", "text": "read", "state": "done" },
                { "text": "change\n it", "state": "in_progress" },
                { "text": "test" },
            ]),
            "[x] read\n[>] change it\n[ ] test\n(1 of 3 done)",
        );
    }
}
