//! The settings of a process.

use std::time::Duration;

use super::{
    kind::read_text,
    registry::{Key, SETTINGS, Setting, SettingScope, key, of, position},
    sources::{known, value_of},
    value::{Resolved, Shadowed, Source, Value},
};
use crate::{ConfigError, Place, Profiles};

/// The value of every setting, with where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// As long as [`SETTINGS`].
    resolved: Vec<Resolved>,
}

/// What became of a change while the daemon runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Whether it holds from now on.
    pub applied: bool,
    /// Whether it would hold after a restart, were it written to a file.
    pub restart_required: bool,
    /// Why it was not applied, for a person.
    pub note: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self::defaults()
    }
}

impl Settings {
    /// What is declared, and nothing else.
    #[must_use]
    pub fn defaults() -> Self {
        let resolved = SETTINGS
            .iter()
            .map(|setting| Resolved {
                // A test reads every default.
                value: read_text(setting, setting.default)
                    .unwrap_or_else(|_| Value::Text(setting.default.to_owned())),
                source: Source::Default,
                shadowed: Vec::new(),
            })
            .collect();
        Self { resolved }
    }

    pub(crate) fn push(&mut self, index: usize, value: Value, source: Source) {
        let Some(resolved) = self.resolved.get_mut(index) else {
            return;
        };
        let displaced = Shadowed {
            value: std::mem::replace(&mut resolved.value, value),
            source: std::mem::replace(&mut resolved.source, source),
        };
        resolved.shadowed.insert(0, displaced);
    }

    /// The value of the setting with this path, with its history.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Resolved> {
        self.resolved.get(position(path)?)
    }

    /// Every setting with its value, in the order of the declarations.
    pub fn all(&self) -> impl Iterator<Item = (&'static Setting, &Resolved)> {
        SETTINGS.iter().zip(&self.resolved)
    }

    fn value(&self, index: usize) -> Option<&Value> {
        self.resolved.get(index).map(|resolved| &resolved.value)
    }

    /// A switch.
    #[must_use]
    pub fn bool(&self, key: Key<of::Bool>) -> bool {
        matches!(self.value(key.index()), Some(Value::Bool(true)))
    }

    /// A number, never negative.
    #[must_use]
    pub fn int(&self, key: Key<of::Int>) -> usize {
        match self.value(key.index()) {
            Some(Value::Int(number)) => usize::try_from(*number).unwrap_or(usize::MAX),
            _ => 0,
        }
    }

    /// A time.
    #[must_use]
    pub fn duration(&self, key: Key<of::Duration>) -> Duration {
        match self.value(key.index()) {
            Some(Value::Duration(duration)) => *duration,
            _ => Duration::ZERO,
        }
    }

    /// A size in bytes.
    #[must_use]
    pub fn bytes(&self, key: Key<of::Bytes>) -> u64 {
        match self.value(key.index()) {
            Some(Value::Bytes(bytes)) => *bytes,
            _ => 0,
        }
    }

    /// A text or a choice; empty when nothing is set.
    #[must_use]
    pub fn text(&self, key: Key<of::Text>) -> &str {
        match self.value(key.index()) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    /// Several texts.
    #[must_use]
    pub fn list(&self, key: Key<of::List>) -> &[String] {
        match self.value(key.index()) {
            Some(Value::List(texts)) => texts,
            _ => &[],
        }
    }

    /// Which servers a command is about.
    #[must_use]
    pub fn profiles(&self) -> Profiles {
        Profiles {
            names: self.list(key::PROFILE_NAMES).to_vec(),
            skip_default: self.bool(key::PROFILE_SKIP_DEFAULT),
            all: self.bool(key::PROFILE_ALL),
        }
    }

    /// Changes a setting until the process ends. Only one that is hot, and not the client's, changes.
    ///
    /// # Errors
    ///
    /// A path that is not there, or text of the wrong kind.
    pub fn set_runtime(&mut self, path: &str, text: &str) -> Result<Applied, ConfigError> {
        let index = known(path, &Place::Request)?;
        let setting = &SETTINGS[index];
        let value = value_of(setting, text, &Place::Request)?;
        let refused = |restart_required: bool, note: &str| Applied {
            applied: false,
            restart_required,
            note: Some(note.to_owned()),
        };
        Ok(match (setting.scope, setting.hot) {
            (SettingScope::Client, _) => refused(
                false,
                "each command reads it for itself: set it in a file, a variable or a flag",
            ),
            (_, false) => refused(
                true,
                "it is read once, at the start: write it to a file and restart the daemon",
            ),
            (_, true) => {
                self.unset_runtime(path);
                self.push(index, value, Source::Runtime);
                Applied {
                    applied: true,
                    restart_required: false,
                    note: None,
                }
            }
        })
    }

    /// Takes a change back. Returns whether there was one.
    pub fn unset_runtime(&mut self, path: &str) -> bool {
        let Some(resolved) = position(path).and_then(|index| self.resolved.get_mut(index)) else {
            return false;
        };
        if resolved.source != Source::Runtime || resolved.shadowed.is_empty() {
            return false;
        }
        let below = resolved.shadowed.remove(0);
        resolved.value = below.value;
        resolved.source = below.source;
        true
    }

    /// Carries the changes of [`Settings::set_runtime`] over to what was read anew.
    pub fn keep_runtime_of(&mut self, before: &Self) {
        for (index, resolved) in before.resolved.iter().enumerate() {
            if resolved.source == Source::Runtime {
                self.push(index, resolved.value.clone(), Source::Runtime);
            }
        }
    }

    /// The settings of one call. Only settings of a call are taken, only with text of their kind; the rest is passed over.
    #[must_use]
    pub fn for_call<'a>(&self, sent: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut settings = self.clone();
        for (path, text) in sent {
            let Some(index) = position(path) else {
                continue;
            };
            let setting = &SETTINGS[index];
            if setting.scope == SettingScope::Call
                && let Ok(value) = read_text(setting, text)
            {
                settings.push(index, value, Source::Call);
            }
        }
        settings
    }

    /// What a command sends along with a call: the settings of a call that somebody set.
    #[must_use]
    pub fn sent_with_call(&self) -> Vec<(&'static str, String)> {
        self.all()
            .filter(|(setting, resolved)| {
                setting.scope == SettingScope::Call && resolved.source != Source::Default
            })
            .map(|(setting, resolved)| (setting.path, resolved.value.to_string()))
            .collect()
    }
}

#[cfg(test)]
mod tests;
