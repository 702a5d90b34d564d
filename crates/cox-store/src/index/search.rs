//! Finds words in what was said.

use cox_protocol::SessionId;
use rusqlite::params;

use crate::{Index, StoreError};

/// Characters shown on each side of what was found.
const AROUND: usize = 60;

/// A place where something was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: u32,
    /// Who said it: `user`, `assistant` or `tool`.
    pub role: String,
    /// One line around the first place, `…` where it is cut. Text from outside.
    pub snippet: String,
}

impl Index {
    /// Finds texts that hold every word of `query` in any order, each as the start of a word; newest session first. A query
    /// with other signs than letters, digits and spaces, or one that no word fits, is looked for as it is, capitals aside.
    ///
    /// # Errors
    ///
    /// [`StoreError::Index`] when SQLite fails.
    pub fn grep(&self, query: &str, limit: usize) -> Result<Vec<Hit>, StoreError> {
        let query = query.trim();
        if query.is_empty() {
            return Ok(Vec::new());
        }
        let is_plain = query
            .chars()
            .all(|char| char.is_alphanumeric() || char.is_whitespace());
        if is_plain {
            let words: Vec<String> = query
                .split_whitespace()
                .map(|word| format!("\"{word}\"*"))
                .collect();
            let hits = self.hits("text MATCH ?1", &words.join(" "), query, limit)?;
            if !hits.is_empty() {
                return Ok(hits);
            }
        }
        let escaped = query
            .replace('\\', "\\\\")
            .replace('%', "\\%")
            .replace('_', "\\_");
        self.hits(
            "body LIKE ?1 ESCAPE '\\'",
            &format!("%{escaped}%"),
            query,
            limit,
        )
    }

    fn hits(
        &self,
        condition: &str,
        pattern: &str,
        query: &str,
        limit: usize,
    ) -> Result<Vec<Hit>, StoreError> {
        let sql = format!(
            "SELECT session, turn, role, body FROM text WHERE {condition} ORDER BY session DESC, rowid LIMIT ?2"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let read = || -> rusqlite::Result<Vec<Hit>> {
            let mut statement = self.db.prepare(&sql)?;
            let mut rows = statement.query(params![pattern, limit])?;
            let mut hits = Vec::new();
            while let Some(row) = rows.next()? {
                let Ok(session) = row.get::<_, String>(0)?.parse() else {
                    continue;
                };
                let body: String = row.get(3)?;
                let snippet = snippet(&body, query);
                hits.push(Hit {
                    session,
                    turn: row.get(1)?,
                    role: row.get(2)?,
                    snippet,
                });
            }
            Ok(hits)
        };
        read().map_err(|error| self.failed(&error))
    }
}

/// Returns one line around the first place where the query, or else its first word that is there, stands.
fn snippet(body: &str, query: &str) -> String {
    let fold = |char: char| char.to_lowercase().next().unwrap_or(char);
    // Character by character, so that a place in one is a place in the other.
    let chars: Vec<char> = body
        .chars()
        .map(|char| if char.is_whitespace() { ' ' } else { char })
        .collect();
    let folded: Vec<char> = chars.iter().copied().map(fold).collect();
    let find = |text: &str| {
        let wanted: Vec<char> = text.chars().map(fold).collect();
        let at = folded
            .windows(wanted.len().max(1))
            .position(|window| window == wanted)?;
        Some((at, at + wanted.len()))
    };
    let found = find(query)
        .or_else(|| query.split_whitespace().find_map(find))
        .unwrap_or((0, 0));
    let start = found.0.saturating_sub(AROUND);
    let end = (found.1 + AROUND).min(chars.len());
    let text: String = chars[start..end].iter().collect();
    let text: Vec<&str> = text.split_whitespace().collect();
    let (before, after) = (
        if start > 0 { "…" } else { "" },
        if end < chars.len() { "…" } else { "" },
    );
    format!("{before}{}{after}", text.join(" "))
}
