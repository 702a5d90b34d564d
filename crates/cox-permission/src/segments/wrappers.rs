//! Programs that run other programs.

use super::{
    MAX_LINE_BYTES, Redirect, Segment,
    word::{Command, Input, Value, Word, is_idle_variable, is_safe_assignment},
};
use crate::rule::base_name;

/// How deep wrappers may be nested.
const MAX_DEPTH: usize = 4;

/// Builtins that run text, or change what later words mean.
const OPAQUE: &[&str] = &[
    ".",
    "source",
    "trap",
    "alias",
    "unalias",
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "unset",
    "shopt",
    "setopt",
    "unsetopt",
    "enable",
    "hash",
    "bind",
    "complete",
    "let",
    "mapfile",
    "readarray",
    "getopts",
    "fc",
    "history",
    "abbr",
    "emulate",
    "autoload",
    "zmodload",
];

/// Programs whose way to name the inner command is not read.
const CLOSED: &[&str] = &[
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
    "prlimit",
    "cpulimit",
    "xvfb-run",
    "firejail",
    "bwrap",
    "unbuffer",
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

/// Programs that run the command behind their options.
const OPEN: &[Wrapper] = &[
    Wrapper {
        name: "sudo",
        flags: "nEHSkbAKvP",
        values: "ughpCrtTUDR",
        long: &[
            "preserve-env",
            "non-interactive",
            "set-home",
            "user",
            "group",
        ],
    },
    Wrapper {
        name: "doas",
        flags: "nL",
        values: "uC",
        long: &[],
    },
    Wrapper {
        name: "nohup",
        flags: "",
        values: "",
        long: &[],
    },
    Wrapper {
        name: "nice",
        flags: "0123456789",
        values: "n",
        long: &["adjustment"],
    },
    Wrapper {
        name: "time",
        flags: "pv",
        values: "f",
        long: &["portability", "verbose"],
    },
    Wrapper {
        name: "command",
        flags: "p",
        values: "",
        long: &[],
    },
    Wrapper {
        name: "builtin",
        flags: "",
        values: "",
        long: &[],
    },
    Wrapper {
        name: "exec",
        flags: "cl",
        values: "a",
        long: &[],
    },
    Wrapper {
        name: "noglob",
        flags: "",
        values: "",
        long: &[],
    },
    Wrapper {
        name: "nocorrect",
        flags: "",
        values: "",
        long: &[],
    },
    Wrapper {
        name: "setsid",
        flags: "cfw",
        values: "",
        long: &["fork", "wait", "ctty"],
    },
    Wrapper {
        name: "stdbuf",
        flags: "",
        values: "ioe",
        long: &["input", "output", "error"],
    },
    Wrapper {
        name: "ionice",
        flags: "t",
        values: "cn",
        long: &["class", "classdata", "ignore"],
    },
    Wrapper {
        name: "chrt",
        flags: "forbiRv",
        values: "TPD",
        long: &[],
    },
    Wrapper {
        name: "taskset",
        flags: "ac",
        values: "",
        long: &["cpu-list", "all-tasks"],
    },
    Wrapper {
        name: "timeout",
        flags: "v",
        values: "ks",
        long: &[
            "foreground",
            "preserve-status",
            "verbose",
            "signal",
            "kill-after",
        ],
    },
    Wrapper {
        name: "gtimeout",
        flags: "v",
        values: "ks",
        long: &[
            "foreground",
            "preserve-status",
            "verbose",
            "signal",
            "kill-after",
        ],
    },
    Wrapper {
        name: "env",
        flags: "i0v",
        values: "uC",
        long: &["ignore-environment", "null", "unset", "chdir"],
    },
    Wrapper {
        name: "xargs",
        flags: "0rtpx",
        values: "nPILdsaE",
        long: &[
            "null",
            "no-run-if-empty",
            "max-args",
            "max-procs",
            "delimiter",
            "max-lines",
            "verbose",
            "arg-file",
        ],
    },
    Wrapper {
        name: "watch",
        flags: "dtbecgx",
        values: "nq",
        long: &[
            "interval",
            "differences",
            "no-title",
            "exec",
            "color",
            "chgexit",
        ],
    },
];

/// How a program that runs another one is called.
struct Wrapper {
    name: &'static str,
    /// Letters of options that stand alone.
    flags: &'static str,
    /// Letters of options that a value follows.
    values: &'static str,
    /// Long options, alone or with `=value`.
    long: &'static [&'static str],
}

/// Says whether a program runs another one that its arguments name.
pub(super) fn is_wrapper(program: &str) -> bool {
    OPEN.iter().any(|wrapper| wrapper.name == program)
        || CLOSED.contains(&program)
        || matches!(program, "eval" | "find" | "fd" | "fdfind")
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

/// Adds a command and the commands that it runs. `lines` is how many lines it stands in.
pub(super) fn unfold(
    line: &str,
    command: &Command,
    lines: usize,
    segments: &mut Vec<Segment>,
) -> Result<(), String> {
    let first = segments.len();
    let unfold = Unfold {
        line,
        end: command.end,
        lines,
    };
    unfold.command(&command.words, &command.input, 0, segments)?;
    let files = command.files.iter().map(|file| Redirect {
        written: file.written.clone(),
        writes: file.writes,
        target: None,
    });
    if let Some(segment) = segments.get_mut(first) {
        segment.redirects.extend(files);
    }
    Ok(())
}

struct Unfold<'a> {
    line: &'a str,
    /// Where the command ends.
    end: usize,
    lines: usize,
}

impl Unfold<'_> {
    fn command(
        &self,
        words: &[Word],
        input: &Input,
        depth: usize,
        segments: &mut Vec<Segment>,
    ) -> Result<(), String> {
        let Some(first) = words.first() else {
            return Ok(());
        };
        segments.push(segment(self.line, words, self.end));
        let program = base_name(&first.text);
        if OPAQUE.contains(&program) {
            return Err(format!("`{program}` runs text or changes what words mean"));
        }
        if CLOSED.contains(&program) || depth >= MAX_DEPTH {
            return Err(closed(program));
        }
        let arguments = &words[1..];
        // Each sets a variable that it is told the name of: the folders of programs, say.
        let sets_variable = |option: &str| {
            arguments
                .iter()
                .any(|word| word.text.starts_with(option) || word.value != Value::Literal)
        };
        match program {
            "printf"
                if arguments.iter().any(|word| word.text.starts_with("-v"))
                    || arguments.first().is_some_and(may_be_option) =>
            {
                return Err("it sets a variable".into());
            }
            "wait" if sets_variable("-p") => return Err("it sets a variable".into()),
            "read" if !is_idle_read(arguments) => return Err("it sets a variable".into()),
            "set" if !is_idle_set(arguments) => {
                return Err("`set` runs text or changes what words mean".into());
            }
            _ => {}
        }
        if is_shell(program) {
            return self.shell(program, arguments, input, segments);
        }
        match program {
            "git" => written_by_git(arguments, segments),
            "eval" => self.text(program, arguments, segments),
            "command"
                if arguments
                    .first()
                    .is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")) =>
            {
                Ok(())
            }
            "find" | "fd" | "fdfind" => self.find(program, arguments, depth, segments),
            _ => match OPEN.iter().find(|wrapper| wrapper.name == program) {
                Some(wrapper) => self.wrapper(wrapper, arguments, input, depth, segments),
                None => Ok(()),
            },
        }
    }

    fn wrapper(
        &self,
        wrapper: &Wrapper,
        arguments: &[Word],
        input: &Input,
        depth: usize,
        segments: &mut Vec<Segment>,
    ) -> Result<(), String> {
        let refuse = || Err(closed(wrapper.name));
        let mut rest = arguments;
        // What `xargs` puts its input in place of.
        let mut hole = None;
        while let Some((word, after)) = rest.split_first() {
            if word.value != Value::Literal {
                return refuse();
            }
            if word.text == "--" {
                rest = after;
                break;
            }
            if !word.text.starts_with(['-', '+']) || word.text == "-" {
                break;
            }
            rest = after;
            if let Some(long) = word.text.strip_prefix("--") {
                let (name, value) = long
                    .split_once('=')
                    .map_or((long, None), |(name, value)| (name, Some(value)));
                // Whether the next word is its value differs from option to option.
                let needs_value = matches!(
                    name,
                    "user"
                        | "group"
                        | "unset"
                        | "chdir"
                        | "signal"
                        | "kill-after"
                        | "adjustment"
                        | "input"
                        | "output"
                        | "error"
                        | "class"
                        | "classdata"
                        | "max-args"
                        | "max-procs"
                        | "delimiter"
                        | "arg-file"
                        | "interval"
                );
                if !wrapper.long.contains(&name) || needs_value && value.is_none() {
                    return refuse();
                }
                continue;
            }
            let letters = word.text.trim_start_matches(['-', '+']);
            for (at, letter) in letters.char_indices() {
                if wrapper.values.contains(letter) {
                    let glued = &letters[at + letter.len_utf8()..];
                    let value = match glued.is_empty() {
                        false => glued.to_owned(),
                        true => {
                            let Some((value, after)) = rest.split_first() else {
                                return refuse();
                            };
                            if value.value != Value::Literal {
                                return refuse();
                            }
                            rest = after;
                            value.text.clone()
                        }
                    };
                    if wrapper.name == "xargs" && letter == 'I' {
                        hole = Some(value);
                    }
                    break;
                }
                if !wrapper.flags.contains(letter) {
                    return refuse();
                }
            }
        }
        match wrapper.name {
            "timeout" | "gtimeout" => match rest {
                [limit, after @ ..]
                    if limit.value == Value::Literal && is_duration(&limit.text) =>
                {
                    rest = after;
                }
                _ => return refuse(),
            },
            "chrt" => match rest {
                [priority, after @ ..]
                    if priority.value == Value::Literal && is_duration(&priority.text) =>
                {
                    rest = after;
                }
                _ => return refuse(),
            },
            "taskset" => match rest {
                [cores, after @ ..]
                    if cores.value == Value::Literal
                        && cores.text.bytes().all(|byte| {
                            byte.is_ascii_hexdigit() || matches!(byte, b',' | b'-' | b'x')
                        }) =>
                {
                    rest = after;
                }
                _ => return refuse(),
            },
            "env" => {
                while let [word, after @ ..] = rest
                    && let Some((name, value)) = word.text.split_once('=')
                {
                    if word.value != Value::Literal || !is_safe_assignment(name, value) {
                        return refuse();
                    }
                    rest = after;
                }
            }
            "watch" => {
                return match rest.is_empty() {
                    true => Ok(()),
                    false => self.text(wrapper.name, rest, segments),
                };
            }
            _ => {}
        }
        if rest.is_empty() {
            // `exec` alone changes where the shell itself is connected to.
            return match wrapper.name {
                "exec" => refuse(),
                _ => Ok(()),
            };
        }
        if wrapper.name != "xargs" {
            return self.inner(wrapper.name, rest, input, depth, segments);
        }
        let mut inner = rest.to_vec();
        for word in &mut inner {
            if hole
                .as_ref()
                .is_some_and(|hole| word.text.contains(hole.as_str()))
            {
                word.value = Value::One;
            }
        }
        let end = inner.last().map_or(self.end, |word| word.end);
        inner.push(Word {
            text: "…".into(),
            start: end,
            end,
            value: Value::Any,
            ..Word::default()
        });
        self.inner(wrapper.name, &inner, &Input::Inherited, depth, segments)
    }

    fn inner(
        &self,
        program: &str,
        words: &[Word],
        input: &Input,
        depth: usize,
        segments: &mut Vec<Segment>,
    ) -> Result<(), String> {
        match words.first() {
            None => Ok(()),
            // What a pattern would match is not known, nor what a variable holds.
            Some(word)
                if word.value != Value::Literal
                    || word.text.is_empty()
                    || word.text.starts_with(['-', '+'])
                    || word.text.contains(['*', '?', '[', '~', '{', ' ', '=']) =>
            {
                Err(closed(program))
            }
            Some(_) => self.command(words, input, depth + 1, segments),
        }
    }

    /// Arguments that are joined and read as a line.
    fn text(
        &self,
        program: &str,
        arguments: &[Word],
        segments: &mut Vec<Segment>,
    ) -> Result<(), String> {
        if arguments.iter().any(|word| word.value != Value::Literal) {
            return Err(format!("`{program}` runs text or changes what words mean"));
        }
        let text: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        self.lines(&text.join(" "), segments)
    }

    fn lines(&self, text: &str, segments: &mut Vec<Segment>) -> Result<(), String> {
        if text.len() > MAX_LINE_BYTES {
            return Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
        }
        segments.extend(super::read(text, self.lines + 1)?);
        Ok(())
    }

    fn shell(
        &self,
        program: &str,
        arguments: &[Word],
        input: &Input,
        segments: &mut Vec<Segment>,
    ) -> Result<(), String> {
        let own_line = || Err(format!("`{program} -c` runs a line of its own"));
        // Other shells have other grammars.
        let is_read = matches!(program, "sh" | "bash" | "dash" | "ash" | "ksh");
        let mut rest = arguments;
        let mut takes_text = false;
        while let Some((word, after)) = rest.split_first() {
            if word.value != Value::Literal {
                return own_line();
            }
            if !word.text.starts_with(['-', '+']) {
                break;
            }
            rest = after;
            takes_text = match word.text.as_str() {
                "-c" | "-lc" | "-ec" | "-uc" | "-euc" | "-exc" | "-xc" if is_read => true,
                text if text.starts_with("--c")
                    || !text.starts_with("--") && text.contains(['c', 's', 'o', 'O']) =>
                {
                    return own_line();
                }
                text if text.starts_with("--rc") || text.starts_with("--init") => {
                    return own_line();
                }
                _ => takes_text,
            };
        }
        if takes_text {
            return match rest.first() {
                Some(text) if text.value == Value::Literal => self.lines(&text.text, segments),
                _ => own_line(),
            };
        }
        if !rest.is_empty() && rest[0].text != "/dev/stdin" && rest[0].text != "-" {
            return Ok(());
        }
        match input {
            Input::Inherited => Ok(()),
            Input::Text(text) if is_read => {
                if text.trim().is_empty() {
                    Ok(())
                } else {
                    self.lines(text, segments)
                }
            }
            Input::Text(_) | Input::Unknown => Err(format!("`{program}` runs what it reads")),
        }
    }

    /// The commands after `-exec` and its likes.
    fn find(
        &self,
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
                    let mut inner = after[..stop].to_vec();
                    for word in &mut inner[1..] {
                        if word.text.contains("{}") {
                            word.value = word.value.max(Value::One);
                        }
                    }
                    let part = Unfold {
                        line: self.line,
                        end: inner[stop - 1].end,
                        lines: self.lines,
                    };
                    part.inner(program, &inner, &Input::Inherited, depth, segments)?;
                    rest = &after[stop + 1..];
                }
                _ => return Err(closed(program)),
            }
        }
        Ok(())
    }
}

fn closed(program: &str) -> String {
    format!("`{program}` runs another command")
}

fn segment(line: &str, words: &[Word], end: usize) -> Segment {
    let start = words.first().map_or(0, |word| word.start);
    let open = words
        .iter()
        .enumerate()
        .filter(|(_, word)| word.value != Value::Literal);
    Segment {
        text: line.get(start..end).unwrap_or_default().trim().to_owned(),
        words: words.iter().map(|word| word.text.clone()).collect(),
        open: open.map(|(at, _)| at).collect(),
        may_split: words.iter().any(|word| word.value == Value::Any),
        begins_with_pattern: words.iter().any(|word| word.begins_with_pattern),
        redirects: Vec::new(),
    }
}

/// Adds the file that git is told to write a difference to: a rule for `git log` was not meant for it.
fn written_by_git(arguments: &[Word], segments: &mut [Segment]) -> Result<(), String> {
    let Some(segment) = segments.last_mut() else {
        return Ok(());
    };
    for (at, word) in arguments.iter().enumerate() {
        let target = match word.text.strip_prefix("--output=") {
            Some(target) => target,
            None if word.text == "--output" => {
                arguments.get(at + 1).map_or("", |next| next.text.as_str())
            }
            None => continue,
        };
        segment.redirects.push(Redirect {
            written: target.to_owned(),
            writes: true,
            target: None,
        });
    }
    Ok(())
}

/// Says whether a word whose value is not known may turn out to begin with a dash.
fn may_be_option(word: &Word) -> bool {
    let inside = word.text.strip_prefix('"').unwrap_or(&word.text);
    word.value != Value::Literal
        && (word.value == Value::Any || inside.starts_with(['$', '-', '`', '"']))
}

/// Says whether `read` sets variables alone that nothing else looks at.
fn is_idle_read(arguments: &[Word]) -> bool {
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
fn is_idle_set(arguments: &[Word]) -> bool {
    let words: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    arguments.iter().all(|word| word.value == Value::Literal)
        && matches!(
            words.as_slice(),
            ["-e" | "-u" | "-eu"] | ["-o" | "-euo" | "-eo" | "-uo", "pipefail"]
        )
}

fn is_duration(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    !number.is_empty()
        && number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}
