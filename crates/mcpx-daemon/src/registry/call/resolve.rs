//! Which server and which tool a call means.

use std::sync::Arc;
use std::time::Duration;

use mcp_wire::{Object, method};

use super::{Call, CallError, Resolved, Wanted};
use crate::registry::known::{Known, KnownTool, Spelled};
use crate::registry::upstream::{Backing, Reading, Upstream};
use crate::registry::{Registry, explain};

/// How long a bare name that nobody knows waits for servers that nobody has read yet.
const FIRST: Duration = Duration::from_secs(5);

impl Registry {
    /// *Resolve*: which server, which tool, by any spelling. Reads the server's tools when they were never read.
    pub(super) async fn resolve(&self, call: &Call) -> Result<Resolved, CallError> {
        let views = self.views();
        let (upstream, spelled) = match (&call.server, &call.wanted) {
            (Some(server), Wanted::Tool { name, .. }) => {
                let upstream = views.find(server)?;
                // `namespace.tool` beside a server of the same name means the tool.
                let bare = name
                    .strip_prefix(&upstream.server.namespace)
                    .and_then(|rest| rest.strip_prefix('.'))
                    .filter(|_| {
                        upstream
                            .known()
                            .is_none_or(|known| known.tool(name).is_none())
                    });
                (upstream, Some(bare.unwrap_or(name).to_owned()))
            }
            (Some(server), Wanted::Request { .. }) => (views.find(server)?, None),
            (None, Wanted::Tool { name, .. }) => {
                let (upstream, tool) = self.find_tool(name).await?;
                (upstream, Some(tool))
            }
            (None, Wanted::Request { method, .. }) => {
                return Err(CallError::UnknownServer {
                    spelled: format!("(none named for `{method}`)"),
                    near: Vec::new(),
                    all: views.namespaces(),
                    unasked: Vec::new(),
                });
            }
        };
        let backing = self.usable(&upstream)?;
        let (method, params) = match &call.wanted {
            Wanted::Request { method, params } => {
                return Ok(Resolved {
                    upstream,
                    backing,
                    tool: None,
                    method,
                    params: params.clone(),
                    name: (*method).to_owned(),
                });
            }
            Wanted::Tool { arguments, .. } => (method::TOOLS_CALL, arguments),
        };
        let spelled = spelled.unwrap_or_default();
        let tool = self.resolve_tool(&upstream, &backing, &spelled).await?;
        let name = tool.as_ref().map_or(spelled, |tool| tool.name.clone());
        let params = Object::new()
            .with("name", name.as_str())
            .with("arguments", params.clone());
        Ok(Resolved {
            upstream,
            backing,
            tool,
            method,
            params,
            name,
        })
    }

    /// The server and the tool that a spelling means. Before a bare name is unknown, servers that nobody has read yet are
    /// read, as far as that is quick.
    ///
    /// # Errors
    /// When none is meant, or several may be.
    pub(crate) async fn find_tool(
        &self,
        spelled: &str,
    ) -> Result<(Arc<Upstream>, String), CallError> {
        let views = self.views();
        let found = views.find_tool(spelled);
        let is_bare = !spelled.contains(['.', '/']);
        if !is_bare || !matches!(found, Err(CallError::UnknownServer { .. })) {
            return found;
        }
        let unread = views
            .by_name
            .values()
            .filter(|upstream| upstream.known().is_none());
        let reading = unread.filter_map(|upstream| {
            let backing = self.usable(upstream).ok()?;
            Some(async move { self.read(upstream, &backing, false).await.is_ok() })
        });
        let all = futures::future::join_all(reading);
        // Who takes longer is not waited for.
        let _slow = tokio::time::timeout(FIRST, all).await;
        let mut found = views.find_tool(spelled);
        if let Err(CallError::UnknownServer { unasked, .. }) = &mut found {
            *unasked = views.unasked();
        }
        found
    }

    /// The tool that is meant. Reads the server's tools when they were never read, or when what an earlier daemon read does
    /// not have it.
    async fn resolve_tool(
        &self,
        upstream: &Upstream,
        backing: &Arc<Backing>,
        spelled: &str,
    ) -> Result<Option<KnownTool>, CallError> {
        let namespace = &upstream.server.namespace;
        let mut known = match backing.known() {
            Some(known) => known,
            None => self.read(upstream, backing, false).await?,
        };
        let mut found = known.resolve(spelled, upstream.filter());
        // What the cache does not know may have come since.
        if matches!(found, Spelled::Unknown(_)) && !known.confirmed {
            known = self.read(upstream, backing, false).await?;
            found = known.resolve(spelled, upstream.filter());
        }
        match found {
            Spelled::Tool(name) => Ok(known.keep(&name)),
            Spelled::Hidden(tool) => Err(CallError::Hidden {
                namespace: namespace.clone(),
                tool,
            }),
            Spelled::Several(names) => Err(CallError::Several {
                spelled: format!("{namespace}.{spelled}"),
                candidates: names
                    .iter()
                    .map(|name| format!("{namespace}.{name}"))
                    .collect(),
            }),
            Spelled::Unknown(near) => Err(CallError::UnknownTool {
                findings: explain::unknown_tool(
                    &self.history(),
                    &self.definition(&upstream.server),
                    namespace,
                    spelled,
                    upstream.known().as_deref(),
                ),
                namespace: namespace.clone(),
                spelled: spelled.to_owned(),
                near,
            }),
        }
    }

    /// Reads a server's lists and takes them into the catalogue.
    pub(crate) async fn read(
        &self,
        upstream: &Upstream,
        backing: &Arc<Backing>,
        again: bool,
    ) -> Result<Arc<Known>, CallError> {
        let base = self.definition(&upstream.server);
        let reading = Reading {
            queue: self.limits().queue,
            limit: base.start_timeout + self.limits().list,
            now: &*self.clock,
            again,
        };
        let before = backing.known();
        self.somebody.reads(&backing.name);
        let known = backing.read(&base, reading).await?;
        if before.is_none_or(|before| !Arc::ptr_eq(&before, &known)) {
            self.took(&base, &known);
        }
        Ok(known)
    }
}
