//! The servers of one configuration, and how people's spellings find them.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcpx_catalog::names::{Names, Resolved};

use super::call::CallError;
use super::known::Spelled;
use super::upstream::Upstream;

/// The servers of one configuration.
#[derive(Default)]
pub struct Views {
    /// By configured name.
    pub by_name: BTreeMap<String, Arc<Upstream>>,
    names: Names,
}

impl Views {
    /// The servers of one configuration.
    #[must_use]
    pub fn new(by_name: BTreeMap<String, Arc<Upstream>>) -> Self {
        let names = Names::of_servers(
            by_name
                .iter()
                .map(|(name, upstream)| (name.clone(), upstream.server.namespace.clone())),
        );
        Self { by_name, names }
    }

    /// The namespaces, sorted.
    #[must_use]
    pub fn namespaces(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .by_name
            .values()
            .map(|upstream| upstream.server.namespace.clone())
            .collect();
        all.sort();
        all
    }

    /// The server that somebody means, by its name or its namespace.
    ///
    /// # Errors
    /// When there is none, or several may be meant.
    pub fn find(&self, spelled: &str) -> Result<Arc<Upstream>, CallError> {
        if let Some(upstream) = self.by_name.get(spelled) {
            return Ok(Arc::clone(upstream));
        }
        match self.names.resolve(spelled) {
            Resolved::One(name) => self
                .by_name
                .get(name)
                .cloned()
                .ok_or_else(|| self.unknown(spelled)),
            Resolved::Several(names) => Err(CallError::Several {
                spelled: spelled.to_owned(),
                candidates: names.into_iter().map(str::to_owned).collect(),
            }),
            Resolved::Unknown => Err(self.unknown(spelled)),
        }
    }

    fn unknown(&self, spelled: &str) -> CallError {
        let near = self.names.nearest(spelled, 3);
        CallError::UnknownServer {
            spelled: spelled.to_owned(),
            near: near
                .into_iter()
                .map(|name| self.names.identifier(name))
                .collect(),
            all: self.namespaces(),
            unasked: Vec::new(),
        }
    }

    /// Of the servers that were never read, why not. One that was not tried takes longer than anybody waited.
    #[must_use]
    pub fn unasked(&self) -> Vec<String> {
        let unread = self
            .by_name
            .values()
            .filter(|upstream| upstream.known().is_none());
        unread
            .filter_map(|upstream| {
                let failure = upstream.backing.as_ref()?.failure();
                Some(
                    failure
                        .unwrap_or_else(|| format!("`{}` is not ready yet", upstream.server.name)),
                )
            })
            .collect()
    }

    /// A name that is neither a server's nor a tool's, with the nearest of both.
    fn unknown_name(&self, spelled: &str) -> CallError {
        let mut error = self.unknown(spelled);
        if let CallError::UnknownServer { near, .. } = &mut error {
            let known = self
                .by_name
                .values()
                .filter_map(|upstream| Some((upstream, upstream.known()?)));
            for (upstream, known) in known {
                if let Spelled::Unknown(tools) = known.resolve(spelled, upstream.filter()) {
                    let namespace = &upstream.server.namespace;
                    near.extend(tools.iter().map(|tool| format!("{namespace}.{tool}")));
                }
            }
            near.truncate(3);
        }
        error
    }

    /// The server and the tool that `namespace.tool`, `namespace/tool`, `namespace__tool` or a bare name means. A bare name is taken while
    /// one server alone has it.
    ///
    /// # Errors
    /// When no server is meant, or several may be.
    pub fn find_tool(&self, spelled: &str) -> Result<(Arc<Upstream>, String), CallError> {
        // A server's name may hold a dot or a slash itself: the longest that is one is taken.
        let ends = spelled.rmatch_indices(['.', '/']).map(|(at, _)| at);
        for at in ends {
            let (server, tool) = (&spelled[..at], &spelled[at + 1..]);
            if let Ok(upstream) = self.find(server) {
                return Ok((upstream, tool.to_owned()));
            }
        }
        let qualified = self.by_name.values().find_map(|upstream| {
            let known = upstream.known()?;
            let namespace = &upstream.server.namespace;
            let tool = known.visible(upstream.filter()).find(|tool| {
                let function = known.names().identifier(&tool.name);
                mcpx_catalog::names::qualified(namespace, &function) == spelled
            })?;
            Some((Arc::clone(upstream), tool.name.clone()))
        });
        if let Some(found) = qualified {
            return Ok(found);
        }
        // A name that has a dot itself is taken as it is written, and any other in whatever spelling.
        let before_dot = spelled.split_once(['.', '/']).map(|(server, _)| server);
        let having: Vec<&Arc<Upstream>> = self
            .by_name
            .values()
            .filter(|upstream| {
                upstream.known().is_some_and(|known| match before_dot {
                    Some(_) => known.tool(spelled).is_some() && upstream.filter().admits(spelled),
                    None => {
                        matches!(known.resolve(spelled, upstream.filter()), Spelled::Tool(_))
                    }
                })
            })
            .collect();
        match having.as_slice() {
            [one] => Ok((Arc::clone(one), spelled.to_owned())),
            [] => Err(match before_dot {
                Some(server) => self.unknown(server),
                None => self.unknown_name(spelled),
            }),
            several => Err(CallError::Several {
                spelled: spelled.to_owned(),
                candidates: several
                    .iter()
                    .map(|upstream| format!("{}.{spelled}", upstream.server.namespace))
                    .collect(),
            }),
        }
    }
}
