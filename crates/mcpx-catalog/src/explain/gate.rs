//! Whether a failure is about the arguments at all.

use mcp_wire::error;

/// Codes of JSON-RPC that belong to whoever carries the message: a connection that broke, a server that is gone.
const CARRIERS: std::ops::RangeInclusive<i64> = -32_099..=-32_000;

/// What a server says when it does not like what it was sent.
const WORDS: &[&str] = &[
    "invalid param",
    "invalid_param",
    "schema",
    "required",
    "validation",
    "expected",
    "must be",
];

/// Whether an error with this code is never explained.
pub(super) fn is_carriers(code: i64) -> bool {
    CARRIERS.contains(&code)
}

/// Whether an error is about the arguments.
pub(super) fn is_about_arguments(code: i64, message: &str) -> bool {
    if is_carriers(code) {
        return false;
    }
    code == error::INVALID_PARAMS || WORDS.iter().any(|word| says(message, word))
}

/// Whether `text` says `word`, in any case, where a word begins: `unexpected` does not say `expected`.
fn says(text: &str, word: &str) -> bool {
    let text = text.to_lowercase();
    text.match_indices(word).any(|(at, _)| {
        !text[..at]
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric)
    })
}

/// Whether `text` names `name` as a word of its own.
pub(super) fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            let stands_alone = !before.chars().next_back().is_some_and(is_part)
                && !after.chars().next().is_some_and(is_part);
            // `a` is also an article: so short a name counts where it is quoted.
            let is_quoted = before.ends_with(['"', '\'', '`']);
            stands_alone && (name.chars().nth(1).is_some() || is_quoted)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_decides_and_then_the_words() {
        for (code, message, is_about) in [
            (-32_602, "no", true),
            (-32_603, "Validation failed", true),
            (-32_603, "title must be a string", true),
            (-32_603, "`title` is REQUIRED", true),
            (-32_603, "unexpected EOF", false),
            (-32_603, "the database is down", false),
            (-32_000, "connection closed: expected more", false),
            (-32_099, "invalid params", false),
            (-32_001, "schema", false),
            (0, "does not match the schema", true),
        ] {
            assert_eq!(
                is_about_arguments(code, message),
                is_about,
                "{code} {message}"
            );
        }
    }

    #[test]
    fn a_name_counts_where_it_stands_alone() {
        assert!(
            names("the field repo is wrong", "repo")
                && names("(repo)", "repo")
                && names("\"a\" is", "a")
        );
        assert!(!names("report", "repo") && !names("my_repo", "repo") && !names("a string", "a"));
        assert!(names("repórt repo", "repo") && !names("x", ""));
    }
}
