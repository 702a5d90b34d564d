//! Presets: a name for several flags.

use serde_json::Value as Json;

use super::{
    registry::{Kind, SETTINGS, by_flag, position},
    sources::{Assigned, value_of},
    value::{Source, Value},
};
use crate::{ConfigError, Place, Warning, error::quoted};

/// The settings of the chosen presets, in their order. A flag that no setting has is passed over with a warning.
///
/// # Errors
///
/// A preset that is not there, or that is no list of flags.
pub(crate) fn from_presets(
    chosen: &Assigned,
    declared: Option<&Assigned>,
) -> Result<(Vec<Assigned>, Vec<Warning>), ConfigError> {
    let Value::List(names) = &chosen.value else {
        return Ok((Vec::new(), Vec::new()));
    };
    let text = match declared.map(|declared| &declared.value) {
        Some(Value::Text(text)) if !text.is_empty() => text.as_str(),
        _ => "{}",
    };
    let place = declared.map_or(&chosen.place, |declared| &declared.place);
    let Ok(Json::Object(presets)) = serde_json::from_str::<Json>(text) else {
        return Err(ConfigError::new(
            place.clone(),
            "`presets` that is no object",
            "an object from a name to a list of flags",
        ));
    };
    let mut assigned = Vec::new();
    let mut warnings = Vec::new();
    for name in names {
        let Some(flags) = presets.get(name) else {
            let known: Vec<String> = presets.keys().map(|name| quoted(name)).collect();
            let known = if known.is_empty() {
                "there are none".to_owned()
            } else {
                format!("there are {}", known.join(", "))
            };
            return Err(ConfigError::new(
                chosen.place.clone(),
                format!("no preset {}", quoted(name)),
                format!("the name of a preset; {known}"),
            ));
        };
        let flags = flags.as_array().ok_or_else(|| {
            ConfigError::new(
                place.clone(),
                format!("the preset {}, which is no list", quoted(name)),
                "a list of flags, such as [\"--budget=500\"]",
            )
        })?;
        for flag in flags {
            let Some(flag) = flag.as_str() else {
                return Err(ConfigError::new(
                    place.clone(),
                    format!("`{flag}` in the preset {}", quoted(name)),
                    "a text such as \"--budget=500\"",
                ));
            };
            match token(name, flag)? {
                Some(one) => assigned.push(one),
                None => warnings.push(Warning {
                    place: Place::Preset(name.clone()),
                    message: format!("the flag {} sets nothing", quoted(flag)),
                }),
            }
        }
    }
    Ok((assigned, warnings))
}

/// One flag of a preset: `--flag=value`, `--flag` or `--no-flag`.
fn token(preset: &str, token: &str) -> Result<Option<Assigned>, ConfigError> {
    let (flag, text) = match token.split_once('=') {
        Some((flag, text)) => (flag, Some(text)),
        None => (token, None),
    };
    let negated = flag
        .strip_prefix("--no-")
        .and_then(|rest| by_flag(&format!("--{rest}")))
        .filter(|setting| setting.kind == Kind::Bool && text.is_none());
    let Some(setting) = by_flag(flag).or(negated) else {
        return Ok(None);
    };
    let place = Place::Preset(format!("{preset} {flag}"));
    if matches!(setting.path, "preset" | "presets") || !setting.in_file {
        return Err(ConfigError::new(
            place,
            format!("`{flag}` in a preset"),
            "flags that are not about presets and configuration files",
        ));
    }
    let text = match text {
        Some(text) => text,
        None if negated.is_some() => "false",
        None if setting.kind == Kind::Bool => "true",
        None => {
            return Err(ConfigError::new(
                place,
                format!("`{flag}` without a value"),
                format!("`{flag}=…` as one text"),
            ));
        }
    };
    let Some(index) = position(setting.path) else {
        return Ok(None);
    };
    Ok(Some(Assigned {
        index,
        value: value_of(&SETTINGS[index], text, &place)?,
        source: Source::Preset(preset.to_owned()),
        place,
    }))
}
