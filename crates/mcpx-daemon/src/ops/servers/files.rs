//! Which file a change is written into.

use std::path::{Path, PathBuf};

use mcp_wire::Object;
use mcpx_api::{ApiError, Caller, Code, Params};
use mcpx_config::files::{FileKind, Found, search, user_file};
use mcpx_config::write::Saved;

use crate::hub::Hub;
use crate::lifecycle::watching::place;

/// The file of a project that other hosts read too; a server is written into it when the project has none.
const OF_OTHERS: &str = ".mcp.json";
/// The file of a project in which a setting is written when it has none that is ours alone.
const OF_PROJECT: &str = ".mcpx.json";

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

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A server, which may stand where other hosts look too.
    Server,
    /// A setting, which means nothing to other hosts.
    Setting,
}

/// The file to write into; without a scope the person's own. One that was named for this daemon is the only one.
///
/// # Errors
/// When there is no such place.
pub(super) fn target(
    hub: &Hub,
    caller: &Caller,
    scope: Option<Scope>,
    what: What,
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
            Some(project(cwd, caller).join(match what {
                What::Server => OF_OTHERS,
                What::Setting => OF_PROJECT,
            })),
        ),
        Scope::User => (FileKind::User, user_file(&hub.surroundings)),
    };
    fitting(found, kind, what).or(fresh).ok_or_else(|| {
        ApiError::new(
            Code::Unprocessable,
            "there is no home directory in which a configuration could be written",
        )
        .hint("set `HOME` or `XDG_CONFIG_HOME` for the daemon, or name a file with `--config`")
    })
}

/// The nearest file that may be written for this.
fn fitting(found: Vec<Found>, kind: FileKind, what: What) -> Option<PathBuf> {
    let is_shared = |file: &Path| file.file_name().is_some_and(|name| name == OF_OTHERS);
    found
        .into_iter()
        // The machine's file is nobody's own.
        .filter(|file| file.kind == kind && !file.resolved.starts_with("/etc"))
        .find(|file| what == What::Server || !is_shared(&file.path))
        .map(|file| file.path)
}

/// The folder of the project: where the caller is, when that is within what this daemon was started for.
fn project(cwd: &Path, caller: &Caller) -> PathBuf {
    match &caller.cwd {
        Some(folder) if folder.starts_with(cwd) && folder.is_dir() => folder.clone(),
        _ => cwd.to_owned(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_goes_into_no_file_that_other_hosts_read() {
        let found = |paths: &[(&str, FileKind)]| -> Vec<Found> {
            let each = paths.iter().map(|(path, kind)| Found {
                path: path.into(),
                resolved: path.into(),
                folder: "/p".into(),
                kind: *kind,
            });
            each.collect()
        };
        let (project, user) = (FileKind::Project, FileKind::User);
        let all = [
            ("/p/.mcp.json", project),
            ("/.mcpx.json", project),
            ("/home/u/.mcp.json", user),
            ("/etc/mcpx/config.json", user),
        ];
        for (kind, what, expected) in [
            (project, What::Server, Some("/p/.mcp.json")),
            (project, What::Setting, Some("/.mcpx.json")),
            (user, What::Server, Some("/home/u/.mcp.json")),
            (user, What::Setting, None),
        ] {
            let file = fitting(found(&all), kind, what);
            assert_eq!(
                file.as_deref(),
                expected.map(Path::new),
                "{kind:?} {what:?}"
            );
        }
    }
}
