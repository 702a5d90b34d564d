//! A loose reading of lines that cannot be told, for rules that deny or ask.
//!
//! It finds more commands than there are rather than fewer: a word where a command may begin is taken for one. It is no
//! proof that a command is absent.

use super::{MAX_LINE_BYTES, wrappers};
use crate::rule::base_name;

/// How many words after a wrapper may be the command that it runs.
const WRAPPED_WORDS: usize = 8;

/// Returns what may be commands in a line.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut line = line;
    if line.len() > MAX_LINE_BYTES {
        line = &line[..line.floor_char_boundary(MAX_LINE_BYTES)];
    }
    let mut commands = Vec::new();
    let joined: String = line
        .chars()
        .filter(|char| !matches!(char, '"' | '\'' | '\\'))
        .collect();
    read(&joined, &mut commands);
    // A quoted text is a command only for a program that runs text.
    let runs_text = commands.iter().any(|command: &Vec<String>| {
        let program = base_name(&command[0]);
        wrappers::is_shell(program)
            || wrappers::is_wrapper(program)
            || matches!(program, "source" | "." | "trap" | "ssh")
    });
    if runs_text {
        let apart: String = line
            .chars()
            .map(|char| {
                if matches!(char, '"' | '\'' | '\\') {
                    ';'
                } else {
                    char
                }
            })
            .collect();
        read(&apart, &mut commands);
    }
    commands
}

fn read(line: &str, commands: &mut Vec<Vec<String>>) {
    for piece in line.split([';', '&', '|', '\n', '\r', '(', ')', '`', '{', '}', '<', '>']) {
        let words: Vec<String> = piece.split_whitespace().map(str::to_owned).collect();
        let mut at = 0;
        while at < words.len() && (is_assignment(&words[at]) || is_grammar(&words[at])) {
            at += 1;
        }
        let Some(program) = words.get(at) else {
            continue;
        };
        commands.push(words[at..].to_vec());
        if wrappers::is_wrapper(base_name(program)) || wrappers::is_shell(base_name(program)) {
            let last = words.len().min(at + 1 + WRAPPED_WORDS);
            commands.extend((at + 1..last).map(|start| words[start..].to_vec()));
        }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+'))
    })
}

fn is_grammar(word: &str) -> bool {
    matches!(
        word,
        "if" | "then" | "else" | "elif" | "do" | "while" | "until" | "!" | "$" | "coproc" | "time"
    )
}
