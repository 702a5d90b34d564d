//! Headings of Markdown, each with its section.

use super::{Definition, one_line};

/// Lines of a paragraph that may be a heading.
const MAX_PARAGRAPH: usize = 4;

/// Returns the headings, written with `#` or underlined, outside fenced code and front matter. A section ends before the
/// next heading of its level or above.
pub(super) fn definitions(text: &str) -> Vec<Definition> {
    let lines: Vec<&str> = text.lines().collect();
    let mut sections = Sections::default();
    let mut fence: Option<Fence> = None;
    // Where the paragraph begins that may yet be underlined.
    let mut paragraph: Option<usize> = None;
    for (index, line) in lines.iter().enumerate().skip(front_matter(&lines)) {
        if let Some(open) = &fence {
            if open.is_closed_by(line) {
                fence = None;
            }
            continue;
        }
        fence = Fence::opened_by(line);
        let begun = paragraph.take();
        if fence.is_some() {
            continue;
        }
        if let Some((level, title)) = with_marks(line) {
            sections.add(index, level, title, one_line(line));
        } else if let (Some(start), Some(level)) = (begun, underline(line)) {
            if index - start <= MAX_PARAGRAPH {
                let title = one_line(&lines[start..index].join(" "));
                sections.add(start, level, title.clone(), title);
            }
        } else if begun.is_some() && !line.trim().is_empty() && !begins_other(line) {
            paragraph = begun;
        } else if is_paragraph(line) {
            paragraph = Some(index);
        }
    }
    sections.end(lines.len())
}

#[derive(Default)]
struct Sections {
    rows: Vec<Definition>,
    /// The headings that the next one may lie below: level and index.
    open: Vec<(usize, usize)>,
}

impl Sections {
    fn add(&mut self, index: usize, level: usize, title: String, signature: String) {
        while let Some((_, ended)) = self.open.pop_if(|(above, _)| *above >= level) {
            self.rows[ended].last = index;
        }
        let above = self.open.last();
        let mut path = above
            .map(|(_, above)| self.rows[*above].path.clone())
            .unwrap_or_default();
        path.push(title);
        self.open.push((level, self.rows.len()));
        self.rows.push(Definition {
            path,
            depth: self.open.len() - 1,
            line: index + 1,
            first: index + 1,
            last: index + 1,
            signature,
            is_main: true,
            is_local: false,
        });
    }

    fn end(mut self, total: usize) -> Vec<Definition> {
        for (_, ended) in self.open {
            self.rows[ended].last = total;
        }
        self.rows
    }
}

/// Lines of the block between `---` that a file may begin with.
fn front_matter(lines: &[&str]) -> usize {
    if lines.first().is_none_or(|line| line.trim_end() != "---") {
        return 0;
    }
    let end = lines
        .iter()
        .skip(1)
        .position(|line| matches!(line.trim_end(), "---" | "..."));
    end.map_or(0, |end| end + 2)
}

/// Code between lines of three or more of a mark.
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        // One in a list is deeper, and code all the same.
        let line = line.trim_start();
        let mark = line.chars().next().filter(|mark| "`~".contains(*mark))?;
        let length = line.chars().take_while(|found| *found == mark).count();
        let is_inline = mark == '`' && line[length..].contains('`');
        (length >= 3 && !is_inline).then_some(Self { mark, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|found| found == self.mark)
    }
}

/// The text up to three spaces in, where it is no code by its indentation.
fn unindented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= 3 && !text.starts_with('\t')).then_some(text)
}

/// The level and title of a heading with `#`.
fn with_marks(line: &str) -> Option<(usize, String)> {
    let text = unindented(line)?;
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &text[level..];
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    if !is_heading {
        return None;
    }
    let rest = rest.trim();
    let without = rest.trim_end_matches('#');
    let title = match without {
        "" => "",
        _ if without.ends_with([' ', '\t']) => without.trim_end(),
        _ => rest,
    };
    Some((level, title.to_owned()))
}

/// The level that a line of `=` or `-` makes of the paragraph before it.
fn underline(line: &str) -> Option<usize> {
    let text = unindented(line)?.trim_end();
    let all = |mark| !text.is_empty() && text.chars().all(|found| found == mark);
    if all('=') {
        Some(1)
    } else if all('-') {
        Some(2)
    } else {
        None
    }
}

/// Whether a line begins a paragraph.
fn is_paragraph(line: &str) -> bool {
    unindented(line).is_some_and(|text| !text.trim().is_empty()) && !begins_other(line)
}

/// Whether a line begins a list, a quotation, a table, HTML or a rule.
fn begins_other(line: &str) -> bool {
    let text = line.trim_start();
    let bullet = text.strip_prefix(['-', '*', '+']);
    let number = text
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .strip_prefix(['.', ')'])
        .filter(|_| text.starts_with(|c: char| c.is_ascii_digit()));
    let is_item = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t']);
    text.starts_with(['>', '|', '<'])
        || bullet.is_some_and(is_item)
        || number.is_some_and(is_item)
        || is_rule(text)
}

fn is_rule(text: &str) -> bool {
    ['-', '*', '_'].into_iter().any(|mark| {
        text.chars()
            .all(|found| found == mark || found.is_whitespace())
            && text.chars().filter(|found| *found == mark).count() >= 3
    })
}
