//! One file for each command.

pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod expand;
pub(crate) mod ids;
pub(crate) mod mcp;
pub(crate) mod permissions;
pub(crate) mod reference;
pub(crate) mod run;
pub(crate) mod sessions;
pub(crate) mod shell_files;
pub(crate) mod stats;
pub(crate) mod tool;
pub(crate) mod write_sets;
