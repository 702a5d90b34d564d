//! `ask_user`: puts a question to the person.

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Answer, Concurrency, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, parse_input,
};

/// The tool.
#[derive(Debug)]
pub struct AskUser {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Input {
    question: String,
    #[serde(default)]
    options: Vec<String>,
}

impl AskUser {
    /// Makes the tool.
    pub fn new() -> Self {
        Self {
            spec: ToolSpec {
                name: "ask_user",
                description: "Asks the person one question and waits for the answer. Only for what you can neither find out nor decide yourself.",
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "question": { "type": "string" },
                        "options": {
                            "type": "array",
                            "items": { "type": "string" },
                            "description": "Answers to choose from; the person may also answer freely."
                        }
                    },
                    "required": ["question"]
                }),
                deferred: true,
                risk: Risk::ReadOnly,
                concurrency: Concurrency::Exclusive,
            },
        }
    }

    fn read(&self, input: &Value) -> Result<Input, ToolError> {
        let input: Input = parse_input(&self.spec, input)?;
        if input.question.trim().is_empty() {
            return Err(ToolError::BadInput {
                tool: self.spec.name.to_owned(),
                problem: "`question` is empty, expected the question for the person".to_owned(),
            });
        }
        Ok(input)
    }
}

impl Default for AskUser {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value, _cx: &SubjectCx) -> Result<Subject, ToolError> {
        Ok(Subject {
            tool: self.spec.name.to_owned(),
            text: self.read(input)?.question,
            risk: self.spec.risk,
            targets: Vec::new(),
        })
    }

    async fn call(&self, input: Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let Input { question, options } = self.read(&input)?;
        // The session bounds the wait; an interrupt wins over a late answer.
        let answer = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
            answer = cx.relay.ask(&question, &options) => answer,
        };
        match answer {
            Answer::Text(text) => Ok(ToolOutput::text(text)),
            Answer::Dismissed => Err(ToolError::Refused(
                "the person does not want to answer: take the most careful choice yourself, or stop and say what is missing"
                    .to_owned(),
            )),
            Answer::Nobody => Err(ToolError::Refused(
                "nobody is there to answer: take the most careful choice yourself and name it in your final answer, or stop and say what is missing"
                    .to_owned(),
            )),
        }
    }
}
