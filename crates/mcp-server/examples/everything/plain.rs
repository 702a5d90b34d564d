//! Tools that answer at once, with progress or log lines at most.

use std::time::Duration;

use mcp_server::{Context, Level, Notifier, Reply};
use mcp_wire::{CallResult, Object, RpcError};
use serde_json::{Value, json};

use super::{Row, nothing, result, text};

/// A PNG of one pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/// A WAV without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn tools() -> Vec<Row> {
    let plain = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_error_handling",
        "test_tool_with_progress",
        "test_tool_with_logging",
        "test_logging_tool",
        "test_reconnection",
        "test_trigger_tool_change",
        "test_trigger_prompt_change",
        "test_until_cancelled",
        "test_panic",
    ];
    let mut rows: Vec<Row> = plain.into_iter().map(|name| (name, nothing())).collect();
    rows.push(("test_echo", json!({"type": "object"})));
    rows.push((
        "test_custom_header",
        json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"}
        }}),
    ));
    rows.push(("json_schema_2020_12_tool", schema_2020_12()));
    rows
}

fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    })
}

pub(crate) async fn call(
    notifier: &Notifier,
    name: &str,
    arguments: &Object,
    context: &Context,
) -> Option<Result<Reply, RpcError>> {
    let reply = match name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => content(json!([image()])),
        "test_audio_content" => {
            content(json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]))
        }
        "test_embedded_resource" => content(json!([{"type": "resource", "resource": {
            "uri": "test://embedded-resource", "mimeType": "text/plain",
            "text": "This is an embedded resource content."}}])),
        "test_multiple_content_types" => content(json!([
            {"type": "text", "text": "Multiple content types test:"},
            image(),
            {"type": "resource", "resource": {"uri": "test://mixed-content-resource",
                "mimeType": "application/json", "text": "{\"test\":\"data\",\"value\":123}"}}
        ])),
        "test_error_handling" => Reply::tool(CallResult::text(
            "This tool intentionally returns an error for testing",
            true,
        )),
        "test_tool_with_progress" => {
            for done in [0.0, 50.0, 100.0] {
                context.progress(done, Some(100.0), None);
                tokio::time::sleep(PAUSE).await;
            }
            text("done")
        }
        "test_tool_with_logging" | "test_logging_tool" => {
            for line in [
                "Tool execution started",
                "Tool processing data",
                "Tool execution completed",
            ] {
                context.log(Level::Info, None, line);
                tokio::time::sleep(PAUSE).await;
            }
            text("logged")
        }
        "test_reconnection" => {
            context.release_connection();
            tokio::time::sleep(PAUSE * 4).await;
            text("You are back.")
        }
        "test_trigger_tool_change" => {
            notifier.tools_changed();
            text("announced")
        }
        "test_trigger_prompt_change" => {
            notifier.prompts_changed();
            text("announced")
        }
        "test_until_cancelled" => {
            context.progress(1.0, None, Some("waiting"));
            context.cancelled.cancelled().await;
            notifier.resource_updated("test://cancelled");
            text("cancelled")
        }
        "test_panic" => return Some(Err(broken())),
        "test_echo" => Reply::complete(
            Object::new()
                .with("content", mcp_wire::Raw::from(json!([])))
                .with("echo", arguments.clone()),
        ),
        "test_custom_header" | "json_schema_2020_12_tool" => text("taken"),
        _ => return None,
    };
    Some(Ok(reply))
}

#[allow(clippy::panic, reason = "this is what it is for")]
fn broken() -> RpcError {
    panic!("the tool that panics")
}

pub(crate) fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

fn content(blocks: impl Into<Value>) -> Reply {
    result(json!({"content": blocks.into()}))
}
