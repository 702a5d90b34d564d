//! Text: its length, its format, its pattern.

use serde_json::Value;

use crate::check::Reason;
use crate::keywords::Keywords;
use crate::pattern::Pattern;
use crate::schema::Unaskable;
use crate::shown::Shown;

/// What a text has to satisfy. Lengths are counted in characters.
#[derive(Clone, Debug, Default)]
pub struct TextRule {
    min_chars: u64,
    max_chars: Option<u64>,
    format: Option<Format>,
    pattern: Option<Pattern>,
}

/// A format that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `name@host`: no quoted names, no addresses in brackets, ASCII only.
    Email,
    /// An absolute URI, in the characters of RFC 3986.
    Uri,
    /// `2026-11-30`.
    Date,
    /// `2026-11-30T12:00:00Z`, with seconds and an offset, as in RFC 3339.
    DateTime,
}

impl TextRule {
    /// Returns the format, if one is stated that is checked.
    pub fn format(&self) -> Option<Format> {
        self.format
    }

    /// Returns the most characters, if that is limited.
    pub fn max_chars(&self) -> Option<u64> {
        self.max_chars
    }

    /// Reads the rule; what it states and is not checked goes to `unchecked`.
    pub(crate) fn read(
        keywords: &Keywords<'_>,
        unchecked: &mut Vec<Shown>,
    ) -> Result<Self, Unaskable> {
        let min_chars = keywords.size("minLength")?.unwrap_or(0);
        let max_chars = keywords.size("maxLength")?;
        if max_chars.is_some_and(|max| max < min_chars) {
            return Err(Unaskable::Impossible);
        }
        let format = match keywords.text("format") {
            Some("email") => Some(Format::Email),
            Some("uri") => Some(Format::Uri),
            Some("date") => Some(Format::Date),
            Some("date-time") => Some(Format::DateTime),
            None | Some("password") => None,
            Some(other) => {
                unchecked.push(Shown::line(&format!("format {other}"), 80));
                None
            }
        };
        let pattern = keywords.text("pattern").and_then(Pattern::read);
        if pattern.is_none() && keywords.get("pattern").is_some() {
            unchecked.push(Shown::line("pattern", 80));
        }
        Ok(Self {
            min_chars,
            max_chars,
            format,
            pattern,
        })
    }

    /// Returns the rule without its format, which binds nobody who picks one of fixed values.
    pub(crate) fn without_format(self) -> Self {
        Self {
            format: None,
            ..self
        }
    }

    pub(crate) fn accept(&self, text: &str) -> Result<Value, Reason> {
        let chars = text.chars().count() as u64;
        if chars < self.min_chars || self.max_chars.is_some_and(|max| chars > max) {
            return Err(Reason::expected(&self.expects()));
        }
        if self.format.is_some_and(|format| !format.fits(text)) {
            return Err(Reason::expected(&self.expects()));
        }
        match &self.pattern {
            Some(pattern) if !pattern.fits(text) => Err(Reason::expected(&format!(
                "text that matches `{}`",
                pattern.shown()
            ))),
            _ => Ok(Value::String(text.to_owned())),
        }
    }

    /// Reads what a person typed; white space around a format goes, because it never belongs to it.
    pub(crate) fn parse(&self, typed: &str) -> Value {
        let text = if self.format.is_some() {
            typed.trim()
        } else {
            typed
        };
        Value::String(text.to_owned())
    }

    /// Says what is expected, such as `text of 3 to 20 characters`.
    pub(crate) fn expects(&self) -> String {
        let what = match self.format {
            None => "text",
            Some(Format::Email) => "an email address",
            Some(Format::Uri) => "a whole address, such as `https://example.com`",
            Some(Format::Date) => "a date, such as `2026-11-30`",
            Some(Format::DateTime) => "a time with its offset, such as `2026-11-30T12:00:00Z`",
        };
        match (self.min_chars, self.max_chars) {
            (0, None) => what.to_owned(),
            (min, None) => format!("{what} of at least {}", characters(min)),
            (0, Some(max)) => format!("{what} of at most {}", characters(max)),
            (min, Some(max)) if min == max => format!("{what} of {}", characters(min)),
            (min, Some(max)) => format!("{what} of {min} to {}", characters(max)),
        }
    }
}

impl Format {
    fn fits(self, text: &str) -> bool {
        match self {
            Self::Email => is_email(text),
            Self::Uri => is_uri(text),
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text),
        }
    }
}

fn characters(count: u64) -> String {
    format!("{count} character{}", if count == 1 { "" } else { "s" })
}

/// RFC 5321, less quoted names and addresses in brackets.
fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.split_once('@') else {
        return false;
    };
    let is_atom = |atom: &str| {
        !atom.is_empty()
            && atom
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte))
    };
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.len() <= 64
        && host.len() <= 253
        && name.split('.').all(is_atom)
        && host.split('.').all(is_label)
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else {
        return false;
    };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    is_scheme
        && text.bytes().all(is_allowed)
        && has_whole_escapes(text)
        && url::Url::parse(text).is_ok()
}

/// Says whether each `%` begins an escape of two hexadecimal digits.
pub(crate) fn has_whole_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        let digits = rest.bytes().take(2).filter(u8::is_ascii_hexdigit);
        digits.count() == 2
    })
}

fn is_date(text: &str) -> bool {
    let [year, month, day] = text.split('-').collect::<Vec<_>>()[..] else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2))
    else {
        return false;
    };
    let (Ok(month), Ok(day)) = (i8::try_from(month), i8::try_from(day)) else {
        return false;
    };
    jiff::civil::Date::new(year, month, day).is_ok()
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    let Some(offset) = time.find(['Z', 'z', '+', '-']) else {
        return false;
    };
    let (time, offset) = time.split_at(offset);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = time.split(':').collect::<Vec<_>>()[..] else {
        return false;
    };
    // A leap second is written as 60.
    let is_time = is_below(hour, 24) && is_below(minute, 60) && is_below(second, 61);
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let is_offset = matches!(offset, "Z" | "z")
        || offset[1..]
            .split_once(':')
            .is_some_and(|(hours, minutes)| is_below(hours, 24) && is_below(minutes, 60));
    is_date(date) && is_time && is_fraction && is_offset
}

fn is_below(text: &str, limit: i16) -> bool {
    digits(text, 2).is_some_and(|number| number < limit)
}

fn digits(text: &str, count: usize) -> Option<i16> {
    let are_digits = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| are_digits)
}

#[cfg(test)]
mod tests;
