//! Under which key the record of changes keeps a server: the file of its entry and its name, because two projects may
//! give different servers one name, and all daemons share the record.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use mcp_wire::Tool;
use mcpx_catalog::history::{History, Seen};
use mcpx_config::{Config, Server};

fn key(file: &Path, name: &str) -> String {
    format!("{}#{name}", file.display())
}

/// The files whose servers are this configuration's, also those that have none now.
pub(super) fn files_of(config: &Config) -> Vec<PathBuf> {
    let read = config.sources.iter().map(|found| found.path.clone());
    let named = config
        .servers
        .values()
        .map(|server| server.origin.file.clone());
    let mut files: Vec<PathBuf> = read.chain(named).collect();
    files.sort();
    files.dedup();
    files
}

/// Records a reading of a server; what changed, under the server's name.
pub(super) fn observe(
    history: &mut History,
    server: &Server,
    tools: &[Tool],
    unreadable: &[&str],
    now: Timestamp,
) -> Vec<Seen> {
    let key = key(&server.origin.file, &server.name);
    // Once they were kept by name alone.
    history.adopt(&server.name, &key);
    let mut seen = history.observe(&key, tools, unreadable, now);
    for seen in &mut seen {
        seen.server.clone_from(&server.name);
    }
    seen
}

/// What is recorded of the servers in these files, by their names.
pub(super) fn part(history: &History, files: &[PathBuf]) -> History {
    let begins: Vec<String> = files.iter().map(|file| key(file, "")).collect();
    history.part(|recorded| {
        begins
            .iter()
            .find_map(|begin| recorded.strip_prefix(begin))
            .map(str::to_owned)
    })
}
