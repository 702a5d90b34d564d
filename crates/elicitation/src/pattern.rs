//! Patterns of JSON Schema: honoured where they mean the same here, and not checked otherwise.
//!
//! A `pattern` is a regular expression of ECMAScript, and our engine reads another dialect. What both read alike is
//! translated character by character; anything else is no pattern of ours, so that no good answer is refused. The
//! engine takes linear time, whatever the pattern.

use regex::{Regex, RegexBuilder};

use crate::shown::Shown;

/// Longest pattern that is honoured, in bytes.
const MAX_BYTES: usize = 1_000;
/// Most memory that a compiled pattern may take, in bytes.
const MAX_COMPILED: usize = 256 * 1024;

/// The white space of ECMAScript, for inside a class.
const SPACE: &str = r"\t\n\x0B\x0C\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff";
const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";

#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    shown: Shown,
}

impl Pattern {
    /// Returns the pattern, or `None` if it is not certain to mean the same here.
    pub(crate) fn read(source: &str) -> Option<Self> {
        if source.len() > MAX_BYTES {
            return None;
        }
        let regex = RegexBuilder::new(&translate(source)?)
            .size_limit(MAX_COMPILED)
            .nest_limit(50)
            .build()
            .ok()?;
        Some(Self {
            regex,
            shown: Shown::line(source, 80),
        })
    }

    /// Says whether the pattern is found somewhere in `text`.
    pub(crate) fn fits(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    pub(crate) fn shown(&self) -> &Shown {
        &self.shown
    }
}

fn translate(source: &str) -> Option<String> {
    let mut ours = String::with_capacity(source.len());
    let mut rest = source;
    let mut in_class = false;
    while let Some(char) = rest.chars().next() {
        rest = &rest[char.len_utf8()..];
        match char {
            '\\' => {
                rest = translate_escape(rest, in_class, &mut ours)?;
                continue;
            }
            // Empty classes, and what is set algebra in our dialect.
            '[' if in_class || rest.starts_with(']') || rest.starts_with("^]") => return None,
            '&' | '~' | '-' if in_class && rest.starts_with(char) => return None,
            '[' => in_class = true,
            ']' if in_class => in_class = false,
            // A bracket or a brace that stands for itself.
            ']' => return None,
            '{' if !in_class && !rest.starts_with(|next: char| next.is_ascii_digit()) => {
                return None;
            }
            '(' if !in_class && rest.starts_with('?') && !rest.starts_with("?:") => return None,
            '.' if !in_class => {
                ours += r"[^\n\r\u2028\u2029]";
                continue;
            }
            _ => {}
        }
        ours.push(char);
    }
    Some(ours)
}

/// Translates an escape whose backslash has been read, and returns what follows it.
fn translate_escape<'a>(rest: &'a str, in_class: bool, ours: &mut String) -> Option<&'a str> {
    let char = rest.chars().next()?;
    let after = &rest[char.len_utf8()..];
    let class = |members: &str| {
        if in_class {
            members.to_owned()
        } else {
            format!("[{members}]")
        }
    };
    match char {
        'd' => *ours += &class(DIGIT),
        'w' => *ours += &class(WORD),
        's' => *ours += &class(SPACE),
        'D' => *ours += &format!("[^{DIGIT}]"),
        'W' => *ours += &format!("[^{WORD}]"),
        'S' => *ours += &format!("[^{SPACE}]"),
        'b' if !in_class => *ours += r"(?-u:\b)",
        'n' | 'r' | 't' | 'f' | 'v' => ours.extend(['\\', char]),
        'u' | 'x' => {
            let digits = if char == 'u' { 4 } else { 2 };
            let hex = after
                .get(..digits)
                .filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
            ours.extend(['\\', char]);
            *ours += hex;
            return Some(&after[digits..]);
        }
        '^' | '$' | '\\' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|'
        | '/' | '-' | '@' => {
            ours.extend(['\\', char]);
        }
        _ => return None,
    }
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn patterns_mean_what_they_mean_to_the_server() {
        let cases = [
            (r"^[a-z]+$", "abc", true),
            (r"^[a-z]+$", "aBc", false),
            (r"^[a-z]+$", "abc\n", false),
            (r"b", "abc", true),
            (r"^\d{3}-\d{4}$", "555-0199", true),
            (r"^\d+$", "٣", false),
            (r"^\w+$", "żółw", false),
            (r"^[\w.+-]+@[\w-]+\.[a-z]{2,}$", "me.you@example.com", true),
            (r"^\s$", "\u{feff}", true),
            (r"^\s$", "\u{85}", false),
            (r"^.$", "\u{2028}", false),
            (r"^.$", "🦀", true),
            (r"^(?:a|b)\/\u0063$", "b/c", true),
            (r"\bcat\b", "écat", true),
            (r"^[^\D5]$", "5", false),
            (r"^[^\D5]$", "6", true),
        ];
        for (pattern, text, fits) in cases {
            assert_eq!(
                Pattern::read(pattern).unwrap().fits(text),
                fits,
                "{pattern} on {text:?}"
            );
        }
    }

    #[test]
    fn patterns_of_another_dialect_are_not_checked() {
        for pattern in [
            r"(?=a)b",
            r"(?<!a)b",
            r"(a)\1",
            r"[[]",
            r"[a&&b]",
            r"[]",
            r"[^]",
            r"(?i)a",
            r"\p{L}",
            r"\cA",
            r"a{",
            "a{,2}",
            "]",
            r"\z",
            r"(?<n>a)\k<n>",
            "(",
            r"\",
            r"\u{1F600}",
            r"((((a{99}){99}){99}){99})",
            &"a".repeat(1_001),
        ] {
            assert!(Pattern::read(pattern).is_none(), "{pattern}");
        }
    }
}
