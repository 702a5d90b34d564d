//! Which servers and tools an operation is about: by profiles, and by `namespace` or `namespace.tool`.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcpx_api::{ApiError, Params};
use mcpx_config::Profiles;

use super::{api_error, state};
use crate::hub::Hub;
use crate::registry::call::CallError;
use crate::registry::known::{Known, Spelled};
use crate::registry::upstream::Upstream;

/// The servers that the profiles admit, by name.
///
/// # Errors
/// When no server is in a profile that was named.
pub(super) fn admitted(hub: &Hub, params: &Params) -> Result<Vec<Arc<Upstream>>, ApiError> {
    let profiles = Profiles {
        names: params.list("profile"),
        skip_default: params.switch("skipDefault"),
        all: params.switch("allProfiles"),
    };
    let views = hub.registry.views();
    let known: BTreeSet<&str> = views
        .by_name
        .values()
        .flat_map(|upstream| upstream.server.profiles.iter().map(String::as_str))
        .collect();
    if let Some(name) = profiles
        .names
        .iter()
        .find(|name| !known.contains(name.as_str()))
    {
        let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        return Err(ApiError::bad(format!(
            "no server is in the profile `{}`",
            untrusted_text::terminal::one_line(name, 60)
        ))
        .hint(if known.is_empty() {
            "no server names a profile: write `\"profiles\": [\"NAME\"]` into the `mcpx` block of one".to_owned()
        } else {
            format!("there is {}", known.join(", "))
        }));
    }
    Ok(views
        .by_name
        .values()
        .filter(|upstream| profiles.admits(&upstream.server))
        .cloned()
        .collect())
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
pub(super) struct Selected {
    pub(super) upstream: Arc<Upstream>,
    pub(super) known: Arc<Known>,
    /// `None`: all.
    pub(super) tools: Option<Vec<String>>,
}

impl Selected {
    pub(super) fn tools(&self) -> Vec<mcp_wire::Tool> {
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

/// Every admitted server whose tools are known or can be read, and of the others the name and why not.
pub(super) async fn readable(
    hub: &Hub,
    params: &Params,
) -> Result<(Vec<Selected>, Vec<(String, String)>), ApiError> {
    let all = admitted(hub, params)?;
    let reading = all.iter().map(|upstream| known(hub, upstream));
    let read = futures::future::join_all(reading).await;
    let (mut selected, mut unread) = (Vec::new(), Vec::new());
    for (upstream, known) in all.into_iter().zip(read) {
        match known {
            Ok(known) => selected.push(Selected {
                upstream,
                known,
                tools: None,
            }),
            Err(error) => unread.push((upstream.server.namespace.clone(), error.to_string())),
        }
    }
    Ok((selected, unread))
}

/// Reads `ns`: `namespace` or `namespace.tool`. Without it, every admitted server whose tools are known or can be read;
/// with it, unknown ones are an error that names them all.
pub(super) async fn select(hub: &Hub, params: &Params) -> Result<Vec<Selected>, ApiError> {
    let selectors = params.list("ns");
    if selectors.is_empty() {
        return Ok(readable(hub, params).await?.0);
    }
    let views = hub.registry.views();
    let mut selected: Vec<Selected> = Vec::new();
    let mut wrong = Vec::new();
    for selector in &selectors {
        let found = match views.find(selector) {
            Ok(upstream) => Ok((upstream, None)),
            Err(_) => hub
                .registry
                .find_tool(selector)
                .await
                .map(|(upstream, tool)| (upstream, Some(tool))),
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
