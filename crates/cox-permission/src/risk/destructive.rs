//! Commands that may destroy what cannot be brought back.

use crate::{Segment, rule::base_name, segments::is_shell};

/// Says whether a command with words that cannot be told may turn out to be destructive.
pub(super) fn may_be_destructive(segment: &Segment) -> bool {
    if segment.is_literal() {
        return false;
    }
    match base_name(&segment.words[0]) {
        "rm" | "chmod" | "chown" | "chgrp" | "find" | "fd" => true,
        "git" => {
            segment.open.contains(&1)
                || segment.words.iter().any(|word| {
                    matches!(
                        word.as_str(),
                        "push" | "reset" | "clean" | "branch" | "stash" | "reflog" | "update-ref"
                    )
                })
        }
        _ => false,
    }
}

pub(super) fn is_destructive(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let program = base_name(program);
    let has_long = |names: &[&str]| {
        arguments
            .iter()
            .any(|word| names.iter().any(|name| is_long(word, name)))
    };
    let has_short = |letters: &[char]| arguments.iter().any(|word| is_short(word, letters));
    match program {
        "sudo" | "doas" | "dd" | "shutdown" | "reboot" | "halt" | "poweroff" | "fdisk"
        | "sfdisk" | "parted" | "wipefs" | "shred" | "blkdiscard" | "mkswap" => true,
        program if program.starts_with("mkfs") => true,
        "rm" => has_short(&['r', 'R']) || has_long(&["recursive"]),
        "chmod" | "chown" | "chgrp" => has_short(&['R']) || has_long(&["recursive"]),
        "find" | "fd" => arguments.iter().any(|word| word == "-delete"),
        "git" => is_destructive_git(arguments),
        _ => false,
    }
}

fn is_destructive_git(arguments: &[String]) -> bool {
    // Global options may take a word; looking for the subcommand anywhere is strict enough.
    let has_word = |name: &str| arguments.iter().any(|word| word == name);
    let has_long = |names: &[&str]| {
        arguments
            .iter()
            .any(|word| names.iter().any(|name| is_long(word, name)))
    };
    let has_short = |letters: &[char]| arguments.iter().any(|word| is_short(word, letters));
    if has_word("push") {
        return has_short(&['f', 'd'])
            || has_long(&[
                "force",
                "force-with-lease",
                "force-if-includes",
                "delete",
                "mirror",
                "prune",
            ])
            || arguments
                .iter()
                .any(|word| word.len() > 1 && word.starts_with(['+', ':']));
    }
    has_word("reset") && has_long(&["hard"])
        || has_word("clean") && !(has_short(&['n']) || has_long(&["dry-run"]))
        || has_word("branch") && (has_short(&['D']) || has_long(&["force"]))
        || has_word("stash") && (has_word("drop") || has_word("clear"))
        || has_word("reflog") && (has_word("expire") || has_word("delete"))
        || has_word("filter-branch")
        || has_word("update-ref") && has_short(&['d'])
}

/// Says whether a shell or interpreter without a script stands after a download in a line.
pub(super) fn is_fed_from_network(line: &[Segment], words: &[String]) -> bool {
    let program = base_name(&words[0]);
    let is_interpreter = is_shell(program)
        || ["python", "perl", "ruby", "node", "php", "deno", "bun"]
            .iter()
            .any(|name| {
                program.strip_prefix(name).is_some_and(|rest| {
                    rest.bytes()
                        .all(|byte| byte.is_ascii_digit() || byte == b'.')
                })
            });
    let reads_input = words[1..]
        .iter()
        .all(|word| word.starts_with('-') || word == "/dev/stdin");
    is_interpreter
        && reads_input
        && line.iter().any(|other| {
            matches!(
                base_name(&other.words[0]),
                "curl" | "wget" | "fetch" | "nc" | "ncat"
            )
        })
}

/// Says whether a word is a long option or a beginning of it that programs take for it.
fn is_long(word: &str, name: &str) -> bool {
    let word = word.split('=').next().unwrap_or(word);
    word.strip_prefix("--")
        .is_some_and(|word| word.len() >= 3 && name.starts_with(word) || word == name)
}

/// Says whether a word is a cluster of short options with one of the letters.
fn is_short(word: &str, letters: &[char]) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(letters)
}
