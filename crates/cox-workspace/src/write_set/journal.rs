//! What a set is about to do, written down outside the workspace before it does anything.
//!
//! A process that is killed in the middle leaves the record behind; [`super::Unfinished`] reads it. The record names
//! files and digests and holds no content: that lies in the archive, or beside the file under a name of ours.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::file::Digest;

/// Keeps the record of a set while the set is made.
pub trait Journal {
    /// Puts a record where the next start finds it. With `durable` it is on the disk when this returns, else it only
    /// has to survive the process: one file alone is old or new whatever happens.
    ///
    /// # Errors
    ///
    /// Whatever storing fails with; the change is then not made.
    fn begin(&self, record: &[u8], durable: bool) -> io::Result<Box<dyn Begun>>;
}

/// A record of a set that is being made. Dropped without [`Begun::end`], it stays for the next start.
pub trait Begun {
    /// Puts another record in place of this one, whole and on the disk.
    ///
    /// # Errors
    ///
    /// Whatever storing fails with; the change is then not made.
    fn rewrite(&mut self, record: &[u8]) -> io::Result<()>;

    /// Takes the record away: the set was made, or nothing of it. One that cannot be taken away is told as finished by
    /// the next start.
    fn end(self: Box<Self>);
}

/// The version of the record's format.
const VERSION: u64 = 1;

/// A set, as the next start needs to know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) files: Vec<Entry>,
    /// Folders that the set makes, outermost first: a root and a path in it.
    pub(crate) folders: Vec<(PathBuf, PathBuf)>,
}

/// One file of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) root: PathBuf,
    /// The file, below the root.
    pub(crate) inside: PathBuf,
    pub(crate) act: Planned,
    /// The name of ours beside the file.
    pub(crate) sibling: OsString,
    pub(crate) before: Option<Digest>,
    pub(crate) after: Option<Digest>,
    /// The archived old bytes.
    pub(crate) old: Option<String>,
    /// The archived new bytes, of a file that is written in place.
    pub(crate) new: Option<String>,
    /// Permission bits before.
    pub(crate) mode: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planned {
    Create,
    Change,
    Delete,
}

impl Planned {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Create, "create"),
        (Self::Change, "change"),
        (Self::Delete, "delete"),
    ];

    fn word(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(act, _)| *act == self)
            .map_or("change", |(_, word)| word)
    }
}

impl Entry {
    pub(crate) fn path(&self) -> PathBuf {
        self.root.join(&self.inside)
    }
}

impl Record {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|file| {
                json!({
                    "root": from_name(file.root.as_os_str()),
                    "path": from_name(file.inside.as_os_str()),
                    "act": file.act.word(),
                    "beside": from_name(&file.sibling),
                    "before": file.before.map(|digest| digest.to_string()),
                    "after": file.after.map(|digest| digest.to_string()),
                    "old": file.old,
                    "new": file.new,
                    "mode": file.mode,
                })
            })
            .collect();
        let folders: Vec<Value> = self
            .folders
            .iter()
            .map(|(root, path)| json!([from_name(root.as_os_str()), from_name(path.as_os_str())]))
            .collect();
        let mut text = json!({ "v": VERSION, "files": files, "folders": folders }).to_string();
        text.push('\n');
        text.into_bytes()
    }

    /// Reads a record; the reason is told in words.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        match value["v"].as_u64() {
            Some(VERSION) => {}
            other => return Err(format!("version {other:?}, this cox reads {VERSION}")),
        }
        let list = |value: &Value, key: &str| {
            value[key]
                .as_array()
                .cloned()
                .ok_or_else(|| format!("`{key}` is missing"))
        };
        let mut record = Self::default();
        for file in list(&value, "files")? {
            record.files.push(entry(&file)?);
        }
        for folder in list(&value, "folders")? {
            let (root, path) = (
                to_name(&folder[0], "folders")?,
                to_name(&folder[1], "folders")?,
            );
            record.folders.push((root.into(), inside(path)?));
        }
        Ok(record)
    }
}

fn entry(file: &Value) -> Result<Entry, String> {
    let digest = |key: &str| match &file[key] {
        Value::Null => Ok(None),
        Value::String(hex) => Digest::from_hex(hex)
            .map(Some)
            .ok_or_else(|| format!("`{key}` is no digest")),
        _ => Err(format!("`{key}` is no digest")),
    };
    let word = file["act"].as_str().unwrap_or_default();
    let act = Planned::ALL
        .iter()
        .find(|(_, known)| *known == word)
        .map(|(act, _)| *act)
        .ok_or_else(|| format!("`act` is `{word}`"))?;
    let sibling = to_name(&file["beside"], "beside")?;
    if !is_ours(&sibling) {
        return Err("`beside` is no name of ours".to_owned());
    }
    Ok(Entry {
        root: to_name(&file["root"], "root")?.into(),
        inside: inside(to_name(&file["path"], "path")?)?,
        act,
        sibling,
        before: digest("before")?,
        after: digest("after")?,
        old: file["old"].as_str().map(str::to_owned),
        new: file["new"].as_str().map(str::to_owned),
        mode: file["mode"]
            .as_u64()
            .and_then(|mode| u32::try_from(mode).ok())
            .unwrap_or(0o600),
    })
}

/// Says whether a name is one that a set gives to what it puts beside a file.
pub(crate) fn is_ours(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        name.strip_prefix(".cox-")
            .and_then(|rest| rest.strip_suffix(".tmp"))
            .is_some_and(|hex| hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
    })
}

/// A path that stays below its root.
fn inside(path: OsString) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    let plain = path
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    if plain && path != Path::new("") {
        Ok(path)
    } else {
        Err(format!("`{}` is no path below a root", path.display()))
    }
}

/// A name as text; one that is not UTF-8 as its bytes.
#[cfg(unix)]
fn from_name(name: &OsStr) -> Value {
    use std::os::unix::ffi::OsStrExt as _;
    name.to_str()
        .map_or_else(|| json!(name.as_bytes()), |text| json!(text))
}

#[cfg(not(unix))]
fn from_name(name: &OsStr) -> Value {
    json!(name.to_string_lossy())
}

fn to_name(value: &Value, key: &str) -> Result<OsString, String> {
    let wrong = || format!("`{key}` is no name");
    match value {
        Value::String(text) => Ok(text.into()),
        #[cfg(unix)]
        Value::Array(bytes) => {
            let bytes: Option<Vec<u8>> = bytes
                .iter()
                .map(|byte| byte.as_u64().and_then(|byte| u8::try_from(byte).ok()))
                .collect();
            Ok(std::os::unix::ffi::OsStringExt::from_vec(
                bytes.ok_or_else(wrong)?,
            ))
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_record_is_read_as_it_was_written() {
        use std::os::unix::ffi::OsStringExt as _;
        let record = Record {
            files: vec![Entry {
                root: "/r".into(),
                inside: PathBuf::from(OsString::from_vec(b"a/\xFF \"b\n".to_vec())),
                act: Planned::Change,
                sibling: format!(".cox-{}.tmp", "0a".repeat(16)).into(),
                before: Some(Digest::of(b"a")),
                after: None,
                old: Some("id".to_owned()),
                new: None,
                mode: 0o754,
            }],
            folders: vec![("/r".into(), "new/er".into())],
        };
        assert_eq!(Record::from_bytes(&record.to_bytes()), Ok(record));
    }

    #[test]
    fn a_record_that_leads_out_or_names_a_file_of_the_persons_is_not_read() {
        let with = |path: &str, beside: &str| {
            format!(
                r#"{{"v":1,"folders":[],"files":[{{"root":"/r","path":"{path}","act":"create","beside":"{beside}"}}]}}"#
            )
        };
        let ours = format!(".cox-{}.tmp", "0".repeat(32));
        for (text, why) in [
            (with("../x", &ours), "`../x` is no path below a root"),
            (with("/x", &ours), "`/x` is no path below a root"),
            (with("x", "notes.txt"), "`beside` is no name of ours"),
            (r#"{"v":2}"#.to_owned(), "version Some(2), this cox reads 1"),
            ("{}".to_owned(), "version None, this cox reads 1"),
        ] {
            assert_eq!(Record::from_bytes(text.as_bytes()), Err(why.to_owned()));
        }
        assert!(Record::from_bytes(b"{").is_err());
    }
}
