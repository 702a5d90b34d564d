//! How an entry is reached: the program, the URL, or the server that it is another view of.

use std::{collections::BTreeMap, path::Path};

use super::reader::Reader;
use crate::{
    ConfigError, Reach, Transport,
    error::quoted,
    files::{Entry, FileKind, Found, Node},
};

/// Reads it. `node` is the entry without what is `null`.
pub(super) fn read(
    entry: &Entry,
    node: &Node,
    found: &Found,
    reader: &mut Reader<'_>,
) -> Result<Reach, ConfigError> {
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
            let error = ConfigError::new(
                entry.place(reader.file),
                format!("{said} in the server {}", quoted(&entry.name)),
                "one of `command`, `url` and `aliasOf`",
            );
            let other = ["serverUrl", "httpUrl"]
                .into_iter()
                .find(|key| present.is_empty() && node.get(key).is_some());
            Err(match other {
                Some(key) => error.with_hint(format!("`{key}` of other hosts is `url` here")),
                None => error,
            })
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
        command: program(command, cwd.as_deref().unwrap_or(&found.folder), reader),
        args,
        env,
        cwd,
    })
}

/// A path to a program is one from the folder that it runs in, as for whoever starts it by hand there; a name is looked up.
fn program(command: String, folder: &Path, reader: &Reader<'_>) -> String {
    let is_path = command.contains('/') || cfg!(windows) && command.contains('\\');
    if reader.variables.is_none() || !is_path {
        return command;
    }
    let path = home_or(&command, reader);
    let path = path.strip_prefix(".").unwrap_or(&path);
    folder.join(path).to_string_lossy().into_owned()
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
    let is_ours = node.get("transport").is_some();
    let key = if is_ours { "transport" } else { "type" };
    let word = reader.plain_text(node, key)?;
    let transport = match word.as_deref().map(Transport::from_word) {
        None => Transport::Http,
        Some(Some(transport)) => transport,
        Some(None) if is_ours => {
            return Err(reader.wrong(node.get(key), key, "`http` or `sse`"));
        }
        // Another host knows more kinds, and its list is no mistake.
        Some(None) => {
            let word = quoted(&word.unwrap_or_default());
            reader.unavailable(key, format!("it is {word}; expected `http` or `sse`"));
            Transport::Http
        }
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
