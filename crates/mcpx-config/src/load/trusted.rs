//! What of a project's file is taken before the person accepted it: what narrows, and nothing that widens.

use serde_json::{Map, Value};

use super::Read;
use crate::{
    Asked, Trust, Untrusted,
    digest::Digest,
    files::{Entry, FileKind},
    server::{self, PoolBlock},
    settings::Assigned,
};

/// Keys of the block `mcpx` that decide who shares what is started.
const SHARING_KEYS: &[&str] = &["sharing", "scope"];

/// Keys of the block `mcpx` that decide what another view of a server shows.
const VIEW_KEYS: &[&str] = &["tools", "extraIncludeTools", "excludeTools"];

/// The digest of a server's entry.
fn digest_of_server(entry: &Entry, file: &Read) -> String {
    let written = entry.value.to_json();
    let mut relevant = Map::new();
    for key in server::LAUNCH_KEYS {
        if let Some(value) = written.get(key) {
            relevant.insert((*key).to_owned(), value.clone());
        }
    }
    let is_view = written.get("aliasOf").is_some();
    let view_keys = if is_view { VIEW_KEYS } else { &[] };
    for key in SHARING_KEYS.iter().chain(view_keys) {
        if let Some(value) = written.get("mcpx").and_then(|block| block.get(key)) {
            relevant.insert(format!("mcpx.{key}"), value.clone());
        }
    }
    digest(file, "server", &entry.name, &Value::Object(relevant))
}

fn digest(file: &Read, kind: &str, name: &str, value: &Value) -> String {
    let mut digest = Digest::new();
    // The folder too: a link from another project to this file would start the same command there.
    let folder = file
        .found
        .folder
        .canonicalize()
        .unwrap_or_else(|_| file.found.folder.clone());
    digest
        .part(file.found.resolved.as_os_str().as_encoded_bytes())
        .part(folder.as_os_str().as_encoded_bytes())
        .part(kind)
        .part(name)
        .json(value);
    digest.hex(64)
}

fn is_project(file: &Read) -> bool {
    file.found.kind == FileKind::Project
}

/// Says whether an entry may be started; one that may not is added to what waits.
pub(super) fn server(
    entry: &Entry,
    file: &Read,
    trust: &Trust,
    untrusted: &mut Vec<Untrusted>,
) -> bool {
    if !is_project(file) {
        return true;
    }
    let digest = digest_of_server(entry, file);
    if trust.contains(&digest) {
        return true;
    }
    untrusted.push(Untrusted {
        file: file.found.path.clone(),
        line: entry.line,
        asked: Asked::Server {
            name: entry.name.clone(),
            launch: server::launch(&entry.value.to_json()),
        },
        digest,
    });
    false
}

/// The settings that may be taken; the others are added to what waits.
pub(super) fn settings(
    assigned: Vec<Assigned>,
    file: &Read,
    trust: &Trust,
    untrusted: &mut Vec<Untrusted>,
) -> Vec<Assigned> {
    if !is_project(file) {
        return assigned;
    }
    assigned
        .into_iter()
        .filter(|one| {
            if !one.widens() {
                return true;
            }
            let path = one.setting().path;
            let text = one.value.to_string();
            let digest = digest(file, "setting", path, &one.value.to_json());
            if trust.contains(&digest) {
                return true;
            }
            untrusted.push(Untrusted {
                file: file.found.path.clone(),
                line: one.line(),
                asked: Asked::Setting {
                    path: path.to_owned(),
                    text,
                },
                digest,
            });
            false
        })
        .collect()
}

/// The keys of `pool` that may not be taken; they are added to what waits.
pub(super) fn pool<'a>(
    file: &'a Read,
    trust: &Trust,
    untrusted: &mut Vec<Untrusted>,
) -> Vec<&'a str> {
    if !is_project(file) {
        return Vec::new();
    }
    PoolBlock::widening(&file.root)
        .into_iter()
        .filter_map(|entry| {
            let value = entry.value.to_json();
            let path = format!("pool.{}", entry.name);
            let digest = digest(file, "setting", &path, &value);
            if trust.contains(&digest) {
                return None;
            }
            untrusted.push(Untrusted {
                file: file.found.path.clone(),
                line: entry.line,
                asked: Asked::Setting {
                    path,
                    text: value.to_string(),
                },
                digest,
            });
            Some(entry.name.as_str())
        })
        .collect()
}
