//! One layer: the values of a file, of the environment or of the flags, each with its place.

use std::{fs, io, path::Path};

use toml::Value;
use toml_edit::{Document, Item};

use crate::{ConfigError, KeySpec, env_name};

/// Largest configuration file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Where a layer came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Compiled in.
    Default,
    /// A file, named as it is shown to a person.
    File(String),
    /// Environment variables.
    Env,
    /// Flags.
    Flag,
}

/// How far a layer is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The person's own: it may set everything.
    Full,
    /// A repository's: it may set what [`Project`](crate::Project) lets it.
    Project,
}

/// The values of one source.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Where they came from.
    pub source: Source,
    /// How far they are trusted.
    pub trust: Trust,
    pub(crate) entries: Vec<Entry>,
}

/// One value that is not a table, or an empty table.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Vec<String>,
    pub(crate) value: Value,
    pub(crate) origin: String,
    /// The place of each entry of a list.
    pub(crate) item_origins: Vec<String>,
}

impl Layer {
    /// Makes an empty layer, to be filled with [`set`](Self::set).
    pub fn new(source: Source, trust: Trust) -> Self {
        Self {
            source,
            trust,
            entries: Vec::new(),
        }
    }

    /// Sets a key, replacing what this layer had. `origin` is shown to people: `COX_MODEL`, `--model`, `default`.
    pub fn set(&mut self, key: &str, value: Value, origin: &str) {
        let key: Vec<String> = key.split('.').map(str::to_owned).collect();
        self.entries.retain(|entry| entry.key != key);
        let items = value.as_array().map_or(0, Vec::len);
        let item_origins = vec![origin.to_owned(); items];
        self.entries.push(Entry {
            key,
            value,
            origin: origin.to_owned(),
            item_origins,
        });
    }

    /// Sets a key from plain text, as an environment variable or a flag gives it.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for a key that is not in `specs` or text that is not of its kind.
    pub fn set_text(
        &mut self,
        specs: &[KeySpec],
        key: &str,
        text: &str,
        origin: &str,
    ) -> Result<(), ConfigError> {
        let value = read_text(specs, key, text, origin)?;
        self.set(key, value, origin);
        Ok(())
    }

    /// Makes the layer of the environment: for each key the variable [`env_name`] says. A `*` of a path is the name of a
    /// section of the layers `below` that is written so, else the rest of the variable's name in small letters. An empty
    /// variable counts as not set, other variables are passed over: [`unknown_variables`](crate::unknown_variables) names
    /// them.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for values of the wrong kind.
    pub fn from_env<'a>(
        prefix: &str,
        specs: &[KeySpec],
        below: &[Self],
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ConfigError> {
        let mut layer = Self::new(Source::Env, Trust::Full);
        let mut problems = Vec::new();
        for (name, text) in variables {
            let Some(key) = variable_key(prefix, specs, below, name) else {
                continue;
            };
            if text.is_empty() {
                continue;
            }
            if let Err(error) = layer.set_text(specs, &key, text, name) {
                problems.extend(error.problems);
            }
        }
        if problems.is_empty() {
            Ok(layer)
        } else {
            Err(ConfigError { problems })
        }
    }

    /// Reads TOML text. `shown` is the file's name in messages and origins; a byte order mark is passed over.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names file, line and column.
    pub fn parse(source: Source, trust: Trust, text: &str) -> Result<Self, ConfigError> {
        let shown = match &source {
            Source::Default => "default",
            Source::File(shown) => shown,
            Source::Env => "environment",
            Source::Flag => "flags",
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = Document::parse(text).map_err(|error| {
            let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
            ConfigError::one(format!(
                "{shown}:{line}:{column}: {}",
                first_line(error.message())
            ))
        })?;
        let place = |offset: Option<usize>| match (&source, offset) {
            (Source::File(shown), Some(offset)) => {
                format!("{shown}:{}", line_and_column(text, offset).0)
            }
            _ => shown.to_owned(),
        };
        let mut entries = Vec::new();
        collect(
            document.as_item(),
            &mut Vec::new(),
            None,
            &place,
            &mut entries,
        );
        Ok(Self {
            source,
            trust,
            entries,
        })
    }

    /// Reads a TOML file; one that does not exist is an empty layer.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] when it cannot be read, is not UTF-8 or not TOML.
    pub fn read(path: &Path, shown: &str, trust: Trust) -> Result<Self, ConfigError> {
        let source = Source::File(shown.to_owned());
        match read_file(path, shown)? {
            Some(text) => Self::parse(source, trust, &text),
            None => Ok(Self::new(source, trust)),
        }
    }
}

/// Reads a configuration file; one that does not exist is nothing.
pub(crate) fn read_file(path: &Path, shown: &str) -> Result<Option<String>, ConfigError> {
    let problem = |what: String| ConfigError::one(format!("{shown}: {what}"));
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(problem(format!("cannot be read: {error}"))),
    };
    if !metadata.is_file() {
        return Err(problem("is not a file".to_owned()));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(problem(format!(
            "has {} bytes, the limit is {MAX_FILE_BYTES}",
            metadata.len()
        )));
    }
    let bytes = fs::read(path).map_err(|error| problem(format!("cannot be read: {error}")))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
            Err(ConfigError::one(format!("{shown}:{line}: is not UTF-8")))
        }
    }
}

pub(crate) fn read_text(
    specs: &[KeySpec],
    key: &str,
    text: &str,
    origin: &str,
) -> Result<Value, ConfigError> {
    let path: Vec<String> = key.split('.').map(str::to_owned).collect();
    let Some(spec) = specs.iter().find(|spec| spec.covers(&path)) else {
        return Err(ConfigError::one(crate::nearest::unknown(
            specs, &path, origin,
        )));
    };
    spec.kind.read_text(text).map_err(|expected| {
        let found: String = text.chars().take(60).collect();
        ConfigError::one(format!(
            "{origin}: `{key}` is `{found}`, expected {expected}"
        ))
    })
}

/// Returns the key that a variable sets, if it does.
pub(crate) fn variable_key(
    prefix: &str,
    specs: &[KeySpec],
    below: &[Layer],
    name: &str,
) -> Option<String> {
    specs
        .iter()
        .find_map(|spec| env_key(prefix, spec, below, name))
}

fn env_key(prefix: &str, spec: &KeySpec, below: &[Layer], name: &str) -> Option<String> {
    let Some((before, after)) = spec.path.split_once('*') else {
        return (env_name(prefix, spec.path) == name).then(|| spec.path.to_owned());
    };
    if after.contains('*') {
        return None;
    }
    let middle = name
        .strip_prefix(&env_name(prefix, before))?
        .strip_suffix(&env_name("", after))?;
    if let Some(known) = names_at(spec, below).find(|known| env_name("", known) == middle) {
        return Some(format!("{before}{known}{after}"));
    }
    let is_plain = !middle.is_empty() && middle.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain.then(|| format!("{before}{}{after}", middle.to_ascii_lowercase()))
}

/// Returns the names that the layers have in place of the `*` of a path.
fn names_at<'a>(spec: &KeySpec, layers: &'a [Layer]) -> impl Iterator<Item = &'a str> {
    let start: Vec<&'static str> = spec
        .path
        .split('.')
        .take_while(|segment| *segment != "*")
        .collect();
    layers
        .iter()
        .flat_map(|layer| &layer.entries)
        .filter_map(move |entry| {
            let is_under = entry.key.len() > start.len()
                && entry
                    .key
                    .iter()
                    .zip(&start)
                    .all(|(name, segment)| name == segment);
            is_under.then(|| entry.key[start.len()].as_str())
        })
}

fn collect(
    item: &Item,
    key: &mut Vec<String>,
    at: Option<usize>,
    place: &dyn Fn(Option<usize>) -> String,
    entries: &mut Vec<Entry>,
) {
    if let Some(table) = item.as_table_like() {
        if table.is_empty() && !key.is_empty() {
            let value = Value::Table(toml::Table::new());
            entries.push(Entry {
                key: key.clone(),
                value,
                origin: place(at),
                item_origins: Vec::new(),
            });
        }
        for (name, child) in table.iter() {
            let at = table
                .key(name)
                .and_then(|key| key.span())
                .or_else(|| child.span());
            key.push(name.to_owned());
            collect(child, key, at.map(|span| span.start), place, entries);
            key.pop();
        }
        return;
    }
    let items = item.as_array().into_iter().flatten();
    let item_origins = items
        .map(|entry| place(entry.span().map(|span| span.start).or(at)))
        .collect();
    if let Some(value) = to_value(item) {
        entries.push(Entry {
            key: key.clone(),
            value,
            origin: place(at),
            item_origins,
        });
    }
}

fn to_value(item: &Item) -> Option<Value> {
    Some(match item {
        Item::None => return None,
        Item::Value(value) => from_edit(value),
        Item::Table(table) => Value::Table(
            table
                .iter()
                .filter_map(|(name, item)| Some((name.to_owned(), to_value(item)?)))
                .collect(),
        ),
        Item::ArrayOfTables(tables) => Value::Array(
            tables
                .iter()
                .filter_map(|table| to_value(&Item::Table(table.clone())))
                .collect(),
        ),
    })
}

fn from_edit(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::Integer(*number.value()),
        toml_edit::Value::Float(number) => Value::Float(*number.value()),
        toml_edit::Value::Boolean(switch) => Value::Boolean(*switch.value()),
        toml_edit::Value::Datetime(time) => Value::Datetime(*time.value()),
        toml_edit::Value::Array(array) => Value::Array(array.iter().map(from_edit).collect()),
        toml_edit::Value::InlineTable(table) => Value::Table(
            table
                .iter()
                .map(|(name, value)| (name.to_owned(), from_edit(value)))
                .collect(),
        ),
    }
}

/// Returns line and column of a byte, both from 1, the column in characters.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or(text)
}
