//! The files cox may touch, and every way it changes them.
#![allow(clippy::disallowed_methods, reason = "this is the door to the workspace's files")]

pub mod confine;

pub use confine::{Access, ConfineError, Confined, Roots};

/// The files of a session.
#[derive(Debug)]
pub struct Workspace {
    roots: std::sync::Arc<Roots>,
}

impl Workspace {
    /// Makes a workspace over these roots.
    pub fn new(roots: std::sync::Arc<Roots>) -> Self {
        Self { roots }
    }

    /// Returns the roots.
    pub fn roots(&self) -> &std::sync::Arc<Roots> {
        &self.roots
    }
}
