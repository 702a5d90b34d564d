//! How prompts and resources of all servers are named to clients, and whose a name is.
//!
//! A prompt is `NAMESPACE_PROMPT`, a resource `mcpx://NAMESPACE/URI` with the URI as it is. Both can be read back,
//! whatever other servers there are; where two prompts would have one name, each has a mark of its own at its end.

use std::collections::BTreeMap;

use mcp_wire::{Object, Raw};
use sha2::{Digest as _, Sha256};

use crate::registry::upstream::Upstream;
use crate::registry::views::Views;

/// What begins the URIs of resources that are not passed through.
const SCHEME: &str = "mcpx://";

/// Whose something is, and its own name for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owned {
    /// The server, by its configured name.
    pub(super) server: String,
    /// The prompt's name, or the resource's URI, as the server spells it.
    pub(super) name: String,
    /// What stands before it in the client's spelling; empty when it is passed through.
    pub(super) prefix: String,
}

/// What begins the URIs of a namespace.
pub(super) fn uri_prefix(namespace: &str) -> String {
    format!("{SCHEME}{namespace}/")
}

/// The prompts of servers under their public names, with what is listed of them.
pub(super) fn prompts<'a>(
    servers: impl Iterator<Item = &'a Upstream>,
) -> BTreeMap<String, (Owned, Object)> {
    let mut by_name: BTreeMap<String, Vec<(Owned, Object)>> = BTreeMap::new();
    for upstream in servers {
        let Some(known) = upstream.known() else {
            continue;
        };
        for prompt in known.prompts.iter().flatten() {
            let prefix = format!("{}_", upstream.server.namespace);
            let owned = Owned {
                server: upstream.server.name.clone(),
                name: prompt.name.clone(),
                prefix: prefix.clone(),
            };
            by_name
                .entry(format!("{prefix}{}", prompt.name))
                .or_default()
                .push((owned, prompt.raw().clone()));
        }
    }
    let mut named = BTreeMap::new();
    for (name, mut all) in by_name {
        let is_alone = all.len() == 1;
        for (owned, mut raw) in all.drain(..) {
            let name = if is_alone {
                name.clone()
            } else {
                format!("{name}_{}", mark(&owned))
            };
            raw.set("name", name.as_str());
            named.insert(name, (owned, raw));
        }
    }
    named
}

/// Six hexadecimal digits that depend on nothing but the server and the prompt.
fn mark(owned: &Owned) -> String {
    let digest = Sha256::digest(format!("{}\0{}", owned.server, owned.name));
    digest
        .iter()
        .take(3)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// An element of a list of resources or templates, with its `member` in the public spelling.
pub(super) fn spelled(mut raw: Object, member: &str, namespace: &str) -> Raw {
    if let Some(uri) = raw.string(member) {
        raw.set(member, format!("{}{uri}", uri_prefix(namespace)));
    }
    Raw::from(raw)
}

/// Whose a `mcpx://` URI is; `None` when it is none, or names no server.
pub(super) fn owner_of_uri(views: &Views, uri: &str) -> Option<Owned> {
    let rest = uri.strip_prefix(SCHEME)?;
    let (namespace, own) = rest.split_once('/')?;
    let upstream = views
        .by_name
        .values()
        .find(|upstream| upstream.server.namespace == namespace)
        .or_else(|| {
            // Some clients write hosts in lower case.
            views
                .by_name
                .values()
                .find(|upstream| upstream.server.namespace.eq_ignore_ascii_case(namespace))
        })?;
    Some(Owned {
        server: upstream.server.name.clone(),
        name: recovered(upstream, own),
        prefix: format!("{SCHEME}{namespace}/"),
    })
}

/// A path loses its first `/` in some clients.
fn recovered(upstream: &Upstream, own: &str) -> String {
    let rooted = format!("/{own}");
    let known = upstream.known();
    let has = |uri: &str| {
        known
            .as_ref()
            .and_then(|known| known.resources.as_ref())
            .is_some_and(|all| all.iter().any(|resource| resource.uri == uri))
    };
    if !has(own) && has(&rooted) {
        return rooted;
    }
    own.to_owned()
}

/// Whether a URI may be of this template: what stands before the first hole is the same.
pub(super) fn fits(template: &str, uri: &str) -> bool {
    let literal = template.split('{').next().unwrap_or_default();
    !literal.is_empty() && uri.starts_with(literal)
}
