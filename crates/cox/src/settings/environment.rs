//! The environment, read once. Nothing else in the workspace reads it.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the door to environment variables and the current folder"
)]

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

use crate::exit::Failure;

/// The environment variables of this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Reads the environment.
    pub(crate) fn read() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
        }
    }

    /// Makes an environment of these variables.
    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter();
        Self {
            variables: variables
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }
    }

    /// Returns a variable as text; empty counts as not set, and so does what is not UTF-8.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.variables
            .get(std::ffi::OsStr::new(name))?
            .to_str()
            .filter(|text| !text.is_empty())
    }

    /// Returns a variable as a path; empty counts as not set.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.variables
            .get(std::ffi::OsStr::new(name))
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    }

    /// Returns the variables whose names begin with `COX_`, sorted.
    pub(crate) fn ours(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().filter_map(|(name, value)| {
            let name = name.to_str()?;
            (name.starts_with("COX_")).then_some((name, value.to_str()?))
        })
    }

    /// Returns every variable, for the allowlist of child processes.
    pub(crate) fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }

    /// Returns the environment without the variables whose names begin with `COX_`.
    pub(crate) fn without_ours(&self) -> Self {
        let is_ours = |name: &OsString| name.to_string_lossy().starts_with("COX_");
        let variables = self.variables.iter().filter(|(name, _)| !is_ours(name));
        Self {
            variables: variables
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        }
    }

    /// Returns the folders of `PATH`.
    pub(crate) fn program_folders(&self) -> Vec<PathBuf> {
        self.path("PATH")
            .map(|path| std::env::split_paths(&path).collect())
            .unwrap_or_default()
    }

    /// Returns the person's home folder, absolute and real where it exists.
    pub(crate) fn user_home(&self) -> Option<PathBuf> {
        let home = ["HOME", "USERPROFILE"]
            .into_iter()
            .filter_map(|name| self.path(name))
            .find(|home| home.is_absolute())?;
        Some(home.canonicalize().unwrap_or(home))
    }

    /// Returns the current folder.
    ///
    /// # Errors
    ///
    /// An error when it is gone.
    pub(crate) fn current_dir(&self) -> Result<PathBuf, Failure> {
        std::env::current_dir().map_err(|error| {
            Failure::error(format!(
                "the current folder cannot be found: {error}\nhint: change to one that exists"
            ))
        })
    }
}
