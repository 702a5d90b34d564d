//! An answer while it grows: what the stream readers of the three wires have in common.

use serde_json::Value;

use crate::{
    Block, Observer, Reply, Stop,
    failure::{Failure, ServerError, Who},
    json_text,
    sse::Event,
};

/// Puts an answer together from the events of a stream. No I/O.
pub(crate) trait Assemble: Send {
    /// Takes the next event and shows what is for people in it.
    fn take(&mut self, event: &Event, shown: &mut Shown<'_>) -> Result<Progress, Fault>;

    /// Says whether the answer would be whole if the stream ended now.
    fn may_end(&self) -> bool;

    /// Says whether a block is complete.
    fn has_block(&self) -> bool;

    /// Returns the answer, whole or partial.
    fn finish(self: Box<Self>, end: End) -> Reply;
}

/// Whether more events are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Yes.
    More,
    /// No: the answer is whole.
    Done,
}

/// Why a stream cannot go on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An event could not be read; says which and why.
    Malformed(String),
    /// The server reported an error inside the stream.
    Server(ServerError),
}

impl Fault {
    /// Names the event that is not what it should be.
    pub(crate) fn malformed(event: &Event, why: &serde_json::Error) -> Self {
        Self::Malformed(format!(
            "event `{}` is not the expected JSON ({why})",
            event.data
        ))
    }

    /// Returns the failure, with who and what to do.
    pub(crate) fn into_failure(self, who: &Who) -> Failure {
        match self {
            // Something on the way damaged it; the next try may arrive whole.
            Self::Malformed(what) => {
                let mut failure = who.malformed(&what);
                failure.may_retry = true;
                failure
            }
            Self::Server(error) => who.in_stream(&error),
        }
    }
}

/// How a stream ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As it should.
    Complete,
    /// We cancelled.
    Cancelled,
    /// It broke; says how.
    Broken(String),
}

/// An observer that remembers whether it was told anything.
pub(crate) struct Shown<'a> {
    observer: &'a mut dyn Observer,
    pub(crate) any: bool,
}

impl<'a> Shown<'a> {
    /// Shows to `observer`.
    pub(crate) fn new(observer: &'a mut dyn Observer) -> Self {
        Self {
            observer,
            any: false,
        }
    }

    /// Shows text.
    pub(crate) fn text(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.any = true;
            self.observer.text(piece);
        }
    }

    /// Shows thinking.
    pub(crate) fn thinking(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.any = true;
            self.observer.thinking(piece);
        }
    }
}

/// Decides what an answer ends with, given what the server said and what arrived.
///
/// Servers say "stop" after calls and "tool calls" without any, so the blocks decide between the two. An answer that ran
/// into its cap loses a last call whose arguments were cut; the calls before it are whole and want their results. A
/// refusal asks for nothing.
pub(crate) fn conclude(mut blocks: Vec<Block>, said: Stop, end: End) -> (Vec<Block>, Stop) {
    match end {
        End::Cancelled => return (blocks, Stop::Cancelled),
        End::Broken(how) => return (blocks, Stop::Broken(how)),
        End::Complete => {}
    }
    if let Stop::Refusal(_) = said {
        blocks.retain(|block| !matches!(block, Block::Call { .. }));
        return (blocks, said);
    }
    if said == Stop::MaxTokens
        && let Some(Block::Call { input, .. }) = blocks.last()
        && !json_text::is_object(input)
    {
        blocks.pop();
    }
    let wants_results = blocks
        .iter()
        .any(|block| matches!(block, Block::Call { .. }));
    let stop = match said {
        _ if wants_results => Stop::ToolUse,
        Stop::MaxTokens => Stop::MaxTokens,
        _ => Stop::EndTurn,
    };
    (blocks, stop)
}

/// Reads a count of tokens at a JSON pointer. What is no count is none: usage is never a reason to lose an answer.
pub(crate) fn count(usage: &Value, pointer: &str) -> Option<u64> {
    let value = usage.pointer(pointer)?;
    value.as_u64().or_else(|| {
        value
            .as_f64()
            .filter(|count| *count >= 0.0)
            .map(|count| count as u64)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::sse::Decoder;

    /// Keeps what it is told as text, thinking in angle brackets.
    #[derive(Default)]
    pub(crate) struct Transcript(pub(crate) String);

    impl Observer for Transcript {
        fn text(&mut self, piece: &str) {
            self.0.push_str(piece);
        }
        fn thinking(&mut self, piece: &str) {
            self.0.push_str(&format!("<{piece}>"));
        }
        fn retrying(&mut self, _: &str, _: u32, _: Duration) {}
    }

    /// Feeds a recorded stream and returns what was shown and the answer, or the fault.
    pub(crate) fn replay(
        mut machine: Box<dyn Assemble>,
        stream: &str,
        end: End,
    ) -> Result<(String, Reply), Fault> {
        let mut transcript = Transcript::default();
        let mut shown = Shown::new(&mut transcript);
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        decoder.push(stream.as_bytes(), &mut events).unwrap();
        for event in &events {
            if machine.take(event, &mut shown)? == Progress::Done {
                break;
            }
        }
        if end == End::Complete {
            assert!(machine.may_end(), "the stream is not complete");
        }
        let reply = machine.finish(end);
        Ok((transcript.0, reply))
    }

    fn call(input: &str) -> Block {
        Block::Call {
            id: "c".into(),
            name: "t".into(),
            input: input.into(),
        }
    }

    #[test]
    fn the_blocks_decide_whether_results_are_wanted() {
        #[track_caller]
        fn check(blocks: &[Block], said: Stop, expect: &(&[Block], Stop)) {
            let (left, stop) = conclude(blocks.to_vec(), said, End::Complete);
            assert_eq!(&(left.as_slice(), stop), expect);
        }
        let text = || Block::Text("a".into());
        check(
            &[call("{}")],
            Stop::EndTurn,
            &(&[call("{}")], Stop::ToolUse),
        );
        check(&[text()], Stop::ToolUse, &(&[text()], Stop::EndTurn));
        check(
            &[text(), call("{\"a")],
            Stop::MaxTokens,
            &(&[text()], Stop::MaxTokens),
        );
        check(
            &[call("{}"), call("{\"a")],
            Stop::MaxTokens,
            &(&[call("{}")], Stop::ToolUse),
        );
        check(
            &[call("{\"a")],
            Stop::EndTurn,
            &(&[call("{\"a")], Stop::ToolUse),
        );
        let refusal = || Stop::Refusal("no".into());
        check(&[text(), call("{}")], refusal(), &(&[text()], refusal()));
    }

    const MESSAGES: &str = r#"data: {"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}

"#;

    const RESPONSES: &str = r#"data: {"type":"response.output_text.delta","output_index":0,"delta":"a"}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"a"}]}}

data: {"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}}

data: {"type":"response.completed","response":{"id":"r","output":[],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4}}}}

"#;

    const CHAT: &str = r#"data: {"id":"r","choices":[{"delta":{"content":"a","reasoning_details":[{"index":0,"type":"t","text":"x"}]}}]}

data: {"id":"r","choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"n","arguments":"{}"}}]},"finish_reason":"stop"}]}

data: {"id":"r","choices":[],"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}}

"#;

    proptest! {
        #[test]
        fn no_damaged_stream_makes_a_reader_panic(
            which in 0usize..3,
            damage in proptest::collection::vec((any::<proptest::sample::Index>(), "[0-9a-z{}\\[\\]\":,\n]{0,3}"), 0..4),
            is_complete in any::<bool>(),
        ) {
            let mut text = [MESSAGES, RESPONSES, CHAT][which].to_owned();
            for (at, with) in damage {
                let at = at.index(text.len());
                let end = (at + with.len()).min(text.len());
                text.replace_range(at..end, &with);
            }
            let mut machine: Box<dyn Assemble> = match which {
                0 => Box::new(crate::anthropic::stream::Machine::new("m")),
                1 => Box::new(crate::openai_responses::stream::Machine::new("m")),
                _ => Box::new(crate::openai_chat::stream::Machine::new("m", 0)),
            };
            let mut events = Vec::new();
            Decoder::default().push(text.as_bytes(), &mut events).unwrap();
            let mut transcript = Transcript::default();
            let mut shown = Shown::new(&mut transcript);
            for event in &events {
                if machine.take(event, &mut shown).is_err() {
                    break;
                }
            }
            let end = if is_complete { End::Complete } else { End::Broken("cut".into()) };
            machine.finish(end);
        }
    }

    #[test]
    fn odd_counts_are_no_reason_to_lose_an_answer() {
        let usage = serde_json::json!({ "a": 3, "b": -1, "c": 2.9, "d": null, "e": "7", "f": { "g": u64::MAX } });
        let counts: Vec<_> = ["/a", "/b", "/c", "/d", "/e", "/f/g", "/x"]
            .map(|path| count(&usage, path))
            .into();
        assert_eq!(
            counts,
            [Some(3), None, Some(2), None, None, Some(u64::MAX), None]
        );
    }
}
