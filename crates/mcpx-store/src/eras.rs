//! `upstream-eras.json`: in which era each server was found to speak, so that the next connection does not probe.

use std::{collections::BTreeMap, path::PathBuf};

use jiff::{SignedDuration, Timestamp};
use mcp_wire::{Era, Revision};
use serde::{Deserialize, Serialize};

use crate::{Problem, StateDir, StoreError, list_file};

/// Most verdicts that are kept, the newest.
pub const MAX_VERDICTS: usize = 2_000;

/// How long a verdict is kept that was not found again.
pub const KEEP: SignedDuration = SignedDuration::from_hours(90 * 24);

/// What a server was found to speak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EraVerdict {
    /// `legacy` or `modern`; one of a newer program may be another word: see [`EraVerdict::era`].
    pub era: String,
    /// The revision that was negotiated, such as `2025-11-25`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Whether it only speaks the HTTP+SSE of 2024-11-05.
    #[serde(default)]
    pub old_sse: bool,
    /// Whether it once asked a question that belonged to no call it could be told from: then its instances serve one call
    /// at a time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// When that was found.
    #[serde(with = "crate::time")]
    pub at: Timestamp,
}

impl EraVerdict {
    /// Writes a verdict down.
    #[must_use]
    pub fn new(era: Era, revision: Option<Revision>, old_sse: bool, at: Timestamp) -> Self {
        Self {
            era: era.word().to_owned(),
            revision: revision.map(|revision| revision.as_str().to_owned()),
            old_sse,
            asks: false,
            at,
        }
    }

    /// Returns the era; nothing when this program does not know the word.
    #[must_use]
    pub fn era(&self) -> Option<Era> {
        [Era::Legacy, Era::Modern]
            .into_iter()
            .find(|era| era.word() == self.era)
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Content {
    #[serde(default)]
    verdicts: BTreeMap<String, EraVerdict>,
}

/// The verdicts of a state directory, by the identity of a server's launch.
#[derive(Clone, Debug)]
pub struct Eras {
    path: PathBuf,
}

impl Eras {
    /// Names the file; touches nothing on disk.
    #[must_use]
    pub fn new(state: &StateDir) -> Self {
        Self {
            path: state.path("upstream-eras.json"),
        }
    }

    /// Reads all verdicts. A file that cannot be used has none, and is told.
    #[must_use]
    pub fn load(&self) -> (BTreeMap<String, EraVerdict>, Option<Problem>) {
        let (content, problem) = list_file::load::<Content>(&self.path);
        (content.verdicts, problem)
    }

    /// Keeps a verdict, and drops what is old. A broken file is set aside, told and begun anew.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the file cannot be written.
    pub fn put(
        &self,
        identity: &str,
        mut verdict: EraVerdict,
    ) -> Result<Option<Problem>, StoreError> {
        let now = verdict.at;
        let ((), problem) = list_file::update(&self.path, now, |content: &mut Content| {
            let verdicts = &mut content.verdicts;
            verdict.asks |= verdicts.get(identity).is_some_and(|before| before.asks);
            verdicts.insert(identity.to_owned(), verdict);
            verdicts.retain(|_, verdict| now.duration_since(verdict.at) <= KEEP);
            while verdicts.len() > MAX_VERDICTS {
                let oldest = verdicts.iter().min_by_key(|(_, verdict)| verdict.at);
                let Some(oldest) = oldest.map(|(identity, _)| identity.clone()) else {
                    break;
                };
                verdicts.remove(&oldest);
            }
        })?;
        Ok(problem)
    }

    /// Remembers of a server that its questions need a caller of their own. Returns whether that is news.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the file cannot be written.
    pub fn put_asks(&self, identity: &str, now: Timestamp) -> Result<bool, StoreError> {
        let (is_news, _) = list_file::update(&self.path, now, |content: &mut Content| {
            let verdict = content
                .verdicts
                .entry(identity.to_owned())
                .or_insert_with(|| EraVerdict {
                    era: String::new(),
                    revision: None,
                    old_sse: false,
                    asks: false,
                    at: now,
                });
            !std::mem::replace(&mut verdict.asks, true)
        })?;
        Ok(is_news)
    }

    /// Drops the verdict of a server that turned out to speak otherwise. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the file cannot be written.
    pub fn forget(&self, identity: &str, now: Timestamp) -> Result<bool, StoreError> {
        let (was_there, _) = list_file::update(&self.path, now, |content: &mut Content| {
            content.verdicts.remove(identity).is_some()
        })?;
        Ok(was_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_790_000_000 + second).unwrap()
    }

    #[test]
    fn that_a_server_asks_outlives_what_is_found_out_about_it_later() {
        let home = testkit::TempHome::new();
        let eras = Eras::new(&StateDir::open(home.path().join("state")).unwrap());
        assert!(eras.put_asks("a", at(0)).unwrap());
        assert!(!eras.put_asks("a", at(1)).unwrap());
        let verdict = EraVerdict::new(Era::Legacy, None, false, at(2));
        eras.put("a", verdict).unwrap();
        let (verdicts, problem) = eras.load();
        assert_eq!(problem, None);
        assert!(verdicts["a"].asks && verdicts["a"].era() == Some(Era::Legacy));
    }

    #[test]
    fn a_verdict_is_found_again_and_forgotten() {
        let home = testkit::TempHome::new();
        let eras = Eras::new(&StateDir::open(home.path().join("state")).unwrap());
        let verdict = EraVerdict::new(Era::Legacy, Some(Revision::NEWEST_LEGACY), true, at(0));
        assert_eq!(eras.put("0011223344556677", verdict.clone()).unwrap(), None);
        let (all, problem) = eras.load();
        assert_eq!((all.len(), problem), (1, None));
        assert_eq!(all["0011223344556677"], verdict);
        assert_eq!(all["0011223344556677"].era(), Some(Era::Legacy));
        assert!(eras.forget("0011223344556677", at(1)).unwrap());
        assert!(!eras.forget("0011223344556677", at(1)).unwrap());
    }

    #[test]
    fn an_old_verdict_goes_when_another_is_kept() {
        let home = testkit::TempHome::new();
        let eras = Eras::new(&StateDir::open(home.path().join("state")).unwrap());
        eras.put("old", EraVerdict::new(Era::Modern, None, false, at(0)))
            .unwrap();
        let later = at(91 * 24 * 3600);
        eras.put("new", EraVerdict::new(Era::Modern, None, false, later))
            .unwrap();
        assert_eq!(eras.load().0.into_keys().collect::<Vec<_>>(), ["new"]);
    }

    #[test]
    fn a_word_of_a_newer_program_is_no_era_and_no_failure() {
        let home = testkit::TempHome::new();
        let state = StateDir::open(home.path().join("state")).unwrap();
        let text = r#"{"version":1,"verdicts":{"a":{"era":"future","at":"2026-11-30T00:00:00Z","more":1}}}"#;
        std::fs::write(state.path("upstream-eras.json"), text).unwrap();
        let (all, problem) = Eras::new(&state).load();
        assert_eq!(problem, None);
        assert_eq!(all["a"].era(), None);
    }
}
