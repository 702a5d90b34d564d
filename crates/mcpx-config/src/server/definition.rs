//! Reads an entry of `mcpServers`.

mod auth_block;
mod mcpx_block;
mod reader;

use std::{collections::BTreeMap, path::Path};

#[cfg(test)]
pub(crate) use mcpx_block::BLOCK_KEYS;
use mcpx_block::PoolDefaults;
pub(crate) use mcpx_block::{PoolBlock, is_pool_key};
use reader::Reader;

use super::{
    Availability, Origin, Protocol, Reach, Reason, Scope, Secret, Server, Sharing, Transport,
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
const OTHER_KEYS: &[&str] = &["mcpx", "disabled"];

/// What an entry is read with.
pub(crate) struct Context<'a> {
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) settings: &'a Settings,
    pub(crate) pool: &'a PoolDefaults,
}

/// Says whether an entry drops the server of its name.
pub(crate) fn is_disabled(entry: &Entry) -> bool {
    let is_true = |node: Option<&Node>| node.is_some_and(|node| node.kind == Kind::Bool(true));
    is_true(entry.value.get("disabled"))
        || is_true(
            entry
                .value
                .get("mcpx")
                .and_then(|block| block.get("disabled")),
        )
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
    let node = &entry.value;
    let file = found.path.as_path();
    if !matches!(node.kind, Kind::Object(_)) {
        return Err(ConfigError::new(
            node.place(file),
            format!(
                "{} for the server {}",
                node.described(),
                quoted(&entry.name)
            ),
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
    };
    let reach = reach(entry, found, &mut reader)?;
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
        .filter(|entry| {
            let name = entry.name.as_str();
            !LAUNCH_KEYS.contains(&name) && !OTHER_KEYS.contains(&name)
        })
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
        namespace: block
            .namespace
            .unwrap_or_else(|| mcpx_catalog::names::namespace(&entry.name)),
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
        single_caller_questions: sharing == Sharing::Exclusive
            || matches!(scope, Scope::Call | Scope::Pid | Scope::Session),
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

fn reach(entry: &Entry, found: &Found, reader: &mut Reader<'_>) -> Result<Reach, ConfigError> {
    let node = &entry.value;
    let present: Vec<&str> = ["command", "url", "aliasOf"]
        .into_iter()
        .filter(|key| node.get(key).is_some())
        .collect();
    match present.as_slice() {
        ["command"] => stdio(node, found, reader),
        ["url"] => http(node, reader),
        ["aliasOf"] => Ok(Reach::Alias {
            of: reader.plain_text(node, "aliasOf")?.unwrap_or_default(),
        }),
        present => {
            let said = if present.is_empty() {
                "nothing that says how it is reached".to_owned()
            } else {
                present
                    .iter()
                    .map(|key| format!("`{key}`"))
                    .collect::<Vec<_>>()
                    .join(" and ")
            };
            Err(ConfigError::new(
                entry.place(reader.file),
                format!("{said} in the server {}", quoted(&entry.name)),
                "one of `command`, `url` and `aliasOf`",
            ))
        }
    }
}

fn stdio(node: &Node, found: &Found, reader: &mut Reader<'_>) -> Result<Reach, ConfigError> {
    let command = reader.optional_text(node, "command")?.unwrap_or_default();
    let args = reader.texts(node, "args")?.unwrap_or_default();
    let env: BTreeMap<String, String> = reader.pairs(node, "env")?.into_iter().collect();
    let cwd = reader.optional_text(node, "cwd")?;
    if command.trim().is_empty() {
        reader.unavailable("command", "it is empty".to_owned());
    }
    for (at, arg) in args.iter().enumerate() {
        if arg.contains('\0') {
            reader.unavailable(&format!("args[{at}]"), "it holds a zero byte".to_owned());
        } else if cfg!(windows) && arg.contains(['\r', '\n']) {
            reader.unavailable(&format!("args[{at}]"), "it holds a line break".to_owned());
        }
    }
    for (name, value) in &env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            reader.unavailable(&format!("env.{name}"), "it cannot be a variable".to_owned());
        }
    }
    let cwd = match cwd {
        Some(cwd) => Some(found.folder.join(home_or(&cwd, reader))),
        // What a project starts, it starts in its own folder, as other hosts do.
        None if found.kind == FileKind::Project => Some(found.folder.clone()),
        None => None,
    };
    Ok(Reach::Stdio {
        command,
        args,
        env,
        cwd,
    })
}

/// A path with `~/` at its start led to the home directory.
fn home_or(path: &str, reader: &Reader<'_>) -> std::path::PathBuf {
    let home = reader
        .variables
        .and_then(|variables| variables.surroundings.home.as_deref());
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => Path::new(path).to_owned(),
    }
}

fn http(node: &Node, reader: &mut Reader<'_>) -> Result<Reach, ConfigError> {
    let url = reader.optional_text(node, "url")?.unwrap_or_default();
    let headers = reader.pairs(node, "headers")?;
    let key = if node.get("transport").is_some() {
        "transport"
    } else {
        "type"
    };
    let transport = match reader.plain_text(node, key)?.as_deref() {
        None | Some("http" | "streamable-http" | "streamableHttp" | "remote") => Transport::Http,
        Some("sse") => Transport::Sse,
        Some(_) => return Err(reader.wrong(node.get(key), key, "`http` or `sse`")),
    };
    if reader.variables.is_some() && reader.reason.is_none() {
        match url::Url::parse(&url) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {}
            Ok(url) => reader.unavailable(
                "url",
                format!(
                    "the scheme {}; expected `http` or `https`",
                    quoted(url.scheme())
                ),
            ),
            Err(error) => reader.unavailable("url", format!("it is no URL: {error}")),
        }
    }
    for (name, value) in &headers {
        reader.check_header(&format!("headers.{name}"), name, value);
    }
    Ok(Reach::Http {
        url,
        transport,
        headers,
    })
}

#[cfg(test)]
mod tests;
