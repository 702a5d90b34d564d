//! Servers that a list of everything leaves out, because they cannot be read.

use mcp_wire::Object;
use mcpx_api::reply::Namespace;
use mcpx_api::{Op, operation};

use super::Desk;
use crate::args::from_table::fill_profiles;
use crate::exit::Failure;
use crate::ladder::Hub;

/// Names them, and where the reasons are.
pub(super) async fn told(desk: &Desk<'_>, hub: &Hub<'_>) -> Result<(), Failure> {
    let mut params = Object::new();
    fill_profiles(
        operation(Op::Namespaces),
        &desk.config.settings,
        &mut params,
    );
    let answer = hub.ask(Op::Namespaces, &params).await?;
    let rows: Vec<Namespace> = answer.read()?;
    let out: Vec<String> = rows
        .into_iter()
        .filter(|row| row.tools.is_none())
        .map(|row| row.namespace)
        .collect();
    if !out.is_empty() {
        desk.printer.note(&format!(
            "note: left out, because they cannot be read: {}; `mcpx ls -v` says why",
            out.join(", ")
        ));
    }
    Ok(())
}
