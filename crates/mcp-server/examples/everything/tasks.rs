//! Tools that may go on as tasks.

use std::time::Duration;

use mcp_server::{Context, Incoming, Reply, TaskWork};
use mcp_wire::capability::TASKS_EXTENSION;
use mcp_wire::{CallResult, Object, Raw, RpcError, error};
use serde_json::json;

use super::asking::{field, form, ok_form};
use super::{Row, nothing, object, text};

pub(crate) fn tools() -> Vec<Row> {
    let mut rows = vec![
        (
            "greet",
            json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}),
        ),
        (
            "slow_compute",
            json!({"type": "object", "properties": {"seconds": {"type": "number"}, "label": {"type": "string"}},
                "required": ["seconds"]}),
        ),
        (
            "confirm_delete",
            json!({"type": "object", "properties": {"filename": {"type": "string"}}, "required": ["filename"]}),
        ),
    ];
    let plain = [
        "failing_job",
        "protocol_error_job",
        "multi_input",
        "test_tool_with_task",
    ];
    rows.extend(plain.into_iter().map(|name| (name, nothing())));
    rows
}

fn done(text: impl AsRef<str>, is_error: bool) -> Result<Object, RpcError> {
    Ok(CallResult::text(text.as_ref(), is_error).into_raw())
}

fn work<F, Fut>(run: F) -> Reply
where
    F: FnOnce(mcp_server::TaskContext) -> Fut + Send + 'static,
    Fut: Future<Output = Result<Object, RpcError>> + Send + 'static,
{
    Reply::Task(TaskWork::new(run).polled_every(Duration::from_millis(200)))
}

pub(crate) fn call(
    name: &str,
    arguments: &Object,
    incoming: &Incoming,
    context: &Context,
) -> Option<Result<Reply, RpcError>> {
    Some(Ok(match name {
        "greet" => text(&format!(
            "Hello, {}!",
            arguments.string("name").unwrap_or_default()
        )),
        "slow_compute" => slow(arguments),
        "failing_job" if !context.takes_tasks() && context.era() == mcp_wire::Era::Modern => {
            let data =
                object(json!({"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}}));
            let error = RpcError::new(
                error::MISSING_CLIENT_CAPABILITY,
                "this tool needs the tasks extension",
            );
            return Some(Err(error.with_data(data)));
        }
        "failing_job" => work(|_| async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            done("the job failed", true)
        }),
        "protocol_error_job" => work(|_| async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            Err(RpcError::new(error::INTERNAL_ERROR, "the job broke"))
        }),
        "confirm_delete" => {
            let file = arguments.string("filename").unwrap_or_default();
            work(move |task| async move {
                let question = ok_form(&format!("Delete {file}?"));
                let answers = task.ask(vec![("confirm".to_owned(), question)]).await?;
                let answer = answers.get("confirm");
                done(format!("{file}: {answer:?}"), false)
            })
        }
        "multi_input" => work(|task| async move {
            let ask = |key: &str| {
                (
                    key.to_owned(),
                    form("Which?", json!({"value": {"type": "string"}}), &["value"]),
                )
            };
            let answers = task.ask(vec![ask("first"), ask("second")]).await?;
            done(format!("{} answers", answers.len()), false)
        }),
        "test_tool_with_task" => match field(&incoming.answers, "user_name", "name") {
            None => Reply::Ask {
                questions: vec![(
                    "user_name".to_owned(),
                    form(
                        "What is your name?",
                        json!({"name": {"type": "string"}}),
                        &["name"],
                    ),
                )],
                state: Vec::new(),
            },
            Some(name) => work(move |_| async move {
                tokio::time::sleep(Duration::from_millis(200)).await;
                done(format!("Hello, {name}!"), false)
            }),
        },
        _ => return None,
    }))
}

fn slow(arguments: &Object) -> Reply {
    let seconds = arguments
        .get("seconds")
        .and_then(Raw::number)
        .unwrap_or(0.0)
        .clamp(0.0, 60.0);
    let label = arguments.string("label").unwrap_or_default();
    if seconds == 0.0 {
        return text(&format!("{label} took no time"));
    }
    work(move |task| async move {
        tokio::select! {
            () = task.cancelled().cancelled() => Err(RpcError::new(error::INTERNAL_ERROR, "cancelled")),
            () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => done(format!("{label} took {seconds} s"), false),
        }
    })
}
