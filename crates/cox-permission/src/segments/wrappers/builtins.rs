//! Builtins that set variables: which of their calls change nothing that other commands look at.

use super::super::word::{Value, Word, is_idle_variable};

/// Says whether a word whose value is not known may turn out to begin with a dash.
pub(super) fn may_be_option(word: &Word) -> bool {
    let inside = word.text.strip_prefix('"').unwrap_or(&word.text);
    word.value != Value::Literal
        && (word.value == Value::Any || inside.starts_with(['$', '-', '`', '"']))
}

/// Says whether `read` sets variables alone that nothing else looks at.
pub(super) fn is_idle_read(arguments: &[Word]) -> bool {
    let names = match arguments {
        [option, names @ ..] if option.text == "-r" => names,
        names => names,
    };
    !names.is_empty()
        && names
            .iter()
            .all(|word| word.value == Value::Literal && is_idle_variable(&word.text))
}

/// Says whether `set` only makes a line stop earlier.
pub(super) fn is_idle_set(arguments: &[Word]) -> bool {
    let words: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    arguments.iter().all(|word| word.value == Value::Literal)
        && matches!(
            words.as_slice(),
            ["-e" | "-u" | "-eu"] | ["-o" | "-euo" | "-eo" | "-uo", "pipefail"]
        )
}
