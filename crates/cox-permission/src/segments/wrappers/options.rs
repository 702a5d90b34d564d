//! The command behind the options of a program that runs it.

use super::{
    super::{
        Segment,
        word::{Input, Value, Word, is_safe_assignment},
    },
    Unfold, closed,
    programs::Wrapper,
};

impl Unfold<'_> {
    pub(super) fn wrapper(
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
}

fn is_duration(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    !number.is_empty()
        && number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}
