//! The operations over the daemon's socket, and their answers held against the document that describes them.

use std::time::Duration;

use mcp_wire::{Object, Raw};
use mcpx_api::client::ClientError;
use mcpx_api::{ApiError, Caller, Client, Op, operation};
use serde_json::{Value, json};

use crate::front_setup::Daemon;

pub(crate) fn members(value: &Value) -> Object {
    Raw::from(value.clone()).object().expect("an object")
}

impl Daemon {
    pub(crate) fn api(&self) -> Client {
        self.api_as(Caller::default())
    }

    pub(crate) fn api_as(&self, caller: Caller) -> Client {
        Client::unix(&self.socket, caller, Duration::from_secs(60))
    }

    /// Asks for an operation that answers with JSON.
    pub(crate) async fn ask(&self, op: Op, params: Value) -> Result<Value, ApiError> {
        self.ask_as(Caller::default(), op, params).await
    }

    pub(crate) async fn ask_as(
        &self,
        caller: Caller,
        op: Op,
        params: Value,
    ) -> Result<Value, ApiError> {
        let sent = self
            .api_as(caller)
            .send(operation(op), &members(&params))
            .await;
        match sent {
            Ok(answer) if answer.media_type == "application/json" => {
                Ok(answer.json().expect("JSON").value().expect("a tree"))
            }
            Ok(answer) => Ok(Value::String(answer.text())),
            Err(ClientError::Api(error)) => Err(error),
            Err(other) => panic!("{op:?}: {other}"),
        }
    }

    /// The same, with the answer held against the document.
    pub(crate) async fn checked(&self, op: Op, params: Value) -> Value {
        let answer = self
            .ask(op, params)
            .await
            .unwrap_or_else(|error| panic!("{op:?}: {error} {:?}", error.hint));
        let document = mcpx_api::openapi::document(mcpx_api::openapi::About::default());
        let row = operation(op);
        let method = row.method.as_str().to_ascii_lowercase();
        let content = &document["paths"][row.path][&method]["responses"]["200"]["content"];
        if let Some(schema) = content.pointer("/application~1json/schema")
            && !answer.is_string()
        {
            let mut wrong = Vec::new();
            misfits(&document, schema, &answer, "", &mut wrong);
            assert!(wrong.is_empty(), "{op:?}: {wrong:?} in {answer:#}");
        }
        answer
    }

    /// Waits until an answer is as wanted.
    pub(crate) async fn until(
        &self,
        op: Op,
        params: Value,
        is_it: impl Fn(&Value) -> bool,
    ) -> Value {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
        loop {
            let answer = self.ask(op, params.clone()).await.expect("an answer");
            if is_it(&answer) {
                return answer;
            }
            assert!(tokio::time::Instant::now() < deadline, "{op:?}: {answer:#}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Every file below a folder, with its content.
pub(crate) fn files(folder: &std::path::Path, found: &mut Vec<(std::path::PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if let Ok(content) = std::fs::read(&path) {
            found.push((path, content));
        }
    }
}

/// Where a value does not fit a schema of the document. Knows what the document's own schemas use.
fn misfits(document: &Value, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let there = document.pointer(&reference[1..]).expect("a reference");
        return misfits(document, there, value, at, wrong);
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        misfits(document, part, value, at, wrong);
    }
    if let Some(parts) = schema["anyOf"].as_array() {
        let fits = parts.iter().any(|part| {
            let mut inner = Vec::new();
            misfits(document, part, value, at, &mut inner);
            inner.is_empty()
        });
        if !fits {
            wrong.push(format!("{at}: none of the alternatives"));
        }
    }
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let taken: Vec<&str> = match &schema["type"] {
        Value::String(word) => vec![word],
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is_taken = taken.contains(&name) || name == "integer" && taken.contains(&"number");
    if !taken.is_empty() && !is_taken {
        wrong.push(format!("{at}: {name} instead of {taken:?}"));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        wrong.push(format!("{at}: {value} is none of {words:?}"));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().expect("a name");
        if value.get(name).is_none() {
            wrong.push(format!("{at}: `{name}` is missing"));
        }
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        let schema = match schema["properties"].get(name) {
            Some(schema) => schema,
            None if schema["additionalProperties"].is_object() => &schema["additionalProperties"],
            None => continue,
        };
        misfits(document, schema, inner, &format!("{at}/{name}"), wrong);
    }
    if schema["items"].is_object() {
        for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
            misfits(
                document,
                &schema["items"],
                inner,
                &format!("{at}/{index}"),
                wrong,
            );
        }
    }
}

#[test]
fn an_answer_that_does_not_fit_is_found() {
    let document = mcpx_api::openapi::document(mcpx_api::openapi::About::default());
    let schema = json!({"$ref": "#/components/schemas/Health"});
    let mut wrong = Vec::new();
    let value = json!({"status": "odd", "version": 1, "pid": 1});
    misfits(&document, &schema, &value, "", &mut wrong);
    assert_eq!(wrong.len(), 3, "{wrong:?}");
}
