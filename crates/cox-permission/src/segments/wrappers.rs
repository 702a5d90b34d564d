//! Programs that run other programs.

use super::{Segment, lexer::Word};
use crate::rule::base_name;

/// How deep wrappers may be nested.
const MAX_DEPTH: usize = 4;

/// Builtins that run text, or change what later words mean.
const OPAQUE: &[&str] = &[
    ".",
    "source",
    "eval",
    "exec",
    "builtin",
    "trap",
    "alias",
    "unalias",
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "set",
    "unset",
    "shopt",
    "setopt",
    "unsetopt",
    "enable",
    "hash",
    "bind",
    "complete",
    "let",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "fc",
    "history",
    "abbr",
    "noglob",
    "nocorrect",
    "emulate",
    "autoload",
    "zmodload",
];

/// Programs whose way to name the inner command is not read.
const CLOSED: &[&str] = &[
    "watch",
    "flock",
    "script",
    "unshare",
    "chroot",
    "su",
    "runuser",
    "pkexec",
    "strace",
    "ltrace",
    "nsenter",
    "systemd-run",
    "busybox",
    "toybox",
    "parallel",
    "entr",
    "setarch",
    "linux32",
    "linux64",
    "taskset",
    "prlimit",
    "cpulimit",
    "xvfb-run",
    "stdbuf",
    "firejail",
    "bwrap",
    "unbuffer",
    "chrt",
    "ionice",
    "dbus-run-session",
    "proxychains",
    "torsocks",
    "caffeinate",
    "faketime",
    "start-stop-daemon",
    "at",
    "batch",
    "expect",
    "rlwrap",
    "dbus-launch",
    "ssh-agent",
    "run-parts",
    "chpst",
    "softlimit",
    "gosu",
    "su-exec",
    "setpriv",
    "capsh",
    "ld.so",
];

/// Programs whose first word that is no option is the inner command.
const SIMPLE: &[&str] = &[
    "sudo", "doas", "nohup", "nice", "time", "command", "setsid", "env", "xargs",
];

/// Says whether a program runs another one that its arguments name.
pub(super) fn is_wrapper(program: &str) -> bool {
    SIMPLE.contains(&program)
        || CLOSED.contains(&program)
        || matches!(
            program,
            "timeout" | "exec" | "eval" | "builtin" | "find" | "fd"
        )
}

/// Says whether a program is a shell.
pub(crate) fn is_shell(program: &str) -> bool {
    matches!(
        program,
        "sh" | "bash"
            | "zsh"
            | "dash"
            | "ksh"
            | "mksh"
            | "ash"
            | "fish"
            | "csh"
            | "tcsh"
            | "rbash"
            | "nu"
            | "pwsh"
    )
}

/// Adds a command and the commands that it runs.
pub(super) fn unfold(
    line: &str,
    words: &[Word],
    end: usize,
    depth: usize,
    segments: &mut Vec<Segment>,
) -> Result<(), String> {
    let Some(first) = words.first() else {
        return Ok(());
    };
    segments.push(Segment {
        text: line
            .get(first.start..end)
            .unwrap_or_default()
            .trim()
            .to_owned(),
        words: words.iter().map(|word| word.text.clone()).collect(),
    });
    let program = base_name(&first.text);
    if OPAQUE.contains(&program) {
        return Err(format!("`{program}` runs text or changes what words mean"));
    }
    let closed = || Err(format!("`{program}` runs another command"));
    if CLOSED.contains(&program) || depth >= MAX_DEPTH {
        return closed();
    }
    let arguments = &words[1..];
    // Both set a variable that they are told the name of: the folders of programs, say.
    let sets_variable = |option: &str| words[1..].iter().any(|word| word.text.starts_with(option));
    if program == "printf" && sets_variable("-v") || program == "wait" && sets_variable("-p") {
        return Err("it sets a variable".into());
    }
    let begins_with_dash = |word: &Word| word.text.starts_with(['-', '+']);
    if is_shell(program) {
        let is_option = |word: &&Word| begins_with_dash(word);
        let takes_text = |word: &Word| {
            !word.text.starts_with("--") && word.text.contains(['c', 's'])
                || word.text.starts_with("--c")
        };
        return match arguments.iter().take_while(is_option).any(takes_text) {
            true => Err(format!("`{program} -c` runs a line of its own")),
            false => Ok(()),
        };
    }
    let inner = match program {
        "command"
            if arguments
                .first()
                .is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")) =>
        {
            return Ok(());
        }
        "timeout" => match arguments {
            [limit, rest @ ..] if is_duration(&limit.text) => rest,
            _ => return closed(),
        },
        "find" | "fd" | "fdfind" => return find(line, program, arguments, depth, segments),
        _ if SIMPLE.contains(&program) => arguments,
        _ => return Ok(()),
    };
    match inner.first() {
        None => Ok(()),
        Some(word) if begins_with_dash(word) || word.text.contains('=') => closed(),
        // What a pattern would match is not known.
        Some(word)
            if word.text.is_empty() || word.text.contains(['*', '?', '[', '~', '{', ' ']) =>
        {
            closed()
        }
        Some(_) => unfold(line, inner, end, depth + 1, segments),
    }
}

/// The commands after `-exec` and its likes.
fn find(
    line: &str,
    program: &str,
    arguments: &[Word],
    depth: usize,
    segments: &mut Vec<Segment>,
) -> Result<(), String> {
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        let runs = match program {
            "find" => matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"),
            _ => {
                !word.text.starts_with("--")
                    && word.text.starts_with('-')
                    && word.text.contains(['x', 'X'])
                    || word.text.starts_with("--exec")
            }
        };
        if !runs {
            continue;
        }
        let stop = after
            .iter()
            .position(|word| matches!(word.text.as_str(), ";" | "+"));
        match stop {
            Some(stop) if stop > 0 && program == "find" => {
                let inner = &after[..stop];
                if inner[0].text.starts_with('-')
                    || inner[0].text.contains(['*', '?', '[', '~', '{', ' ', '='])
                    || inner[0].text.is_empty()
                {
                    return Err("`find` runs another command".into());
                }
                unfold(line, inner, inner[stop - 1].end, depth + 1, segments)?;
                rest = &after[stop + 1..];
            }
            _ => return Err(format!("`{program}` runs another command")),
        }
    }
    Ok(())
}

fn is_duration(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    !number.is_empty()
        && number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}
