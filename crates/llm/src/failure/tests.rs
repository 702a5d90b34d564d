//! What an error is, by what a server said.

use serde_json::json;

use super::*;

fn who() -> Who {
    Who {
        provider: "p".into(),
        host: "h.example".into(),
        url: "https://h.example/v1/x".into(),
        model: "m".into(),
        key_env: Some("P_KEY".into()),
        key: Some("sk-0123456789".into()),
        is_local: false,
    }
}

#[test]
fn every_providers_words_for_a_full_context_are_known() {
    #[track_caller]
    fn check(message: &str) {
        for status in [400, 422, 500] {
            let body = json!({ "error": { "message": message } }).to_string();
            let refused = Refused {
                status,
                body: body.as_bytes(),
                ..Refused::default()
            };
            let failure = who().refused(&refused);
            let got = (failure.error.kind, failure.may_retry);
            assert_eq!(got, (ErrorKind::ContextTooLong, false), "{message}");
        }
    }
    check("invalid params, context window exceeds limit (2013)");
    check("prompt token count of 130000 exceeds the limit of 128000");
    check("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193");
    check("The input (9000 tokens) is longer than the model's context length (8192 tokens).");
    check("too many tokens: total number of tokens in the prompt cannot exceed 4081");
    check("Input tokens exceed the configured limit of 272000 tokens");
    check("The total number of tokens 9000 exceeds the model context window limit");
    check("tokens in request more than max tokens allowed");
    check("prompt is too long: 210000 tokens > 200000 maximum");
    check("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000");
    check("Your input exceeds the context window of this model.");
    check(
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    );
    check("the request exceeds the available context size (8192 tokens), try increasing it");
    check(
        "The number of tokens to keep from the initial prompt is greater than the context length",
    );
    check("The decoder prompt (length 9000) is longer than the maximum model length of 8192.");
    check(
        "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
    );
    check("This model's maximum prompt length is 131072 but the request contains 140000 tokens.");
    check("Please reduce the length of the messages or completion.");
    check(
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    );
    check("Invalid request: Your request exceeded model token limit: 262144");
    check(
        "Request too large for gpt-x in organization on tokens per min (TPM): Limit 30000, Requested 40000.",
    );
}

#[test]
fn statuses_and_codes_decide_what_may_be_tried_again() {
    #[track_caller]
    fn check(status: u16, body: &str, kind: ErrorKind, may_retry: bool) {
        let refused = Refused {
            status,
            body: body.as_bytes(),
            ..Refused::default()
        };
        let failure = who().refused(&refused);
        assert_eq!(
            (failure.error.kind, failure.may_retry),
            (kind, may_retry),
            "{status} {body}"
        );
    }
    check(400, "", ErrorKind::BadRequest, false);
    check(401, "", ErrorKind::Auth, false);
    check(402, "", ErrorKind::RateLimited, false);
    check(403, "", ErrorKind::Auth, false);
    check(404, "", ErrorKind::BadRequest, false);
    check(408, "", ErrorKind::Timeout, true);
    check(409, "", ErrorKind::Overloaded, true);
    check(413, "", ErrorKind::ContextTooLong, false);
    check(425, "", ErrorKind::Overloaded, true);
    check(429, "", ErrorKind::RateLimited, true);
    check(
        429,
        r#"{"error":{"code":"insufficient_quota"}}"#,
        ErrorKind::RateLimited,
        false,
    );
    check(
        429,
        r#"{"error":{"type":"insufficient_quota"}}"#,
        ErrorKind::RateLimited,
        false,
    );
    check(
        400,
        r#"{"error":{"message":"Your credit balance is too low"}}"#,
        ErrorKind::RateLimited,
        false,
    );
    check(500, "", ErrorKind::Overloaded, true);
    check(501, "", ErrorKind::BadRequest, false);
    check(503, "", ErrorKind::Overloaded, true);
    check(529, "", ErrorKind::Overloaded, true);
    check(301, "", ErrorKind::Config, false);
}

#[test]
fn errors_inside_a_stream_are_judged_by_their_class() {
    #[track_caller]
    fn check(class: &str, code: &str, kind: ErrorKind, may_retry: bool) {
        let error = ServerError {
            class: class.into(),
            code: code.into(),
            message: "no".into(),
        };
        let failure = who().in_stream(&error);
        assert_eq!(
            (failure.error.kind, failure.may_retry),
            (kind, may_retry),
            "{class} {code}"
        );
    }
    check("overloaded_error", "", ErrorKind::Overloaded, true);
    check("api_error", "", ErrorKind::Overloaded, true);
    check("", "server_error", ErrorKind::Overloaded, true);
    check("", "502", ErrorKind::Overloaded, true);
    check("", "429", ErrorKind::RateLimited, true);
    check("rate_limit_error", "", ErrorKind::RateLimited, true);
    check("", "rate_limit_exceeded", ErrorKind::RateLimited, true);
    check("", "insufficient_quota", ErrorKind::RateLimited, false);
    check("authentication_error", "", ErrorKind::Auth, false);
    check("invalid_request_error", "", ErrorKind::BadRequest, false);
    check(
        "",
        "context_length_exceeded",
        ErrorKind::ContextTooLong,
        false,
    );
    check("", "", ErrorKind::Overloaded, true);
}

#[test]
fn an_error_is_found_in_every_shape_of_body() {
    #[track_caller]
    fn check(body: &Value, expect: Option<(&str, &str, &str)>) {
        let found = ServerError::find(body);
        let found = found.as_ref().map(|error| {
            (
                error.class.as_str(),
                error.code.as_str(),
                error.message.as_str(),
            )
        });
        assert_eq!(found, expect, "{body}");
    }
    check(
        &json!({ "error": { "type": "t", "code": 4, "message": "m" } }),
        Some(("t", "4", "m")),
    );
    check(
        &json!([{ "error": { "status": "UNAVAILABLE", "code": 503, "message": "m" } }]),
        Some(("UNAVAILABLE", "503", "m")),
    );
    check(&json!({ "error": "m" }), Some(("", "", "m")));
    check(
        &json!({ "object": "error", "type": "t", "code": 400, "message": "m" }),
        Some(("t", "400", "m")),
    );
    check(&json!({ "detail": "m" }), Some(("", "", "m")));
    check(&json!({ "message": "m" }), Some(("", "", "m")));
    check(&json!({ "choices": [], "error": null }), None);
    check(&json!({}), None);
    check(&json!([]), None);
    check(&json!(1), None);
}

#[test]
fn foreign_text_is_one_line_without_the_key_and_cut_where_it_says() {
    let clean = |text: &str| who().clean(text);
    assert_eq!(clean("a\n  b\tsk-0123456789."), "a b [key].");
    let long = clean(&"é".repeat(1_000));
    assert_eq!(long, format!("{}… (600 more characters)", "é".repeat(400)));
}

#[test]
fn the_wait_that_a_server_names_is_kept() {
    let body = r#"{"error":{"message":"Please try again in 17s"}}"#;
    let mut refused = Refused {
        status: 429,
        body: body.as_bytes(),
        ..Refused::default()
    };
    assert_eq!(
        who().refused(&refused).error.retry_after,
        Some(Duration::from_secs(17))
    );
    refused.retry_after = Some(Duration::from_secs(3));
    let failure = who().refused(&refused);
    assert_eq!(failure.error.retry_after, Some(Duration::from_secs(3)));
    assert_eq!(
        failure.error.message,
        "p (h.example) answered 429: Please try again in 17s\nhint: the server asks to wait 3 s"
    );
}
