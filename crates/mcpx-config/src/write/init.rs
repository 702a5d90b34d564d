//! The configuration to begin with.

use std::path::Path;

use super::{Saved, WriteError, file};

/// A configuration with a shared and an exclusive server, to be changed.
#[must_use]
pub fn init_text() -> &'static str {
    r#"// The configuration of mcpx: JSON, with comments and trailing commas.
// `mcpx config --sources` shows which files count and what each of them says.
{
  "mcpServers": {
    // One process for everybody.
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}"],
      "mcpx": {
        "description": "Files of the home directory",
        "excludeTools": ["/^(write|edit|move|create)_/"],
      },
    },

    // A browser has state: one process for each session of an agent, one caller at a time.
    "browser": {
      "command": "npx",
      "args": ["-y", "@playwright/mcp@latest", "--isolated"],
      "mcpx": {
        "scope": "session",
        "sharing": "exclusive",
        "max": 4,
        "idleTimeout": "10m",
      },
    },

    // A server on the network. A variable that is not set makes this one server unavailable, and it says so.
    // "tracker": {
    //   "url": "https://tracker.example.com/mcp",
    //   "auth": { "type": "bearer", "token": "${TRACKER_TOKEN}" },
    // },
  },
}
"#
}

/// Writes [`init_text`] to a file. With `force`, over one that is there, which is backed up.
///
/// # Errors
///
/// [`WriteError::Exists`] without `force`; [`WriteError::Io`].
pub fn init(path: &Path, force: bool) -> Result<Saved, WriteError> {
    let before = file::read(path)?;
    if before.is_some() && !force {
        return Err(WriteError::Exists {
            path: path.to_owned(),
        });
    }
    file::save(path, before.as_deref(), init_text().as_bytes())
}
