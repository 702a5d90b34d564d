//! A time as people say it: so long ago, or a date.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Reads `10m`, `2h30m`, `7d`, `2w` (so long before `now`), `now`, `2026-09-21`, `2026-09-21T14:13`, or a whole timestamp.
/// Dates without a zone are in UTC.
///
/// # Errors
/// What was received and what was expected, to be put behind the name of the parameter.
pub(crate) fn moment(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("now") {
        return Ok(now);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    let civil = text
        .parse::<DateTime>()
        .or_else(|_| text.parse::<Date>().map(|date| date.at(0, 0, 0, 0)));
    if let Ok(civil) = civil
        && let Ok(time) = TimeZone::UTC.to_timestamp(civil)
    {
        return Ok(time);
    }
    let ago = ago(text).ok_or_else(|| {
        format!(
            "was `{}`, expected a time such as `10m`, `2h`, `7d`, `2026-09-21` or `2026-09-21T14:13:20Z`",
            untrusted_text::terminal::one_line(text, 60)
        )
    })?;
    // So long ago that there was no time: everything.
    Ok(now.checked_sub(ago).unwrap_or(Timestamp::MIN))
}

fn ago(text: &str) -> Option<SignedDuration> {
    for (unit, seconds) in [('d', 86_400_u64), ('w', 604_800)] {
        if let Some(number) = text.strip_suffix(unit) {
            let number: u64 = number.parse().ok()?;
            let seconds = i64::try_from(number.checked_mul(seconds)?).ok()?;
            return Some(SignedDuration::from_secs(seconds));
        }
    }
    let duration = mcpx_config::settings::parse_duration(text).ok()?;
    SignedDuration::try_from(duration).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_so_long_ago_or_a_date() {
        let now: Timestamp = "2026-09-21T14:00:00Z".parse().expect("a time");
        let cases = [
            ("now", "2026-09-21T14:00:00Z"),
            ("10m", "2026-09-21T13:50:00Z"),
            ("1h30m", "2026-09-21T12:30:00Z"),
            ("7d", "2026-09-14T14:00:00Z"),
            ("1w", "2026-09-14T14:00:00Z"),
            ("2026-09-20", "2026-09-20T00:00:00Z"),
            ("2026-09-20T08:30", "2026-09-20T08:30:00Z"),
            ("2026-09-20T08:30:00+02:00", "2026-09-20T06:30:00Z"),
        ];
        for (text, expected) in cases {
            let expected: Timestamp = expected.parse().expect("a time");
            assert_eq!(moment(text, now), Ok(expected), "{text}");
        }
        assert_eq!(moment("99999999999d", now), Ok(Timestamp::MIN));
        for text in [
            "",
            "yesterday",
            "-5m",
            "10",
            "\0",
            "99999999999999999999999d",
        ] {
            let why = moment(text, now).expect_err(text);
            assert!(why.contains("expected a time"), "{why}");
        }
    }
}
