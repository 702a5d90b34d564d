//! The settings as rows of a page: for the reference in the docs and the man page.

use super::registry::SETTINGS;

/// One setting for a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key in a file.
    pub path: &'static str,
    /// The kind; an enum with its choices.
    pub kind: String,
    /// The default; `(empty)` when there is none.
    pub default: String,
    /// Who reads it, with `hot` when a change holds at once.
    pub scope: String,
    /// Every flag.
    pub flags: String,
    /// Every variable.
    pub variables: String,
    /// What it is.
    pub help: &'static str,
    /// Internal.
    pub is_plumbing: bool,
}

/// Every setting, in the order of the declarations.
#[must_use]
pub fn rows() -> Vec<Row> {
    SETTINGS
        .iter()
        .map(|setting| Row {
            path: setting.path,
            kind: if setting.choices.is_empty() {
                setting.kind.word().to_owned()
            } else {
                setting.choices.join(", ")
            },
            default: if setting.default.is_empty() {
                "(empty)".to_owned()
            } else {
                setting.default.to_owned()
            },
            scope: format!(
                "{}{}",
                setting.scope.word(),
                if setting.hot { ", hot" } else { "" }
            ),
            flags: setting.flags_all().join(" "),
            variables: setting.variables().join(" "),
            help: setting.help,
            is_plumbing: setting.plumbing,
        })
        .collect()
}

/// The rows as a table of Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::from(
        "| setting | kind | default | read by | flags | variables | meaning |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows() {
        let code = |text: &str| format!("`{}`", text.replace(' ', "` `"));
        page.push_str(&format!(
            "| `{}` | {} | {} | {}{} | {} | {} | {} |\n",
            row.path,
            row.kind,
            if row.default == "(empty)" {
                row.default.clone()
            } else {
                format!("`{}`", row.default)
            },
            row.scope,
            if row.is_plumbing { ", internal" } else { "" },
            code(&row.flags),
            code(&row.variables),
            row.help,
        ));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_row_of_seven_cells_for_each_setting() {
        let page = markdown();
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!(lines.len(), SETTINGS.len() + 2);
        assert!(lines.iter().all(|line| line.matches('|').count() == 8));
        let line = lines.iter().find(|line| line.contains("`search.limit`"));
        assert_eq!(
            line.copied(),
            Some(
                "| `search.limit` | int | `20` | call, hot | `--search-limit` `--limit` `--n` `-n` | `MCPX_SEARCH_LIMIT` | results of a search |"
            )
        );
    }
}
