//! The settings: value, where it comes from, what it displaced; changed now, or in a file.

use std::sync::Arc;

use mcp_wire::json::Kind as JsonKind;
use mcp_wire::{Object, Raw};
use mcpx_api::{ApiError, Caller, Code, Params};
use mcpx_config::hint_apart;
use mcpx_config::settings::registry::{SETTINGS, Setting, SettingScope};
use mcpx_config::settings::{Resolved, Source};
use mcpx_config::write::Draft;
use mcpx_config::{Asked, Settings};

use super::files::{self, Scope, What, target};
use super::{Reply, accept, on_disk, refused, take_up};
use crate::hub::Hub;
use crate::lifecycle::reload;

/// Where a change is kept.
enum Persist {
    /// Until the daemon ends.
    Runtime,
    /// In a file.
    File(Scope),
}

fn persist(params: &Params) -> Result<Persist, ApiError> {
    match params.text("persist").as_deref() {
        None | Some("runtime") => Ok(Persist::Runtime),
        Some("project" | "user") => {
            let scope = Scope::read(params, "persist")?.unwrap_or(Scope::User);
            Ok(Persist::File(scope))
        }
        Some(other) => Err(ApiError::bad(format!(
            "`persist` was `{}`, expected `runtime`, `project` or `user`",
            untrusted_text::terminal::one_line(other, 40)
        ))),
    }
}

/// The settings.
pub(in crate::ops) fn list(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    const SCOPES: [SettingScope; 3] = [
        SettingScope::Daemon,
        SettingScope::Client,
        SettingScope::Call,
    ];
    let scope = match params.text("scope") {
        None => None,
        Some(word) => Some(
            SCOPES
                .into_iter()
                .find(|scope| scope.word() == word)
                .ok_or_else(|| {
                    ApiError::bad(format!(
                        "`scope` was `{}`, expected `daemon`, `client` or `call`",
                        untrusted_text::terminal::one_line(&word, 40)
                    ))
                })?,
        ),
    };
    let (changed, plumbing) = (params.switch("changed"), params.switch("plumbing"));
    let settings = hub.settings();
    let rows: Vec<Raw> = settings
        .all()
        .filter(|(setting, resolved)| {
            scope.is_none_or(|scope| setting.scope == scope)
                && (plumbing || !setting.plumbing || resolved.source != Source::Default)
                && (!changed || resolved.source != Source::Default)
        })
        .map(|(setting, resolved)| Raw::from(record(setting, resolved)))
        .collect();
    Ok(Reply::of(&rows))
}

/// One setting.
pub(in crate::ops) fn get(hub: &Hub, params: &Params) -> Result<Reply, ApiError> {
    let setting = known(&params.required("path")?)?;
    Ok(Reply::json(shown(&hub.settings(), setting)))
}

fn shown(settings: &Settings, setting: &'static Setting) -> Object {
    settings
        .get(setting.path)
        .map(|resolved| record(setting, resolved))
        .unwrap_or_default()
}

/// Sets one.
pub(in crate::ops) async fn set(
    hub: &Arc<Hub>,
    caller: &Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let setting = known(&params.required("path")?)?;
    let text = text_of(params.get("value").ok_or_else(|| {
        ApiError::bad("`value` was null, expected a value; DELETE takes a setting back")
    })?)?;
    match persist(params)? {
        Persist::Runtime => {
            let _single = hub.reloading.lock().await;
            let mut settings = Settings::clone(&hub.settings());
            let applied = settings
                .set_runtime(setting.path, &text)
                .map_err(|error| ApiError::bad(error.to_string()))?;
            let note = if applied.applied {
                take(hub, &settings).await
            } else {
                applied.note
            };
            Ok(answer(
                hub,
                setting,
                applied.applied,
                applied.restart_required,
                note,
                None,
            ))
        }
        Persist::File(scope) => {
            // The same check as for one that is not written.
            Settings::clone(&hub.settings())
                .set_runtime(setting.path, &text)
                .map_err(|error| ApiError::bad(error.to_string()))?;
            write(hub, caller, setting, scope, Some(text)).await
        }
    }
}

/// Takes one back.
pub(in crate::ops) async fn unset(
    hub: &Arc<Hub>,
    caller: &Caller,
    params: &Params,
) -> Result<Reply, ApiError> {
    let setting = known(&params.required("path")?)?;
    match persist(params)? {
        Persist::Runtime => {
            let _single = hub.reloading.lock().await;
            let mut settings = Settings::clone(&hub.settings());
            let was_set = settings.unset_runtime(setting.path);
            let note = if was_set {
                take(hub, &settings).await
            } else {
                Some("it was not changed while the daemon runs".to_owned())
            };
            Ok(answer(hub, setting, was_set, false, note, None))
        }
        Persist::File(scope) => write(hub, caller, setting, scope, None).await,
    }
}

/// Takes up settings that were changed while the daemon runs, with the servers that go by them. Returns what to know.
async fn take(hub: &Arc<Hub>, settings: &Settings) -> Option<String> {
    match reload::read(hub, settings) {
        Ok(config) => {
            reload::take(hub, Arc::new(config)).await;
            None
        }
        Err(error) => {
            // The files are broken at the moment: the setting holds, the servers stay as they are.
            let mut config = (*hub.config()).clone();
            config.settings = settings.clone();
            reload::take(hub, Arc::new(config)).await;
            hub.set_config_error(Some(error.to_string()));
            Some("servers take their sizes and deadlines from it once the configuration files can be read again".to_owned())
        }
    }
}

/// Writes a setting into a file, or takes it out of one.
async fn write(
    hub: &Arc<Hub>,
    caller: &Caller,
    setting: &'static Setting,
    scope: Scope,
    text: Option<String>,
) -> Result<Reply, ApiError> {
    let file = target(hub, caller, Some(scope), What::Setting)?;
    let path = setting.path;
    let is_set = text.is_some();
    let before = hub
        .settings()
        .get(path)
        .map(|resolved| resolved.value.clone());
    let saved = on_disk(move || {
        let mut draft = Draft::open(&file).map_err(|error| refused(&error, Code::Unprocessable))?;
        match text {
            Some(text) => draft
                .set_setting(path, &text)
                .map_err(|error| refused(&error, Code::BadRequest))?,
            None => {
                draft
                    .unset_setting(path)
                    .map_err(|error| refused(&error, Code::Unprocessable))?;
                if !draft.is_changed() {
                    return Err(ApiError::not_found(format!(
                        "`{path}` is not in {}",
                        file.display()
                    )));
                }
            }
        }
        draft
            .save()
            .map_err(|error| refused(&error, Code::Unprocessable))
    })
    .await?;
    accept(hub, &saved, |asked| {
        matches!(asked, Asked::Setting { path: asked, .. } if setting.path == asked
            || setting.path.strip_prefix("pool.") == Some(asked.as_str()))
    })
    .await?;
    take_up(hub).await?;
    let settings = hub.settings();
    let now = settings.get(path);
    let from_file = now.is_some_and(|now| {
        matches!(&now.source, Source::File { path, .. }
            if *path == saved.path || path.canonicalize().is_ok_and(|path| path == saved.path))
    });
    let changes = now.map(|now| &now.value) != before.as_ref();
    let (applied, restart, note) = match (setting.scope, setting.hot) {
        (SettingScope::Client, _) => (
            false,
            false,
            Some("each command reads it for itself: it holds for the next one".to_owned()),
        ),
        _ if is_set && !from_file => (
            false,
            false,
            now.map(|now| format!("it is written, and {} goes over it", now.source)),
        ),
        (_, true) => (true, false, None),
        (_, false) if changes => (
            false,
            true,
            Some("it is read once, at the start: `mcpx daemon restart` takes it up".to_owned()),
        ),
        (_, false) => (true, false, None),
    };
    let note = note.or_else(|| crate::ops::status::other_files(hub));
    Ok(answer(
        hub,
        setting,
        applied,
        restart,
        note,
        Some(files::as_document(&saved)),
    ))
}

/// The setting as it is now, and what became of the change.
fn answer(
    hub: &Hub,
    setting: &'static Setting,
    applied: bool,
    restart_required: bool,
    note: Option<String>,
    saved: Option<Object>,
) -> Reply {
    let mut document = shown(&hub.settings(), setting)
        .with("applied", applied)
        .with("restartRequired", restart_required)
        .with_some("note", note);
    if let Some(saved) = saved {
        document.set("file", saved);
    }
    Reply::json(document)
}

/// A setting with its value and its history.
fn record(setting: &Setting, resolved: &Resolved) -> Object {
    let shadowed: Vec<Raw> = resolved
        .shadowed
        .iter()
        .map(|one| {
            Raw::from(
                Object::new()
                    .with("value", Raw::of(&one.value.to_json()))
                    .with("source", one.source.to_string().as_str()),
            )
        })
        .collect();
    let aliases = |all: Vec<String>| Raw::of(&all.into_iter().skip(1).collect::<Vec<_>>());
    let mut document = Object::new()
        .with("path", setting.path)
        .with("kind", setting.kind.word())
        .with("value", Raw::of(&resolved.value.to_json()))
        .with("default", setting.default)
        .with("source", resolved.source.to_string().as_str())
        .with("shadowed", Raw::of(&shadowed))
        .with("env", setting.variable().as_str())
        .with("envAliases", aliases(setting.variables()))
        .with("flag", setting.flag().as_str())
        .with("flagAliases", aliases(setting.flags_all()))
        .with("scope", setting.scope.word())
        .with("hot", setting.hot)
        .with("plumbing", setting.plumbing)
        .with("help", setting.help);
    if !setting.choices.is_empty() {
        document.set("enum", Raw::of(setting.choices));
        let aliases: std::collections::BTreeMap<&str, &str> =
            setting.choice_aliases.iter().copied().collect();
        document.set("enumAliases", Raw::of(&aliases));
    }
    document
}

/// The setting of a path, or the nearest names.
fn known(path: &str) -> Result<&'static Setting, ApiError> {
    SETTINGS
        .iter()
        .find(|setting| setting.path == path)
        .ok_or_else(|| {
            // The same words as everywhere else.
            let error = Settings::defaults()
                .set_runtime(path, "")
                .err()
                .map_or_else(
                    || "there is no such setting".to_owned(),
                    |error| error.to_string(),
                );
            match hint_apart(&error) {
                (message, Some(hint)) => ApiError::not_found(message).hint(hint),
                (message, None) => ApiError::not_found(message),
            }
        })
}

/// A value as the text that files, variables and flags would have.
fn text_of(value: &Raw) -> Result<String, ApiError> {
    match value.kind() {
        JsonKind::String => Ok(value.string().unwrap_or_default()),
        JsonKind::Array => {
            let texts: Vec<String> = value
                .read()
                .map_err(|_| ApiError::bad("`value` was a list with something else than text"))?;
            if let Some(text) = texts.iter().find(|text| text.contains(',')) {
                return Err(ApiError::bad(format!(
                    "`{}` in the list holds a comma, which stands between two",
                    untrusted_text::terminal::one_line(text, 60)
                )));
            }
            Ok(texts.join(","))
        }
        _ => Ok(value.as_str().to_owned()),
    }
}
