//! Records that come after a place in the log: the place as a word that a client gives back, and the filters of a query
//! for records that are in no index yet.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcpx_api::ApiError;
use mcpx_store::log::index::Query;
use mcpx_store::log::{Cursor, Entry};

/// The longest place that is read.
const MOST: usize = 16 << 10;

/// A place in the log as a word.
pub(super) fn written(cursor: &Cursor) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(cursor).unwrap_or_default())
}

/// The place of a word.
///
/// # Errors
/// When it is none of ours.
pub(super) fn read(word: &str) -> Result<Cursor, ApiError> {
    (word.len() <= MOST)
        .then(|| URL_SAFE_NO_PAD.decode(word).ok())
        .flatten()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .ok_or_else(|| {
            ApiError::bad("`after` is no place in the log").hint(
                "give back the `cursor` of the answer before; without `after` the log begins anew",
            )
        })
}

/// Whether a record is one that the query wants; the same as the index decides, but for its limit.
pub(super) fn matches(query: &Query, entry: &Entry) -> bool {
    let record = &entry.record;
    let is = |wanted: &Option<String>, has: &Option<String>| wanted.is_none() || wanted == has;
    query.since.is_none_or(|since| entry.ts >= since)
        && query.until.is_none_or(|until| entry.ts < until)
        && query.level.is_none_or(|level| record.level >= level)
        && query
            .event
            .as_ref()
            .is_none_or(|pattern| !record.event.is_empty() && glob(pattern, &record.event))
        && is(&query.server, &record.server)
        && is(&query.tool, &record.tool)
        && is(&query.session, &record.session)
        && is(&query.trace, &record.trace)
        && (query.ok.is_none() || query.ok == record.ok)
        && query.grep.as_ref().is_none_or(|needle| has(entry, needle))
}

fn has(entry: &Entry, needle: &str) -> bool {
    let record = &entry.record;
    let attributes = if record.attributes.is_empty() {
        String::new()
    } else {
        serde_json::to_string(&record.attributes).unwrap_or_default()
    };
    let needle = needle.to_ascii_lowercase();
    [
        record.msg.as_str(),
        &record.event,
        record.server.as_deref().unwrap_or_default(),
        record.tool.as_deref().unwrap_or_default(),
        &attributes,
    ]
    .join("\n")
    .to_ascii_lowercase()
    .contains(&needle)
}

/// `*` is any text, `?` any character, `[a-c]` one of a range, `[^a-c]` none of it. Never more work than the product of
/// the two lengths.
fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut seen) = (0, 0);
    // Where to go on when what follows a star did not fit.
    let mut back: Option<(usize, usize)> = None;
    while seen < text.len() {
        if pattern.get(at) == Some(&'*') {
            at += 1;
            back = Some((at, seen));
            continue;
        }
        if let Some(next) = one(&pattern, at, text[seen]) {
            (at, seen) = (next, seen + 1);
            continue;
        }
        let Some((after, from)) = back else {
            return false;
        };
        back = Some((after, from + 1));
        (at, seen) = (after, from + 1);
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// Where the pattern goes on when its part at `at` takes the character.
fn one(pattern: &[char], at: usize, character: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => Some(at + 1),
        '[' => {
            let mut from = at + 1;
            let is_not = pattern.get(from) == Some(&'^');
            if is_not {
                from += 1;
            }
            // A bracket that stands first is meant itself.
            let end = (from + 1..pattern.len()).find(|end| pattern[*end] == ']')?;
            let mut inside = false;
            let mut place = from;
            while place < end {
                if place + 2 < end && pattern[place + 1] == '-' {
                    inside |= (pattern[place]..=pattern[place + 2]).contains(&character);
                    place += 3;
                } else {
                    inside |= pattern[place] == character;
                    place += 1;
                }
            }
            (inside != is_not).then_some(end + 1)
        }
        other => (*other == character).then_some(at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_take_what_the_index_would_take() {
        let cases = [
            ("mcp.*", "mcp.call", true),
            ("mcp.*", "server.start", false),
            ("*", "", true),
            ("*.s*t", "server.start", true),
            ("server.st[ao]?*", "server.stop", true),
            ("server.st[^a]p", "server.stop", true),
            ("a*b*c", "aXbYbZ", false),
            ("mcp.call", "mcp.call", true),
            ("[", "[", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
        let stars = "*a".repeat(50) + "b";
        assert!(!glob(&stars, &"a".repeat(5_000)));
    }

    #[test]
    fn a_place_is_read_as_it_was_written_and_nothing_else_is_one() {
        let cursor: Cursor = serde_json::from_str(r#"{"a.jsonl":7}"#).expect("a cursor");
        assert_eq!(read(&written(&cursor)).expect("a place"), cursor);
        for word in ["", "x", "bm8", "\0", &"A".repeat(100_000)] {
            assert!(read(word).is_err(), "{word:.20}");
        }
    }
}
