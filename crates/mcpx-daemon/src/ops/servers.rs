//! Which servers there are: listing them, writing one into a file, taking one out.

mod entry;
mod files;
pub(super) mod settings;

use std::sync::Arc;

use mcp_wire::{Object, Raw};
use mcpx_api::{ApiError, Caller, Code, Params};
use mcpx_config::hint_apart;
use mcpx_config::write::{Draft, Saved, WriteError};
use mcpx_config::{Asked, Server};
use mcpx_store::trust::{Accepted, TrustFile};
use serde_json::{Value, json};

use self::files::{Scope, What, target};
use super::Reply;
use super::catalogue::state;
use crate::hub::Hub;
use crate::lifecycle::{reload, watching};
use crate::registry::Applied;
use crate::registry::upstream::Upstream;

/// The configured servers.
pub(super) fn list(hub: &Hub) -> Reply {
    let config = hub.config();
    let views = hub.registry.views();
    let servers: Vec<Raw> = views
        .by_name
        .values()
        .map(|upstream| row(upstream))
        .collect();
    let untrusted: Vec<Value> = config
        .untrusted
        .iter()
        .map(|one| {
            let (kind, name, text) = match &one.asked {
                Asked::Server { name, launch } => ("server", name, launch),
                Asked::Setting { path, text } => ("setting", path, text),
            };
            json!({"file": one.file, "line": one.line, "kind": kind, "name": name, "text": text, "digest": one.digest})
        })
        .collect();
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    Reply::json(
        Object::new()
            .with("servers", Raw::of(&servers))
            .with("untrusted", Raw::of(&untrusted))
            .with("warnings", Raw::of(&warnings)),
    )
}

/// A server without its secrets: of its environment and headers only the names.
fn row(upstream: &Upstream) -> Raw {
    let server: &Server = &upstream.server;
    let (word, why, hint) = state(upstream);
    let mut row = Object::new()
        .with("name", server.name.as_str())
        .with("namespace", server.namespace.as_str())
        .with("file", server.origin.file.to_string_lossy().as_ref())
        .with("line", Raw::of(&server.origin.line))
        .with("project", server.origin.is_project)
        .with("state", word)
        .with_some("error", why.as_deref())
        .with_some("hint", hint.as_deref());
    row.append(entry::reach(server));
    let ms = |duration: std::time::Duration| {
        Raw::of(&u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    };
    row.append(
        Object::new()
            .with_some("auth", server.auth.as_ref().map(mcpx_config::Auth::kind))
            .with("protocol", server.protocol.word())
            .with("sharing", server.sharing.word())
            .with("scope", server.scope.word())
            .with("max", Raw::of(&server.max))
            .with("min", Raw::of(&server.min))
            .with(
                "timeoutsMs",
                Object::new()
                    .with("start", ms(server.start_timeout))
                    .with("call", ms(server.call_timeout))
                    .with("idle", ms(server.idle_timeout)),
            )
            .with_some("description", server.description.as_deref())
            .with("profiles", Raw::of(&server.profiles))
            .with("default", server.default)
            .with("requiresSecrets", Raw::of(&server.requires_secrets))
            .with("requiresServers", Raw::of(&server.requires_servers))
            .with("unknownKeys", Raw::of(&server.unknown_keys))
            .with("pool", server.identity().as_str()),
    );
    Raw::from(row)
}

/// Writes a server into a file and takes it up.
pub(super) async fn add(
    hub: &Arc<Hub>,
    caller: &Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let name = params.required("name")?;
    let entry = entry::read(params)?;
    let file = target(hub, caller, Scope::read(params, "scope")?, What::Server)?;
    let replace = params.switch("replace");
    let (draft_file, entry_name) = (file.clone(), name.clone());
    let saved = on_disk(move || {
        let mut draft =
            Draft::open(&draft_file).map_err(|error| refused(&error, Code::Unprocessable))?;
        let servers = draft
            .servers()
            .map_err(|error| ApiError::new(Code::Unprocessable, error.to_string()))?;
        if !replace && servers.iter().any(|(known, _)| *known == entry_name) {
            return Err(ApiError::new(
                Code::Conflict,
                format!(
                    "`{}` is in {} already",
                    untrusted_text::terminal::one_line(&entry_name, 80),
                    draft_file.display()
                ),
            )
            .hint("`replace` replaces it whole"));
        }
        draft
            .put_server(&entry_name, &entry)
            .map_err(|error| refused(&error, Code::BadRequest))?;
        draft
            .save()
            .map_err(|error| refused(&error, Code::Unprocessable))
    })
    .await?;
    accept(
        hub,
        &saved,
        |asked| matches!(asked, Asked::Server { name: asked, .. } if *asked == name),
    )
    .await?;
    let applied = take_up(hub).await?;
    Ok(written(hub, &saved, &applied))
}

/// Takes one out of a file.
pub(super) async fn remove(
    hub: &Arc<Hub>,
    caller: &Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let name = params.required("name")?;
    let file = match Scope::read(params, "scope")? {
        Some(scope) => target(hub, caller, Some(scope), What::Server)?,
        None => origin(hub, &name)?,
    };
    let (draft_file, entry_name) = (file.clone(), name.clone());
    let saved = on_disk(move || {
        let mut draft =
            Draft::open(&draft_file).map_err(|error| refused(&error, Code::Unprocessable))?;
        let was_there = draft
            .remove_server(&entry_name)
            .map_err(|error| refused(&error, Code::Unprocessable))?;
        if !was_there {
            return Err(ApiError::not_found(format!(
                "`{}` is not in {}",
                untrusted_text::terminal::one_line(&entry_name, 80),
                draft_file.display()
            ))
            .hint("`mcpx servers list` shows the file of each"));
        }
        draft
            .save()
            .map_err(|error| refused(&error, Code::Unprocessable))
    })
    .await?;
    let applied = take_up(hub).await?;
    Ok(written(hub, &saved, &applied))
}

/// The file that a server is written in.
fn origin(hub: &Hub, name: &str) -> Result<std::path::PathBuf, ApiError> {
    let config = hub.config();
    let Some(server) = config.servers.get(name) else {
        let error = match hub.registry.views().find(name) {
            Ok(upstream) => ApiError::not_found(format!(
                "no server is called `{}`",
                untrusted_text::terminal::one_line(name, 80)
            ))
            .hint(format!("did you mean `{}`?", upstream.server.name)),
            Err(error) => ApiError {
                code: Code::NotFound,
                ..super::refused::api_error(&error)
            },
        };
        return Err(error);
    };
    if server.origin.line == 0 {
        return Err(ApiError::new(
            Code::Unprocessable,
            format!("`{name}` is built in and in no file"),
        ));
    }
    Ok(server.origin.file.clone())
}

/// What the person writes through the hub itself is accepted with that: the entries of this file that `is_it` says.
async fn accept(
    hub: &Arc<Hub>,
    saved: &Saved,
    is_it: impl Fn(&Asked) -> bool,
) -> Result<(), ApiError> {
    let Ok(config) = reload::read(hub, &hub.settings()) else {
        // What is wrong with it is said when it is taken up.
        return Ok(());
    };
    let same = |file: &std::path::Path| {
        file == saved.path || file.canonicalize().is_ok_and(|file| file == saved.path)
    };
    for one in config.untrusted {
        if !same(&one.file) || !is_it(&one.asked) {
            continue;
        }
        let name = match &one.asked {
            Asked::Server { name, .. } => name.clone(),
            Asked::Setting { path, .. } => path.clone(),
        };
        let entry = Accepted {
            file: one.file.clone(),
            at: hub.now(),
            name,
        };
        TrustFile::new(&hub.state)
            .trust(&one.digest, entry)
            .map_err(|error| ApiError::new(Code::Unprocessable, error.to_string()))?;
    }
    Ok(())
}

/// Takes the files up as they are now, and does not look at them again for that.
async fn take_up(hub: &Arc<Hub>) -> Result<Applied, ApiError> {
    let applied = reload::reload(hub).await?;
    watching::remember(hub);
    Ok(applied)
}

fn written(hub: &Hub, saved: &Saved, applied: &Applied) -> Reply {
    let mut document = files::as_document(saved);
    document.append(
        Object::new()
            .with("added", Raw::of(&applied.added))
            .with("removed", Raw::of(&applied.removed))
            .with("changed", Raw::of(&applied.changed))
            .with("namespaces", Raw::of(&hub.registry.views().namespaces())),
    );
    if let Some(note) = super::status::other_files(hub) {
        document.set("note", note.as_str());
    }
    Reply::json(document)
}

/// Why a file was not written, with the code of a wrong content.
fn refused(error: &WriteError, wrong: Code) -> ApiError {
    let text = error.to_string();
    let (message, hint) = hint_apart(&text);
    let code = match error {
        WriteError::Config(_) => wrong,
        WriteError::Changed { .. } | WriteError::Exists { .. } => Code::Conflict,
        WriteError::Io { .. } => Code::Unprocessable,
    };
    ApiError {
        hint: hint.map(str::to_owned),
        ..ApiError::new(code, message)
    }
}

/// Works with files, beside the runtime.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
        Err(ApiError::new(
            Code::Unavailable,
            "the file could not be written",
        ))
    })
}
