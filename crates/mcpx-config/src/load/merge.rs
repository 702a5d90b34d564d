//! The servers of all files: of each name the nearest entry, whole.

use std::collections::BTreeMap;

use super::{DIGEST_CHARS, Read, trusted};
use crate::{
    ConfigError, Place, Server, Trust, Untrusted, Warning,
    digest::Digest,
    error::{quoted, quoted_path},
    files::{self, Entry, FileKind, Found, Kind},
    server::{self, Context},
};

/// What became of a name so far, from the nearest file on.
enum Fate<'a> {
    /// A nearer file drops it.
    Dropped,
    /// A project's entry that may not be taken: a farther one still can.
    Waiting(&'a Entry, &'a Found),
    /// It is this one.
    Taken(Box<Server>),
}

/// The servers of the files, nearest first.
pub(super) fn servers(
    read: &[Read],
    context: &Context<'_>,
    trust: &Trust,
    untrusted: &mut Vec<Untrusted>,
    warnings: &mut Vec<Warning>,
) -> Result<BTreeMap<String, Server>, ConfigError> {
    let mut fates: BTreeMap<&str, Fate<'_>> = BTreeMap::new();
    for file in read {
        for entry in entries(file)? {
            let name = entry.name.as_str();
            let waiting = match fates.get(name) {
                None => None,
                Some(Fate::Waiting(waiting, found)) => Some((*waiting, *found)),
                Some(Fate::Dropped | Fate::Taken(_)) => continue,
            };
            let fate = if server::is_disabled(entry) {
                Fate::Dropped
            } else if trusted::server(entry, file, trust, untrusted) {
                Fate::Taken(Box::new(server::read(entry, &file.found, context, true)?))
            } else if waiting.is_some() {
                continue;
            } else {
                Fate::Waiting(entry, &file.found)
            };
            if let Some((waiting, found)) = waiting {
                warnings.push(passed_over(waiting, found, &fate));
            }
            fates.insert(name, fate);
        }
    }
    let mut servers = BTreeMap::new();
    for (name, fate) in fates {
        match fate {
            Fate::Dropped => {}
            Fate::Taken(server) => {
                servers.insert(name.to_owned(), *server);
            }
            Fate::Waiting(entry, found) => {
                servers.insert(name.to_owned(), server::read(entry, found, context, false)?);
            }
        }
    }
    Ok(servers)
}

fn entries(file: &Read) -> Result<&[Entry], ConfigError> {
    match file.root.get("mcpServers") {
        None => Ok(&[]),
        Some(node) => match &node.kind {
            Kind::Object(entries) => Ok(entries),
            _ => Err(ConfigError::new(
                node.place(&file.found.path),
                format!("{} for `mcpServers`", node.described()),
                "an object from a name to a server",
            )),
        },
    }
}

/// A project's entry of a name that a farther file has too.
fn passed_over(waiting: &Entry, found: &Found, fate: &Fate<'_>) -> Warning {
    let instead = match fate {
        Fate::Taken(server) => format!(
            "the one of {}:{} is used",
            quoted_path(&server.origin.file),
            server.origin.line
        ),
        Fate::Dropped | Fate::Waiting(..) => "it stays switched off".to_owned(),
    };
    Warning {
        place: waiting.place(&found.path),
        message: format!(
            "the server {} of this project was not accepted; {instead}\nhint: read it, then run `mcpx servers trust`",
            quoted(&waiting.name)
        ),
    }
}

/// The built-in server, for `--demo`.
pub(super) fn demo(context: &Context<'_>) -> Result<BTreeMap<String, Server>, ConfigError> {
    let exe = context.surroundings.exe.clone();
    let entry = serde_json::json!({
        "demo": {
            "command": exe.to_string_lossy(),
            "args": ["demo-server"],
            "mcpx": {"description": "A server to try the hub with"},
        }
    });
    let root = files::parse(&entry.to_string(), &exe)?;
    let found = Found {
        path: exe.clone(),
        resolved: exe,
        folder: context.surroundings.cwd.clone(),
        kind: FileKind::User,
    };
    root.entries()
        .iter()
        .map(|entry| {
            let mut server = server::read(entry, &found, context, true)?;
            server.origin.line = 0;
            Ok((entry.name.clone(), server))
        })
        .collect()
}

/// The keys of entries that mean nothing here.
pub(super) fn unknown_of_servers(servers: &BTreeMap<String, Server>) -> Vec<Warning> {
    servers
        .values()
        .flat_map(|server| {
            let name = quoted(&server.name);
            let keys = server.unknown_keys.iter();
            let keys =
                keys.map(|key| format!("{} of the server {name} means nothing here", quoted(key)));
            let unread = server.unread.iter().map(|(key, text)| {
                format!(
                    "{} in {} of the server {name} is no reference that is known here, and stays as it is; `$${{` says so",
                    quoted(text),
                    quoted(key)
                )
            });
            let place = Place::File {
                path: server.origin.file.clone(),
                line: server.origin.line,
                column: 0,
            };
            let messages: Vec<String> = keys.chain(unread).collect();
            messages.into_iter().map(move |message| Warning {
                place: place.clone(),
                message,
            })
        })
        .collect()
}

/// A digest of what the servers are, as written and as expanded.
pub(super) fn hash(servers: &BTreeMap<String, Server>) -> String {
    let mut digest = Digest::new();
    for (name, server) in servers {
        digest
            .part(name)
            .part(&server.namespace)
            .part(server.identity())
            .part(if server.is_ready() { "ready" } else { "not" })
            .json(&server.written.0);
    }
    digest.hex(DIGEST_CHARS)
}
