//! Resources and prompts that are always the same.

use mcp_server::Reply;
use mcp_wire::{Object, RpcError};
use serde_json::{Value, json};

use super::plain::{PNG, image};
use super::{object, result};

pub(crate) fn list() -> Vec<Value> {
    vec![
        json!({"uri": "test://static-text", "name": "static text", "mimeType": "text/plain"}),
        json!({"uri": "test://static-binary", "name": "static binary", "mimeType": "image/png"}),
        json!({"uri": "test://watched-resource", "name": "watched", "mimeType": "text/plain"}),
    ]
}

pub(crate) fn templates() -> Vec<Value> {
    vec![
        json!({"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}),
    ]
}

pub(crate) fn read(params: &Object) -> Result<Reply, RpcError> {
    let uri = params.string("uri").unwrap_or_default();
    let templated = uri
        .strip_prefix("test://template/")
        .and_then(|rest| rest.strip_suffix("/data"));
    let contents = match (uri.as_str(), templated) {
        ("test://static-text", _) => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
        }
        ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        ("test://watched-resource", _) => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "watched"})
        }
        (_, Some(id)) => {
            let text = format!(r#"{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}"#);
            json!({"uri": uri, "mimeType": "application/json", "text": text})
        }
        _ => {
            let data = object(json!({"uri": uri}));
            return Err(RpcError::invalid_params("no such resource").with_data(data));
        }
    };
    Ok(result(json!({"contents": [contents]})))
}

pub(crate) fn prompts() -> Vec<Value> {
    let argument = |name: &str| json!({"name": name, "required": true});
    vec![
        json!({"name": "test_simple_prompt", "description": "A simple one"}),
        json!({"name": "test_prompt_with_arguments", "description": "One with arguments",
            "arguments": [argument("arg1"), argument("arg2")]}),
        json!({"name": "test_prompt_with_embedded_resource", "description": "One with a resource",
            "arguments": [argument("resourceUri")]}),
        json!({"name": "test_prompt_with_image", "description": "One with an image"}),
        json!({"name": "test_input_required_result_prompt", "description": "One that asks"}),
    ]
}

pub(crate) fn prompt(params: &Object) -> Result<Reply, RpcError> {
    let name = params.string("name").unwrap_or_default();
    let arguments = params.object("arguments").unwrap_or_default();
    let argument = |name: &str| {
        arguments
            .string(name)
            .ok_or_else(|| RpcError::invalid_params(format!("the argument `{name}` is missing")))
    };
    let user = |content: Value| json!({"role": "user", "content": content});
    let text = |text: &str| user(json!({"type": "text", "text": text}));
    let messages = match name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => vec![text(&format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            argument("arg1")?,
            argument("arg2")?
        ))],
        "test_prompt_with_embedded_resource" => vec![
            user(
                json!({"type": "resource", "resource": {"uri": argument("resourceUri")?,
                "mimeType": "text/plain", "text": "Embedded resource content for testing."}}),
            ),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![user(image()), text("Please analyze the image above.")],
        _ => return Err(RpcError::invalid_params(format!("no prompt `{name}`"))),
    };
    Ok(result(json!({"messages": messages})))
}
