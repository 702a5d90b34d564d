//! `mcpx settings list` and `get`: each setting as whoever reads it has it.
//!
//! What the daemon reads is asked of the daemon that runs, because it may have been changed there; what this command reads
//! is its own. No daemon is started for it: without one, all are as they would be.

use mcp_wire::{Object, Raw};
use mcpx_api::Op;
use mcpx_config::settings::registry::{Setting, SettingScope, by_path};
use mcpx_config::settings::{Resolved, Source};

use super::Desk;
use super::from_table::{members, shown};
use crate::args::from_table::text;
use crate::exit::{Exit, Failure};

/// Lists them.
pub(super) async fn list(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let matches = &desk.typed.matches;
    let params = crate::args::from_table::params(
        mcpx_api::operation(Op::SettingsList),
        matches,
        &desk.config.settings,
    )?;
    // Which of the daemon's are changed is for the daemon to say; a wrong scope too.
    let everything = params
        .without(&["changed", "plumbing", "scope"])
        .with("plumbing", true);
    let running = desk
        .hub()?
        .ask_running(Op::SettingsList, &everything)
        .await?;
    let theirs = match running {
        Some(answer) => members(Some(&answer.json()?)),
        None => Vec::new(),
    };
    let scope = text(matches, "scope");
    if let Some(scope) = &scope
        && !["daemon", "client", "call"].contains(&scope.as_str())
    {
        return Err(Failure::usage(format!(
            "`--scope` was `{}`, expected `daemon`, `client` or `call`",
            untrusted_text::terminal::one_line(scope, 40)
        )));
    }
    let is_on = |name: &str| params.get(name).and_then(Raw::boolean) == Some(true);
    let (changed, plumbing) = (is_on("changed"), is_on("plumbing"));
    let rows: Vec<Raw> = desk
        .config
        .settings
        .all()
        .filter(|(setting, _)| {
            scope
                .as_deref()
                .is_none_or(|scope| setting.scope.word() == scope)
        })
        .map(|(setting, resolved)| (setting, row(setting, resolved, &theirs)))
        .filter(|(setting, row)| {
            let is_default = row.string("source").as_deref() == Some("default");
            !is_default || !(changed || setting.plumbing && !plumbing)
        })
        .map(|(_, row)| Raw::from(row))
        .collect();
    let document = Raw::of(&rows);
    if desk.printer.json {
        desk.printer.document(&document)?;
    } else {
        shown::settings(desk, &document)?;
    }
    Ok(Exit::Ok)
}

/// Shows one.
pub(super) async fn get(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let path = text(&desk.typed.matches, "path").unwrap_or_default();
    let own = by_path(&path).and_then(|setting| Some((setting, desk.config.settings.get(&path)?)));
    let params = Object::new().with("path", path.as_str());
    let document = match own {
        Some((setting, resolved)) => {
            let theirs = if is_own(setting, resolved) {
                None
            } else {
                desk.hub()?.ask_running(Op::SettingsGet, &params).await?
            };
            let theirs = match theirs {
                Some(answer) => vec![super::call::object(&answer.json()?)?],
                None => Vec::new(),
            };
            Raw::from(row(setting, resolved, &theirs))
        }
        None => {
            // The nearest one is named by whoever knows them.
            let mut settings = desk.config.settings.clone();
            let Err(error) = settings.set_runtime(&path, "") else {
                return Err(Failure::failed(format!("`{path}` cannot be read")));
            };
            return Err(Failure::with_hint_lines(Exit::Usage, &error.to_string()));
        }
    };
    desk.print(&document)?;
    Ok(Exit::Ok)
}

/// Whether this command's value counts: it reads the setting itself, or sends its value along.
fn is_own(setting: &Setting, resolved: &Resolved) -> bool {
    match setting.scope {
        SettingScope::Client => true,
        SettingScope::Daemon => false,
        SettingScope::Call => matches!(
            resolved.source,
            Source::Variable(_) | Source::Preset(_) | Source::Flag(_)
        ),
    }
}

/// The daemon's row, or our own when it does not read the setting or none runs.
fn row(setting: &'static Setting, resolved: &Resolved, theirs: &[Object]) -> Object {
    if !is_own(setting, resolved)
        && let Some(row) = theirs
            .iter()
            .find(|row| row.string("path").as_deref() == Some(setting.path))
    {
        return row.clone();
    }
    let shadowed: Vec<Raw> = resolved
        .shadowed
        .iter()
        .map(|below| {
            Raw::from(
                Object::new()
                    .with("value", below.value.to_json())
                    .with("source", below.source.to_string()),
            )
        })
        .collect();
    let row = Object::new()
        .with("path", setting.path)
        .with("kind", setting.kind.word())
        .with("value", resolved.value.to_json())
        .with("default", setting.default)
        .with("source", resolved.source.to_string())
        .with("shadowed", Raw::of(&shadowed))
        .with("env", setting.variable())
        .with("envAliases", Raw::of(setting.env_aliases))
        .with("flag", setting.flag())
        .with("flagAliases", Raw::of(setting.flag_aliases))
        .with("scope", setting.scope.word())
        .with("hot", setting.hot)
        .with("plumbing", setting.plumbing)
        .with("help", setting.help);
    if setting.choices.is_empty() {
        return row;
    }
    row.with("enum", Raw::of(setting.choices))
}
