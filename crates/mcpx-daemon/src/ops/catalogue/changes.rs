//! How the tools changed since they were first read.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_wire::{Object, Raw};
use mcpx_api::{ApiError, Params};
use mcpx_catalog::history::{Change, Record};

use super::api_error;
use crate::hub::Hub;
use crate::ops::Reply;
use crate::ops::log::moment::moment;
use crate::registry::upstream::Upstream;

/// A tool of the record.
struct Kept<'a> {
    /// `namespace.tool`, as a call is written.
    shown: String,
    /// Other spellings: with the server's name, with the tool's own name.
    spellings: Vec<String>,
    /// The namespace and the server's name.
    owners: [String; 2],
    record: &'a Record,
}

/// `{tools, changes: {"namespace.tool": [{when, kind, what, field?, from?}]}}`: every tool that was asked for, and the
/// changes of those that changed, newest first.
pub(in crate::ops) fn history(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let since = match params.text("since") {
        None => None,
        Some(text) => {
            Some(moment(&text, hub.now()).map_err(|why| ApiError::bad(format!("`since` {why}")))?)
        }
    };
    let limit = params.count("limit")?.unwrap_or(usize::MAX);
    let history = hub.registry.history();
    let views = hub.registry.views();
    let mut kept: Vec<Kept<'_>> = history
        .records()
        .map(|(server, tool, record)| keep(views.by_name.get(server), server, tool, record))
        .collect();
    if let Some(wanted) = params.text("tool").filter(|wanted| !wanted.is_empty()) {
        kept.retain(|one| {
            one.shown == wanted || one.spellings.contains(&wanted) || one.owners.contains(&wanted)
        });
        if kept.is_empty() {
            known_without_record(hub, &wanted)?;
        }
    }
    let mut changes: Vec<(&str, &Change)> = kept
        .iter()
        .flat_map(|one| {
            one.record
                .changes
                .iter()
                .map(|change| (one.shown.as_str(), change))
        })
        .filter(|(_, change)| since.is_none_or(|since| change.when >= since))
        .collect();
    changes.sort_by_key(|(_, change)| std::cmp::Reverse(change.when));
    changes.truncate(limit);
    let mut by_tool: BTreeMap<&str, Vec<Raw>> = BTreeMap::new();
    for (tool, change) in changes {
        by_tool.entry(tool).or_default().push(as_raw(change));
    }
    let tools: Vec<&str> = kept.iter().map(|one| one.shown.as_str()).collect();
    Ok(Reply::json(
        Object::new()
            .with("tools", Raw::of(&tools))
            .with("changes", Raw::of(&by_tool)),
    ))
}

fn keep<'a>(
    upstream: Option<&Arc<Upstream>>,
    server: &str,
    tool: &str,
    record: &'a Record,
) -> Kept<'a> {
    let namespace = upstream.map_or_else(
        || mcpx_catalog::names::namespace(server),
        |upstream| upstream.server.namespace.clone(),
    );
    // One that is gone has no identifier any more.
    let function = upstream
        .and_then(|upstream| upstream.known())
        .filter(|known| known.tool(tool).is_some())
        .map_or_else(|| tool.to_owned(), |known| known.names().identifier(tool));
    let shown = format!("{namespace}.{function}");
    let spellings = [&namespace, server]
        .into_iter()
        .flat_map(|owner| [format!("{owner}.{tool}"), format!("{owner}.{function}")])
        .collect();
    Kept {
        shown,
        spellings,
        owners: [namespace, server.to_owned()],
        record,
    }
}

/// Nothing is kept of what was asked for: fine for a server that was never read, an error for a name that is none.
fn known_without_record(hub: &Hub, wanted: &str) -> Result<(), ApiError> {
    let views = hub.registry.views();
    if views.find(wanted).is_ok() {
        return Ok(());
    }
    let (upstream, tool) = views.find_tool(wanted).map_err(|error| api_error(&error))?;
    let Some(known) = upstream.known() else {
        return Ok(());
    };
    let near: Vec<String> = known
        .names()
        .nearest(&tool, 3)
        .into_iter()
        .map(|name| {
            format!(
                "`{}.{}`",
                upstream.server.namespace,
                known.names().identifier(name)
            )
        })
        .collect();
    let error = ApiError::bad(format!(
        "`{}` has no tool `{}` and never had one",
        upstream.server.namespace,
        untrusted_text::terminal::one_line(&tool, 80)
    ));
    Err(if near.is_empty() {
        error
    } else {
        error.hint(format!("did you mean {}?", near.join(", ")))
    })
}

fn as_raw(change: &Change) -> Raw {
    let difference = &change.difference;
    Raw::from(
        Object::new()
            .with("when", change.when.to_string().as_str())
            .with("kind", difference.kind.word())
            .with_some("field", difference.field.as_deref())
            .with_some("from", difference.from.as_deref())
            .with("what", difference.what.as_str()),
    )
}
