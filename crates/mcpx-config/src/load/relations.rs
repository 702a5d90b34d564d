//! What servers have to do with each other: namespaces, views, requirements.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Availability, ConfigError, Place, Reach, Reason, Server, Warning,
    error::{quoted, quoted_path},
};

/// Leaves out what nobody accepted where its namespace is that of another server.
pub(super) fn yielding(servers: &mut BTreeMap<String, Server>, warnings: &mut Vec<Warning>) {
    let is_untrusted = |server: &Server| matches!(server.reason(), Some(Reason::Untrusted { .. }));
    let taken: BTreeSet<String> = servers
        .values()
        .filter(|server| !is_untrusted(server))
        .map(|server| server.namespace.clone())
        .collect();
    servers.retain(|_, server| {
        let stays = !is_untrusted(server) || !taken.contains(&server.namespace);
        if !stays {
            warnings.push(Warning {
                place: place(server),
                message: format!(
                    "the server {} of this project was not accepted, and its namespace {} is that of another one",
                    quoted(&server.name),
                    quoted(&server.namespace)
                ),
            });
        }
        stays
    });
}

/// Refuses two servers with one namespace.
pub(super) fn namespaces(servers: &BTreeMap<String, Server>) -> Result<(), ConfigError> {
    let mut seen: BTreeMap<&str, &Server> = BTreeMap::new();
    for server in servers.values() {
        if let Some(first) = seen.insert(&server.namespace, server) {
            return Err(ConfigError::new(
                place(server),
                format!(
                    "the server {} has the namespace {}, and so has {} of {}:{}",
                    quoted(&server.name),
                    quoted(&server.namespace),
                    quoted(&first.name),
                    quoted_path(&first.origin.file),
                    first.origin.line
                ),
                "a namespace of its own",
            )
            .with_hint("rename one, or give one another `mcpx.namespace`"));
        }
    }
    Ok(())
}

/// Gives every view the launch of the server behind it.
pub(super) fn aliases(servers: &mut BTreeMap<String, Server>) -> Result<(), ConfigError> {
    let views: Vec<(String, String)> = servers
        .values()
        .filter_map(|server| match &server.reach {
            Reach::Alias { of } => Some((server.name.clone(), of.clone())),
            Reach::Stdio { .. } | Reach::Http { .. } => None,
        })
        .collect();
    for (name, of) in views {
        let behind = servers.get(&of).cloned();
        let Some(view) = servers.get_mut(&name) else {
            continue;
        };
        let Some(behind) = behind else {
            make_unavailable(
                view,
                Reason::MissingServer {
                    name: of,
                    because: None,
                },
            );
            continue;
        };
        if let Reach::Alias { of: farther } = &behind.reach {
            return Err(ConfigError::new(
                place(view),
                format!(
                    "`aliasOf` {}, which is a view of {} itself",
                    quoted(&of),
                    quoted(farther)
                ),
                "the name of a server with `command` or `url`",
            ));
        }
        view.alias_identity = Some(behind.identity());
        view.protocol = behind.protocol;
        view.sharing = behind.sharing;
        view.scope = behind.scope;
        view.max = behind.max;
        view.min = behind.min;
        view.idle_timeout = behind.idle_timeout;
        view.start_timeout = behind.start_timeout;
        view.single_caller_questions = behind.single_caller_questions;
        if let Some(reason) = behind.reason() {
            make_unavailable(
                view,
                Reason::MissingServer {
                    name: of,
                    because: Some(reason.to_string()),
                },
            );
        }
    }
    Ok(())
}

/// A server that needs another one cannot be used when that one cannot; and so on.
pub(super) fn requirements(servers: &mut BTreeMap<String, Server>) {
    loop {
        let broken: Vec<(String, Reason)> = servers
            .values()
            .filter(|server| server.is_ready())
            .filter_map(|server| {
                let needed = server
                    .requires_servers
                    .iter()
                    .find(|needed| servers.get(*needed).is_none_or(|needed| !needed.is_ready()))?;
                let because = servers
                    .get(needed)
                    .and_then(Server::reason)
                    .map(ToString::to_string);
                Some((
                    server.name.clone(),
                    Reason::MissingServer {
                        name: needed.clone(),
                        because,
                    },
                ))
            })
            .collect();
        if broken.is_empty() {
            return;
        }
        for (name, reason) in broken {
            if let Some(server) = servers.get_mut(&name) {
                make_unavailable(server, reason);
            }
        }
    }
}

/// The first reason stays.
fn make_unavailable(server: &mut Server, reason: Reason) {
    if server.is_ready() {
        server.availability = Availability::Unavailable { reason };
    }
}

fn place(server: &Server) -> Place {
    Place::File {
        path: server.origin.file.clone(),
        line: server.origin.line,
        column: 0,
    }
}
