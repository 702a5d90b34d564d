//! The places most similar to a text that stands nowhere, with the difference made visible. Bounded in time.

use std::{collections::HashMap, fmt, time::Instant};

use crate::locate::{Text, is_blank};

/// A place similar to what was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// 1-based line where the place begins.
    pub first_line: usize,
    /// 1-based line of the first difference.
    pub line: usize,
    /// That line of the file, white space made visible, cut around the difference.
    pub found: String,
    /// What was looked for there, shown alike.
    pub wanted: String,
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}: file has `{}`\n{:>width$} `old` has `{}`",
            self.line,
            self.found,
            "",
            self.wanted,
            width = digits(self.line) + 6
        )
    }
}

fn digits(number: usize) -> usize {
    number.to_string().len()
}

/// Places returned.
const PLACES: usize = 3;

/// Places whose whole text is compared.
const CANDIDATES: usize = 24;

/// Lines of the pattern that are compared.
const MAX_PATTERN: usize = 200;

/// Bytes of a line that are compared.
const MAX_LINE: usize = 400;

/// Below this similarity, of 1, a place is not worth showing.
const MIN_SIMILARITY: f32 = 0.4;

/// Characters shown of a line.
const SHOWN: usize = 120;

/// Returns the most similar places, best first. What is not looked at before the deadline is not found.
pub(crate) fn nearest(text: &Text<'_>, pattern: &[&str], deadline: Instant) -> Vec<Near> {
    let pattern = match pattern {
        [body @ .., ""] if !body.is_empty() => body,
        whole => whole,
    };
    let pattern = &pattern[..pattern.len().min(MAX_PATTERN)];
    // The longest line says most about where the text may be.
    let Some(anchor) = (0..pattern.len()).max_by_key(|line| pattern[*line].trim().len()) else {
        return Vec::new();
    };
    let wanted = Bigrams::of(pattern[anchor].as_bytes());
    if wanted.total == 0 {
        return Vec::new();
    }
    let mut candidates: Vec<(f32, usize)> = Vec::new();
    for line in 0..text.lines.len() {
        if line % 256 == 0 && Instant::now() >= deadline {
            break;
        }
        let similarity = wanted.similarity(text.content(line));
        if similarity >= MIN_SIMILARITY {
            candidates.push((similarity, line.saturating_sub(anchor)));
            if candidates.len() >= CANDIDATES * 16 {
                keep_best(&mut candidates, CANDIDATES);
            }
        }
    }
    keep_best(&mut candidates, CANDIDATES);
    let forms: Vec<Bigrams> = pattern
        .iter()
        .map(|line| Bigrams::of(line.as_bytes()))
        .collect();
    let mut scored: Vec<(f32, usize)> = candidates
        .into_iter()
        .map(|(_, first)| {
            let total: f32 = forms
                .iter()
                .enumerate()
                .filter(|(nth, _)| first + nth < text.lines.len())
                .map(|(nth, form)| {
                    let line = text.content(first + nth);
                    if line == pattern[nth].as_bytes() {
                        1.0
                    } else {
                        form.similarity(line) * 0.99
                    }
                })
                .sum();
            (total / forms.len().max(1) as f32, first)
        })
        .collect();
    keep_best(&mut scored, PLACES);
    scored
        .into_iter()
        .filter_map(|(_, first)| near(text, pattern, first))
        .collect()
}

/// Says whether every line begins with the number and tab that `read` prints.
pub(crate) fn is_numbered(pattern: &[&str]) -> bool {
    let mut lines = pattern.iter().filter(|line| !line.is_empty()).peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            line.split_once('\t').is_some_and(|(number, _)| {
                let number = number.trim_start();
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
            })
        })
}

fn keep_best(places: &mut Vec<(f32, usize)>, count: usize) {
    places.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    places.dedup_by_key(|place| place.1);
    places.truncate(count);
}

fn near(text: &Text<'_>, pattern: &[&str], first: usize) -> Option<Near> {
    let differs = |nth: &usize| {
        let line = first + nth;
        line >= text.lines.len() || text.content(line) != pattern[*nth].as_bytes()
    };
    // A difference in a line with words says more than one in a blank line, but any will do.
    let nth = (0..pattern.len())
        .filter(differs)
        .find(|nth| !is_blank(pattern[*nth].as_bytes()))
        .or_else(|| (0..pattern.len()).find(differs))
        .unwrap_or(0);
    let line = (first + nth).min(text.lines.len() - 1);
    let end = text.lines[line];
    let has_cr = text.bytes[end.end..end.next].starts_with(b"\r");
    let found =
        String::from_utf8_lossy(&text.content(line)[..text.content(line).len().min(64 * 1024)])
            .into_owned();
    let wanted = pattern.get(nth)?;
    let same = found
        .chars()
        .zip(wanted.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let from = same.saturating_sub(SHOWN / 2);
    let mut shown = visible(&found, from);
    if has_cr && found == **wanted {
        shown.push('␍');
    }
    Some(Near {
        first_line: first + 1,
        line: line + 1,
        found: shown,
        wanted: visible(wanted, from),
    })
}

/// White space and control characters made visible, from a character on.
fn visible(line: &str, from: usize) -> String {
    let mut out = String::new();
    if from > 0 {
        out.push('…');
    }
    let mut characters = line.chars().skip(from);
    for character in characters.by_ref().take(SHOWN) {
        match character {
            ' ' => out.push('·'),
            '\t' => out.push('→'),
            '\r' => out.push('␍'),
            '\u{FEFF}' => out.push_str("<BOM>"),
            other if other.is_control() || (other.is_whitespace() && !other.is_ascii()) => {
                out.push_str(&format!("<U+{:04X}>", u32::from(other)));
            }
            other => out.push(other),
        }
    }
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// Pairs of neighbouring bytes, white space left out, for comparing lines.
struct Bigrams {
    counts: HashMap<[u8; 2], u16>,
    total: usize,
}

impl Bigrams {
    fn of(line: &[u8]) -> Self {
        let mut counts = HashMap::new();
        let mut total = 0;
        each_pair(line, |pair| {
            let count: &mut u16 = counts.entry(pair).or_default();
            *count = count.saturating_add(1);
            total += 1;
        });
        Self { counts, total }
    }

    /// Twice the shared pairs over all pairs: 1 for equal lines, 0 for strangers.
    fn similarity(&self, line: &[u8]) -> f32 {
        let mut seen: HashMap<[u8; 2], u16> = HashMap::new();
        let (mut shared, mut total) = (0_usize, 0_usize);
        each_pair(line, |pair| {
            total += 1;
            if let Some(have) = self.counts.get(&pair) {
                let used = seen.entry(pair).or_default();
                if *used < *have {
                    *used += 1;
                    shared += 1;
                }
            }
        });
        if self.total + total == 0 {
            return 1.0;
        }
        2.0 * shared as f32 / (self.total + total) as f32
    }
}

fn each_pair(line: &[u8], mut take: impl FnMut([u8; 2])) {
    let mut before = None;
    for byte in line
        .iter()
        .take(MAX_LINE)
        .filter(|byte| !byte.is_ascii_whitespace())
    {
        if let Some(before) = before.replace(*byte) {
            take([before, *byte]);
        }
    }
}
