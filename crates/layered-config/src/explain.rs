//! Shows where every value came from.

use toml::Value;

use crate::Merged;

/// One setting as shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: String,
    /// The value as TOML.
    pub value: String,
    /// Where it came from; several places, strongest last, for a list that was added to.
    pub origin: String,
}

/// Returns every setting as a row, sorted by key.
pub fn rows(merged: &Merged) -> Vec<Row> {
    merged
        .iter()
        .map(|(key, setting)| {
            let mut places: Vec<&str> = setting.item_origins.iter().map(String::as_str).collect();
            places.dedup();
            let origin = if places.len() > 1 {
                places.join(", ")
            } else {
                setting.origin.clone()
            };
            Row {
                key: key.to_owned(),
                value: shown_value(&setting.value),
                origin,
            }
        })
        .collect()
}

/// Renders rows as `key = value  # origin`, the origins in one column where the values are short.
pub fn render(rows: &[Row]) -> String {
    let width = |row: &Row| row.key.chars().count() + row.value.chars().count() + 3;
    let column = rows
        .iter()
        .map(width)
        .filter(|&width| width <= 60)
        .max()
        .unwrap_or(0);
    rows.iter()
        .map(|row| {
            let gap = " ".repeat(column.saturating_sub(width(row)) + 2);
            format!("{} = {}{gap}# {}\n", row.key, row.value, row.origin)
        })
        .collect()
}

/// Renders a value as TOML on one line.
fn shown_value(value: &Value) -> String {
    value.to_string().replace('\n', " ")
}
