//! Types of files by name: `rust` is `*.rs`, `ts` is `*.ts`, `*.tsx` and more.

use ignore::types::{Types, TypesBuilder};

use super::SearchError;

/// Names that people use for types that are known under another.
const ALSO: [(&str, &str); 6] = [
    ("python3", "py"),
    ("rs", "rust"),
    ("tsx", "ts"),
    ("jsx", "js"),
    ("golang", "go"),
    ("shell", "sh"),
];

/// Returns the files of one type.
pub(super) fn only(name: &str) -> Result<Types, SearchError> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let wanted = name.trim().to_ascii_lowercase();
    let known = ALSO
        .iter()
        .find(|(also, _)| *also == wanted)
        .map_or(wanted.as_str(), |(_, known)| known);
    let names: Vec<String> = builder
        .definitions()
        .iter()
        .map(|found| found.name().to_owned())
        .collect();
    let unknown = || {
        let near: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|found| found.starts_with(known.get(..2).unwrap_or(known)))
            .take(8)
            .collect();
        SearchError::Type {
            name: name.chars().take(60).collect(),
            near: if near.is_empty() {
                "such as `rust`, `ts`, `py`; or give a `glob`".to_owned()
            } else {
                format!("some that there are: {}; or give a `glob`", near.join(", "))
            },
        }
    };
    if !names.iter().any(|found| found == known) {
        return Err(unknown());
    }
    builder.select(known);
    builder.build().map_err(|_| unknown())
}
