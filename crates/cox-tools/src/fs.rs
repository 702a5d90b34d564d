//! The file tools: `read`, `grep`, `glob`, `edit`, `apply_patch`, `write`.
//!
//! Each is a thin layer over `cox_workspace`: it reads the arguments, judges the paths, lets the workspace do the work away from
//! the async threads, and words the result.

pub mod read;

pub mod grep;

pub mod glob;

pub mod edit;

pub mod apply_patch;

pub mod write;

mod change;
mod outline;
mod place;
mod search;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::Tool;

/// Returns the file tools, in the order they are sent to a model.
pub fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read::Read::new()),
        Arc::new(grep::Grep::new()),
        Arc::new(glob::Glob::new()),
        Arc::new(edit::Edit::new()),
        Arc::new(apply_patch::ApplyPatch::new()),
        Arc::new(write::Write::new()),
    ]
}
