//! From the files of the log to the index.

use std::{collections::BTreeMap, path::Path};

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde::Serialize;

use super::stamp;
use crate::{
    StateDir,
    log::{
        cursor::{log_files, read_from},
        line::{self, Entry, time},
    },
};

/// What the log looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refreshed {
    /// Files of the log.
    pub files: usize,
    /// Files that could not be read.
    pub unreadable: usize,
    /// Records that were added.
    pub added: u64,
    /// Lines of all files that are no records: torn by a crash, or of a newer version.
    pub skipped: u64,
    /// Files that end in the middle of a line: it is being written, or its writer was killed.
    pub unfinished: u32,
}

struct Known {
    size: i64,
    modified: i64,
}

/// Brings the index up to date.
pub(super) fn all(db: &mut Connection, state: &StateDir) -> rusqlite::Result<Refreshed> {
    let mut refreshed = Refreshed::default();
    let files = log_files(state);
    let known = known(db)?;
    forget_others(db, &known, &files)?;
    for (name, path) in files {
        refreshed.files += 1;
        let Ok((size, modified)) = stamp(&path) else {
            refreshed.unreadable += 1;
            continue;
        };
        let is_same = known
            .get(&name)
            .is_some_and(|known| known.size == size && known.modified == modified);
        if !is_same {
            match read_on(db, &name, &path, (size, modified))? {
                Some(added) => refreshed.added += added,
                None => refreshed.unreadable += 1,
            }
        }
    }
    (refreshed.skipped, refreshed.unfinished) = db.query_row(
        "SELECT COALESCE(SUM(skipped), 0), COUNT(*) FILTER (WHERE read_to < size) FROM files",
        [],
        |row| Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?)),
    )?;
    Ok(refreshed)
}

fn known(db: &Connection) -> rusqlite::Result<BTreeMap<String, Known>> {
    db.prepare("SELECT name, size, modified FROM files")?
        .query_map([], |row| {
            let known = Known {
                size: row.get(1)?,
                modified: row.get(2)?,
            };
            Ok((row.get(0)?, known))
        })?
        .collect()
}

fn forget_others(
    db: &mut Connection,
    known: &BTreeMap<String, Known>,
    files: &[(String, std::path::PathBuf)],
) -> rusqlite::Result<()> {
    let gone: Vec<&String> = known
        .keys()
        .filter(|name| !files.iter().any(|(there, _)| there == *name))
        .collect();
    if gone.is_empty() {
        return Ok(());
    }
    let transaction = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    for name in gone {
        transaction.execute(
            "DELETE FROM records WHERE file = (SELECT id FROM files WHERE name = ?1)",
            [name],
        )?;
        transaction.execute("DELETE FROM files WHERE name = ?1", [name])?;
    }
    transaction.commit()
}

/// Reads what a file gained. Returns how many records that were; nothing when it cannot be read.
fn read_on(
    db: &mut Connection,
    name: &str,
    path: &Path,
    (size, modified): (i64, i64),
) -> rusqlite::Result<Option<u64>> {
    let mut added = 0;
    loop {
        let transaction = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Another process may have read on since.
        let there: Option<(i64, i64)> = transaction
            .query_row(
                "SELECT id, read_to FROM files WHERE name = ?1",
                [name],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        let (file, read_to) = match there {
            Some((file, read_to)) if read_to <= size => (file, read_to.unsigned_abs()),
            Some((file, _)) => {
                // It became shorter: it is another one.
                transaction.execute("DELETE FROM records WHERE file = ?1", [file])?;
                transaction.execute("UPDATE files SET skipped = 0 WHERE id = ?1", [file])?;
                (file, 0)
            }
            None => {
                transaction.execute(
                    "INSERT INTO files (name, size, modified, read_to, skipped) VALUES (?1, 0, 0, 0, 0)",
                    [name],
                )?;
                (transaction.last_insert_rowid(), 0)
            }
        };
        let Ok(part) = read_from(path, read_to) else {
            return Ok(None);
        };
        let mut skipped = i64::from(part.is_endless);
        for raw in part.lines() {
            match line::parse(raw) {
                Some(entry) => {
                    insert(&transaction, file, &entry, raw.len())?;
                    added += 1;
                }
                None => skipped += 1,
            }
        }
        let end = i64::try_from(part.end).unwrap_or(i64::MAX);
        // What came while this was read has changed the size again, so the next refresh reads on.
        transaction.execute(
            "UPDATE files SET size = MAX(?2, ?4), modified = ?3, read_to = ?4, skipped = skipped + ?5 WHERE id = ?1",
            params![file, size, modified, end, skipped],
        )?;
        transaction.commit()?;
        if !part.is_more {
            return Ok(Some(added));
        }
    }
}

fn insert(
    transaction: &Transaction<'_>,
    file: i64,
    entry: &Entry,
    bytes: usize,
) -> rusqlite::Result<()> {
    let record = &entry.record;
    let or_null = |text: &'_ str| (!text.is_empty()).then(|| text.to_owned());
    let attributes = (!record.attributes.is_empty())
        .then(|| serde_json::to_string(&record.attributes).unwrap_or_default());
    transaction
        .prepare_cached(
            "INSERT INTO records (file, ts, level, event, server, tool, session, trace, trace_parent, instance,
             duration_ms, ok, msg, template, attributes, bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?
        .execute(params![
            file,
            time(entry.ts),
            record.level.word(),
            or_null(&record.event),
            record.server,
            record.tool,
            record.session,
            record.trace,
            record.trace_parent,
            record.instance,
            record.duration_ms,
            record.ok,
            record.msg,
            or_null(&record.template),
            attributes,
            i64::try_from(bytes).unwrap_or(i64::MAX),
        ])?;
    Ok(())
}
