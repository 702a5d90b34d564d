//! Decides whether a failed request is tried again, and when. No clock, no waiting.

use std::time::Duration;

use crate::{ErrorKind, failure::Failure};

/// Longest wait before another try. A server that asks for more is not waited for: the error says how long it asked.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(60);

/// First wait when the server names none; doubles with every try.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Returns how long to wait before the next try, or nothing when there should be none.
///
/// `retries` counts the retries already made. `jitter` is between 0 and 1 and lengthens the wait by up to a quarter, so
/// that clients that failed together do not return together; a wait that the server named is never shortened.
pub(crate) fn wait(
    failure: &Failure,
    retries: u32,
    max_retries: u32,
    jitter: f64,
) -> Option<Duration> {
    // What cannot be read once may have been damaged on the way; twice it is another kind of server.
    let most = match failure.error.kind {
        ErrorKind::Malformed => max_retries.min(1),
        _ => max_retries,
    };
    if !failure.may_retry || retries >= most {
        return None;
    }
    let base = match failure.error.retry_after {
        Some(asked) if asked > MAX_WAIT => return None,
        Some(asked) => asked,
        None => FIRST_WAIT.saturating_mul(1 << retries.min(6)).min(MAX_WAIT),
    };
    Some(
        base + base
            .min(Duration::from_secs(8))
            .mul_f64(jitter.clamp(0.0, 1.0) / 4.0),
    )
}

/// Reads how long a server asks to wait from its headers: `retry-after-ms`, or `retry-after` as seconds or as a date.
///
/// A date counts from the server's own `date`, so that no clock of ours is needed; without one it says nothing.
pub(crate) fn wait_in_headers<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    if let Some(millis) = header("retry-after-ms").and_then(seconds) {
        return Some(millis / 1000);
    }
    let value = header("retry-after")?;
    if let Some(wait) = seconds(value) {
        return Some(wait);
    }
    let until = http_date(value)?;
    let now = http_date(header("date")?)?;
    Some(Duration::from_secs(until.saturating_sub(now)))
}

/// Reads how long a server asks to wait from its message: "try again in 17s", "retry in 1m30.5s", "retry after 20 ms".
pub(crate) fn wait_in_words(message: &str) -> Option<Duration> {
    const LEADS: [&str; 6] = [
        "try again in ",
        "retry in ",
        "retry after ",
        "try again after ",
        "retrydelay\": \"",
        "retrydelay\":\"",
    ];
    let message = message.to_ascii_lowercase();
    LEADS.iter().find_map(|lead| {
        let start = message.find(lead)? + lead.len();
        amount(&message[start..])
    })
}

/// Says a wait as people do.
pub(crate) fn in_words(wait: Duration) -> String {
    match wait.as_secs() {
        0 => format!("{} ms", wait.as_millis()),
        seconds @ 1..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// Reads a plain, finite, non-negative number of seconds; more than a year counts as a year.
fn seconds(text: &str) -> Option<Duration> {
    let number: f64 = text.trim().parse().ok()?;
    if !number.is_finite() || number < 0.0 {
        return None;
    }
    Some(Duration::from_secs_f64(number.min(31_536_000.0)))
}

/// Reads numbers with units from the start of a text and adds them up.
fn amount(mut text: &str) -> Option<Duration> {
    let mut total = None;
    loop {
        text = text.trim_start();
        let digits = text
            .find(|character: char| !character.is_ascii_digit() && character != '.')
            .unwrap_or(text.len());
        let Some(number) = seconds(text[..digits].trim_end_matches('.')) else {
            return total;
        };
        text = text[digits..].trim_start();
        let letters = text
            .find(|character: char| !character.is_ascii_alphabetic())
            .unwrap_or(text.len());
        let scale = match &text[..letters] {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            _ => return total,
        };
        text = &text[letters..];
        let number = Duration::from_secs_f64(number.as_secs_f64() * scale);
        total = Some(total.unwrap_or_default() + number);
    }
}

/// Reads the fixed form of an HTTP date (`Sun, 06 Nov 1994 08:49:37 GMT`) as seconds since 1970.
///
/// The two obsolete forms of RFC 9110, section 5.6.7, are not read: no server of a model sends them.
fn http_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (_, rest) = text.trim().split_once(", ")?;
    let mut parts = rest.split(' ');
    let day: u64 = parts
        .next()?
        .parse()
        .ok()
        .filter(|day| (1..=31).contains(day))?;
    let month = parts.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let year: u64 = parts
        .next()?
        .parse()
        .ok()
        .filter(|year| (1970..=9999).contains(year))?;
    let mut time = parts
        .next()?
        .split(':')
        .map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    if parts.next()? != "GMT" || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days since 1970 by counting years from March, so that a leap day is a year's last.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    Some((days - 719_468) * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests;
