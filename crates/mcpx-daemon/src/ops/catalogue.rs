//! What there is: namespaces, tools, signatures, resources, prompts, and how they changed.

use std::sync::Arc;

use mcp_wire::{Object, Raw};
use mcpx_api::reply::{Found, Namespace};
use mcpx_api::{ApiError, Params};
use mcpx_catalog::search::Match;
use mcpx_catalog::typescript;
use mcpx_config::settings::key;
use mcpx_config::{Profiles, Reason};

use super::Reply;
use super::refused::api_error;
use crate::hub::Hub;
use crate::registry::call::CallError;
use crate::registry::known::{Known, Spelled};
use crate::registry::upstream::Upstream;

/// The servers that the profiles admit, by name.
fn admitted(hub: &Hub, params: &Params) -> Vec<Arc<Upstream>> {
    let profiles = Profiles {
        names: params.list("profile"),
        skip_default: params.switch("skipDefault"),
        all: params.switch("allProfiles"),
    };
    hub.registry
        .views()
        .by_name
        .values()
        .filter(|upstream| profiles.admits(&upstream.server))
        .cloned()
        .collect()
}

/// The state of a server in a word, why it is not ready, and what to do.
pub(super) fn state(upstream: &Upstream) -> (&'static str, Option<String>, Option<String>) {
    if let Some(reason) = upstream.server.reason() {
        let text = reason.to_string();
        let (why, hint) = match text.split_once("\nhint: ") {
            Some((why, hint)) => (why.to_owned(), Some(hint.to_owned())),
            None => (text, None),
        };
        let word = match reason {
            Reason::Untrusted { .. } => "untrusted",
            _ => "unavailable",
        };
        return (word, Some(why), hint);
    }
    let failure = upstream.backing.as_ref().and_then(|backing| backing.failure());
    match (failure, upstream.known()) {
        (Some(why), _) => ("error", Some(why), None),
        (None, Some(_)) => ("ready", None, None),
        (None, None) => ("unread", None, None),
    }
}

/// The servers, from what is known; starts none.
pub(super) fn namespaces(hub: &Hub, params: &Params) -> Reply {
    let rows: Vec<Namespace> = admitted(hub, params)
        .iter()
        .map(|upstream| {
            let server = &upstream.server;
            let known = upstream.known();
            let (state, error, hint) = state(upstream);
            Namespace {
                namespace: server.namespace.clone(),
                server: server.name.clone(),
                tools: known
                    .as_ref()
                    .map(|known| known.visible(upstream.filter()).count()),
                resources: known
                    .as_ref()
                    .and_then(|known| known.resources.as_ref())
                    .map(Vec::len),
                description: server.description.clone().or_else(|| described(known.as_deref()?)),
                live: upstream
                    .backing
                    .as_ref()
                    .map_or(0, |backing| backing.pool.status().instances.len()),
                sharing: server.sharing.word().to_owned(),
                scope: server.scope.word().to_owned(),
                state: state.to_owned(),
                error,
                hint,
                cached: known.as_ref().is_some_and(|known| !known.confirmed),
                requires_secrets: server.requires_secrets.clone(),
            }
        })
        .collect();
    Reply::of(&rows)
}

/// What a server says of itself, in a line.
fn described(known: &Known) -> Option<String> {
    let info = known.server_info.as_ref()?;
    let text = info.string("description").or_else(|| info.string("title"))?;
    Some(untrusted_text::terminal::one_line(&text, 200))
}

/// A server whose tools are needed: from what is known, or read now.
async fn known(hub: &Hub, upstream: &Arc<Upstream>) -> Result<Arc<Known>, CallError> {
    if let Some(known) = upstream.known() {
        return Ok(known);
    }
    let Some(backing) = &upstream.backing else {
        let (_, why, hint) = state(upstream);
        return Err(CallError::Unavailable {
            server: upstream.server.name.clone(),
            why: why.unwrap_or_default(),
            hint,
        });
    };
    hub.registry.read(upstream, backing, false).await
}

/// What was selected: servers, and of each all tools or some.
struct Selected {
    upstream: Arc<Upstream>,
    known: Arc<Known>,
    tools: Option<Vec<String>>,
}

impl Selected {
    fn tools(&self) -> Vec<mcp_wire::Tool> {
        self.known
            .visible(self.upstream.filter())
            .filter(|tool| {
                self.tools
                    .as_ref()
                    .is_none_or(|tools| tools.contains(&tool.name))
            })
            .cloned()
            .collect()
    }
}

/// Reads `ns`: `namespace` or `namespace.tool`. Without it, every admitted server whose tools are known or can be read;
/// with it, unknown ones are an error that names them all.
async fn select(hub: &Hub, params: &Params) -> Result<Vec<Selected>, ApiError> {
    let selectors = params.list("ns");
    if selectors.is_empty() {
        let all = admitted(hub, params);
        let reading = all.iter().map(|upstream| known(hub, upstream));
        let read = futures::future::join_all(reading).await;
        return Ok(all
            .iter()
            .zip(read)
            .filter_map(|(upstream, known)| {
                Some(Selected {
                    upstream: Arc::clone(upstream),
                    known: known.ok()?,
                    tools: None,
                })
            })
            .collect());
    }
    let views = hub.registry.views();
    let mut selected: Vec<Selected> = Vec::new();
    let mut wrong = Vec::new();
    for selector in &selectors {
        let found = match views.find(selector) {
            Ok(upstream) => Ok((upstream, None)),
            Err(error) => match views.find_tool(selector) {
                Ok((upstream, tool)) => Ok((upstream, Some(tool))),
                Err(_) if !selector.contains('.') => Err(error),
                Err(error) => Err(error),
            },
        };
        match found {
            Err(error) => wrong.push(error),
            Ok((upstream, spelled)) => match known(hub, &upstream).await {
                Err(error) => wrong.push(error),
                Ok(known) => {
                    if let Err(error) = add(&mut selected, upstream, known, spelled.as_deref()) {
                        wrong.push(error);
                    }
                }
            },
        }
    }
    match wrong.as_slice() {
        [] => Ok(selected),
        [one] => Err(api_error(one)),
        several => {
            let first = api_error(&several[0]);
            let lines: Vec<String> = several
                .iter()
                .map(|error| {
                    let error = api_error(error);
                    match error.hint {
                        Some(hint) => format!("{}; {hint}", error.message),
                        None => error.message,
                    }
                })
                .collect();
            Err(ApiError::new(first.code, lines.join("\n")))
        }
    }
}

fn add(
    selected: &mut Vec<Selected>,
    upstream: Arc<Upstream>,
    known: Arc<Known>,
    spelled: Option<&str>,
) -> Result<(), CallError> {
    let namespace = upstream.server.namespace.clone();
    let tool = match spelled.map(|spelled| (spelled, known.resolve(spelled, upstream.filter()))) {
        None => None,
        Some((_, Spelled::Tool(tool))) => Some(tool),
        Some((_, Spelled::Hidden(tool))) => return Err(CallError::Hidden { namespace, tool }),
        Some((spelled, Spelled::Several(candidates))) => {
            return Err(CallError::Several {
                spelled: format!("{namespace}.{spelled}"),
                candidates,
            });
        }
        Some((spelled, Spelled::Unknown(near))) => {
            return Err(CallError::UnknownTool {
                namespace,
                spelled: spelled.to_owned(),
                near,
                findings: Vec::new(),
            });
        }
    };
    let before = selected
        .iter_mut()
        .find(|one| one.upstream.server.name == upstream.server.name);
    match (before, tool) {
        (Some(before), None) => before.tools = None,
        (Some(before), Some(tool)) => {
            if let Some(tools) = &mut before.tools
                && !tools.contains(&tool)
            {
                tools.push(tool);
            }
        }
        (None, tool) => selected.push(Selected {
            upstream,
            known,
            tools: tool.map(|tool| vec![tool]),
        }),
    }
    Ok(())
}

/// The tools as their servers describe them.
pub(super) async fn tools(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let mut rows = Vec::new();
    for one in select(hub, params).await? {
        let server = &one.upstream.server;
        for tool in one.tools() {
            let mut row = Object::new()
                .with("namespace", server.namespace.as_str())
                .with("server", server.name.as_str())
                .with(
                    "function",
                    function(&one.upstream, &one.known, &tool.name).as_str(),
                );
            row.append(tool.raw().clone());
            rows.push(Raw::from(row));
        }
    }
    Ok(Reply::of(&rows))
}

fn function(upstream: &Upstream, known: &Known, tool: &str) -> String {
    format!(
        "{}.{}",
        upstream.server.namespace,
        known.names().identifier(tool)
    )
}

/// Finds tools by words.
pub(super) fn search(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let query = params.required("q")?;
    let limit = match params.count("limit")? {
        Some(limit) => limit,
        None => usize::try_from(hub.settings().int(key::SEARCH_LIMIT)).unwrap_or(20),
    };
    let admitted: Vec<Arc<Upstream>> = admitted(hub, params);
    let rows: Vec<Found> = hub
        .registry
        .catalogue
        .find(&query, limit.saturating_mul(2).clamp(1, 1_000))
        .into_iter()
        .filter_map(|hit| {
            let upstream = admitted
                .iter()
                .find(|upstream| upstream.server.name == hit.server)?;
            let known = upstream.known()?;
            let tool = known.tool(&hit.tool)?;
            Some(Found {
                function: function(upstream, &known, &hit.tool),
                namespace: upstream.server.namespace.clone(),
                server: hit.server.clone(),
                tool: hit.tool.clone(),
                description: tool.description().and_then(|text| first_line(&text)),
                matched: match hit.matched {
                    Match::Name => "exact",
                    Match::NamePrefix => "prefix",
                    Match::Words => "words",
                }
                .to_owned(),
                score: f64::from(hit.score),
            })
        })
        .take(limit)
        .collect();
    Ok(Reply::of(&rows))
}

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(untrusted_text::terminal::one_line(line, 200))
}

fn namespaced<'a>(
    selected: &'a [Selected],
    tools: &'a [Vec<mcp_wire::Tool>],
    instructions: bool,
) -> Vec<typescript::Namespace<'a>> {
    selected
        .iter()
        .zip(tools)
        .map(|(one, tools)| typescript::Namespace {
            server: &one.upstream.server.name,
            namespace: Some(&one.upstream.server.namespace),
            description: one.upstream.server.description.as_deref(),
            prelude: one.upstream.server.prelude.as_deref(),
            instructions: one
                .known
                .instructions
                .as_deref()
                .filter(|_| instructions && one.tools.is_none()),
            tools,
        })
        .collect()
}

/// Signatures.
pub(super) async fn types(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let instructions = params
        .get("instructions")
        .and_then(Raw::boolean)
        .unwrap_or_else(|| hub.settings().bool(key::CATALOG_INSTRUCTIONS));
    let selected = select(hub, params).await?;
    let tools: Vec<Vec<mcp_wire::Tool>> = selected.iter().map(Selected::tools).collect();
    Ok(Reply::Text {
        media_type: "application/typescript",
        body: typescript::types(&namespaced(&selected, &tools, instructions)),
    })
}

/// Every namespace, and signatures within a budget.
pub(super) async fn catalog(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let _later = params;
    types(hub, params).await
}

/// A module with one function for each tool.
pub(super) async fn client(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let selected = select(hub, params).await?;
    let tools: Vec<Vec<mcp_wire::Tool>> = selected.iter().map(Selected::tools).collect();
    Ok(Reply::Text {
        media_type: "application/typescript",
        body: typescript::client(&namespaced(&selected, &tools, false)),
    })
}

/// The namespaces as globals of a script.
pub(super) async fn globals(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    types(hub, params).await
}

/// The schemas as one document.
pub(super) async fn schema(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    tools(hub, params).await
}

/// How the tools changed.
pub(super) fn history(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let _later = params;
    let history = hub.registry.history();
    let tools: Vec<String> = history
        .records()
        .map(|(server, tool, _)| format!("{server}.{tool}"))
        .collect();
    Ok(Reply::json(Object::new().with("tools", Raw::of(&tools))))
}

/// The resources.
pub(super) async fn resources(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    list(hub, params, |known| {
        let all = known.resources.as_ref()?;
        Some(all.iter().map(|one| one.raw().clone()).collect())
    })
    .await
}

/// The resource templates.
pub(super) async fn resource_templates(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    list(hub, params, |known| {
        let all = known.templates.as_ref()?;
        Some(all.iter().map(|one| one.raw().clone()).collect())
    })
    .await
}

/// The prompts.
pub(super) async fn prompts(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    list(hub, params, |known| {
        let all = known.prompts.as_ref()?;
        Some(all.iter().map(|one| one.raw().clone()).collect())
    })
    .await
}

async fn list(
    hub: &Hub,
    params: &Params,
    of: impl Fn(&Known) -> Option<Vec<Object>>,
) -> Result<Reply, ApiError> {
    let mut rows = Vec::new();
    for one in select(hub, params).await? {
        for element in of(&one.known).unwrap_or_default() {
            let mut row = Object::new()
                .with("namespace", one.upstream.server.namespace.as_str())
                .with("server", one.upstream.server.name.as_str());
            row.append(element);
            rows.push(Raw::from(row));
        }
    }
    Ok(Reply::of(&rows))
}
