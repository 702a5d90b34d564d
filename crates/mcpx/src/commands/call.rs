//! `mcpx call`: one tool, its result on stdout.

use mcp_wire::{CallResult, Object, Raw};
use mcpx_api::{Op, operation};

use crate::exit::{Exit, Failure};
use crate::ladder;
use crate::printer::Printer;
use crate::settings::Told;

/// Calls one tool.
pub(super) async fn call(
    told: &Told,
    tool: &str,
    arguments: &[String],
    printer: Printer,
) -> Result<Exit, Failure> {
    let arguments = read_arguments(arguments)?;
    let config = told.config()?;
    let client = ladder::connect(told, &config, super::caller(told)).await?;
    let params = Object::new().with("tool", tool).with("args", arguments);
    let answer = client.send(operation(Op::Call), &params).await?;
    let document = answer
        .json()?
        .object()
        .map_err(|error| Failure::failed(error.to_string()))?;
    let result = document.object("result").unwrap_or_default();
    let is_error = result
        .get("isError")
        .and_then(Raw::boolean)
        .unwrap_or(false);
    if printer.json {
        printer.document(&Raw::from(document));
    } else {
        printer.result(&unwrapped(&result)?);
    }
    Ok(if is_error { Exit::Failed } else { Exit::Ok })
}

/// What a person wants of a result: the structured part, else the text.
fn unwrapped(result: &Object) -> Result<String, Failure> {
    let result =
        CallResult::parse(result.clone()).map_err(|error| Failure::failed(error.to_string()))?;
    Ok(match &result.structured {
        Some(structured) => structured.as_str().to_owned(),
        None => result.joined_text(),
    })
}

fn read_arguments(words: &[String]) -> Result<Object, Failure> {
    match words {
        [] => Ok(Object::new()),
        [json] if json.trim_start().starts_with('{') => Raw::parse(json)
            .and_then(|raw| raw.object())
            .map_err(|error| Failure::usage(format!("the arguments are no JSON: {error}"))),
        pairs => {
            let mut object = Object::new();
            for pair in pairs {
                let (name, value) = pair.split_once('=').ok_or_else(|| {
                    Failure::usage(format!("`{pair}` is no `key=value` and no JSON object"))
                })?;
                let value = Raw::parse(value).unwrap_or_else(|_| Raw::from(value));
                object.set(name, value);
            }
            Ok(object)
        }
    }
}
