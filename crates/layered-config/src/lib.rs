//! Merges layers of configuration and keeps, for every value, where it came from and whether that place may set it.
//!
//! Knows no key and no product: the caller lists the keys ([`KeySpec`]) and gives the layers, weakest first. What a key
//! list does not name is an error; what a project may not set is ignored with a warning that names file and line.
#![warn(missing_docs)]

pub mod spec;

pub mod layer;

pub mod merge;

pub mod explain;
pub mod file;
mod nearest;
mod trust;

pub use explain::{Row, render, rows};
pub use file::{set_in_file, unset_in_file};
pub use layer::{Layer, Source, Trust};
pub use merge::{Merged, Setting, merge};
pub use nearest::unknown_variables;
pub use spec::{KeySpec, Kind, Project, env_name};
pub use toml::Value;

/// Configuration that cannot be used: every problem found, in the order of the layers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.join("\n"))]
pub struct ConfigError {
    /// What is wrong, each with its place, what was found and what was expected; hints on lines of their own.
    pub problems: Vec<String>,
}

impl ConfigError {
    pub(crate) fn one(problem: String) -> Self {
        Self {
            problems: vec![problem],
        }
    }
}
