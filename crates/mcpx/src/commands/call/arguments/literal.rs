//! A call as it is written in a script: `demo.echo({ message: "hi" })`, as `mcpx types` and the hints of a failed call show it.
//!
//! What stands between the brackets is an object as TypeScript writes one, its braces left out if one likes:
//! keys without quotes, either kind of quotes, a comma at the end. Or values alone, which are the tool's arguments in the
//! order of its schema. There are no expressions.

use mcp_wire::{Object, Raw};

use super::json::wrong;
use crate::exit::Failure;

/// How deep values may nest.
const DEPTH: usize = 64;

/// What stands between the brackets of a call.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::commands::call) enum Between {
    /// Arguments by name.
    Named(Object),
    /// Values alone.
    Listed(Vec<Raw>),
}

/// The tool and the arguments of a call that is written like one; nothing for a name alone.
///
/// # Errors
/// When it begins like a call and is none: where, and what was expected.
pub(in crate::commands::call) fn called(typed: &str) -> Result<Option<(String, Between)>, Failure> {
    let Some(open) = typed.find('(') else {
        return Ok(None);
    };
    let tool = typed[..open].trim();
    let tool = tool.strip_prefix("await ").unwrap_or(tool).trim();
    let mut reader = Reader {
        text: typed,
        at: open + 1,
    };
    let between = reader.arguments().map_err(|why| {
        wrong(
            typed,
            reader.place(),
            &format!("the call cannot be read: {why}"),
        )
        .hint("such as 'demo.echo({ message: \"hi\" })', in single quotes for the shell")
    })?;
    Ok(Some((tool.to_owned(), between)))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// What was expected.
type Wrong = String;

impl Reader<'_> {
    /// The line and the byte in it where it reads.
    fn place(&self) -> (usize, usize) {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count();
        let begins = before.rfind('\n').map_or(0, |at| at + 1);
        (line, self.at - begins)
    }

    fn peek(&mut self) -> Option<char> {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest.chars().next()
    }

    /// Takes this character if it comes next.
    fn takes(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.at += wanted.len_utf8();
        }
        is_next
    }

    fn expect(&mut self, wanted: char) -> Result<(), Wrong> {
        if self.takes(wanted) {
            Ok(())
        } else {
            Err(format!("expected `{wanted}`"))
        }
    }

    /// Everything between the brackets of the call, and that nothing follows.
    fn arguments(&mut self) -> Result<Between, Wrong> {
        let begin = self.at;
        if self.takes('{') {
            let object = self.members('}', 0)?;
            self.takes(',');
            if self.takes(')') {
                return self.end(Between::Named(object));
            }
            // An object, and more behind it.
            self.at = begin;
        }
        if !self.begins_with_key() {
            let values = self.elements(')', 0)?;
            return self.end(Between::Listed(values));
        }
        let object = self.members(')', 0)?;
        self.end(Between::Named(object))
    }

    /// Whether `key:` comes next, or nothing at all.
    fn begins_with_key(&mut self) -> bool {
        if matches!(self.peek(), None | Some(')')) {
            return true;
        }
        let begin = self.at;
        let is_key = self.key().is_ok() && self.takes(':');
        let is_word = self.text[begin..].starts_with(|char: char| char.is_alphabetic());
        self.at = begin;
        // A word that is no value was meant as a key.
        is_key || (is_word && self.plain().is_err()) || {
            self.at = begin;
            false
        }
    }

    /// Nothing but a semicolon follows.
    fn end(&mut self, between: Between) -> Result<Between, Wrong> {
        self.takes(';');
        match self.peek() {
            None => Ok(between),
            Some(_) => Err("expected the end of the call".to_owned()),
        }
    }

    /// `key: value` up to the closing bracket, which is taken.
    fn members(&mut self, close: char, depth: usize) -> Result<Object, Wrong> {
        let mut object = Object::new();
        loop {
            if self.takes(close) {
                return Ok(object);
            }
            let name = self.key()?;
            if object.contains(&name) {
                return Err(format!("`{name}` is there twice"));
            }
            self.expect(':')?;
            object.set(&name, self.value(depth)?);
            if !self.takes(',') {
                self.expect(close)?;
                return Ok(object);
            }
        }
    }

    fn key(&mut self) -> Result<String, Wrong> {
        let begin = self.peek();
        if matches!(begin, Some('"' | '\'' | '`')) {
            return self.string();
        }
        let word = self.word();
        if word.is_empty() {
            return Err("expected `key: value`".to_owned());
        }
        Ok(word)
    }

    fn word(&mut self) -> String {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|char: char| !char.is_alphanumeric() && !matches!(char, '_' | '$'))
            .unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_owned()
    }

    fn value(&mut self, depth: usize) -> Result<Raw, Wrong> {
        if depth > DEPTH {
            return Err(format!("values nest deeper than {DEPTH}"));
        }
        match self.peek() {
            Some('{') => {
                self.at += 1;
                self.members('}', depth + 1).map(Raw::from)
            }
            Some('[') => {
                self.at += 1;
                self.elements(']', depth + 1)
                    .map(|elements| Raw::of(&elements))
            }
            Some('"' | '\'' | '`') => self.string().map(Raw::from),
            _ => self.plain(),
        }
    }

    /// Values up to the closing bracket, which is taken.
    fn elements(&mut self, close: char, depth: usize) -> Result<Vec<Raw>, Wrong> {
        let mut elements = Vec::new();
        loop {
            if self.takes(close) {
                return Ok(elements);
            }
            elements.push(self.value(depth)?);
            if !self.takes(',') {
                self.expect(close)?;
                return Ok(elements);
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn plain(&mut self) -> Result<Raw, Wrong> {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|char: char| !char.is_alphanumeric() && !matches!(char, '-' | '+' | '.' | '_'))
            .unwrap_or(rest.len());
        let raw = Raw::parse(&rest[..end]).map_err(|_| "expected a value: a text in quotes, a number, `true`, `false`, `null`, an object or a list".to_owned())?;
        self.at += end;
        Ok(raw)
    }

    /// A text in its quotes.
    fn string(&mut self) -> Result<String, Wrong> {
        let quote = self.peek().unwrap_or('"');
        self.at += quote.len_utf8();
        let mut text = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(char) = rest.chars().next() else {
                return Err(format!("expected `{quote}` at the end of the text"));
            };
            match char {
                '\n' if quote != '`' => {
                    return Err(format!("expected `{quote}` before the end of the line"));
                }
                '$' if quote == '`' && rest.starts_with("${") => {
                    return Err("expected a text without `${`: there are no expressions".to_owned());
                }
                _ => self.at += char.len_utf8(),
            }
            match char {
                _ if char == quote => return Ok(text),
                '\\' => text.extend(self.escaped()?),
                char => text.push(char),
            }
        }
    }

    /// What stands behind a backslash; nothing for a line that goes on.
    fn escaped(&mut self) -> Result<Option<char>, Wrong> {
        let char = self.text[self.at..].chars().next().unwrap_or('\0');
        self.at += char.len_utf8().min(self.text.len() - self.at);
        Ok(Some(match char {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'x' => self
                .hexadecimal(2)
                .and_then(char::from_u32)
                .ok_or("expected two hexadecimal digits")?,
            'u' => self
                .unicode()
                .ok_or("expected a character such as `\\u00e9`")?,
            '\n' => return Ok(None),
            char => char,
        }))
    }

    fn unicode(&mut self) -> Option<char> {
        if self.text[self.at..].starts_with('{') {
            let (digits, _) = self.text[self.at + 1..].split_once('}')?;
            let char = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            self.at += digits.len() + 2;
            return Some(char);
        }
        let first = self.hexadecimal(4)?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        // Half a character; the other half has to follow.
        self.text[self.at..].starts_with("\\u").then_some(())?;
        self.at += 2;
        let second = self
            .hexadecimal(4)
            .filter(|half| (0xdc00..0xe000).contains(half))?;
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    }

    fn hexadecimal(&mut self, digits: usize) -> Option<u32> {
        let text = self.text.get(self.at..self.at + digits)?;
        let number = text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit())
            .then(|| u32::from_str_radix(text, 16).ok())??;
        self.at += digits;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn json_of(between: Between) -> String {
        let raw = match between {
            Between::Named(object) => Raw::from(object),
            Between::Listed(values) => Raw::of(&values),
        };
        raw.as_str().to_owned()
    }

    #[track_caller]
    fn check(typed: &str, tool: &str, arguments: &str) {
        let (name, between) = called(typed).unwrap().unwrap();
        assert_eq!(
            (name.as_str(), json_of(between).as_str()),
            (tool, arguments)
        );
    }

    #[track_caller]
    fn refused(typed: &str, expect: &str) {
        let failure = called(typed).unwrap_err();
        assert!(
            failure.error.message.contains(expect),
            "{}",
            failure.error.message
        );
    }

    #[test]
    fn a_call_is_read_as_a_script_writes_it() {
        check("demo.echo()", "demo.echo", "{}");
        check("demo.echo({})", "demo.echo", "{}");
        check(
            r#"await demo.echo({ message: "hi" });"#,
            "demo.echo",
            r#"{"message":"hi"}"#,
        );
        check(
            "demo.echo(message: 'it\\'s', n: -1.5e3, on: true, off: null)",
            "demo.echo",
            r#"{"message":"it's","n":-1.5e3,"on":true,"off":null}"#,
        );
        check(
            "a.b({ \"x-y\": [1, 'two', { z: [], }, ], $s_1: `line\nline`, })",
            "a.b",
            r#"{"x-y":[1,"two",{"z":[]}],"$s_1":"line\nline"}"#,
        );
        check(
            r#"a.b(t: "\u00e9\u{1F680}\uD83D\uDE80\x41\n日本")"#,
            "a.b",
            r#"{"t":"é🚀🚀A\n日本"}"#,
        );
        check(
            "a.b('x', 5, [1], { y: null },)",
            "a.b",
            r#"["x",5,[1],{"y":null}]"#,
        );
        check("a.b({ x: 1 }, 5)", "a.b", r#"[{"x":1},5]"#);
        check("a.b(true)", "a.b", "[true]");
        assert_eq!(called("demo.echo").unwrap(), None);
    }

    #[test]
    fn what_is_none_is_told_with_its_place() {
        refused("demo.echo(", "expected `key: value` at line 1, column 11");
        refused("demo.echo({ message: hi })", "expected a value");
        refused("demo.echo(hi)", "expected `:` at line 1, column 13");
        refused("demo.echo({ a: 1 } b", "expected `)`");
        refused("demo.echo() + 1", "expected the end of the call");
        refused("demo.echo(a: 1, a: 2)", "`a` is there twice");
        refused("demo.echo(a: `${x}`)", "no expressions");
        refused("demo.echo(a: \"x", "at the end of the text");
        refused("demo.echo(a: \"\\ud800\")", "expected a character");
        refused(&format!("a.b(c: {}", "[".repeat(100_000)), "nest deeper");
    }

    proptest! {
        #[test]
        fn any_text_is_a_call_or_a_failure(text in "a\\(.{0,30}|[a-z(){}\\[\\]:,'\"`\\\\ux0-9 $]{0,40}") {
            if let Ok(Some((_, between))) = called(&text) {
                let json = json_of(between);
                prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
            }
        }

        #[test]
        fn json_is_read_as_what_it_is(text in any::<String>(), number in any::<i32>()) {
            let json = serde_json::json!({"text": text, "number": number, "list": [text, null, true]}).to_string();
            let (_, between) = called(&format!("a.b({json})")).unwrap().unwrap();
            let read: serde_json::Value = serde_json::from_str(&json_of(between)).unwrap();
            prop_assert_eq!(read.to_string(), json);
        }
    }
}
