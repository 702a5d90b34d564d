//! When a failed request is tried again.

use super::*;
use crate::{Error, ErrorKind};

fn failure(may_retry: bool, retry_after: Option<Duration>) -> Failure {
    let error = Error {
        kind: ErrorKind::RateLimited,
        message: String::new(),
        status: None,
        retry_after,
    };
    Failure { error, may_retry }
}

#[test]
fn waits_double_up_to_a_minute_and_stop_when_the_tries_are_used_up() {
    let waits: Vec<_> = (0..9)
        .map(|retries| wait(&failure(true, None), retries, 8, 0.0).map(|wait| wait.as_secs()))
        .collect();
    let expect = [1, 2, 4, 8, 16, 32, 60, 60]
        .map(Some)
        .into_iter()
        .chain([None]);
    assert_eq!(waits, expect.collect::<Vec<_>>());
    assert_eq!(
        wait(&failure(true, None), u32::MAX - 1, u32::MAX, 0.0),
        Some(MAX_WAIT)
    );
    assert_eq!(wait(&failure(false, None), 0, 8, 0.0), None);
    assert_eq!(wait(&failure(true, None), 0, 0, 0.0), None);
}

#[test]
fn jitter_lengthens_and_a_named_wait_is_never_shortened() {
    let millis = |retry_after, jitter| {
        wait(&failure(true, retry_after), 0, 4, jitter).map(|wait| wait.as_millis())
    };
    assert_eq!(millis(None, 1.0), Some(1250));
    let second = Duration::from_secs(1);
    assert_eq!(millis(Some(17 * second), 0.0), Some(17_000));
    assert_eq!(millis(Some(17 * second), 1.0), Some(19_000));
    assert_eq!(millis(Some(60 * second), 0.0), Some(60_000));
    assert_eq!(millis(Some(61 * second), 0.0), None);
}

#[test]
fn headers_say_how_long_to_wait() {
    #[track_caller]
    fn check(headers: &[(&str, &str)], millis: Option<u128>) {
        let header = |name: &str| {
            headers
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| *value)
        };
        assert_eq!(
            wait_in_headers(header).map(|wait| wait.as_millis()),
            millis,
            "{headers:?}"
        );
    }
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    check(&[], None);
    check(&[("retry-after", "7")], Some(7_000));
    check(&[("retry-after", " 1.5 ")], Some(1_500));
    check(
        &[("retry-after-ms", "120"), ("retry-after", "7")],
        Some(120),
    );
    check(
        &[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), date],
        Some(30_000),
    );
    check(
        &[("retry-after", "Tue, 01 Nov 1994 00:00:00 GMT"), date],
        Some(0),
    );
    check(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], None);
    check(&[("retry-after", "-1")], None);
    check(&[("retry-after", "NaN")], None);
    check(&[("retry-after", "1e300")], Some(31_536_000_000));
    check(&[("retry-after", "soon")], None);
}

#[test]
fn messages_say_how_long_to_wait() {
    #[track_caller]
    fn check(message: &str, millis: Option<u128>) {
        assert_eq!(
            wait_in_words(message).map(|wait| wait.as_millis()),
            millis,
            "{message}"
        );
    }
    check(
        "Rate limit reached. Please try again in 17s. Visit",
        Some(17_000),
    );
    check("try again in 1m30.5s", Some(90_500));
    check("Please retry in 20ms", Some(20));
    check("please retry after 5 seconds.", Some(5_000));
    check("Try again in 2 hours", Some(7_200_000));
    check(r#"{"retryDelay": "31s"}"#, Some(31_000));
    check("try again in a while", None);
    check("try again in 5", None);
    check(
        "try again in 99999999999999999999999s",
        Some(31_536_000_000),
    );
    check("all is well", None);
}

#[test]
fn dates_are_seconds_since_1970() {
    #[track_caller]
    fn check(text: &str, expect: Option<u64>) {
        assert_eq!(http_date(text), expect, "{text}");
    }
    check("Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
    check("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777));
    check("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199));
    check("Mon, 30 Nov 2026 17:54:30 GMT", Some(1_796_061_270));
    check("Sunday, 06-Nov-94 08:49:37 GMT", None);
    check("Sun, 32 Nov 1994 08:49:37 GMT", None);
    check("Sun, 06 Nov 1994 25:49:37 GMT", None);
    check("Sun, 06 Nov 1994", None);
    check("", None);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_readers_panic(text in "\\PC{0,60}", lead in proptest::sample::select(vec!["", "try again in ", "retry-after ", "Sun, "])) {
        let text = format!("{lead}{text}");
        let _ = wait_in_words(&text);
        let _ = http_date(&text);
        let _ = seconds(&text);
    }
}
