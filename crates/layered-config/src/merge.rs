//! Puts layers on top of each other.

use std::collections::BTreeMap;

use toml::Value;

use crate::{ConfigError, KeySpec, Kind, Layer, Trust, layer::Entry, nearest, trust};

/// What came of all layers.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    settings: BTreeMap<String, Setting>,
    /// What was ignored and why, each naming its place; for the person.
    pub warnings: Vec<String>,
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The value; of the kind its spec says.
    pub value: Value,
    /// Where it came from: `~/.cox/config.toml:12`, `COX_MODEL`, `--model`, `default`.
    pub origin: String,
    /// For a list, where each entry came from.
    pub item_origins: Vec<String>,
}

impl Merged {
    /// Returns a setting by its dotted key.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.get(key)
    }

    /// Returns a text or a choice.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.value.as_str()
    }

    /// Returns a switch.
    pub fn switch(&self, key: &str) -> Option<bool> {
        self.get(key)?.value.as_bool()
    }

    /// Returns a whole number.
    pub fn count(&self, key: &str) -> Option<i64> {
        self.get(key)?.value.as_integer()
    }

    /// Returns a number, whole or not.
    pub fn number(&self, key: &str) -> Option<f64> {
        let value = &self.get(key)?.value;
        value
            .as_float()
            .or_else(|| value.as_integer().map(|whole| whole as f64))
    }

    /// Returns the entries of a list with the place of each; empty when it is not set.
    pub fn list(&self, key: &str) -> Vec<(&str, &str)> {
        let Some(setting) = self.get(key) else {
            return Vec::new();
        };
        entries_of(setting)
            .filter_map(|(entry, origin)| Some((entry.as_str()?, origin)))
            .collect()
    }

    /// Returns the entries of a list, tables among them, each with where it came from; none if there is no such list.
    pub fn records(&self, key: &str) -> Vec<(&Value, &str)> {
        self.settings
            .get(key)
            .map(|setting| entries_of(setting).collect())
            .unwrap_or_default()
    }

    /// Returns the names that stand directly under a section, sorted: for `providers` every provider that has a key.
    pub fn names(&self, section: &str) -> Vec<&str> {
        let under = format!("{section}.");
        let mut names: Vec<&str> = self
            .settings
            .keys()
            .filter_map(|key| key.strip_prefix(&under)?.split('.').next())
            .collect();
        names.dedup();
        names
    }

    /// Returns every setting with its key, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.settings
            .iter()
            .map(|(key, setting)| (key.as_str(), setting))
    }
}

fn entries_of(setting: &Setting) -> impl Iterator<Item = (&Value, &str)> {
    let places = setting.item_origins.iter().map(String::as_str);
    let entries = setting.value.as_array().into_iter().flatten();
    entries.zip(places.chain(std::iter::repeat(setting.origin.as_str())))
}

/// Merges layers, weakest first.
///
/// # Errors
///
/// [`ConfigError`] with every unknown key and every value of the wrong kind. A value that a project may not set is no
/// error: it is ignored with a warning.
pub fn merge(specs: &[KeySpec], layers: &[Layer]) -> Result<Merged, ConfigError> {
    let mut merged = Merged::default();
    let mut problems = Vec::new();
    for layer in layers {
        for entry in gathered(specs, layer) {
            match spec_of(specs, &entry) {
                Ok(Some(spec)) => put(&mut merged, spec, layer.trust, entry),
                Ok(None) => {}
                Err(problem) => problems.push(problem),
            }
        }
    }
    if problems.is_empty() {
        Ok(merged)
    } else {
        Err(ConfigError { problems })
    }
}

/// Returns the entries of a layer, with those under a key that takes anything made one again.
fn gathered(specs: &[KeySpec], layer: &Layer) -> Vec<Entry> {
    let mut gathered: Vec<Entry> = Vec::new();
    for entry in &layer.entries {
        let whole = specs
            .iter()
            .filter(|spec| spec.kind == Kind::Any)
            .find_map(|spec| {
                let depth = spec.path.split('.').count();
                let key = entry.key.get(..depth)?;
                spec.covers(key).then(|| key.to_vec())
            });
        let Some(key) = whole else {
            gathered.push(entry.clone());
            continue;
        };
        let inner = &entry.key[key.len()..];
        let at = gathered
            .iter()
            .position(|known| known.key == key)
            .unwrap_or_else(|| {
                let empty = Value::Table(toml::Table::new());
                gathered.push(Entry {
                    key: key.clone(),
                    value: empty,
                    origin: entry.origin.clone(),
                    item_origins: entry.item_origins.clone(),
                });
                gathered.len() - 1
            });
        insert(&mut gathered[at].value, inner, entry.value.clone());
    }
    gathered
}

fn insert(into: &mut Value, path: &[String], value: Value) {
    let Some((name, rest)) = path.split_first() else {
        *into = value;
        return;
    };
    if !into.is_table() {
        *into = Value::Table(toml::Table::new());
    }
    if let Some(table) = into.as_table_mut() {
        let child = table
            .entry(name.clone())
            .or_insert_with(|| Value::Table(toml::Table::new()));
        insert(child, rest, value);
    }
}

/// Finds the spec of an entry and checks its value. Nothing for an empty section.
fn spec_of<'a>(specs: &'a [KeySpec], entry: &Entry) -> Result<Option<&'a KeySpec>, String> {
    let Entry {
        key, value, origin, ..
    } = entry;
    let wrong = |key: &[String], found: &str, expected: &str| {
        format!(
            "{origin}: `{}` is {found}, expected {expected}",
            key.join(".")
        )
    };
    if let Some(name) = key
        .iter()
        .find(|name| name.is_empty() || name.contains('.'))
    {
        return Err(format!(
            "{origin}: the name \"{name}\" is empty or has a dot, expected a plain name"
        ));
    }
    if let Some(spec) = specs.iter().find(|spec| spec.covers(key)) {
        return match spec.kind.check(value) {
            Ok(()) => Ok(Some(spec)),
            Err(expected) => Err(wrong(key, &found(value), &expected)),
        };
    }
    if specs.iter().any(|spec| spec.covers_start(key)) {
        let is_empty_section = value.as_table().is_some_and(toml::Table::is_empty);
        return if is_empty_section {
            Ok(None)
        } else {
            Err(wrong(key, &found(value), "a table of keys"))
        };
    }
    for depth in 1..key.len() {
        if let Some(spec) = specs.iter().find(|spec| spec.covers(&key[..depth])) {
            let expected = spec
                .kind
                .check(value)
                .err()
                .unwrap_or_else(|| "a single value".to_owned());
            return Err(wrong(&key[..depth], "a table", &expected));
        }
    }
    Err(nearest::unknown(specs, key, origin))
}

fn found(value: &Value) -> String {
    let text = match value {
        Value::Table(_) => return "a table".to_owned(),
        Value::Array(entries) => match entries.iter().find(|entry| !entry.is_str()) {
            Some(odd) => return format!("a list with {}", found(odd)),
            None => return "a list".to_owned(),
        },
        Value::String(text) => format!("{:?}", text.chars().take(60).collect::<String>()),
        other => other.to_string(),
    };
    format!(
        "the {} {text}",
        if value.is_integer() {
            "number"
        } else {
            value.type_str()
        }
    )
}

fn put(merged: &mut Merged, spec: &KeySpec, layer_trust: Trust, entry: Entry) {
    let key = entry.key.join(".");
    let below = merged.settings.get(&key);
    if layer_trust == Trust::Project
        && let Some(why) = trust::refusal(spec, &entry.value, below.map(|setting| &setting.value))
    {
        merged
            .warnings
            .push(format!("{}: `{key}` is ignored: {why}", entry.origin));
        return;
    }
    let mut setting = Setting {
        value: entry.value,
        origin: entry.origin,
        item_origins: entry.item_origins,
    };
    if spec.kind.is_added()
        && let Some(below) = merged.settings.remove(&key)
        && let (Value::Array(mut entries), Value::Array(added)) =
            (below.value, setting.value.clone())
    {
        entries.extend(added);
        setting.value = Value::Array(entries);
        setting.item_origins = [below.item_origins, setting.item_origins].concat();
    }
    merged.settings.insert(key, setting);
}

#[cfg(test)]
mod tests;
