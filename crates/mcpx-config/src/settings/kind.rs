//! The kinds of settings: how their text is read and written.

use std::time::Duration;

use super::{
    registry::{Kind, Setting},
    value::Value,
};
use crate::error::quoted;

/// Units of a duration and their nanoseconds, as in Go; longest spelling first where one begins another.
const TIME_UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Units of a size and their bytes.
const SIZE_UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("k", 1_000),
    ("kb", 1_000),
    ("kib", 1 << 10),
    ("m", 1_000_000),
    ("mb", 1_000_000),
    ("mib", 1 << 20),
    ("g", 1_000_000_000),
    ("gb", 1_000_000_000),
    ("gib", 1 << 30),
];

/// Longest duration: a hundred years. More is a mistake, and would overflow a clock.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// Reads a duration such as `1m30s`, `250ms`, `1.5h` or `0`.
///
/// # Errors
///
/// What was found and what was expected.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let problem = || {
        format!(
            "{} is not a duration; expected numbers with a unit, such as `1m30s`, `250ms` or `0`",
            quoted(text)
        )
    };
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(problem());
    }
    let mut total: f64 = 0.0;
    let mut exact: u128 = 0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(problem)?;
        let (number, tail) = rest.split_at(digits);
        let end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, next) = tail.split_at(end);
        let (_, nanos) = TIME_UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(problem)?;
        match number.parse::<u64>() {
            Ok(whole) => exact += u128::from(whole) * u128::from(*nanos),
            Err(_) => {
                // A fraction, or more digits than any duration has.
                let part: f64 = number.parse().map_err(|_| problem())?;
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "an hour in nanoseconds is exact in a double"
                )]
                {
                    total += part * (*nanos as f64);
                }
            }
        }
        rest = next;
    }
    let limit = LONGEST.as_nanos();
    #[expect(clippy::cast_precision_loss, reason = "only compared with a limit")]
    let is_too_long = total > limit as f64 || exact > limit;
    if is_too_long {
        return Err(format!("{} is longer than a hundred years", quoted(text)));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is not negative and below the limit"
    )]
    let nanos = exact + total.round() as u128;
    let whole = u64::try_from(nanos / 1_000_000_000).unwrap_or(u64::MAX);
    let part = u32::try_from(nanos % 1_000_000_000).unwrap_or(0);
    Ok(Duration::new(whole, part))
}

/// Writes a duration as [`parse_duration`] reads it: `1m30s`, `250ms`, `0s`.
#[must_use]
pub fn duration_text(duration: Duration) -> String {
    if duration.is_zero() {
        return "0s".to_owned();
    }
    let mut text = String::new();
    let mut nanos = duration.as_nanos();
    for (unit, size) in TIME_UNITS.iter().rev() {
        let size = u128::from(*size);
        if *unit == "μs" || *unit == "µs" || nanos < size {
            continue;
        }
        text.push_str(&format!("{}{unit}", nanos / size));
        nanos %= size;
    }
    text
}

/// Reads a size such as `256KiB`, `16MB` or `65536`. Large and small letters are the same.
///
/// # Errors
///
/// What was found and what was expected.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let problem = || {
        format!(
            "{} is not a size; expected a whole number with or without a unit, such as `256KiB`, `16MB` or `65536`",
            quoted(text)
        )
    };
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let number: u64 = number.parse().map_err(|_| problem())?;
    let unit = unit.trim().to_ascii_lowercase();
    let (_, factor) = SIZE_UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(problem)?;
    number.checked_mul(*factor).ok_or_else(problem)
}

/// Writes a size as [`parse_bytes`] reads it, in the largest unit that is exact.
pub(crate) fn bytes_text(bytes: u64) -> String {
    let units = [
        ("GiB", 1_u64 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("KiB", 1 << 10),
    ];
    units
        .iter()
        .find(|(_, size)| bytes >= *size && bytes.is_multiple_of(*size))
        .map_or_else(
            || bytes.to_string(),
            |(unit, size)| format!("{}{unit}", bytes / size),
        )
}

/// Reads the text of a setting, from a variable, a flag, a request or its own declaration.
///
/// # Errors
///
/// What was found and what was expected, without the place.
pub(crate) fn read_text(setting: &Setting, text: &str) -> Result<Value, (String, String)> {
    let value = read_kind(setting, text)?;
    let size = match &value {
        Value::Int(number) => u64::try_from(*number).unwrap_or(0),
        Value::Bytes(bytes) => *bytes,
        Value::Duration(duration) => u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
        Value::Bool(_) | Value::Text(_) | Value::List(_) => return Ok(value),
    };
    if size < setting.least {
        return Err((quoted(text), "more than zero".to_owned()));
    }
    if size > setting.most {
        return Err((quoted(text), format!("at most {}", setting.most)));
    }
    Ok(value)
}

fn read_kind(setting: &Setting, text: &str) -> Result<Value, (String, String)> {
    let wrong = |expected: &str| (quoted(text), expected.to_owned());
    let trimmed = text.trim();
    match setting.kind {
        Kind::Bool => match trimmed.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(Value::Bool(true)),
            "false" | "0" | "no" | "off" => Ok(Value::Bool(false)),
            _ => Err(wrong("`true` or `false`")),
        },
        Kind::Int => trimmed
            .parse()
            .ok()
            .filter(|number| *number >= 0)
            .map(Value::Int)
            .ok_or_else(|| wrong("a whole number, not negative")),
        Kind::Duration => parse_duration(trimmed)
            .map(Value::Duration)
            .map_err(|_| wrong("a duration, such as `1m30s` or `0`")),
        Kind::Bytes => parse_bytes(trimmed)
            .map(Value::Bytes)
            .map_err(|_| wrong("a size, such as `256KiB` or `16MB`")),
        Kind::Text => Ok(Value::Text(text.to_owned())),
        Kind::Enum => choice(setting, trimmed)
            .map(|word| Value::Text(word.to_owned()))
            .ok_or_else(|| wrong(&expected_choices(setting))),
        Kind::Json if trimmed.is_empty() => Ok(Value::Text(String::new())),
        Kind::Json => serde_json::from_str::<serde_json::Value>(trimmed)
            .map(|value| Value::Text(value.to_string()))
            .map_err(|_| wrong("JSON")),
        Kind::List => Ok(Value::List(split(text, ','))),
        Kind::Paths => Ok(Value::List(split(
            text,
            if cfg!(windows) { ';' } else { ':' },
        ))),
    }
}

/// The choice that a word stands for, in the spelling of the declaration.
pub(crate) fn choice<'a>(setting: &Setting, word: &'a str) -> Option<&'a str> {
    if let Some((_, meant)) = setting
        .choice_aliases
        .iter()
        .find(|(alias, _)| *alias == word)
    {
        return Some(meant);
    }
    setting.choices.contains(&word).then_some(word)
}

pub(crate) fn expected_choices(setting: &Setting) -> String {
    let words: Vec<String> = setting
        .choices
        .iter()
        .map(|word| format!("`{word}`"))
        .collect();
    format!("one of {}", words.join(", "))
}

fn split(text: &str, at: char) -> Vec<String> {
    text.split(at)
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_read_as_in_go() {
        let ms = Duration::from_millis;
        for (text, expected) in [
            ("1m30s", ms(90_000)),
            ("250ms", ms(250)),
            ("1.5h", ms(5_400_000)),
            ("0", ms(0)),
            ("0s", ms(0)),
            ("4h0m0s", ms(4 * 3_600_000)),
            ("2us", Duration::from_micros(2)),
            (".5s", ms(500)),
        ] {
            assert_eq!(parse_duration(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "5",
            "s",
            "1x",
            "-1s",
            "1 m",
            "1m30",
            "1..5s",
            "99999999999h",
            "1e3s",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert_eq!(duration_text(ms(90_250)), "1m30s250ms");
    }

    #[test]
    fn sizes_are_read_with_decimal_and_binary_units() {
        for (text, expected) in [
            ("65536", 65_536),
            ("256KiB", 262_144),
            ("16MB", 16_000_000),
            ("1gib", 1 << 30),
            ("2 MB", 2_000_000),
        ] {
            assert_eq!(parse_bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "MB", "-1", "1.5MB", "1XB", "99999999999GiB"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
        assert_eq!(bytes_text(16_000_000), "16MB");
        assert_eq!(bytes_text(65_536), "64KiB");
        assert_eq!(bytes_text(2_000), "2000");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(nanos in 0_u64.., bytes in 0_u64..) {
            let duration = Duration::from_nanos(nanos.min(3_000_000_000_000_000_000));
            prop_assert_eq!(parse_duration(&duration_text(duration)), Ok(duration));
            prop_assert_eq!(parse_bytes(&bytes_text(bytes)), Ok(bytes));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9.smhKMGiBnuµ -]{0,12}|.{0,8}") {
            drop(parse_duration(&text));
            drop(parse_bytes(&text));
        }
    }
}
