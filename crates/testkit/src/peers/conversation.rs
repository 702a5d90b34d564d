//! A scripted conversation in the form that aimock takes.

use serde_json::{Value, json};

/// A conversation: what the model says to a prompt, and to the results of the calls it made.
///
/// ```
/// # use testkit::peers::{Conversation, Turn};
/// # use serde_json::json;
/// let conversation = Conversation::new()
///     .prompt("fix the test")
///     .reply(Turn::new().text("I look.").call("read", json!({ "path": "src/lib.rs" })))
///     .reply(Turn::new().text("It was fine."));
/// ```
///
/// The form of a fixture file is `{"fixtures": [{"match": …, "response": …}]}`, and the first match wins. `match` takes,
/// among others, `userMessage` (part of the text of the last user message), `toolCallId` (that of a tool message that is the
/// last message), `hasToolResult`, `turnIndex` (count of assistant messages) and `sequenceIndex` (count of earlier
/// matches). `response` is `{"content", "reasoning", "toolCalls": [{"id", "name", "arguments"}], "usage"}` or
/// `{"error": {"message", "type"}}` with `"status"`. One fixture serves all wires. We match a prompt by its text and a
/// continuation by the id of the last call before it: both are in the request itself, so that a request that is sent
/// twice (after a retry, or by a resumed session) gets the same answer twice. What follows results in one message must be
/// nothing, or the request matches no longer.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    fixtures: Vec<Value>,
    next: Option<Value>,
    turns: usize,
}

/// What the model says in one turn: text first, then calls.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    text: Option<String>,
    reasoning: Option<String>,
    calls: Vec<(String, String)>,
    usage: Option<(u64, u64)>,
}

impl Turn {
    /// Returns a turn that says nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Thinks.
    #[must_use]
    pub fn reasoning(mut self, text: impl Into<String>) -> Self {
        self.reasoning = Some(text.into());
        self
    }

    /// Calls a tool with JSON text.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a literal reads better without a borrow"
    )]
    pub fn call(mut self, name: &str, input: impl ToString) -> Self {
        self.calls.push((name.to_owned(), input.to_string()));
        self
    }

    /// Reports tokens of input and output.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some((input, output));
        self
    }
}

impl Conversation {
    /// Returns a conversation in which nobody spoke yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The person says something that contains `text`; the next reply answers it.
    #[must_use]
    pub fn prompt(mut self, text: &str) -> Self {
        self.next = Some(json!({ "userMessage": text, "hasToolResult": false }));
        self
    }

    /// The model says this, to the prompt before or to the results of the turn before. Its calls have the ids
    /// `call_TURN_NUMBER`, both from 1.
    ///
    /// # Panics
    ///
    /// When there is nothing to reply to.
    #[must_use]
    #[track_caller]
    pub fn reply(mut self, turn: Turn) -> Self {
        let to = self
            .next
            .take()
            .expect("a reply follows a prompt, or a turn with calls");
        self.turns += 1;
        let id = |number: usize| format!("call_{}_{}", self.turns, number + 1);
        let calls: Vec<_> = turn
            .calls
            .iter()
            .enumerate()
            .map(|(number, (name, input))| json!({ "id": id(number), "name": name, "arguments": input }))
            .collect();
        if let Some(last) = calls.last() {
            self.next = Some(json!({ "toolCallId": last["id"] }));
        }
        let mut response = json!({});
        if let Some(text) = turn.text {
            response["content"] = text.into();
        }
        if let Some(reasoning) = turn.reasoning {
            response["reasoning"] = reasoning.into();
        }
        if !calls.is_empty() {
            response["toolCalls"] = calls.into();
        }
        if let Some((input, output)) = turn.usage {
            response["usage"] = json!({ "input_tokens": input, "output_tokens": output,
                "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output });
        }
        self.fixtures
            .push(json!({ "match": to, "response": response }));
        self
    }

    /// Returns the fixture file.
    pub fn to_fixtures(&self) -> Value {
        json!({ "fixtures": self.fixtures })
    }
}
