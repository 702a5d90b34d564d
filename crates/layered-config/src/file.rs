//! Changes one key of a configuration file and nothing else in it.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the door to configuration files"
)]

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use toml::Value;
use toml_edit::{DocumentMut, Item, Table};

use crate::{ConfigError, KeySpec, Layer, Source, Trust, layer, merge};

/// Sets a key of a file from plain text. Comments, order and everything else stay; a missing file is made. Nothing is
/// written when the file, as it would be, does not load.
///
/// # Errors
///
/// [`ConfigError`] for an unknown key, a value of the wrong kind, a file that is broken already or cannot be written.
pub fn set_in_file(
    path: &Path,
    shown: &str,
    specs: &[KeySpec],
    key: &str,
    text: &str,
) -> Result<(), ConfigError> {
    let value = layer::read_text(specs, key, text, shown)?;
    change(path, shown, specs, |document| {
        let names: Vec<&str> = key.split('.').collect();
        put(document.as_table_mut(), &names, &value)
            .map_err(|name| format!("`{name}` is not a table, so `{key}` cannot be set"))
    })
    .map(drop)
}

/// Removes a key from a file. Returns whether it was there.
///
/// # Errors
///
/// [`ConfigError`] for a file that is broken or cannot be written.
pub fn unset_in_file(
    path: &Path,
    shown: &str,
    specs: &[KeySpec],
    key: &str,
) -> Result<bool, ConfigError> {
    if !path.exists() {
        return Ok(false);
    }
    change(path, shown, specs, |document| {
        let names: Vec<&str> = key.split('.').collect();
        Ok(remove(document.as_item_mut(), &names))
    })
}

fn change(
    path: &Path,
    shown: &str,
    specs: &[KeySpec],
    edit: impl FnOnce(&mut DocumentMut) -> Result<bool, String>,
) -> Result<bool, ConfigError> {
    let problem = |what: String| ConfigError::one(format!("{shown}: {what}"));
    let before = layer::read_file(path, shown)?.unwrap_or_default();
    let source = || Source::File(shown.to_owned());
    Layer::parse(source(), Trust::Full, &before)?;
    let (mark, body) = match before.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", before.as_str()),
    };
    let mut document: DocumentMut = body.parse().map_err(|error| problem(format!("{error}")))?;
    let is_changed = edit(&mut document).map_err(problem)?;
    if is_changed {
        let mut after = format!("{mark}{document}");
        // The document was read with plain line ends; a file that had others in every line keeps them.
        if is_crlf(body) {
            after = after.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        merge(specs, &[Layer::parse(source(), Trust::Full, &after)?])?;
        replace(path, after.as_bytes())
            .map_err(|error| problem(format!("cannot be written: {error}")))?;
    }
    Ok(is_changed)
}

/// Says whether every line ends in CR LF.
fn is_crlf(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && text.matches("\r\n").count() == ends
}

fn put<'a>(table: &mut Table, names: &[&'a str], value: &Value) -> Result<bool, &'a str> {
    let Some((&name, rest)) = names.split_first() else {
        return Ok(false);
    };
    if rest.is_empty() {
        let mut new = to_edit(value);
        match table.get_mut(name) {
            Some(Item::Value(old)) => {
                *new.decor_mut() = old.decor().clone();
                *old = new;
            }
            Some(other) => *other = Item::Value(new),
            None => drop(table.insert(name, Item::Value(new))),
        }
        return Ok(true);
    }
    let child = table.entry(name).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    match child {
        Item::Table(table) => put(table, rest, value),
        Item::Value(toml_edit::Value::InlineTable(inline)) if rest.len() == 1 => {
            drop(inline.insert(rest[0], to_edit(value)));
            Ok(true)
        }
        _ => Err(name),
    }
}

fn remove(item: &mut Item, names: &[&str]) -> bool {
    let Some((name, rest)) = names.split_first() else {
        return false;
    };
    let Some(table) = item.as_table_like_mut() else {
        return false;
    };
    match table.get_mut(name) {
        Some(child) if !rest.is_empty() => remove(child, rest),
        _ => table.remove(name).is_some(),
    }
}

fn to_edit(value: &Value) -> toml_edit::Value {
    match value {
        Value::String(text) => text.into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(switch) => (*switch).into(),
        Value::Datetime(time) => (*time).into(),
        Value::Array(entries) => toml_edit::Value::Array(entries.iter().map(to_edit).collect()),
        Value::Table(table) => toml_edit::Value::InlineTable(
            table
                .iter()
                .map(|(name, value)| (name, to_edit(value)))
                .collect(),
        ),
    }
}

/// Replaces a file whole, or not at all. A link stays a link, and the permissions of a file that exists stay.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| match fs::read_link(path) {
        // A link to a file that is not there yet: the file is made where the link says.
        Ok(led_to) => path.parent().unwrap_or(Path::new("")).join(led_to),
        Err(_) => path.to_owned(),
    });
    if let Some(folder) = target.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let staged = staged_name(&target);
    let written = write_new(&staged, bytes).and_then(|()| {
        if let Ok(metadata) = fs::metadata(&target) {
            fs::set_permissions(&staged, metadata.permissions())?;
        }
        fs::rename(&staged, &target)
    });
    if written.is_err() {
        drop(fs::remove_file(&staged));
    }
    written
}

fn staged_name(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.new", std::process::id()))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests;
