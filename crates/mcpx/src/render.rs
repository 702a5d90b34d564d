//! Documents as people read them: aligned tables, names and values.

use mcp_wire::json::Kind;
use mcp_wire::{Object, Raw};
use untrusted_text::terminal::{for_terminal, one_line};

use crate::printer::Printer;

/// Longest cell, in characters, where nothing cuts it before.
const CELL: usize = 2_000;
/// The narrowest that a last column is cut to.
const NARROW: usize = 10;

/// Rows under headings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        Self {
            head: head.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Cells may hold text from outside.
    pub(crate) fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells = cells.into_iter().map(|cell| one_line(cell.as_ref(), CELL));
        self.rows.push(cells.collect());
    }

    /// Whether it has no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As lines: columns aligned, and on a terminal cut to its width. The text is safe to print.
    pub(crate) fn lines(&self, printer: Printer) -> String {
        let columns = self.head.len();
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells
                    .chain(self.head.get(column))
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or_default()
            })
            .collect();
        let mut text = String::new();
        for (at, row) in std::iter::once(&self.head).chain(&self.rows).enumerate() {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                line.push_str(cell);
                if column + 1 < row.len() {
                    let pad = widths.get(column).copied().unwrap_or_default();
                    line.extend(std::iter::repeat_n(
                        ' ',
                        pad - cell.chars().count().min(pad) + 2,
                    ));
                }
            }
            let line = line.trim_end();
            let line = match printer.width {
                Some(width) => one_line_keeping_indent(line, width.max(NARROW)),
                None => line.to_owned(),
            };
            if at == 0 && printer.color {
                text.push_str(&format!("\u{1b}[1m{line}\u{1b}[0m\n"));
            } else {
                text.push_str(&line);
                text.push('\n');
            }
        }
        text
    }
}

/// Cuts a line that is safe already.
fn one_line_keeping_indent(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(width - 1).collect();
    cut.push('…');
    cut
}

/// A document as people read it. The text is safe to print.
pub(crate) fn document(raw: &Raw, printer: Printer) -> String {
    let mut text = String::new();
    write_value(raw, 0, printer, &mut text);
    text
}

fn write_value(raw: &Raw, indent: usize, printer: Printer, text: &mut String) {
    if let Ok(object) = raw.object() {
        write_object(&object, indent, printer, text);
        return;
    }
    if let Ok(rows) = raw.array() {
        write_array(&rows, indent, printer, text);
        return;
    }
    push_indented(text, indent, &scalar(raw));
}

fn write_array(rows: &[Raw], indent: usize, printer: Printer, text: &mut String) {
    let objects: Vec<Object> = rows.iter().filter_map(|row| row.object().ok()).collect();
    if objects.len() == rows.len() && !rows.is_empty() {
        let table = table_of(&objects).lines(printer);
        for line in table.lines() {
            push_indented(text, indent, line);
        }
        return;
    }
    if rows.is_empty() {
        push_indented(text, indent, "none");
    }
    for row in rows {
        push_indented(text, indent, &scalar(row));
    }
}

/// The members that any of the objects has, as columns.
fn table_of(objects: &[Object]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for object in objects {
        for (name, value) in object.iter() {
            if !names.contains(&name) && !is_empty(value) {
                names.push(name);
            }
        }
    }
    let mut table = Table::new(names.iter().map(|name| one_line(&heading(name), 40)));
    for object in objects {
        table.row(
            names
                .iter()
                .map(|name| object.get(name).map(scalar).unwrap_or_default()),
        );
    }
    table
}

fn is_empty(raw: &Raw) -> bool {
    raw.is_null() || matches!(raw.as_str(), "[]" | "{}" | "\"\"")
}

fn heading(name: &str) -> String {
    super::args::from_table::kebab(name)
        .replace('-', " ")
        .to_uppercase()
}

fn write_object(object: &Object, indent: usize, printer: Printer, text: &mut String) {
    let plain: Vec<(&str, String)> = object
        .iter()
        .filter(|(_, value)| !is_empty(value) && is_plain(value))
        .map(|(name, value)| (name, scalar(value)))
        .collect();
    let width = plain
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    for (name, value) in plain {
        let name = one_line(name, 60);
        push_indented(text, indent, &format!("{name:width$}  {value}"));
    }
    for (name, value) in object.iter() {
        if is_plain(value) || is_empty(value) {
            continue;
        }
        push_indented(text, indent, &format!("{}:", one_line(name, 60)));
        write_value(value, indent + 2, printer, text);
    }
}

/// Whether a value fits behind its name.
fn is_plain(raw: &Raw) -> bool {
    match raw.kind() {
        Kind::Object => false,
        Kind::Array => raw.array().is_ok_and(|all| {
            all.iter()
                .all(|one| !matches!(one.kind(), Kind::Object | Kind::Array))
        }),
        _ => true,
    }
}

/// A value on one line.
pub(crate) fn scalar(raw: &Raw) -> String {
    if raw.is_null() {
        return String::new();
    }
    if let Some(text) = raw.string() {
        return for_terminal(&text);
    }
    if let Ok(all) = raw.array()
        && is_plain(raw)
    {
        let all: Vec<String> = all.iter().map(scalar).collect();
        return all.join(", ");
    }
    crate::printer::escape_json(raw.as_str())
}

fn push_indented(text: &mut String, indent: usize, block: &str) {
    for line in block.lines() {
        text.extend(std::iter::repeat_n(' ', indent));
        text.push_str(line);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str) -> String {
        document(&Raw::parse(json).unwrap(), Printer::default())
    }

    #[test]
    fn a_table_is_aligned_and_cut_only_on_a_terminal() {
        let mut table = Table::new(["A", "LONGER"]);
        table.row(["xyz", &"v".repeat(30)]);
        table.row(["\u{1b}[2J", "日"]);
        let whole = table.lines(Printer::default());
        assert_eq!(
            whole,
            format!("A      LONGER\nxyz    {}\n␛[2J  日\n", "v".repeat(30))
                .replace("xyz    ", "xyz   ")
                .replace("A      ", "A     ")
        );
        let cut = table.lines(Printer {
            width: Some(12),
            ..Printer::default()
        });
        assert!(cut.lines().all(|line| line.chars().count() <= 12), "{cut}");
        assert!(cut.contains('…'));
    }

    #[test]
    fn a_document_is_names_and_values_and_tables() {
        assert_eq!(
            shown(
                r#"{"status":"ok","n":3,"none":null,"list":["a","b"],"rows":[{"a":1,"bB":"x"},{"a":22}]}"#
            ),
            "status  ok\nn       3\nlist    a, b\nrows:\n  A   B B\n  1   x\n  22\n"
        );
        assert_eq!(shown("[]"), "none\n");
        assert_eq!(shown("\"a\\u001b[2Jb\""), "ab\n");
    }
}
