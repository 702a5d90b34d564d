//! `schemas-HASH.json`: what each server last said that it offers, so that a list needs no server to run.
//!
//! Every field of an entry is optional, and *unknown is not empty*: a field that is not in the file, because an older
//! program wrote it or because it was never read, is `None`; a server without tools has `Some` of nothing. Definitions
//! are kept as they were spelled.

use std::{collections::BTreeMap, path::PathBuf};

use jiff::Timestamp;
use mcp_wire::Raw;
use serde::{Deserialize, Serialize};

use crate::{
    Problem, StateDir, StoreError,
    state_dir::{checked_name, entries, read, remove, replace},
};

/// Version of the file. A new field needs no new one; a field that changes its meaning does.
const VERSION: u64 = 1;

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 512 << 20;

/// Files of other configurations that are kept, the ones last written.
const KEEP_FILES: usize = 8;

/// What one server said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Entry {
    /// The identity of its launch; an entry of another identity is of another server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Its tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Raw>>,
    /// Its resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Vec<Raw>>,
    /// Its resource templates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_templates: Option<Vec<Raw>>,
    /// Its prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Vec<Raw>>,
    /// Its instructions; known to be none when empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Its name and version, as it sent them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_info: Option<Raw>,
    /// Its capabilities, as it sent them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Raw>,
    /// The revision that it spoke, such as `2025-11-25`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// When the lists were last read whole. Nothing: they never were, or what is here is only a part.
    #[serde(with = "crate::time::option", skip_serializing_if = "Option::is_none")]
    pub fetched_at: Option<Timestamp>,
}

/// The entries of one configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaCache {
    /// By the server's name.
    pub servers: BTreeMap<String, Entry>,
    /// When it was written.
    pub saved_at: Option<Timestamp>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileOut<'a> {
    version: u64,
    config_hash: &'a str,
    #[serde(with = "crate::time")]
    saved_at: Timestamp,
    servers: &'a BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileIn {
    config_hash: String,
    #[serde(with = "crate::time::option", default)]
    saved_at: Option<Timestamp>,
    servers: BTreeMap<String, Raw>,
}

#[derive(Deserialize)]
struct AnyVersion {
    version: u64,
}

impl SchemaCache {
    /// Reads the entries of the configuration with this hash. None are there when there is no file; what cannot be used
    /// is ignored and told: the whole file, or the one entry that is broken.
    #[must_use]
    pub fn load(state: &StateDir, config_hash: &str) -> (Self, Vec<Problem>) {
        let problem = |path: PathBuf, reason: String| Problem {
            path,
            reason: format!("{reason}; it is ignored, the servers are asked again"),
        };
        let path = match path_of(state, config_hash) {
            Ok(path) => path,
            Err(error) => {
                let problem = problem(state.root().to_owned(), error.to_string());
                return (Self::default(), vec![problem]);
            }
        };
        match parse(&path, config_hash) {
            Ok((cache, broken)) => {
                let broken = broken.into_iter();
                let problems = broken.map(|reason| problem(path.clone(), reason)).collect();
                (cache, problems)
            }
            Err(reason) => (Self::default(), vec![problem(path, reason)]),
        }
    }

    /// Writes the entries, whole or not at all, and removes the files of configurations that were not used for long.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] and [`StoreError::BadName`].
    pub fn save(
        &self,
        state: &StateDir,
        config_hash: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let path = path_of(state, config_hash)?;
        let file = FileOut {
            version: VERSION,
            config_hash,
            saved_at: now,
            servers: &self.servers,
        };
        let text = serde_json::to_vec(&file)
            .map_err(|error| StoreError::io("write", &path, error.into()))?;
        replace(&path, &[&text, b"\n"])?;
        prune(state);
        Ok(())
    }
}

fn path_of(state: &StateDir, config_hash: &str) -> Result<PathBuf, StoreError> {
    let hash = checked_name("configuration hash", config_hash)?;
    Ok(state.path(&format!("schemas-{hash}.json")))
}

fn parse(path: &std::path::Path, config_hash: &str) -> Result<(SchemaCache, Vec<String>), String> {
    let Some(bytes) = read(path, MAX_BYTES).map_err(|error| error.to_string())? else {
        return Ok((SchemaCache::default(), Vec::new()));
    };
    let broken = |error: serde_json::Error| format!("it is no schema cache: {error}");
    let AnyVersion { version } = serde_json::from_slice(&bytes).map_err(broken)?;
    if version != VERSION {
        return Err(format!(
            "it has version {version}, this program reads {VERSION}"
        ));
    }
    let file: FileIn = serde_json::from_slice(&bytes).map_err(broken)?;
    if file.config_hash != config_hash {
        return Err(format!(
            "it is of another configuration, `{}`",
            file.config_hash.escape_debug()
        ));
    }
    let mut cache = SchemaCache {
        servers: BTreeMap::new(),
        saved_at: file.saved_at,
    };
    let mut broken = Vec::new();
    for (server, entry) in file.servers {
        match serde_json::from_str(entry.as_str()) {
            Ok(entry) => drop(cache.servers.insert(server, entry)),
            Err(error) => broken.push(format!(
                "the entry of `{}` cannot be read: {error}",
                server.escape_debug()
            )),
        }
    }
    Ok((cache, broken))
}

/// Keeps the files that were last written. What cannot be removed stays.
fn prune(state: &StateDir) {
    let mut files: Vec<_> = entries(state.root())
        .into_iter()
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("schemas-") && name.ends_with(".json"))
        })
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .collect();
    files.sort_unstable_by(|a, b| b.cmp(a));
    for (_, path) in files.into_iter().skip(KEEP_FILES) {
        drop(remove(&path));
    }
}

#[cfg(test)]
mod tests;
