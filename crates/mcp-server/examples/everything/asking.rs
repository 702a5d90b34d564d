//! Tools and a prompt that ask before they answer.

use std::collections::BTreeMap;

use mcp_server::{Context, Incoming, Reply};
use mcp_wire::{Answer, Object, Question, Raw, RpcError, error};
use serde_json::{Value, json};

use super::{Row, nothing, object, result, text};

pub(crate) fn tools() -> Vec<Row> {
    let required = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let mut rows = vec![
        ("test_sampling", required("prompt")),
        ("test_elicitation", required("message")),
    ];
    let plain = [
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_url_elicitation",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_tampered_state",
        "test_input_required_result_capabilities",
    ];
    rows.extend(plain.into_iter().map(|name| (name, nothing())));
    rows
}

pub(crate) fn form(message: &str, properties: impl Into<Value>, required: &[&str]) -> Question {
    let mut schema = json!({"type": "object", "properties": properties.into()});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    Question::Form {
        message: message.to_owned(),
        schema: Raw::from(schema),
    }
}

fn sample(prompt: &str, max_tokens: u32) -> Question {
    Question::Sampling {
        params: object(json!({"maxTokens": max_tokens,
            "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}]})),
    }
}

fn ask(questions: &[(&str, Question)], state: &str) -> Reply {
    Reply::Ask {
        questions: questions
            .iter()
            .map(|(key, question)| ((*key).to_owned(), question.clone()))
            .collect(),
        state: state.as_bytes().to_vec(),
    }
}

/// The action and the content of an answer to a form.
fn outcome(answer: Option<&Answer>) -> (&'static str, String) {
    match answer {
        Some(Answer::Accept(content)) => (
            "accept",
            content
                .as_ref()
                .map_or_else(|| "{}".to_owned(), |raw| raw.as_str().to_owned()),
        ),
        Some(Answer::Decline) => ("decline", "{}".to_owned()),
        _ => ("cancel", "{}".to_owned()),
    }
}

pub(crate) fn field(answers: &BTreeMap<String, Answer>, key: &str, field: &str) -> Option<String> {
    match answers.get(key)? {
        Answer::Accept(Some(content)) => content.object().ok()?.string(field),
        _ => None,
    }
}

fn sampled(answers: &BTreeMap<String, Answer>, key: &str) -> Option<String> {
    match answers.get(key)? {
        Answer::Sampled(raw) => {
            let content = raw.object().ok()?.get("content")?.clone();
            content
                .object()
                .ok()
                .and_then(|content| content.string("text"))
                .or_else(|| Some(content.to_string()))
        }
        _ => None,
    }
}

fn failed(answers: &BTreeMap<String, Answer>) -> Option<RpcError> {
    answers.values().find_map(|answer| match answer {
        Answer::Failed(error) => Some(RpcError::new(
            error::INTERNAL_ERROR,
            format!("not answered: {error}"),
        )),
        _ => None,
    })
}

pub(crate) fn call(
    name: &str,
    arguments: &Object,
    incoming: &Incoming,
    context: &Context,
) -> Option<Result<Reply, RpcError>> {
    let answers = &incoming.answers;
    if let Some(error) = failed(answers) {
        return Some(Err(error));
    }
    let capabilities = &context.client_capabilities;
    Some(Ok(match name {
        "test_sampling" => match sampled(answers, "sample") {
            Some(answer) => text(&format!("LLM response: {answer}")),
            None => ask(
                &[(
                    "sample",
                    sample(&arguments.string("prompt").unwrap_or_default(), 100),
                )],
                "",
            ),
        },
        "test_elicitation" => elicit(incoming, "User response", || {
            form(
                &arguments.string("message").unwrap_or_default(),
                json!({"username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"}}),
                &["username", "email"],
            )
        }),
        "test_elicitation_sep1034_defaults" => elicit(incoming, "Elicitation completed", || {
            form("Please check these", defaults(), &[])
        }),
        "test_elicitation_sep1330_enums" => elicit(incoming, "Elicitation completed", || {
            form("Please choose", enums(), &[])
        }),
        "test_url_elicitation" => elicit(incoming, "URL", || Question::Url {
            message: "Please visit".to_owned(),
            url: "https://example.com/visit".to_owned(),
            elicitation_id: None,
        }),
        "test_streaming_elicitation" => elicit(incoming, "Elicitation completed", || {
            form("Go on?", json!({"ok": {"type": "boolean"}}), &[])
        }),
        "test_missing_capability" if !capabilities.sampling() => {
            let data = object(json!({"requiredCapabilities": {"sampling": {}}}));
            let error = RpcError::new(error::MISSING_CLIENT_CAPABILITY, "this tool needs sampling");
            return Some(Err(error.with_data(data)));
        }
        "test_missing_capability" => text("nothing is missing"),
        "test_input_required_result_elicitation" => match field(answers, "user_name", "name") {
            Some(name) => text(&format!("Hello, {name}!")),
            None => ask(&[("user_name", name_form("What is your name?"))], ""),
        },
        "test_input_required_result_sampling" => match sampled(answers, "capital_question") {
            Some(answer) => text(&answer),
            None => ask(
                &[(
                    "capital_question",
                    sample("What is the capital of France?", 100),
                )],
                "",
            ),
        },
        "test_input_required_result_list_roots" => match answers.get("client_roots") {
            Some(Answer::Roots(roots)) => text(&format!("Roots: {roots}")),
            _ => ask(&[("client_roots", Question::Roots)], ""),
        },
        "test_input_required_result_request_state" => match &incoming.state {
            Some(state) if state == b"confirming" && answers.contains_key("confirm") => {
                text("state-ok")
            }
            _ => ask(&[("confirm", ok_form("Please confirm"))], "confirming"),
        },
        "test_input_required_result_tampered_state" => match &incoming.state {
            Some(_) if answers.contains_key("confirm") => text("state-ok"),
            _ => ask(&[("confirm", ok_form("Please confirm"))], "untouched"),
        },
        "test_input_required_result_multiple_inputs" => {
            if answers.len() == 3 {
                text("All three came.")
            } else {
                let questions = [
                    ("user_name", name_form("What is your name?")),
                    ("greeting", sample("Generate a greeting", 50)),
                    ("client_roots", Question::Roots),
                ];
                ask(&questions, "three")
            }
        }
        "test_input_required_result_multi_round" => {
            let color = || {
                form(
                    "Step 2: What is your favorite color?",
                    json!({"color": {"type": "string"}}),
                    &["color"],
                )
            };
            match (
                &incoming.state,
                field(answers, "step1", "name"),
                field(answers, "step2", "color"),
            ) {
                (Some(name), _, Some(color)) => {
                    text(&format!("{} likes {color}", String::from_utf8_lossy(name)))
                }
                (_, Some(name), None) => ask(&[("step2", color())], &name),
                _ => ask(&[("step1", name_form("Step 1: What is your name?"))], ""),
            }
        }
        "test_input_required_result_capabilities" => {
            if answers.is_empty() && capabilities.sampling() {
                ask(&[("sample", sample("Generate a greeting", 50))], "")
            } else if answers.is_empty() && capabilities.forms() {
                ask(&[("user_name", name_form("What is your name?"))], "")
            } else {
                text("done")
            }
        }
        _ => return None,
    }))
}

pub(crate) fn prompt(incoming: &Incoming) -> Option<Reply> {
    if incoming.params.string("name").as_deref() != Some("test_input_required_result_prompt") {
        return None;
    }
    Some(match field(&incoming.answers, "user_context", "context") {
        Some(context) => result(
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": context}}]}),
        ),
        None => {
            let properties = json!({"context": {"type": "string"}});
            ask(
                &[(
                    "user_context",
                    form(
                        "What context should the prompt use?",
                        properties,
                        &["context"],
                    ),
                )],
                "",
            )
        }
    })
}

fn elicit(incoming: &Incoming, label: &str, question: impl FnOnce() -> Question) -> Reply {
    match incoming.answers.get("answer") {
        None => ask(&[("answer", question())], ""),
        answer => {
            let (action, content) = outcome(answer);
            text(&format!("{label}: action={action}, content={content}"))
        }
    }
}

fn name_form(message: &str) -> Question {
    form(message, json!({"name": {"type": "string"}}), &["name"])
}

pub(crate) fn ok_form(message: &str) -> Question {
    form(message, json!({"ok": {"type": "boolean"}}), &["ok"])
}

fn defaults() -> Value {
    json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true}
    })
}

fn enums() -> Value {
    let titled = |titles: [(&str, &str); 3]| {
        titles
            .map(|(value, title)| json!({"const": value, "title": title}))
            .to_vec()
    };
    let first = titled([
        ("value1", "First Option"),
        ("value2", "Second Option"),
        ("value3", "Third Option"),
    ]);
    let many = titled([
        ("value1", "First Choice"),
        ("value2", "Second Choice"),
        ("value3", "Third Choice"),
    ]);
    json!({
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": first},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": many}}
    })
}
