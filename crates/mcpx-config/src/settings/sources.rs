//! Settings as they are written: in a file, in the environment, in flags.

use std::path::{Path, PathBuf};

use super::{
    kind::{self, expected_choices, read_text},
    registry::{Guard, Kind, SETTINGS, Setting, key, position},
    value::{Source, Value},
};
use crate::{
    Choice, ConfigError, Place, Surroundings, Warning,
    error::quoted,
    files::{Entry, Kind as NodeKind, Node, Where},
};

/// One value for one setting.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assigned {
    pub(crate) index: usize,
    pub(crate) value: Value,
    pub(crate) source: Source,
    pub(crate) place: Place,
}

impl Assigned {
    pub(crate) fn setting(&self) -> &'static Setting {
        &SETTINGS[self.index]
    }

    /// The line in its file, 0 when it is in none.
    pub(crate) fn line(&self) -> u32 {
        match &self.place {
            Place::File { line, .. } => *line,
            _ => 0,
        }
    }

    /// Whether it waits for the person's word when it comes from a project's file.
    pub(crate) fn widens(&self) -> bool {
        match self.setting().guard {
            Guard::Free => false,
            Guard::Asks => true,
            Guard::AsksUnless(narrow) => self.value.to_string() != narrow,
        }
    }
}

/// Top-level keys of a file that are not settings, and those of `pool` that are defaults of servers and no settings.
const NO_SETTINGS: &[&str] = &["$schema", "mcpServers", "inputs"];

/// The settings of one file, and its keys that mean nothing.
pub(crate) fn from_file(
    root: &Node,
    file: &Path,
) -> Result<(Vec<Assigned>, Vec<Warning>), ConfigError> {
    let mut assigned = Vec::new();
    let mut unknown = Vec::new();
    for entry in root.entries() {
        if !NO_SETTINGS.contains(&entry.name.as_str()) {
            walk(entry, &entry.name, file, &mut assigned, &mut unknown)?;
        }
    }
    Ok((assigned, unknown))
}

fn walk(
    entry: &Entry,
    path: &str,
    file: &Path,
    assigned: &mut Vec<Assigned>,
    unknown: &mut Vec<Warning>,
) -> Result<(), ConfigError> {
    if let Some(index) = position(path) {
        let setting = &SETTINGS[index];
        if !setting.in_file {
            return Err(ConfigError::new(
                entry.place(file),
                format!("`{path}`, which says where files are"),
                format!("it as `{}` or `{}`", setting.flag(), setting.variable()),
            ));
        }
        assigned.push(Assigned {
            index,
            value: from_node(setting, &entry.value, file)?,
            source: Source::File {
                path: file.to_owned(),
                line: entry.line,
            },
            place: entry.place(file),
        });
        return Ok(());
    }
    let below = format!("{path}.");
    let is_section = SETTINGS
        .iter()
        .any(|setting| setting.path.starts_with(&below));
    if is_section {
        if !matches!(entry.value.kind, NodeKind::Object(_)) {
            return Err(ConfigError::new(
                entry.value.place(file),
                format!("{} for `{path}`", entry.value.described()),
                "an object of settings",
            ));
        }
        for inner in entry.value.entries() {
            if path == "pool" && crate::server::is_pool_key(&inner.name) {
                continue;
            }
            walk(
                inner,
                &format!("{path}.{}", inner.name),
                file,
                assigned,
                unknown,
            )?;
        }
        return Ok(());
    }
    let hint = match nearest(path) {
        Some(near) if near == path => "; settings are written as objects in each other".to_owned(),
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    unknown.push(Warning {
        place: entry.place(file),
        message: format!("{} means nothing here{hint}", quoted(path)),
    });
    Ok(())
}

/// Reads a value of a file.
fn from_node(setting: &Setting, node: &Node, file: &Path) -> Result<Value, ConfigError> {
    let wrong = |expected: String| {
        Err(ConfigError::new(
            node.place(file),
            format!("{} for `{}`", node.described(), setting.path),
            expected,
        ))
    };
    let text = match (&node.kind, setting.kind) {
        (_, Kind::Json) => return Ok(Value::Text(node.to_json().to_string())),
        (NodeKind::Bool(value), Kind::Bool) => return Ok(Value::Bool(*value)),
        (NodeKind::Bool(value), Kind::Enum) => value.to_string(),
        (NodeKind::Number(text), Kind::Int | Kind::Bytes) => text.clone(),
        (NodeKind::List(elements), Kind::List | Kind::Paths) => {
            return elements
                .iter()
                .map(|element| match &element.kind {
                    NodeKind::Text(text) => Ok(text.clone()),
                    _ => Err(ConfigError::new(
                        element.place(file),
                        format!("{} in `{}`", element.described(), setting.path),
                        "a text",
                    )),
                })
                .collect::<Result<_, _>>()
                .map(Value::List);
        }
        (NodeKind::Text(text), _) => text.clone(),
        (_, kind) => {
            let expected = match kind {
                Kind::Bool => "`true` or `false`".to_owned(),
                Kind::Int => "a whole number".to_owned(),
                Kind::Duration => "a text with a unit, such as \"1m30s\"".to_owned(),
                Kind::Bytes => "a number, or a text such as \"256KiB\"".to_owned(),
                Kind::Enum => expected_choices(setting),
                Kind::List | Kind::Paths => "a list of texts".to_owned(),
                Kind::Text | Kind::Json => "a text".to_owned(),
            };
            return wrong(expected);
        }
    };
    kind::read_text(setting, &text).or_else(|(_, expected)| wrong(expected))
}

/// The settings in the environment, and variables that are probably misspelt.
pub(crate) fn from_env(
    surroundings: &Surroundings,
) -> Result<(Vec<Assigned>, Vec<Warning>), ConfigError> {
    let mut assigned = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for (index, setting) in SETTINGS.iter().enumerate() {
        let names = setting.variables();
        let set: Vec<(&String, &str)> = names
            .iter()
            .filter_map(|name| Some((name, surroundings.variable(name)?)))
            .collect();
        if let [(first, _), (second, _), ..] = set.as_slice() {
            return Err(ConfigError::new(
                Place::Variable((*second).clone()),
                format!("`{first}` is set too, and both are `{}`", setting.path),
                "one of the two",
            ));
        }
        if let Some((name, text)) = set.first() {
            let place = Place::Variable((*name).clone());
            assigned.push(Assigned {
                index,
                value: value_of(setting, text, &place)?,
                source: Source::Variable((*name).clone()),
                place,
            });
        }
        known.extend(names);
    }
    let warnings = surroundings
        .env
        .keys()
        .filter(|name| name.starts_with("MCPX_") && !known.contains(*name))
        .filter_map(|name| {
            let near = known
                .iter()
                .map(|other| (distance(name, other), other))
                .min()
                .filter(|(slips, _)| *slips <= 2)?;
            Some(Warning {
                place: Place::Variable(name.clone()),
                message: format!("sets nothing; did you mean `{}`?", near.1),
            })
        })
        .collect();
    Ok((assigned, warnings))
}

/// The settings of flags, as path and text.
pub(crate) fn from_flags(flags: &[(String, String)]) -> Result<Vec<Assigned>, ConfigError> {
    flags
        .iter()
        .map(|(path, text)| {
            let index = known(path, &Place::Flag(path.clone()))?;
            let name = SETTINGS[index].flag();
            let place = Place::Flag(name.clone());
            Ok(Assigned {
                index,
                value: value_of(&SETTINGS[index], text, &place)?,
                source: Source::Flag(name),
                place,
            })
        })
        .collect()
}

/// The row of a path, or an error that names the nearest one.
pub(crate) fn known(path: &str, place: &Place) -> Result<usize, ConfigError> {
    position(path).ok_or_else(|| {
        let error = ConfigError::new(
            place.clone(),
            format!("there is no setting {}", quoted(path)),
            "the path of a setting; `mcpx settings list` shows them",
        );
        match nearest(path) {
            Some(near) => error.with_hint(format!("did you mean `{near}`?")),
            None => error,
        }
    })
}

/// The declaration with this path, or an error that names the nearest one.
pub(crate) fn row(path: &str, place: &Place) -> Result<&'static Setting, ConfigError> {
    known(path, place).map(|index| &SETTINGS[index])
}

pub(crate) fn value_of(setting: &Setting, text: &str, place: &Place) -> Result<Value, ConfigError> {
    read_text(setting, text).map_err(|(found, expected)| {
        ConfigError::new(
            place.clone(),
            format!("{found} for `{}`", setting.path),
            expected,
        )
    })
}

/// Where the files are looked for: the only settings that hold before a file is read.
pub(crate) fn where_to_look(
    surroundings: &Surroundings,
    choice: &Choice,
) -> Result<Where, ConfigError> {
    if let Some(only) = &choice.config_file {
        return Ok(Where {
            only: Some(only.clone()),
            listed: Vec::new(),
        });
    }
    let mut all = from_env(surroundings)?.0;
    all.extend(from_flags(&choice.flags)?);
    let mut place = Where::default();
    for assigned in all {
        match assigned.value {
            Value::Text(path) if assigned.index == key::PATHS_CONFIG_FILE.index() => {
                place.only = Some(PathBuf::from(path)).filter(|path| !path.as_os_str().is_empty());
            }
            Value::List(paths) if assigned.index == key::PATHS_CONFIG.index() => {
                place.listed = paths.iter().map(PathBuf::from).collect();
            }
            _ => {}
        }
    }
    Ok(place)
}

/// The setting whose path is near.
pub(crate) fn nearest(path: &str) -> Option<&'static str> {
    if path.len() > 100 {
        return None;
    }
    let last = path.rsplit('.').next().unwrap_or(path);
    SETTINGS
        .iter()
        .map(|setting| {
            let slips = distance(path, setting.path);
            let own = setting.path.rsplit('.').next().unwrap_or(setting.path);
            // The right name in the wrong section.
            let slips = if own == last && last.len() > 3 {
                slips.min(3)
            } else {
                slips
            };
            (slips, setting.path)
        })
        .min()
        .filter(|(slips, _)| *slips <= 3)
        .map(|(_, path)| path)
}

/// How many letters have to be put in, taken out or changed; letters of either case are the same.
pub(crate) fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.to_lowercase().chars().collect();
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}
