//! The words of a command against those of a rule.

use crate::Segment;

/// Says whether a command begins with `prefix`, word by word.
pub(super) fn begins_with(words: &[String], prefix: &[String]) -> bool {
    words.starts_with(prefix)
}

/// Says whether a command may begin with `prefix` when the program stands in another folder or has options before its
/// subcommand, such as `git -C x push`. For stopping.
pub(super) fn may_begin_with(words: &[String], prefix: &[String]) -> bool {
    let (Some((program, arguments)), Some((named, rest))) =
        (words.split_first(), prefix.split_first())
    else {
        return prefix.is_empty();
    };
    if program != named && base_name(program) != named {
        return false;
    }
    let mut arguments = arguments;
    // Whether the word before was an option that may take this one.
    let mut may_be_value = false;
    loop {
        if arguments.starts_with(rest) {
            return true;
        }
        let Some((word, after)) = arguments.split_first() else {
            return false;
        };
        let is_option = word.starts_with(['-', '+']);
        if !is_option && !may_be_value {
            return false;
        }
        may_be_value = is_option && !word.contains('=');
        arguments = after;
    }
}

/// Says whether a command may turn out to begin with `prefix`, or to be just that, once a shell has filled in its open
/// words and its patterns.
pub(super) fn may_turn_out(segment: &Segment, prefix: &[String], is_whole: bool) -> bool {
    let is_loose =
        |at: usize| segment.open.contains(&at) || crate::risk::word_has_pattern(&segment.words[at]);
    let Some((program, rest)) = prefix.split_first() else {
        return false;
    };
    if segment.words[0] != *program && base_name(&segment.words[0]) != program {
        return false;
    }
    if !(1..segment.words.len()).any(is_loose) {
        return false;
    }
    let mut wanted = rest.iter();
    let mut next = wanted.next();
    let mut may_be_value = false;
    for at in 1..segment.words.len() {
        let Some(word) = next else {
            return !is_whole || segment.may_split;
        };
        let own = &segment.words[at];
        if segment.open.contains(&at) {
            // It may be this word and all that are missing.
            return true;
        }
        if crate::risk::word_has_pattern(own) && may_expand_to(own, word) || own == word {
            next = wanted.next();
            may_be_value = false;
            continue;
        }
        let is_option = own.starts_with(['-', '+']);
        if !is_option && !may_be_value {
            return false;
        }
        may_be_value = is_option && !own.contains('=');
    }
    next.is_none()
}

/// Says whether a shell could turn a pattern into a word, if a file has that name.
fn may_expand_to(pattern: &str, word: &str) -> bool {
    match globset::GlobBuilder::new(pattern).build() {
        Ok(glob) => glob.compile_matcher().is_match(word),
        Err(_) => true,
    }
}

/// Says whether two commands are the same, wherever the program stands.
pub(super) fn is_same(words: &[String], other: &[String]) -> bool {
    words.len() == other.len() && may_begin_with(words, other)
}

pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
