//! How big things are: the start of every request, and the binary.

use std::{fs, path::Path};

use anyhow::Context as _;
use serde_json::Value;

use crate::{figure::Figure, mock::Reply, run};

/// Measures the first request's system texts and tools in an empty folder, in bytes and in tokens of 4 bytes.
pub(crate) fn prefix(cox: &Path) -> anyhow::Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let run = run::run(cox, folder.path(), "hi", &[Reply::Text("done")])?;
    let body: Value = serde_json::from_slice(&run.requests[0].body).context("read the request")?;

    let tools = body.get("tools").map_or(0, |tools| tools.to_string().len());
    let count = body
        .get("tools")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    let system: usize = body["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|message| matches!(message["role"].as_str(), Some("system" | "developer")))
        .map(|message| message["content"].to_string().len())
        .sum();
    Ok(vec![
        Figure::new(
            "first request, whole body",
            "bytes",
            vec![run.requests[0].body.len() as f64],
        ),
        Figure::new("its system texts", "bytes", vec![system as f64]),
        Figure::new(format!("its {count} tools"), "bytes", vec![tools as f64]),
        Figure::new(
            "system texts and tools, bytes / 4",
            "tokens",
            vec![((system + tools) / 4) as f64],
        )
        .with_target(3_000.0),
    ])
}

/// Measures the size of the binary.
pub(crate) fn binary(cox: &Path) -> anyhow::Result<Vec<Figure>> {
    let bytes = fs::metadata(cox)
        .with_context(|| format!("look at {}", cox.display()))?
        .len();
    Ok(vec![
        Figure::new("the binary", "MB", vec![bytes as f64 / 1_000_000.0]).with_target(30.0),
    ])
}
