//! The tools that ask the person: a form, and a page to open.

use mcp_server::{Incoming, Reply};
use mcp_wire::{Answer, CallResult, Question, Raw, RpcError, error};
use serde_json::json;

/// The key of the one question that each of them asks.
const KEY: &str = "answer";

/// The page of `sign_in`. Nothing is there.
const SIGN_IN_URL: &str = "https://example.com/sign-in?for=mcpx-demo";

fn once(question: Question) -> Reply {
    Reply::Ask {
        questions: vec![(KEY.to_owned(), question)],
        state: Vec::new(),
    }
}

fn said(text: &str) -> Reply {
    Reply::tool(CallResult::text(text, false))
}

fn unanswered(error: &RpcError) -> RpcError {
    RpcError::new(
        error::INTERNAL_ERROR,
        format!("the question was not answered: {error}"),
    )
}

/// Asks for a name and a colour.
pub(super) fn ask(incoming: &Incoming) -> Result<Reply, RpcError> {
    let content = match incoming.answers.get(KEY) {
        None => {
            return Ok(once(Question::Form {
                message: "What is your name, and which colour do you like?".to_owned(),
                schema: Raw::from(
                    json!({"type": "object", "required": ["name", "colour"], "properties": {
                    "name": {"type": "string", "title": "Name", "minLength": 1},
                    "colour": {"type": "string", "title": "Colour", "enum": ["red", "green", "blue"]}}}),
                ),
            }));
        }
        Some(Answer::Accept(content)) => content.as_ref().and_then(|raw| raw.object().ok()),
        Some(Answer::Failed(error)) => return Err(unanswered(error)),
        Some(Answer::Decline) => return Ok(said("The person declined.")),
        Some(_) => return Ok(said("The person did not answer.")),
    };
    let content = content.unwrap_or_default();
    let (name, colour) = (content.string("name"), content.string("colour"));
    Ok(match (name, colour) {
        (Some(name), Some(colour)) => said(&format!("{name} likes {colour}.")),
        _ => Reply::tool(CallResult::text(
            "The answer lacks a name or a colour.",
            true,
        )),
    })
}

/// Asks the person to open a page.
pub(super) fn sign_in(incoming: &Incoming) -> Result<Reply, RpcError> {
    match incoming.answers.get(KEY) {
        None => Ok(once(Question::Url {
            message: "Sign in to the demo. Nothing is sent.".to_owned(),
            url: SIGN_IN_URL.to_owned(),
            elicitation_id: None,
        })),
        Some(Answer::Accept(_)) => Ok(said("Signed in.")),
        Some(Answer::Failed(error)) => Err(unanswered(error)),
        Some(Answer::Decline) => Ok(said("Not signed in: the person declined.")),
        Some(_) => Ok(said("Not signed in: the person did not answer.")),
    }
}
