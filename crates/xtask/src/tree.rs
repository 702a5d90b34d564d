//! The text files of the repository, read once, so that every check is a function of them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

/// Folders that hold nothing of ours.
const SKIPPED: &[&str] = &["target", ".git", ".peers", "node_modules"];

/// The text files of a repository by their path from its root, with `/` between the parts.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
    /// Every path that exists, folders included: what a link may point to.
    paths: std::collections::BTreeSet<String>,
}

impl Tree {
    /// Reads every `.rs`, `.md`, `.toml`, `.lock` and script file under `root`.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut tree = Self::default();
        tree.walk(root, root)?;
        Ok(tree)
    }

    /// Makes a tree of these files.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.add(path, (*text).to_owned());
        }
        tree
    }

    /// Returns the text of a file.
    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Says whether a file or a folder is there.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(path.trim_end_matches('/'))
    }

    /// Iterates over the files whose names end so, in the order of their paths.
    pub(crate) fn ending(&self, suffix: &str) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.ends_with(suffix))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns the names of our crates: the folders of `crates/` that have a manifest.
    pub(crate) fn crates(&self) -> Vec<&str> {
        self.files
            .keys()
            .filter_map(|path| path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml"))
            .filter(|name| !name.contains('/'))
            .collect()
    }

    fn add(&mut self, path: &str, text: String) {
        let mut folder = path;
        self.paths.insert(path.to_owned());
        while let Some((above, _)) = folder.rsplit_once('/') {
            self.paths.insert(above.to_owned());
            folder = above;
        }
        self.files.insert(path.to_owned(), text);
    }

    fn walk(&mut self, root: &Path, folder: &Path) -> anyhow::Result<()> {
        let entries = fs::read_dir(folder)
            .with_context(|| format!("read the folder {}", folder.display()))?;
        for entry in entries {
            let path: PathBuf = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    self.walk(root, &path)?;
                }
                continue;
            }
            let inside = path
                .strip_prefix(root)
                .context("a path under the root")?
                .to_string_lossy()
                .replace('\\', "/");
            if is_ours(&inside, &name) {
                // A file of test data need not be text; it has no rules to keep.
                if let Ok(text) = fs::read_to_string(&path) {
                    self.add(&inside, text);
                    continue;
                }
            }
            self.add_path(&inside);
        }
        Ok(())
    }

    fn add_path(&mut self, path: &str) {
        self.paths.insert(path.to_owned());
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.paths.insert(folder.to_owned());
        }
    }
}

fn is_ours(path: &str, name: &str) -> bool {
    [".rs", ".md", ".toml", ".lock"]
        .iter()
        .any(|end| name.ends_with(end))
        || path == "test"
        || path.starts_with("ci/")
        || path.starts_with(".ci/")
}
