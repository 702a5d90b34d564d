//! Documents as people read them: aligned tables, names and values.

pub(crate) mod width;

use mcp_wire::json::Kind;
use mcp_wire::{Object, Raw};
use untrusted_text::terminal::{for_terminal, one_line};

use self::width::{fitted, padded, width};
use crate::printer::Printer;

/// Longest cell, in characters, where nothing cuts it before.
const CELL: usize = 2_000;
/// The narrowest terminal that a table is made for.
const NARROW: usize = 10;

/// Rows under headings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The column that is cut last.
    kept: usize,
    /// Columns that are left out where not all have room.
    spared: Vec<usize>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        Self {
            head: head.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
            kept: 0,
            spared: Vec::new(),
        }
    }

    /// With another column than the first as the one that is cut last: the one that holds what people type.
    pub(crate) fn keeping(mut self, column: usize) -> Self {
        self.kept = column;
        self
    }

    /// With columns of these names left out on a terminal that has no room for all of them.
    fn sparing(mut self, names: &[&str]) -> Self {
        let head = self.head.iter().enumerate();
        self.spared = head
            .filter(|(_, name)| names.contains(&name.as_str()))
            .map(|(at, _)| at)
            .collect();
        self
    }

    /// The same table without the columns that it spares.
    fn narrowed(&self) -> Self {
        let without = |row: &Vec<String>| {
            let cells = row.iter().enumerate();
            cells
                .filter(|(at, _)| !self.spared.contains(at))
                .map(|(_, cell)| cell.clone())
                .collect()
        };
        let before = self.spared.iter().filter(|at| **at < self.kept).count();
        Self {
            head: without(&self.head),
            rows: self.rows.iter().map(without).collect(),
            kept: self.kept - before,
            spared: Vec::new(),
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

    /// As lines: columns aligned, and on a terminal cut to its width, each by itself. The text is safe to print.
    pub(crate) fn lines(&self, printer: Printer) -> String {
        let natural: Vec<usize> = (0..self.head.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells
                    .chain(self.head.get(column))
                    .map(|cell| width(cell))
                    .max()
                    .unwrap_or_default()
            })
            .collect();
        let gaps = 2 * natural.len().saturating_sub(1);
        let needed = natural.iter().sum::<usize>() + gaps;
        if !self.spared.is_empty() && printer.width.is_some_and(|room| needed > room) {
            return self.narrowed().lines(printer);
        }
        let widths = match printer.width {
            Some(room) => width::shared(&natural, room.max(NARROW), self.kept),
            None => natural,
        };
        let mut text = String::new();
        for (at, row) in std::iter::once(&self.head).chain(&self.rows).enumerate() {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, columns)| padded(&fitted(cell, *columns), *columns))
                .collect();
            let line = cells.join("  ");
            let line = line.trim_end();
            let line = match printer.width {
                // More columns than there is room for.
                Some(room) => fitted(line, room.max(NARROW)),
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
        let inner = Printer {
            width: printer.width.map(|width| width.saturating_sub(indent)),
            ..printer
        };
        let table = table_of(&objects).lines(inner);
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
    let mut table = Table::new(names.iter().map(|name| one_line(&heading(name), 40)))
        .sparing(&["FIRST", "LAST", "EXAMPLE"]);
    table.kept = names.iter().position(|name| *name == "tool").unwrap_or(0);
    for object in objects {
        table.row(
            names
                .iter()
                .map(|name| object.get(name).map(short).unwrap_or_default()),
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
    let plain: Vec<(String, String)> = object
        .iter()
        .filter(|(_, value)| !is_empty(value) && is_plain(value))
        .map(|(name, value)| (one_line(name, 60), scalar(value)))
        .collect();
    let columns = plain.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    for (name, value) in plain {
        let name = padded(&name, columns);
        push_indented(text, indent, &format!("{name}  {value}"));
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

/// A value in a table: a fraction with as many digits as matter, a time to the second; `--json` has them whole.
fn short(raw: &Raw) -> String {
    let text = raw.as_str();
    if raw.kind() == Kind::Number && text.contains('.') {
        return raw.number().map_or_else(
            || scalar(raw),
            |number| match number.abs() {
                100.0.. => format!("{number:.1}"),
                _ => format!("{number:.3}"),
            },
        );
    }
    let text = scalar(raw);
    match text.split_once('.') {
        Some((time, fraction))
            if time.len() == "2026-12-01T12:35:16".len()
                && time.as_bytes().get(10) == Some(&b'T')
                && fraction.ends_with('Z')
                && fraction
                    .trim_end_matches('Z')
                    .bytes()
                    .all(|byte| byte.is_ascii_digit()) =>
        {
            format!("{time}Z")
        }
        _ => text,
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

/// Lines with this many spaces before each.
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

    fn on_terminal(width: usize) -> Printer {
        Printer {
            width: Some(width),
            ..Printer::default()
        }
    }

    #[test]
    fn a_table_is_aligned_by_what_a_terminal_shows() {
        let mut table = Table::new(["A", "LONGER", "END"]);
        table.row(["xyz", &"v".repeat(12), "1"]);
        table.row(["\u{1b}[2J", "日本", "2"]);
        table.row(["e\u{301}", "🚀", "3"]);
        assert_eq!(
            table.lines(Printer::default()),
            "A     LONGER        END\n\
             xyz   vvvvvvvvvvvv  1\n\
             ␛[2J  日本          2\n\
             e\u{301}     🚀            3\n"
        );
    }

    #[test]
    fn a_terminal_sees_the_beginning_of_every_column_and_no_line_is_too_long() {
        let mut table = Table::new(["NAME", "VALUE", "MEANING"]);
        table.row(["pool.max", &"v".repeat(60), &"m".repeat(60)]);
        table.row(["日本", &"語".repeat(60), "short"]);
        let whole = table.lines(Printer::default());
        assert!(whole.contains(&"m".repeat(60)) && !whole.contains('…'));
        let cut = table.lines(on_terminal(40));
        assert_eq!(
            cut,
            "NAME      VALUE           MEANING\n\
             pool.max  vvvvvvvvvvvvv…  mmmmmmmmmmmmm…\n\
             日本      語語語語語語…   short\n"
        );
        // What cannot be shown beside each other is cut at the edge.
        let cut = table.lines(on_terminal(10));
        assert!(cut.lines().all(|line| width(line) <= 10), "{cut}");
    }

    #[test]
    fn what_matters_least_is_left_out_where_there_is_no_room() {
        let json = r#"[{"server":"demo","tool":"create_issue","ms":1575.9971,"last":"2026-12-01T12:35:16Z"}]"#;
        let raw = Raw::parse(json).unwrap();
        let whole = "SERVER  TOOL          MS      LAST\ndemo    create_issue  1576.0  2026-12-01T12:35:16Z\n";
        assert_eq!(document(&raw, on_terminal(60)), whole);
        assert_eq!(document(&raw, Printer::default()), whole);
        assert_eq!(
            document(&raw, on_terminal(40)),
            "SERVER  TOOL          MS\ndemo    create_issue  1576.0\n"
        );
    }

    #[test]
    fn a_document_is_names_and_values_and_tables() {
        assert_eq!(
            shown(
                r#"{"status":"ok","n":3,"none":null,"list":["a","b"],"rows":[{"a":1,"bB":"x"},{"a":22}]}"#
            ),
            "status  ok\nn       3\nlist    a, b\nrows:\n  A   B B\n  1   x\n  22\n"
        );
        assert_eq!(
            shown(
                r#"[{"ms":4.202999999999999,"last":"2026-12-01T12:35:16.137593Z"},{"ms":12,"last":"1.5Z"}]"#
            ),
            "MS     LAST\n4.203  2026-12-01T12:35:16Z\n12     1.5Z\n"
        );
        assert_eq!(shown("[]"), "none\n");
        assert_eq!(shown("\"a\\u001b[2Jb\""), "ab\n");
    }
}
