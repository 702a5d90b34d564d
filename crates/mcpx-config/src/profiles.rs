//! Groups of servers, and which of them a command is about.

use crate::Server;

/// What was asked for by `--profile`, `--skip-default` and `--all-profiles`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profiles {
    /// The groups that come in addition, or instead of the default when that is skipped.
    pub names: Vec<String>,
    /// Only the named groups.
    pub skip_default: bool,
    /// Every server, whatever else is said.
    pub all: bool,
}

impl Profiles {
    /// Says whether a command is about this server.
    #[must_use]
    pub fn admits(&self, server: &Server) -> bool {
        self.all
            || (server.default && !self.skip_default)
            || server
                .profiles
                .iter()
                .any(|profile| self.names.contains(profile))
    }
}
