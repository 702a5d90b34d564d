//! Which file a change is written into.

use std::path::{Path, PathBuf};

use mcp_wire::Object;
use mcpx_api::{ApiError, Caller, Code, Params};
use mcpx_config::files::{FileKind, search};
use mcpx_config::write::Saved;

use crate::hub::Hub;
use crate::lifecycle::watching::place;

/// The file of a project in which a server is written first when it has none: the one that other hosts read too.
const OF_PROJECT: &str = ".mcp.json";
/// The file of a person, in their configuration folder.
const OF_USER: &str = "mcpx/config.json";

/// Whose file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The nearest of the project.
    Project,
    /// The person's own.
    User,
}

impl Scope {
    /// Reads a parameter.
    ///
    /// # Errors
    /// When it is neither of the two.
    pub(super) fn read(params: &Params, name: &str) -> Result<Option<Self>, ApiError> {
        match params.text(name).as_deref() {
            None => Ok(None),
            Some("project") => Ok(Some(Self::Project)),
            Some("user") => Ok(Some(Self::User)),
            Some(other) => Err(ApiError::bad(format!(
                "`{name}` was `{}`, expected `project` or `user`",
                untrusted_text::terminal::one_line(other, 40)
            ))),
        }
    }
}

/// The file to write into; without a scope the person's own. One that was named for this daemon is the only one.
///
/// # Errors
/// When there is no such place.
pub(super) fn target(
    hub: &Hub,
    caller: &Caller,
    scope: Option<Scope>,
) -> Result<PathBuf, ApiError> {
    if hub.choice.demo {
        return Err(ApiError::new(
            Code::Unprocessable,
            "this daemon was started with `--demo` and reads no file",
        ));
    }
    let place = place(hub);
    let cwd = &hub.surroundings.cwd;
    if let Some(only) = place.only {
        return Ok(cwd.join(only));
    }
    let found = search(&hub.surroundings, &place)
        .map_err(|error| ApiError::new(Code::Unprocessable, error.to_string()))?;
    let (kind, fresh) = match scope.unwrap_or(Scope::User) {
        Scope::Project => (
            FileKind::Project,
            Some(project(cwd, caller).join(OF_PROJECT)),
        ),
        Scope::User => (FileKind::User, user(hub)),
    };
    found
        .into_iter()
        // The machine's file is nobody's own.
        .find(|file| file.kind == kind && !file.resolved.starts_with("/etc"))
        .map(|file| file.path)
        .or(fresh)
        .ok_or_else(|| {
            ApiError::new(
                Code::Unprocessable,
                "there is no home directory in which a configuration could be written",
            )
            .hint("set `HOME` or `XDG_CONFIG_HOME` for the daemon, or name a file with `--config`")
        })
}

/// The folder of the project: where the caller is, when that is within what this daemon was started for.
fn project(cwd: &Path, caller: &Caller) -> PathBuf {
    match &caller.cwd {
        Some(folder) if folder.starts_with(cwd) && folder.is_dir() => folder.clone(),
        _ => cwd.to_owned(),
    }
}

fn user(hub: &Hub) -> Option<PathBuf> {
    let surroundings = &hub.surroundings;
    surroundings
        .variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(surroundings.home.as_ref()?.join(".config")))
        .map(|folder| folder.join(OF_USER))
}

/// What was written: `{path, backup?, written}`.
pub(super) fn as_document(saved: &Saved) -> Object {
    Object::new()
        .with("path", saved.path.to_string_lossy().as_ref())
        .with_some(
            "backup",
            saved
                .backup
                .as_ref()
                .map(|file| file.to_string_lossy().into_owned()),
        )
        .with("written", saved.is_changed)
}
