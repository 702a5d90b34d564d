//! Numbers: their limits, and comparisons that lose no digit.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use crate::check::Reason;
use crate::keywords::Keywords;
use crate::schema::Unaskable;

/// What a number has to satisfy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NumberRule {
    is_whole: bool,
    min: Option<Limit>,
    max: Option<Limit>,
    multiple_of: Option<Number>,
}

#[derive(Clone, Debug, PartialEq)]
struct Limit {
    number: Number,
    is_excluded: bool,
}

impl NumberRule {
    /// Says whether only whole numbers are accepted.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(crate) fn read(keywords: &Keywords<'_>, is_whole: bool) -> Result<Self, Unaskable> {
        let min = limit(keywords, "minimum", "exclusiveMinimum", Ordering::Greater)?;
        let max = limit(keywords, "maximum", "exclusiveMaximum", Ordering::Less)?;
        if let (Some(min), Some(max)) = (&min, &max) {
            let order = compare(&min.number, &max.number);
            if order == Ordering::Greater
                || (order == Ordering::Equal && (min.is_excluded || max.is_excluded))
            {
                return Err(Unaskable::Impossible);
            }
        }
        let multiple_of = number(keywords, "multipleOf")?.cloned();
        if multiple_of
            .as_ref()
            .is_some_and(|step| compare(step, &Number::from(0)) != Ordering::Greater)
        {
            return Err(Unaskable::Malformed {
                keyword: "multipleOf",
                expected: "more than 0",
            });
        }
        Ok(Self {
            is_whole,
            min,
            max,
            multiple_of,
        })
    }

    /// Returns the number as it is sent: a whole one without a fraction.
    pub(crate) fn accept(&self, value: &Value) -> Result<Value, Reason> {
        let fits = |number: &&Number| {
            (!self.is_whole || is_whole(number))
                && self
                    .min
                    .as_ref()
                    .is_none_or(|min| min.allows(number, Ordering::Greater))
                && self
                    .max
                    .as_ref()
                    .is_none_or(|max| max.allows(number, Ordering::Less))
                && self
                    .multiple_of
                    .as_ref()
                    .is_none_or(|step| is_multiple(number, step))
        };
        match value.as_number().filter(fits) {
            Some(number) if self.is_whole => Ok(Value::Number(plain(number))),
            Some(number) => Ok(Value::Number(number.clone())),
            None => Err(Reason::expected(&self.expects())),
        }
    }

    /// Reads a number that a person typed.
    pub(crate) fn parse(&self, typed: &str) -> Result<Value, Reason> {
        let typed = typed.trim();
        let number = typed
            .parse::<i64>()
            .map(Number::from)
            .or_else(|_| typed.parse::<u64>().map(Number::from))
            .ok()
            .or_else(|| self.parse_float(typed));
        number
            .map(Value::Number)
            .ok_or_else(|| Reason::expected(&self.expects()))
    }

    /// Reads `3.0` and `1e3`, for whole numbers only as far as each is told from its neighbours.
    fn parse_float(&self, typed: &str) -> Option<Number> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let looks_like_one = typed
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        let float: f64 = typed.parse().ok().filter(|_| looks_like_one)?;
        if self.is_whole && float.abs() >= EXACT {
            return None;
        }
        Number::from_f64(float)
    }

    /// Says what is expected, such as `a whole number from 1 to 10`.
    pub(crate) fn expects(&self) -> String {
        let mut text = String::from(if self.is_whole {
            "a whole number"
        } else {
            "a number"
        });
        match (&self.min, &self.max) {
            (Some(min), Some(max)) if !min.is_excluded && !max.is_excluded => {
                text += &format!(" from {} to {}", plain(&min.number), plain(&max.number));
            }
            (min, max) => {
                if let Some(min) = min {
                    let word = if min.is_excluded {
                        "more than"
                    } else {
                        "of at least"
                    };
                    text += &format!(" {word} {}", plain(&min.number));
                }
                if min.is_some() && max.is_some() {
                    text += " and";
                }
                if let Some(max) = max {
                    let word = if max.is_excluded {
                        "less than"
                    } else {
                        "of at most"
                    };
                    text += &format!(" {word} {}", plain(&max.number));
                }
            }
        }
        if let Some(step) = &self.multiple_of {
            text += &format!(", a multiple of {step}");
        }
        text
    }
}

impl Limit {
    fn allows(&self, number: &Number, side: Ordering) -> bool {
        let order = compare(number, &self.number);
        order == side || (order == Ordering::Equal && !self.is_excluded)
    }
}

fn number<'a>(
    keywords: &Keywords<'a>,
    keyword: &'static str,
) -> Result<Option<&'a Number>, Unaskable> {
    match keywords.get(keyword) {
        None => Ok(None),
        Some(Value::Number(number)) => Ok(Some(number)),
        Some(_) => Err(Unaskable::Malformed {
            keyword,
            expected: "a number",
        }),
    }
}

/// Reads a limit, in the spelling of today (a number of its own) or the old one (`true` beside the other).
fn limit(
    keywords: &Keywords<'_>,
    included: &'static str,
    excluded: &'static str,
    side: Ordering,
) -> Result<Option<Limit>, Unaskable> {
    let mut found = number(keywords, included)?.map(|number| Limit {
        number: number.clone(),
        is_excluded: false,
    });
    match keywords.get(excluded) {
        Some(Value::Bool(is_excluded)) => {
            if let Some(limit) = &mut found {
                limit.is_excluded = *is_excluded;
            }
        }
        _ => {
            if let Some(number) = number(keywords, excluded)?
                && found
                    .as_ref()
                    .is_none_or(|limit| compare(number, &limit.number) != side.reverse())
            {
                found = Some(Limit {
                    number: number.clone(),
                    is_excluded: true,
                });
            }
        }
    }
    Ok(found)
}

/// Says whether a number has no fraction, however it is written.
pub(crate) fn is_whole(number: &Number) -> bool {
    whole(number).is_some() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Says whether two values are the same to JSON Schema, where 1 is 1.0.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare(one, other) == Ordering::Equal,
        _ => one == other,
    }
}

/// Compares exactly: integers as integers, whole floats too.
fn compare(one: &Number, other: &Number) -> Ordering {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        // One of them has a fraction, so it is small enough for the other's rounding not to matter.
        _ => {
            let float = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
            float(one).total_cmp(&float(other))
        }
    }
}

fn whole(number: &Number) -> Option<i128> {
    if let Some(integer) = number.as_i128() {
        return Some(integer);
    }
    let float = number
        .as_f64()
        .filter(|float| float.fract() == 0.0 && float.abs() < 1e30)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole, and below the limit"
    )]
    Some(float as i128)
}

/// Returns a whole number in its shortest form: 3 for 3.0.
fn plain(number: &Number) -> Number {
    whole(number)
        .and_then(|whole| {
            let signed = i64::try_from(whole).map(Number::from).ok();
            signed.or_else(|| u64::try_from(whole).map(Number::from).ok())
        })
        .unwrap_or_else(|| number.clone())
}

/// Says whether `number` is a multiple of `step` as decimals, where 0.07 is seven times 0.01.
///
/// Numbers whose decimals do not fit beside each other pass: who asked checks again.
fn is_multiple(number: &Number, step: &Number) -> bool {
    let scaled = || {
        let (one, one_places) = decimal(number)?;
        let (other, other_places) = decimal(step)?;
        let places = one_places.max(other_places);
        let scale = |digits: i128, by: i32| {
            digits.checked_mul(10_i128.checked_pow(u32::try_from(by).ok()?)?)
        };
        Some((
            scale(one, places - one_places)?,
            scale(other, places - other_places)?,
        ))
    };
    scaled().is_none_or(|(number, step)| step != 0 && number % step == 0)
}

/// Returns digits and places: 0.07 is 7 and 2.
fn decimal(number: &Number) -> Option<(i128, i32)> {
    let text = number.to_string();
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent: i32 = exponent.parse().ok()?;
    let fraction = fraction.trim_end_matches('0');
    let places = i32::try_from(fraction.len()).ok()?;
    Some((
        format!("{whole}{fraction}").parse().ok()?,
        places - exponent,
    ))
}

#[cfg(test)]
mod tests;
