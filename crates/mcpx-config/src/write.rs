//! Changes one entry of a file and no byte around it.
//!
//! A [`Draft`] is a file as it was read and the changes to be made. Comments, order, line ends, indentation and a
//! byte-order mark stay. Nothing is written when the file does not parse, when the result would not say what was meant, or
//! when somebody changed the file meanwhile. The old content is kept beside it as `.bak`.

mod edit;
mod file;
mod init;
mod render;

use std::path::{Path, PathBuf};

use serde_json::Value;

pub use init::{init, init_text};

use crate::{
    ConfigError, Place, Settings, Surroundings,
    error::{quoted, quoted_path},
    files::{self, FileKind, Found, Node},
    server::{self, Context, PoolBlock},
    settings::{registry, value_of},
};

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file as it is, or as it would be, is wrong: the person's to mend.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Somebody else wrote the file after it was read, or writes it now; the same change can be tried anew.
    #[error("{} was changed meanwhile, and nothing was written\nhint: try again", quoted_path(.path))]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file is there already.
    #[error("{} is there already\nhint: `--force` replaces it and keeps a backup", quoted_path(.path))]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{} cannot be written: {source}", quoted_path(.path))]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The file, with its links resolved.
    pub path: PathBuf,
    /// Its old content; `None` when there was no file.
    pub backup: Option<PathBuf>,
    /// False when the change changed nothing, and nothing was written.
    pub is_changed: bool,
}

/// A file and the changes that are to be made to it.
#[derive(Debug, Clone)]
pub struct Draft {
    path: PathBuf,
    /// As it was read; `None` when there is no file.
    before: Option<Vec<u8>>,
    has_mark: bool,
    /// Without the byte-order mark.
    text: String,
    original: String,
}

impl Draft {
    /// Reads a file, or begins one that is not there.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or is no object of JSON with comments.
    pub fn open(path: &Path) -> Result<Self, WriteError> {
        let before = file::read(path)?;
        let text = match &before {
            None => String::from("{\n}\n"),
            Some(bytes) => files::text(path, bytes.clone())?,
        };
        files::parse_root(&text, path)?;
        let (has_mark, body) = match text.strip_prefix('\u{feff}') {
            Some(body) => (true, body.to_owned()),
            None => (false, text),
        };
        Ok(Self {
            path: path.to_owned(),
            before,
            has_mark,
            original: body.clone(),
            text: body,
        })
    }

    /// The file as it would be.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "{}{}",
            if self.has_mark { "\u{feff}" } else { "" },
            self.text
        )
    }

    /// Whether the changes change anything.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.text != self.original || self.before.is_none()
    }

    fn root(&self) -> Result<Node, ConfigError> {
        files::parse_root(&self.text, &self.path)
    }

    /// The servers that the file has, as they are written.
    ///
    /// # Errors
    ///
    /// None that [`Draft::open`] did not have.
    pub fn servers(&self) -> Result<Vec<(String, Value)>, ConfigError> {
        Ok(self
            .root()?
            .get("mcpServers")
            .map(Node::entries)
            .unwrap_or_default()
            .iter()
            .map(|entry| (entry.name.clone(), entry.value.to_json()))
            .collect())
    }

    /// Adds a server, or replaces it whole. Returns whether it was there.
    ///
    /// # Errors
    ///
    /// An entry that would not load, or whose namespace is that of another one in the file: neither would load then.
    pub fn put_server(&mut self, name: &str, entry: &Value) -> Result<bool, WriteError> {
        self.check_server(name, entry)?;
        self.check_namespace(name, entry)?;
        let was_there = self
            .root()?
            .get("mcpServers")
            .is_some_and(|servers| servers.get(name).is_some());
        self.put(&["mcpServers", name], entry)?;
        Ok(was_there)
    }

    /// Removes a server. Returns whether it was there.
    ///
    /// # Errors
    ///
    /// A file in which it cannot be removed alone.
    pub fn remove_server(&mut self, name: &str) -> Result<bool, WriteError> {
        self.remove(&["mcpServers", name])
    }

    /// Writes a setting, from its text.
    ///
    /// # Errors
    ///
    /// A path that is not there, text of the wrong kind, or a setting that no file may hold.
    pub fn set_setting(&mut self, path: &str, text: &str) -> Result<(), WriteError> {
        let place = Place::whole_file(&self.path);
        let setting = settings_row(path, &place)?;
        let value = value_of(setting, text, &place)?;
        let json = match (setting.kind, &value) {
            (registry::Kind::Json, crate::settings::Value::Text(text)) => {
                serde_json::from_str(text).unwrap_or(Value::Null)
            }
            _ => value.to_json(),
        };
        let names: Vec<&str> = setting.path.split('.').collect();
        self.put(&names, &json)
    }

    /// Removes a setting. Returns whether it was there.
    ///
    /// # Errors
    ///
    /// A path that is not there.
    pub fn unset_setting(&mut self, path: &str) -> Result<bool, WriteError> {
        let setting = settings_row(path, &Place::whole_file(&self.path))?;
        let names: Vec<&str> = setting.path.split('.').collect();
        self.remove(&names)
    }

    /// Writes the file: to a new name beside it, which then takes its place, with the mode of the old one.
    ///
    /// # Errors
    ///
    /// [`WriteError::Changed`] when the file is not as it was read; [`WriteError::Io`].
    pub fn save(&self) -> Result<Saved, WriteError> {
        if !self.is_changed() {
            return Ok(Saved {
                path: self.path.clone(),
                backup: None,
                is_changed: false,
            });
        }
        file::save(&self.path, self.before.as_deref(), self.text().as_bytes())
    }

    fn put(&mut self, names: &[&str], value: &Value) -> Result<(), WriteError> {
        let root = self.root()?;
        let after = edit::put(&self.text, &root, names, value, &self.path)?;
        let mut expected = root.to_json();
        edit::put_json(&mut expected, names, value);
        self.accept(after, &expected)
    }

    fn remove(&mut self, names: &[&str]) -> Result<bool, WriteError> {
        let root = self.root()?;
        let Some(after) = edit::remove(&self.text, &root, names) else {
            return Ok(false);
        };
        let mut expected = root.to_json();
        edit::remove_json(&mut expected, names);
        self.accept(after, &expected)?;
        Ok(true)
    }

    /// Takes a new text only when it says what is expected.
    fn accept(&mut self, after: String, expected: &Value) -> Result<(), WriteError> {
        let says = files::parse_root(&after, &self.path).map(|root| root.to_json());
        if says.as_ref() != Ok(expected) {
            return Err(ConfigError::new(
                Place::whole_file(&self.path),
                "a layout that this change would break",
                "one member a line",
            )
            .with_hint("make the change by hand")
            .into());
        }
        self.text = after;
        Ok(())
    }

    /// Refuses a second server of one namespace.
    fn check_namespace(&self, name: &str, entry: &Value) -> Result<(), ConfigError> {
        let text = serde_json::json!({ name: entry }).to_string();
        let new = files::parse(&text, &self.path)?;
        let root = self.root()?;
        let there = root.get("mcpServers").map(Node::entries);
        let is_used = |entry: &&files::Entry| !server::is_disabled(entry);
        for new in new.entries().iter().filter(is_used) {
            let namespace = server::namespace_of(new);
            let others = there.unwrap_or_default().iter().filter(is_used);
            let other = others
                .filter(|other| other.name != name)
                .find(|other| server::namespace_of(other) == namespace);
            if let Some(other) = other {
                return Err(ConfigError::new(
                    // In a plan the other one may not be in the file yet.
                    Place::whole_file(&self.path),
                    format!(
                        "the new server {} would have the namespace {}, and {} has it",
                        quoted(name),
                        quoted(&namespace),
                        quoted(&other.name)
                    ),
                    "a namespace of its own",
                )
                .with_hint("rename one, or give one another `mcpx.namespace`"));
            }
        }
        Ok(())
    }

    /// Reads the entry as [`crate::load`] would.
    fn check_server(&self, name: &str, entry: &Value) -> Result<(), ConfigError> {
        let text = serde_json::json!({ name: entry }).to_string();
        let root = files::parse(&text, &self.path)?;
        let surroundings = Surroundings {
            cwd: PathBuf::from("/"),
            env: std::collections::BTreeMap::new(),
            home: None,
            exe: PathBuf::new(),
        };
        let found = Found {
            path: self.path.clone(),
            resolved: self.path.clone(),
            folder: PathBuf::from("/"),
            kind: FileKind::User,
        };
        let settings = Settings::defaults();
        let pool = PoolBlock::merged(&[]);
        let context = Context {
            surroundings: &surroundings,
            settings: &settings,
            pool: &pool,
        };
        for entry in root.entries() {
            // The place is that of the entry alone, not of the file.
            server::read(entry, &found, &context, false).map_err(|error| ConfigError {
                place: Place::whole_file(&self.path),
                found: format!("the new server {}: {}", quoted(name), error.found),
                ..error
            })?;
        }
        Ok(())
    }
}

fn settings_row(path: &str, place: &Place) -> Result<&'static registry::Setting, ConfigError> {
    let setting = crate::settings::row(path, place)?;
    if setting.in_file {
        return Ok(setting);
    }
    Err(ConfigError::new(
        place.clone(),
        format!("`{path}`, which says where files are"),
        format!("it as `{}` or `{}`", setting.flag(), setting.variable()),
    ))
}

#[cfg(test)]
mod tests;
