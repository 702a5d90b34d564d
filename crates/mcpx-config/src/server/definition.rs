//! Reads an entry of `mcpServers`.

mod auth_block;
mod mcpx_block;
mod reached;
mod reader;

#[cfg(test)]
pub(crate) use mcpx_block::BLOCK_KEYS;
use mcpx_block::PoolDefaults;
pub(crate) use mcpx_block::{PoolBlock, is_pool_key};
use reader::Reader;

use super::{
    Availability, Origin, Protocol, Reach, Reason, Scope, Secret, Server, Sharing,
    expand::Variables,
};
use crate::{
    ConfigError, Settings, Surroundings,
    error::quoted,
    files::{Entry, FileKind, Found, Kind, Node},
    settings::key,
};

/// Keys of an entry that decide what is started or contacted; the digest of what a person accepted covers them.
pub(crate) const LAUNCH_KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "transport",
    "type",
    "headers",
    "auth",
    "protocol",
    "aliasOf",
];

/// The other keys of an entry, besides those of the block `mcpx`.
const OTHER_KEYS: &[&str] = &["mcpx", "disabled", "enabled"];

/// Keys that mean something for a program, for a server on the network, for another view of a server.
const OF_A_PROGRAM: &[&str] = &["args", "env", "cwd"];
const OF_THE_NETWORK: &[&str] = &["headers", "transport", "type"];
const OF_WHAT_IS_REACHED: &[&str] = &["protocol"];

/// What an entry is read with.
pub(crate) struct Context<'a> {
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) settings: &'a Settings,
    pub(crate) pool: &'a PoolDefaults,
}

/// Says whether an entry drops the server of its name: `disabled`, or `"enabled": false` as some hosts write it.
pub(crate) fn is_disabled(entry: &Entry) -> bool {
    let is = |node: Option<&Node>, value| node.is_some_and(|node| node.kind == Kind::Bool(value));
    let is_true = |node: Option<&Node>| is(node, true);
    is_true(entry.value.get("disabled"))
        || is(entry.value.get("enabled"), false)
        || is_true(
            entry
                .value
                .get("mcpx")
                .and_then(|block| block.get("disabled")),
        )
}

/// The namespace that an entry says, or that its name makes.
pub(crate) fn namespace_of(entry: &Entry) -> String {
    let said = entry
        .value
        .get("mcpx")
        .and_then(|block| block.get("namespace"));
    match said.map(|said| &said.kind) {
        Some(Kind::Text(namespace)) => namespace.clone(),
        _ => mcpx_catalog::names::namespace(&entry.name),
    }
}

/// Reads an entry. With `is_trusted` false its variables stay as they are written, and the server cannot be used.
///
/// # Errors
///
/// With file, line and column: a value of the wrong kind, an unknown key in `mcpx`, not exactly one of `command`, `url`
/// and `aliasOf`.
pub(crate) fn read(
    entry: &Entry,
    found: &Found,
    context: &Context<'_>,
    is_trusted: bool,
) -> Result<Server, ConfigError> {
    let node = &entry.value.without_nulls();
    let file = found.path.as_path();
    if !matches!(node.kind, Kind::Object(_)) {
        return Err(ConfigError::new(
            node.place(file),
            format!("{} for the server {}", kind_of(node), quoted(&entry.name)),
            "an object with `command`, `url` or `aliasOf`",
        ));
    }
    let mut reader = Reader {
        file,
        variables: is_trusted.then_some(Variables {
            surroundings: context.surroundings,
            folder: &found.folder,
        }),
        reason: None,
        unread: Vec::new(),
    };
    let reach = reached::read(entry, node, found, &mut reader)?;
    for key in ["disabled", "enabled"] {
        // Read so that a value of the wrong kind is an error; what it says was seen before.
        reader.switch(node, key)?;
    }
    let auth = match node.get("auth") {
        None => None,
        Some(block) => Some(auth_block::read(block, &reach, &mut reader)?),
    };
    let empty = Node::empty_object();
    let block = mcpx_block::read(node.get("mcpx").unwrap_or(&empty), &mut reader)?;

    let settings = context.settings;
    let scope = match block.scope {
        Some(scope) => scope,
        None => Scope::from_word(settings.text(key::POOL_SCOPE)).unwrap_or(Scope::Global),
    };
    let sharing = match block.sharing {
        Some(sharing) => sharing,
        None => Sharing::from_word(settings.text(key::POOL_SHARING)).unwrap_or(Sharing::Shared),
    };
    let protocol = match reader.optional_text(node, "protocol")? {
        None => Protocol::from_word(settings.text(key::UPSTREAM_PROTOCOL))
            .unwrap_or(Protocol::PreferDiscover),
        Some(word) => Protocol::from_word(&word).ok_or_else(|| {
            let words: Vec<String> = Protocol::ALL
                .iter()
                .map(|protocol| format!("`{}`", protocol.word()))
                .collect();
            reader.wrong(
                node.get("protocol"),
                "protocol",
                &format!("one of {}", words.join(", ")),
            )
        })?,
    };
    let max = if scope == Scope::Global {
        1
    } else {
        block
            .max
            .unwrap_or_else(|| settings.int(key::POOL_MAX).max(1))
    };
    let min = block
        .min
        .unwrap_or_else(|| settings.int(key::POOL_MIN))
        .min(max);

    let mut requires_secrets = context.pool.requires_secrets.clone();
    requires_secrets.extend(block.requires_secrets);
    let mut unknown_keys: Vec<String> = node
        .entries()
        .iter()
        .filter(|entry| !has_meaning(entry, &reach))
        .map(|entry| entry.name.clone())
        .collect();
    unknown_keys.sort();

    /// The secrets that the entry takes from variables.
    fn looked_up(server: &Server, surroundings: &Surroundings) -> Vec<Secret> {
        let variables = Variables {
            surroundings,
            folder: &server.origin.folder,
        };
        let mut found = Vec::new();
        let mut values = vec![&server.written.0];
        while let Some(value) = values.pop() {
            match value {
                serde_json::Value::String(text) => found.extend(variables.secrets_in(text)),
                serde_json::Value::Array(parts) => values.extend(parts),
                serde_json::Value::Object(members) => values.extend(members.values()),
                _ => {}
            }
        }
        let of_tools = server.preconditions.values();
        let of_tools = of_tools.flat_map(|precondition| &precondition.requires_secrets);
        let required = server.requires_secrets.iter().chain(of_tools);
        found.extend(required.filter_map(|name| surroundings.env.get(name).cloned()));
        found.into_iter().map(Secret::new).collect()
    }

    let mut server = Server {
        name: entry.name.clone(),
        namespace: namespace_of(entry),
        origin: Origin {
            file: found.path.clone(),
            line: entry.line,
            folder: found.folder.clone(),
            is_project: found.kind == FileKind::Project,
        },
        reach,
        auth,
        protocol,
        sharing,
        scope,
        max,
        min,
        idle_timeout: block
            .idle_timeout
            .unwrap_or_else(|| settings.duration(key::POOL_IDLE_TIMEOUT)),
        call_timeout: block
            .call_timeout
            .unwrap_or_else(|| settings.duration(key::POOL_CALL_TIMEOUT)),
        start_timeout: block
            .start_timeout
            .unwrap_or_else(|| settings.duration(key::POOL_START_TIMEOUT)),
        description: block.description,
        prelude: block.prelude.or_else(|| context.pool.prelude.clone()),
        profiles: block
            .profiles
            .unwrap_or_else(|| context.pool.profiles.clone()),
        default: block.default.unwrap_or(context.pool.default),
        tools: context
            .pool
            .filter(block.tools, block.extra_include_tools, block.exclude_tools),
        requires_secrets,
        requires_servers: block.requires_servers,
        preconditions: block.preconditions,
        log_level: block.log_level,
        unknown_keys,
        unread: std::mem::take(&mut reader.unread),
        single_caller_questions: sharing == Sharing::Exclusive || scope == Scope::Call,
        availability: Availability::Ready,
        written: super::Written(node.to_json()),
        looked_up: Vec::new(),
        alias_identity: None,
    };
    server.looked_up = looked_up(&server, context.surroundings);
    server.availability = if is_trusted {
        match reader
            .reason
            .or_else(|| missing_secret(&server, context.surroundings))
        {
            None => Availability::Ready,
            Some(reason) => Availability::Unavailable { reason },
        }
    } else {
        Availability::Unavailable {
            reason: Reason::Untrusted {
                file: found.path.clone(),
                line: entry.line,
            },
        }
    };
    Ok(server)
}

/// What a value is, without a text that may be a secret, such as a URL with one in it.
fn kind_of(node: &Node) -> String {
    match node.kind {
        Kind::Text(_) => "a text".to_owned(),
        _ => node.described(),
    }
}

/// Says whether a key does anything for a server that is reached in this way.
fn has_meaning(entry: &Entry, reach: &Reach) -> bool {
    let name = entry.name.as_str();
    if !LAUNCH_KEYS.contains(&name) {
        return OTHER_KEYS.contains(&name);
    }
    match reach {
        // Hosts say so of programs, and it is what they are.
        Reach::Stdio { .. } if matches!(name, "transport" | "type") => {
            matches!(&entry.value.kind, Kind::Text(word) if matches!(word.as_str(), "stdio" | "local"))
        }
        Reach::Stdio { .. } => !OF_THE_NETWORK.contains(&name),
        Reach::Http { .. } => !OF_A_PROGRAM.contains(&name),
        Reach::Alias { .. } => ![OF_A_PROGRAM, OF_THE_NETWORK, OF_WHAT_IS_REACHED]
            .concat()
            .contains(&name),
    }
}

fn missing_secret(server: &Server, surroundings: &Surroundings) -> Option<Reason> {
    let own = server.sent_env();
    server
        .requires_secrets
        .iter()
        .find(|name| {
            surroundings.variable(name).is_none()
                && own.get(*name).is_none_or(|value| value.is_empty())
        })
        .map(|name| Reason::MissingSecret { name: name.clone() })
}

#[cfg(test)]
mod tests;
