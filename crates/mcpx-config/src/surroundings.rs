//! What the configuration is read with: where the caller stands, and what they chose on the command line.

use std::{collections::BTreeMap, path::PathBuf};

/// Where a command runs. Read once, in the binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The folder the caller is in; absolute.
    pub cwd: PathBuf,
    /// The environment variables of the process that reads the configuration.
    pub env: BTreeMap<String, String>,
    /// The person's home directory, when there is one.
    pub home: Option<PathBuf>,
    /// This program; the demo server is started with it.
    pub exe: PathBuf,
}

impl Surroundings {
    /// Returns a variable that is set to something.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.env
            .get(name)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    }
}

/// What was chosen on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The one file to read, and no other: `--config`.
    pub config_file: Option<PathBuf>,
    /// No file, and one server in this program: `--demo`.
    pub demo: bool,
    /// Settings, as path and text, such as `("pool.max", "8")`. The last of two wins.
    pub flags: Vec<(String, String)>,
}
