//! Numbers of things and lists of lines, as a sentence has them.

use std::fmt::Display;

/// Returns a number of things: `1 line`, `3 lines`.
pub fn counted(number: impl Display, thing: &str) -> String {
    let number = number.to_string();
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Returns the lines that something stands at, in order: `line 7`, `lines 1, 3-5`. What stands in one line several times
/// is told once: `line 1 (twice)`.
pub fn lines_listed<T: PartialEq + Display>(lines: &[T]) -> String {
    let runs: Vec<String> = lines
        .chunk_by(|one, next| one == next)
        .map(|run| match run.len() {
            1 => run[0].to_string(),
            2 => format!("{} (twice)", run[0]),
            times => format!("{} ({times} times)", run[0]),
        })
        .collect();
    // A range is several lines.
    let is_one = runs.len() == 1 && !runs[0].contains('-');
    format!(
        "{} {}",
        if is_one { "line" } else { "lines" },
        runs.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_counted_and_lines_listed_as_in_a_sentence() {
        assert_eq!(
            [0_u64, 1, 2].map(|number| counted(number, "byte")),
            ["0 bytes", "1 byte", "2 bytes"]
        );
        assert_eq!(lines_listed(&[7]), "line 7");
        assert_eq!(lines_listed(&[1, 1]), "line 1 (twice)");
        assert_eq!(
            lines_listed(&[1, 1, 1, 4, 9, 9]),
            "lines 1 (3 times), 4, 9 (twice)"
        );
        assert_eq!(lines_listed(&["1-2"]), "lines 1-2");
    }
}
