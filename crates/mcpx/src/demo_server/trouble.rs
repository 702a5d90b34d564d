//! The tools that are slow, answer with a lot, or fail.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_server::{Context, Reply};
use mcp_wire::content::Content;
use mcp_wire::{CallResult, Object, Raw, RpcError, error};
use serde_json::{Value, json};

use super::arguments;

/// Most bytes that `big` answers with.
pub(super) const MAX_BYTES: i64 = 64 << 20;

/// How `flaky` can fail.
pub(super) const FAILURES: [&str; 4] = ["error", "isError", "crash", "once"];

/// Waits in steps, and says after each how far it is.
pub(super) async fn slow(arguments: &Object, context: &Context) -> Result<Reply, RpcError> {
    let ms = arguments::whole(arguments, "ms", 0..=600_000)?;
    let steps = arguments::optional_whole(arguments, "steps", 1..=1_000)?.unwrap_or(5);
    let whole = Duration::from_millis(ms.unsigned_abs());
    let step = whole / u32::try_from(steps).unwrap_or(1).max(1);
    for done in 1..=u32::try_from(steps).unwrap_or(1) {
        tokio::select! {
            () = tokio::time::sleep(step) => {}
            () = context.cancelled.cancelled() => {
                return Err(RpcError::new(error::INTERNAL_ERROR, "cancelled"));
            }
        }
        let message = format!("step {done} of {steps}");
        let total = f64::from(i32::try_from(steps).unwrap_or(i32::MAX));
        context.progress(f64::from(done), Some(total), Some(&message));
    }
    let text = format!("Done after {ms} ms in {steps} steps.");
    Ok(Reply::tool(CallResult::text(&text, false)))
}

/// Answers with exactly as many bytes of text, or with rows of JSON that are about as many.
pub(super) fn big(arguments: &Object) -> Result<Reply, RpcError> {
    let bytes = arguments::whole(arguments, "bytes", 0..=MAX_BYTES)?;
    let bytes = usize::try_from(bytes).unwrap_or(0);
    let kind = arguments::one_of(arguments, "kind", &["text", "json"])?;
    if kind == "text" {
        return Ok(Reply::tool(CallResult::text(&lines(bytes), false)));
    }
    let mut rows: Vec<Value> = Vec::new();
    let mut length = 0;
    while length < bytes {
        let row = json!({"row": rows.len() + 1, "text": "the quick brown fox"});
        length += row.to_string().len() + 1;
        rows.push(row);
    }
    let rows = Raw::from(json!({ "rows": rows }));
    let content = vec![Content::text(rows.as_str())];
    Ok(Reply::tool(CallResult::new(content, Some(rows), false)))
}

/// Numbered lines of 64 bytes, the last one cut.
fn lines(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 64);
    let mut number = 0_u64;
    while text.len() < bytes {
        number += 1;
        text.push_str(&format!("line {number:08} {}\n", "-".repeat(49)));
    }
    text.truncate(bytes);
    text
}

/// Fails as it is told. `has_failed` remembers the one failure of `once`.
pub(super) fn flaky(arguments: &Object, has_failed: &AtomicBool) -> Result<Reply, RpcError> {
    let failed = || CallResult::text("The demo failed on purpose.", true);
    match arguments::one_of(arguments, "fail", &FAILURES)? {
        "isError" => Ok(Reply::tool(failed())),
        "once" if !has_failed.swap(true, Ordering::Relaxed) => Ok(Reply::tool(failed())),
        "once" => Ok(Reply::tool(CallResult::text("It works now.", false))),
        #[expect(
            clippy::exit,
            reason = "a server that dies in the middle of a call is what is wanted"
        )]
        "crash" => std::process::exit(70),
        _ => Err(RpcError::new(
            error::INTERNAL_ERROR,
            "the demo failed on purpose",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_bytes_come_as_were_wanted() {
        for bytes in [0, 1, 63, 64, 65, 100_000] {
            assert_eq!(lines(bytes).len(), bytes);
        }
        assert!(lines(200).starts_with("line 00000001 ---"));
        assert_eq!(lines(64).matches('\n').count(), 1);
    }
}
