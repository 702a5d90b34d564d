//! The environment of a child: a short allowlist of what the caller has, and explicit extras.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

/// Names that pass from the caller to a child. Every name that begins with `LC_` passes too, and the
/// [mark](crate::mark::VARIABLE) of whoever owns the caller: what a marked process starts is its owner's as well.
pub const PASSED: [&str; 7] = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL"];

/// The whole environment of a child.
///
/// Nothing passes unless it is on the list or set by name: a key of a provider never reaches a child by accident.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Env {
    variables: BTreeMap<OsString, OsString>,
}

impl Env {
    /// Makes an environment without any variable.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Makes an environment of the allowlisted variables of `from`.
    pub fn allowlisted(from: &BTreeMap<OsString, OsString>) -> Self {
        let variables = from
            .iter()
            .filter(|(name, _)| passes(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        Self { variables }
    }

    /// Sets one variable, over whatever it had.
    #[must_use]
    pub fn set(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Returns the value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
    }

    /// Returns every variable, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

fn passes(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        PASSED.contains(&name) || name.starts_with("LC_") || name == crate::mark::VARIABLE
    })
}
