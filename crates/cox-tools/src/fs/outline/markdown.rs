//! Headings of Markdown, each with its section.

use super::{Definition, one_line};

/// Returns the headings written with `#`, outside fenced code. A section ends before the next heading of its level or above.
pub(super) fn definitions(text: &str) -> Vec<Definition> {
    let mut rows: Vec<Definition> = Vec::new();
    // The headings that the next one may lie below: level and index.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut total = 0;
    for (index, line) in text.lines().enumerate() {
        total = index + 1;
        let start = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if fence.is_some() || !(1..=6).contains(&level) || !line[level..].starts_with(' ') {
            continue;
        }
        while let Some((_, ended)) = open.pop_if(|(above, _)| *above >= level) {
            rows[ended].last = index;
        }
        let title = line[level..].trim().trim_end_matches('#').trim_end();
        let mut path = open
            .last()
            .map(|(_, above)| rows[*above].path.clone())
            .unwrap_or_default();
        path.push(title.to_owned());
        open.push((level, rows.len()));
        rows.push(Definition {
            path,
            depth: open.len() - 1,
            line: index + 1,
            first: index + 1,
            last: index + 1,
            signature: one_line(line),
            is_main: true,
        });
    }
    for (_, ended) in open {
        rows[ended].last = total;
    }
    rows
}
