//! Which tools of a server exist: names, globs and regular expressions.

use regex::{Regex, RegexBuilder};

/// Most bytes a compiled pattern may take.
const COMPILED_LIMIT: usize = 1 << 20;

/// One entry of a list of tools: `/re/` matches anywhere in the name; with `*`, `?` or `[` it is a glob over the whole name,
/// where `[!a]` negates; anything else is the name.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    written: String,
    regex: Option<Regex>,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Pattern {
    /// # Errors
    ///
    /// What is wrong with the expression, for a person.
    pub(crate) fn new(written: &str) -> Result<Self, String> {
        let expression = if let Some(inner) = written
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'))
            .filter(|inner| !inner.is_empty())
        {
            Some(inner.to_owned())
        } else if written.contains(['*', '?', '[']) {
            Some(expression_of_glob(written)?)
        } else {
            None
        };
        let regex = expression
            .map(|expression| {
                RegexBuilder::new(&expression)
                    .size_limit(COMPILED_LIMIT)
                    .build()
                    .map_err(|error| last_line(&error.to_string()))
            })
            .transpose()?;
        Ok(Self {
            written: written.to_owned(),
            regex,
        })
    }

    pub(crate) fn matches(&self, tool: &str) -> bool {
        match &self.regex {
            Some(regex) => regex.is_match(tool),
            None => self.written == tool,
        }
    }
}

/// The message of `regex` shows the expression over several lines; its last one says what is wrong.
fn last_line(message: &str) -> String {
    let line = message.lines().last().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}

fn expression_of_glob(glob: &str) -> Result<String, String> {
    let mut expression = String::from(r"(?s)\A");
    let mut chars = glob.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            '[' => {
                expression.push('[');
                if chars.next_if(|next| matches!(next, '!' | '^')).is_some() {
                    expression.push('^');
                }
                let mut is_first = true;
                loop {
                    match chars.next() {
                        None => return Err("the `[` is not closed".to_owned()),
                        Some(']') if !is_first => break,
                        // Between two characters it makes a range, elsewhere it is itself.
                        Some('-') if !is_first && chars.peek() != Some(&']') => {
                            expression.push('-');
                        }
                        Some(inner) => expression.push_str(&literal(inner)),
                    }
                    is_first = false;
                }
                expression.push(']');
            }
            other => expression.push_str(&literal(other)),
        }
    }
    expression.push_str(r"\z");
    Ok(expression)
}

/// A character that stands for itself, inside a class and outside.
fn literal(char: char) -> String {
    if char.is_ascii_punctuation() {
        format!("\\{char}")
    } else {
        char.to_string()
    }
}

/// Which tools of a server exist. What it does not admit is in no list and cannot be called.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolFilter {
    include: Option<Vec<Pattern>>,
    extra: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

impl ToolFilter {
    pub(crate) fn new(
        include: Option<Vec<Pattern>>,
        extra: Vec<Pattern>,
        exclude: Vec<Pattern>,
    ) -> Self {
        Self {
            include,
            extra,
            exclude,
        }
    }

    /// Says whether a tool exists; `tool` is the name that the server gave it. `excludeTools` beats the others.
    #[must_use]
    pub fn admits(&self, tool: &str) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(tool));
        if any(&self.exclude) {
            return false;
        }
        match &self.include {
            None => true,
            Some(include) => any(include) || any(&self.extra),
        }
    }

    /// Says whether it admits every tool there may be.
    #[must_use]
    pub fn admits_all(&self) -> bool {
        self.include.is_none() && self.exclude.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, tool: &str) -> bool {
        Pattern::new(pattern).unwrap().matches(tool)
    }

    #[test]
    fn an_expression_matches_anywhere_a_glob_and_a_name_the_whole() {
        assert!(matches("/list/", "my_list_all"));
        assert!(!matches("list", "my_list_all"));
        assert!(matches("list", "list"));
        assert!(matches("*_list_*", "my_list_all"));
        assert!(!matches("list*", "my_list_all"));
        assert!(matches("l?st", "list"));
        assert!(matches("[!a]b", "cb"));
        assert!(!matches("[!a]b", "ab"));
        assert!(matches("[a-c]b", "bb"));
        assert!(matches("[-a]b", "-b"));
        assert!(matches("[a-]b", "-b"));
        assert!(matches("[]]b", "]b"));
        assert!(matches("a.b*", "a.bc"));
        assert!(!matches("a.b*", "axbc"));
        assert!(matches("{a,b}*", "{a,b}c"));
        assert!(matches("/", "/"));
        assert!(matches("//", "//"));
    }

    #[test]
    fn a_broken_pattern_says_what_is_wrong() {
        assert_eq!(Pattern::new("a[b").unwrap_err(), "the `[` is not closed");
        assert_eq!(Pattern::new("/a(/").unwrap_err(), "unclosed group");
        assert!(Pattern::new("/(a{1000}){1000}/").is_err());
    }

    #[test]
    fn exclude_beats_include_and_extra_adds_to_include() {
        let list = |texts: &[&str]| -> Vec<Pattern> {
            texts
                .iter()
                .map(|text| Pattern::new(text).unwrap())
                .collect()
        };
        let filter = ToolFilter::new(
            Some(list(&["get_*"])),
            list(&["put"]),
            list(&["get_secret"]),
        );
        assert!(filter.admits("get_a") && filter.admits("put"));
        assert!(!filter.admits("get_secret") && !filter.admits("other"));
        assert!(ToolFilter::default().admits("anything"));
        assert!(!ToolFilter::new(Some(Vec::new()), Vec::new(), Vec::new()).admits("anything"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_pattern_or_an_error(pattern in ".{0,20}", tool in ".{0,10}") {
            if let Ok(pattern) = Pattern::new(&pattern) {
                pattern.matches(&tool);
            }
        }
    }
}
