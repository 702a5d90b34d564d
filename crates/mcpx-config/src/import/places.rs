//! Where hosts keep their lists.

use std::path::{Path, PathBuf};

use super::Host;
use crate::Surroundings;

/// The list of Cline in the folder of the editor that it is an extension of.
const OF_CLINE: &str = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";

/// A file that may be there.
pub(super) struct Place {
    pub(super) file: PathBuf,
    /// The project it belongs to; `None`: the person's.
    pub(super) project: Option<PathBuf>,
}

/// The places of a host, nearest first: those of the current folder and its parents, then the person's.
pub(super) fn of(surroundings: &Surroundings, host: Host) -> Vec<Place> {
    let in_project: &[&str] = match host {
        Host::ClaudeCode => &[".mcp.json"],
        Host::ClaudeDesktop | Host::Windsurf | Host::Cline | Host::Copilot => &[],
        Host::Cursor => &[".cursor/mcp.json"],
        Host::VsCode => &[".vscode/mcp.json", ".vscode/settings.json"],
        Host::Gemini => &[".gemini/settings.json"],
        Host::Zed => &[".zed/settings.json"],
        Host::Codex => &[".codex/config.toml"],
        Host::OpenCode => &[
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ],
    };
    let users = users(surroundings, host);
    let mut places: Vec<Place> = surroundings
        .cwd
        .ancestors()
        .flat_map(|level| {
            in_project.iter().map(|name| Place {
                file: level.join(name),
                project: Some(level.to_owned()),
            })
        })
        .filter(|place| !users.contains(&place.file))
        .collect();
    // Beside the person's own part for a project, their part for everywhere.
    let user_places = users.into_iter().map(|file| Place {
        file,
        project: None,
    });
    if host == Host::ClaudeCode {
        places.splice(0..0, user_places);
    } else {
        places.extend(user_places);
    }
    places
}

fn users(surroundings: &Surroundings, host: Host) -> Vec<PathBuf> {
    let home = |path: &str| {
        surroundings
            .home
            .iter()
            .map(|home| home.join(path))
            .collect::<Vec<_>>()
    };
    let variable = |name: &str| {
        surroundings
            .variable(name)
            .map(|value| surroundings.cwd.join(value))
    };
    let or_home = |folder: Option<PathBuf>, file: &str, in_home: &str| match folder {
        Some(folder) => vec![folder.join(file)],
        None => home(in_home),
    };
    match host {
        Host::ClaudeCode => or_home(
            variable("CLAUDE_CONFIG_DIR"),
            ".claude.json",
            ".claude.json",
        ),
        Host::ClaudeDesktop => of_application(surroundings, "Claude", "claude_desktop_config.json"),
        Host::Cursor => home(".cursor/mcp.json"),
        Host::VsCode => ["Code", "Code - Insiders", "VSCodium"]
            .into_iter()
            .flat_map(|application| {
                ["User/mcp.json", "User/settings.json"]
                    .map(|file| of_application(surroundings, application, file))
            })
            .flatten()
            .collect(),
        Host::Codex => or_home(variable("CODEX_HOME"), "config.toml", ".codex/config.toml"),
        Host::OpenCode => {
            let folder = variable("XDG_CONFIG_HOME")
                .or_else(|| surroundings.home.as_ref().map(|home| home.join(".config")))
                .map(|folder| folder.join("opencode"));
            variable("OPENCODE_CONFIG")
                .into_iter()
                .chain(folder.iter().flat_map(|folder| {
                    ["opencode.json", "opencode.jsonc"].map(|name| folder.join(name))
                }))
                .collect()
        }
        Host::Windsurf => home(".codeium/windsurf/mcp_config.json"),
        Host::Gemini => home(".gemini/settings.json"),
        Host::Zed => of_application(surroundings, "zed", "settings.json"),
        Host::Cline => {
            let mut files: Vec<PathBuf> = variable("CLINE_MCP_SETTINGS_PATH").into_iter().collect();
            files.extend(home(".cline/data/settings/cline_mcp_settings.json"));
            for application in ["Code", "Code - Insiders", "VSCodium", "Cursor"] {
                files.extend(of_application(surroundings, application, OF_CLINE));
            }
            files
        }
        Host::Copilot => or_home(
            variable("COPILOT_HOME"),
            "mcp-config.json",
            ".copilot/mcp-config.json",
        ),
    }
}

/// The folder of an application: on Linux, on macOS, on Windows. Those that are not of this system are not there.
fn of_application(surroundings: &Surroundings, application: &str, file: &str) -> Vec<PathBuf> {
    let in_folder = |folder: &Path| folder.join(application).join(file);
    let mut places = Vec::new();
    if let Some(config) = surroundings.variable("XDG_CONFIG_HOME") {
        places.push(in_folder(Path::new(config)));
    }
    if let Some(home) = &surroundings.home {
        places.push(in_folder(&home.join(".config")));
        places.push(in_folder(&home.join("Library/Application Support")));
    }
    if let Some(data) = surroundings.variable("APPDATA") {
        places.push(in_folder(Path::new(data)));
    }
    places.dedup();
    places
}
