//! `trusted.json`: the entries of project files that the person accepted, by digest. What is not there is not trusted.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Problem, StateDir, StoreError, list_file};

/// What was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The file that it stood in.
    pub file: PathBuf,
    /// When.
    #[serde(with = "crate::time")]
    pub at: Timestamp,
    /// What it was called there, for a list.
    #[serde(default)]
    pub name: String,
}

#[derive(Default, Serialize, Deserialize)]
struct Content {
    #[serde(default)]
    accepted: BTreeMap<String, Accepted>,
}

/// The accepted entries of a state directory.
#[derive(Clone, Debug)]
pub struct TrustFile {
    path: PathBuf,
}

impl TrustFile {
    /// Names the file; touches nothing on disk.
    #[must_use]
    pub fn new(state: &StateDir) -> Self {
        Self {
            path: state.path("trusted.json"),
        }
    }

    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what was accepted, by digest. A file that cannot be used accepts nothing, and is told.
    #[must_use]
    pub fn load(&self) -> (BTreeMap<String, Accepted>, Option<Problem>) {
        let (content, problem) = list_file::load::<Content>(&self.path);
        (content.accepted, problem)
    }

    /// Says whether an entry was accepted. Reads the file each time.
    #[must_use]
    pub fn is_trusted(&self, digest: &str) -> bool {
        self.load().0.contains_key(digest)
    }

    /// Accepts an entry. A broken file is set aside, told and begun anew.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the file cannot be written.
    pub fn trust(&self, digest: &str, entry: Accepted) -> Result<Option<Problem>, StoreError> {
        let now = entry.at;
        let ((), problem) = list_file::update(&self.path, now, |content: &mut Content| {
            content.accepted.insert(digest.to_owned(), entry);
        })?;
        Ok(problem)
    }

    /// Takes trust back. Returns whether there was any.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the file cannot be written.
    pub fn forget(&self, digest: &str, now: Timestamp) -> Result<bool, StoreError> {
        let (was_there, _) = list_file::update(&self.path, now, |content: &mut Content| {
            content.accepted.remove(digest).is_some()
        })?;
        Ok(was_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted() -> Accepted {
        Accepted {
            file: "/repo/.mcp.json".into(),
            at: Timestamp::from_second(1_790_000_000).unwrap(),
            name: "files".to_owned(),
        }
    }

    #[test]
    fn only_what_was_accepted_is_trusted() {
        let home = testkit::TempHome::new();
        let trust = TrustFile::new(&StateDir::open(home.path().join("state")).unwrap());
        assert!(!trust.is_trusted("abc"));
        trust.trust("abc", accepted()).unwrap();
        assert!(trust.is_trusted("abc"));
        assert!(!trust.is_trusted("ab"));
        assert_eq!(trust.load().0["abc"], accepted());
        assert!(trust.forget("abc", accepted().at).unwrap());
        assert!(!trust.is_trusted("abc"));
    }

    #[test]
    fn a_broken_file_trusts_nothing_and_is_kept_beside_the_new_one() {
        let home = testkit::TempHome::new();
        let state = StateDir::open(home.path().join("state")).unwrap();
        let trust = TrustFile::new(&state);
        std::fs::write(trust.path(), r#"{"version":1,"accepted":{"abc""#).unwrap();
        assert!(!trust.is_trusted("abc"));
        assert!(
            trust
                .load()
                .1
                .unwrap()
                .reason
                .contains("not a file of the hub")
        );
        let problem = trust.trust("def", accepted()).unwrap().unwrap();
        assert!(
            problem.reason.contains("trusted.json.broken-2026"),
            "{problem}"
        );
        assert!(trust.is_trusted("def") && !trust.is_trusted("abc"));
    }

    #[test]
    fn a_file_of_a_newer_program_is_left_as_it_is() {
        let home = testkit::TempHome::new();
        let state = StateDir::open(home.path().join("state")).unwrap();
        let trust = TrustFile::new(&state);
        let text = r#"{"version":2,"accepted":{}}"#;
        std::fs::write(trust.path(), text).unwrap();
        let error = trust.trust("abc", accepted()).unwrap_err().to_string();
        assert!(error.contains("version 2"), "{error}");
        assert_eq!(std::fs::read_to_string(trust.path()).unwrap(), text);
    }
}
