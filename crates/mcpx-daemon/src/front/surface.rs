//! What is there for the clients of one front, and whose each thing is.

use std::sync::Arc;

use mcp_wire::{Object, Raw, ServerCapabilities};
use mcpx_api::{ApiError, Code};
use mcpx_config::Profiles;

use super::kind::Kind;
use super::names::{self, Owned};
use super::own;
use crate::hub::Hub;
use crate::registry::known::Known;
use crate::registry::upstream::Upstream;
use crate::registry::views::Views;

/// What is there at one moment.
pub(super) struct Surface<'a> {
    kind: &'a Kind,
    views: Arc<Views>,
    profiles: Profiles,
}

/// Whose a tool is.
pub(super) enum ToolOwner {
    /// The hub's.
    Own(&'static mcpx_api::Operation),
    /// A server's, by its configured name.
    Server(String),
    /// Several servers have it now.
    Several(Vec<String>),
    /// Nobody's.
    Nobody,
}

impl<'a> Surface<'a> {
    pub(super) fn new(hub: &Hub, kind: &'a Kind) -> Self {
        Self {
            kind,
            views: hub.registry.views(),
            profiles: hub.settings().profiles(),
        }
    }

    pub(super) fn views(&self) -> &Views {
        &self.views
    }

    /// The servers that are passed through, as far as they are still configured.
    pub(super) fn passed(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        self.kind
            .passthrough
            .iter()
            .filter_map(|name| self.views.by_name.get(name))
    }

    /// The servers that the configured profiles show.
    fn shown(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        let all = self.views.by_name.values();
        all.filter(|upstream| self.profiles.admits(&upstream.server))
    }

    /// The servers whose prompts and resources have the hub's names.
    fn named(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        self.shown()
            .filter(|upstream| self.kind.own && !self.passes(&upstream.server.name))
    }

    fn passes(&self, server: &str) -> bool {
        self.kind.passthrough.iter().any(|name| name == server)
    }

    /// The tools: the hub's own, then those of each server; a name that is in both is the server's.
    pub(super) fn tools(&self) -> Vec<Raw> {
        let mut passed: Vec<Raw> = Vec::new();
        let mut taken: Vec<String> = Vec::new();
        for upstream in self.passed() {
            let Some(known) = upstream.known() else {
                continue;
            };
            for tool in known.visible(upstream.filter()) {
                if !taken.contains(&tool.name) {
                    taken.push(tool.name.clone());
                    passed.push(Raw::from(tool.raw().clone()));
                }
            }
        }
        let mut tools: Vec<Raw> = Vec::new();
        if self.kind.own {
            let own = own::tools()
                .iter()
                .filter(|(name, _)| !taken.iter().any(|taken| taken == name));
            tools.extend(own.map(|(_, raw)| raw.clone()));
        }
        tools.extend(passed);
        tools
    }

    /// Whose a tool is.
    pub(super) fn owner_of_tool(&self, name: &str) -> ToolOwner {
        let having: Vec<String> = self
            .passed()
            .filter(|upstream| has_tool(upstream, name))
            .map(|upstream| upstream.server.name.clone())
            .collect();
        match having.as_slice() {
            [one] => return ToolOwner::Server(one.clone()),
            [] => {}
            _ => return ToolOwner::Several(having),
        }
        if self.kind.own
            && let Some(operation) = own::operation(name)
        {
            return ToolOwner::Own(operation);
        }
        // The one server there is may have it since; it says so itself.
        match self.kind.passthrough.as_slice() {
            [one] if !self.kind.own || self.is_unread(one) => ToolOwner::Server(one.clone()),
            _ => ToolOwner::Nobody,
        }
    }

    fn is_unread(&self, server: &str) -> bool {
        self.views
            .by_name
            .get(server)
            .is_some_and(|upstream| upstream.known().is_none())
    }

    /// The prompts.
    pub(super) fn prompts(&self) -> Vec<Raw> {
        let mut prompts: Vec<Raw> = Vec::new();
        let mut taken: Vec<String> = Vec::new();
        for upstream in self.passed() {
            let known = upstream.known();
            for prompt in known
                .iter()
                .flat_map(|known| known.prompts.iter().flatten())
            {
                if !taken.contains(&prompt.name) {
                    taken.push(prompt.name.clone());
                    prompts.push(Raw::from(prompt.raw().clone()));
                }
            }
        }
        let named = names::prompts(self.named().map(AsRef::as_ref));
        prompts.extend(
            named
                .into_iter()
                .filter(|(name, _)| !taken.contains(name))
                .map(|(_, (_, raw))| Raw::from(raw)),
        );
        prompts
    }

    /// Whose a prompt is.
    pub(super) fn owner_of_prompt(&self, name: &str) -> Option<Owned> {
        let passed = self
            .passed()
            .find(|upstream| {
                let known = upstream.known();
                known
                    .iter()
                    .flat_map(|known| known.prompts.iter().flatten())
                    .any(|prompt| prompt.name == name)
            })
            .map(|upstream| itself(upstream, name));
        passed
            .or_else(|| {
                names::prompts(self.named().map(AsRef::as_ref))
                    .remove(name)
                    .map(|(owned, _)| owned)
            })
            .or_else(|| self.the_only_one(name))
    }

    /// The resources.
    pub(super) fn resources(&self) -> Vec<Raw> {
        self.listed("uri", |known| {
            let all = known.resources.iter().flatten();
            all.map(|resource| resource.raw().clone()).collect()
        })
    }

    /// The templates of resources.
    pub(super) fn templates(&self) -> Vec<Raw> {
        self.listed("uriTemplate", |known| {
            let all = known.templates.iter().flatten();
            all.map(|template| template.raw().clone()).collect()
        })
    }

    fn listed(&self, member: &str, of: impl Fn(&Known) -> Vec<Object>) -> Vec<Raw> {
        let all = |upstream: &Arc<Upstream>| {
            let known = upstream.known();
            known.map(|known| of(&known)).unwrap_or_default()
        };
        let passed = self
            .passed()
            .flat_map(|upstream| all(upstream).into_iter().map(Raw::from).collect::<Vec<_>>());
        let named = self.named().flat_map(|upstream| {
            let namespace = upstream.server.namespace.clone();
            let spelled = all(upstream)
                .into_iter()
                .map(|raw| names::spelled(raw, member, &namespace));
            spelled.collect::<Vec<_>>()
        });
        passed.chain(named).collect()
    }

    /// Whose a resource, or a template, is.
    pub(super) fn owner_of_resource(&self, uri: &str) -> Option<Owned> {
        if let Some(owned) = self
            .kind
            .own
            .then(|| names::owner_of_uri(&self.views, uri))
            .flatten()
        {
            return Some(owned);
        }
        let passed: Vec<&Arc<Upstream>> = self.passed().collect();
        let exact = |upstream: &&&Arc<Upstream>| has_resource(upstream, uri);
        let fitting = |upstream: &&&Arc<Upstream>| fits_template(upstream, uri);
        if let Some(upstream) = passed
            .iter()
            .find(exact)
            .or_else(|| passed.iter().find(fitting))
        {
            return Some(itself(upstream, uri));
        }
        if let Some(owned) = self.the_only_one(uri) {
            return Some(owned);
        }
        // A link in a result has the server's own spelling: taken while one server alone has it.
        let mut having = self.named().filter(|upstream| has_resource(upstream, uri));
        let only = having.next()?;
        having.next().is_none().then(|| itself(only, uri))
    }

    /// The one server there is decides by itself what it does not list.
    fn the_only_one(&self, name: &str) -> Option<Owned> {
        let sole = self.kind.sole()?;
        Some(itself(self.views.by_name.get(sole)?, name))
    }

    /// The instructions: those of the one server there is, else the hub's.
    pub(super) fn instructions(&self) -> Option<String> {
        if self.kind.sole().is_some() {
            return self.passed().next()?.known()?.instructions.clone();
        }
        if self.kind.own {
            return Some(own::instructions(
                &self
                    .shown()
                    .map(|upstream| upstream.server.namespace.clone())
                    .collect::<Vec<_>>(),
            ));
        }
        let all: Vec<String> = self
            .passed()
            .filter_map(|upstream| upstream.known()?.instructions.clone())
            .collect();
        (!all.is_empty()).then(|| all.join("\n\n"))
    }

    /// What the one server there is declared; `None` when there is no such server, or it is not known.
    pub(super) fn declared(&self) -> Option<ServerCapabilities> {
        self.kind.sole()?;
        let known = self.passed().next()?.known()?;
        known.capabilities.clone().map(ServerCapabilities::from)
    }

    /// Who the one server there is says it is.
    pub(super) fn info(&self) -> Option<Object> {
        self.kind.sole()?;
        self.passed().next()?.known()?.server_info.clone()
    }

    /// The definition of a tool's arguments; `None` for the hub's own.
    pub(super) fn input_schema(&self, tool: &str) -> Option<Raw> {
        let upstream = self.passed().find(|upstream| has_tool(upstream, tool))?;
        Some(upstream.known()?.tool(tool)?.input_schema())
    }

    /// # Errors
    /// When two servers that are passed through have a tool or a prompt of the same name.
    pub(super) fn check(&self) -> Result<(), ApiError> {
        let mut seen: Vec<(&str, String, String)> = Vec::new();
        for upstream in self.passed() {
            let Some(known) = upstream.known() else {
                continue;
            };
            let tools = known
                .visible(upstream.filter())
                .map(|tool| ("tool", &tool.name));
            let prompts = known.prompts.iter().flatten();
            let prompts = prompts.map(|prompt| ("prompt", &prompt.name));
            for (what, name) in tools.chain(prompts) {
                let other = seen.iter().find(|(kind, seen, owner)| {
                    *kind == what && seen == name && *owner != upstream.server.name
                });
                if let Some((_, _, other)) = other {
                    return Err(clash(what, name, other, &upstream.server.name));
                }
                seen.push((what, name.clone(), upstream.server.name.clone()));
            }
        }
        Ok(())
    }
}

fn clash(what: &str, name: &str, one: &str, other: &str) -> ApiError {
    let name = untrusted_text::terminal::one_line(name, 120);
    ApiError::new(
        Code::Conflict,
        format!("`{one}` and `{other}` both have a {what} `{name}`, and both are passed through"),
    )
    .hint("pass one of them through, or hide it: `excludeTools` of a server")
}

fn itself(upstream: &Upstream, name: &str) -> Owned {
    Owned {
        server: upstream.server.name.clone(),
        name: name.to_owned(),
        prefix: String::new(),
    }
}

fn has_tool(upstream: &Upstream, name: &str) -> bool {
    upstream.filter().admits(name)
        && upstream
            .known()
            .is_some_and(|known| known.tool(name).is_some())
}

fn has_resource(upstream: &Upstream, uri: &str) -> bool {
    upstream.known().is_some_and(|known| {
        let mut all = known.resources.iter().flatten();
        all.any(|resource| resource.uri == uri)
    })
}

fn fits_template(upstream: &Upstream, uri: &str) -> bool {
    upstream.known().is_some_and(|known| {
        let mut all = known.templates.iter().flatten();
        all.any(|template| template.uri_template == uri || names::fits(&template.uri_template, uri))
    })
}
