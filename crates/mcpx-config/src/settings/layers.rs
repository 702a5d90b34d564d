//! The layers, lowest first: defaults, files from the farthest to the nearest, environment, presets, flags.

use super::{
    presets::from_presets,
    registry::{SETTINGS, key},
    resolved::Settings,
    sources::{Assigned, from_env, from_flags},
};
use crate::{Choice, ConfigError, Surroundings, Warning};

/// Lays the layers over each other. `files`: what each file says, nearest first, without what may not be taken.
pub(crate) fn resolve(
    files: Vec<Vec<Assigned>>,
    surroundings: &Surroundings,
    choice: &Choice,
) -> Result<(Settings, Vec<Warning>), ConfigError> {
    let (env, mut warnings) = from_env(surroundings)?;
    let flags = from_flags(&choice.flags)?;
    let lower: Vec<Assigned> = files.into_iter().rev().flatten().chain(env).collect();

    let winner = |index: usize| {
        flags
            .iter()
            .rev()
            .chain(lower.iter().rev())
            .find(|assigned| assigned.index == index)
    };
    let presets = match winner(key::PRESET.index()) {
        Some(chosen) => {
            let (presets, more) = from_presets(chosen, winner(key::PRESETS.index()))?;
            warnings.extend(more);
            presets
        }
        None => Vec::new(),
    };

    let mut settings = Settings::defaults();
    for assigned in lower.into_iter().chain(presets).chain(flags) {
        debug_assert!(assigned.index < SETTINGS.len());
        settings.push(assigned.index, assigned.value, assigned.source);
    }
    Ok((settings, warnings))
}
