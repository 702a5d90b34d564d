//! `ask_user`: puts a question to the person.

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    Answer, Concurrency, Relay, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec,
    parse_input,
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
        put(cx.relay.as_ref(), &cx.cancel, &question, &options).await
    }
}

/// Puts the question. The session bounds the wait; an interrupt wins over a late answer.
async fn put(
    relay: &dyn Relay,
    cancel: &CancellationToken,
    question: &str,
    options: &[String],
) -> Result<ToolOutput, ToolError> {
    let answer = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(ToolError::Cancelled),
        answer = relay.ask(question, options) => answer,
    };
    let otherwise = "take the most careful choice yourself and name it in your final answer, or stop and say what is missing";
    match answer {
        Answer::Text(text) => Ok(ToolOutput::text(text)),
        Answer::Dismissed => Err(ToolError::Refused(format!(
            "the person does not want to answer: {otherwise}"
        ))),
        Answer::Nobody => Err(ToolError::Refused(format!(
            "nobody is there to answer: {otherwise}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers the same to everything; nothing at all where there is no answer.
    struct Person(Option<Answer>);

    #[async_trait]
    impl Relay for Person {
        async fn ask(&self, _question: &str, _options: &[String]) -> Answer {
            match &self.0 {
                Some(answer) => answer.clone(),
                None => std::future::pending().await,
            }
        }
    }

    async fn answer_of(person: Person, cancel: &CancellationToken) -> String {
        match put(&person, cancel, "which?", &[]).await {
            Ok(output) => output.text,
            Err(error) => error.to_string().split(':').next().unwrap().to_owned(),
        }
    }

    #[tokio::test]
    async fn an_answer_is_the_result_and_no_answer_is_a_refusal() {
        let cancel = CancellationToken::new();
        for (answer, expected) in [
            (Answer::Text("blue".to_owned()), "blue"),
            (Answer::Dismissed, "the person does not want to answer"),
            (Answer::Nobody, "nobody is there to answer"),
        ] {
            assert_eq!(answer_of(Person(Some(answer)), &cancel).await, expected);
        }
        cancel.cancel();
        assert_eq!(
            answer_of(Person(None), &cancel).await,
            "cancelled before it was done"
        );
        let late = Person(Some(Answer::Text("late".to_owned())));
        assert_eq!(
            answer_of(late, &cancel).await,
            "cancelled before it was done"
        );
    }

    #[test]
    fn an_empty_question_is_refused() {
        let error = AskUser::new()
            .read(&json!({ "question": " " }))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "bad arguments for `ask_user`: `question` is empty, expected the question for the person"
        );
    }
}
