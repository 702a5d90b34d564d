//! No answer at all: what is retried, what is not, and what a person is told.

use std::time::Duration;

use llm::{Error, ErrorKind, Stop, Wire};
use testkit::{Answer, FakeModel};

use crate::run::{WIRES, config, once};

/// Returns kind, status and message, the port replaced.
fn told(server: &FakeModel, error: &Error) -> (ErrorKind, Option<u16>, String) {
    let host = server.url().replace("http://", "");
    (
        error.kind,
        error.status,
        error.message.replace(&host, "HOST"),
    )
}

#[tokio::test]
async fn a_permanent_error_fails_at_once_and_says_what_to_do() {
    let table = [
        (
            Answer::status(401).body(r#"{"error":{"message":"bad key sk-secret-0123456789"}}"#),
            ErrorKind::Auth,
            "fake (HOST) answered 401: bad key [key]\nhint: check the key in `FAKE_API_KEY`",
        ),
        (
            Answer::status(403).body("<html><b>no</b> entry</html>").header("x-request-id", "r7"),
            ErrorKind::Auth,
            "fake (HOST) answered 403: no entry (request r7)\nhint: check the key in `FAKE_API_KEY`",
        ),
        (
            Answer::status(400).body(r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#),
            ErrorKind::ContextTooLong,
            "fake (HOST) answered 400: prompt is too long: 9 tokens > 8 maximum\nhint: the conversation is larger than \
             the model takes; shorten it or start a new session",
        ),
        (
            Answer::status(429).body(r#"{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}"#),
            ErrorKind::RateLimited,
            "fake (HOST) answered 429: You exceeded your quota\nhint: add credit to the account, or take another \
             provider with `--provider`",
        ),
        (
            Answer::status(429).header("retry-after", "3600").body(r#"{"error":{"message":"slow down"}}"#),
            ErrorKind::RateLimited,
            "fake (HOST) answered 429: slow down\nhint: the server asks to wait 60 min",
        ),
        (
            Answer::status(422).body(r#"{"detail":"no such field"}"#),
            ErrorKind::BadRequest,
            "fake (HOST) answered 422: no such field",
        ),
    ];
    for wire in WIRES {
        for (answer, kind, message) in &table {
            let (server, reply, seen) =
                once(wire, [answer.clone()], |config| config.max_retries = 4).await;
            let (got, _, text) = told(&server, &reply.unwrap_err());
            assert_eq!((got, text.as_str()), (*kind, *message), "{wire:?}");
            assert_eq!(
                (server.requests().len(), seen.retries),
                (1, Vec::new()),
                "{wire:?}"
            );
        }
    }
}

#[tokio::test]
async fn not_found_names_the_address_and_the_model() {
    for (wire, path) in WIRES
        .into_iter()
        .zip(["/v1/messages", "/responses", "/chat/completions"])
    {
        let (server, reply, _) =
            once(wire, [Answer::status(404)], |config| config.max_retries = 4).await;
        let expect = format!(
            "fake (HOST) answered 404 without a message\nhint: http://HOST{path} was asked for model `fake-model`; \
             check `model` and `base_url`"
        );
        let told = told(&server, &reply.unwrap_err());
        assert_eq!(told, (ErrorKind::BadRequest, Some(404), expect));
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let answer = Answer::status(307).header("location", "http://elsewhere.example/");
    let (server, reply, _) = once(Wire::Chat, [answer], |_| {}).await;
    let (kind, status, message) = told(&server, &reply.unwrap_err());
    assert_eq!((kind, status), (ErrorKind::Config, Some(307)));
    assert!(
        message.contains("it points to http://elsewhere.example/"),
        "{message}"
    );
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_as_long_as_the_server_says() {
    for wire in WIRES {
        for (name, value) in [("retry-after-ms", "20"), ("retry-after", "0.02")] {
            let limited = Answer::status(429)
                .header(name, value)
                .body(r#"{"error":"slow down"}"#);
            let (server, reply, seen) =
                once(wire, [limited.clone(), limited, Answer::text("a")], |c| {
                    c.max_retries = 2;
                })
                .await;
            assert_eq!(reply.unwrap().stop, Stop::EndTurn, "{wire:?}");
            assert_eq!(server.requests().len(), 3);
            let host = server.url().replace("http://", "");
            let reason = format!("fake ({host}) answered 429: slow down");
            assert_eq!(seen.retries, [(reason.clone(), 1), (reason, 2)]);
            assert!(
                seen.waits
                    .iter()
                    .all(|wait| (20..=25).contains(&wait.as_millis()))
            );
        }
    }
}

#[tokio::test]
async fn a_broken_server_is_tried_as_often_as_allowed() {
    let table = [
        (500, ErrorKind::Overloaded),
        (529, ErrorKind::Overloaded),
        (408, ErrorKind::Timeout),
    ];
    for wire in WIRES {
        for (status, kind) in table {
            let answer = Answer::status(status)
                .header("retry-after-ms", "1")
                .body("{}");
            let (server, reply, seen) =
                once(wire, vec![answer; 3], |config| config.max_retries = 2).await;
            let expect = format!("fake (HOST) answered {status}: {{}}, in 3 tries");
            let told = told(&server, &reply.unwrap_err());
            assert_eq!(told, (kind, Some(status), expect), "{wire:?}");
            assert_eq!(
                (server.requests().len(), seen.retries.len()),
                (3, 2),
                "{wire:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_server_of_this_machine_that_is_not_there_is_not_waited_for() {
    for wire in WIRES {
        let free = FakeModel::start([]).url();
        let mut config = config(wire, free);
        config.max_retries = 4;
        let (reply, seen) = crate::run::ask(
            crate::run::provider(config).as_ref(),
            &crate::run::request(),
        )
        .await;
        let error = reply.unwrap_err();
        assert_eq!((error.kind, seen.retries.len()), (ErrorKind::Network, 0));
        assert!(
            error.message.contains("could not be reached: "),
            "{}",
            error.message
        );
        assert!(error.message.ends_with(" running?"), "{}", error.message);
    }
}

#[tokio::test]
async fn a_server_that_never_answers_times_out() {
    for wire in WIRES {
        let (server, reply, _) = once(wire, [Answer::hang()], |config| {
            config.timeout = Duration::from_millis(50);
        })
        .await;
        let expect = "fake (HOST) did not begin to answer within 50 ms".to_owned();
        assert_eq!(
            told(&server, &reply.unwrap_err()),
            (ErrorKind::Timeout, None, expect)
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_named() {
    let page = Answer::status(200)
        .header("content-type", "text/html")
        .body("<p>Welcome</p>");
    let (server, reply, _) = once(Wire::Chat, [page], |config| config.max_retries = 4).await;
    let (kind, _, message) = told(&server, &reply.unwrap_err());
    assert_eq!(kind, ErrorKind::Malformed);
    assert!(
        message.contains("`text/html` where a stream of events was expected"),
        "{message}"
    );
    let error = Answer::status(200).body(r#"{"error":{"message":"model not loaded"}}"#);
    let (server, reply, _) = once(Wire::Chat, [error], |_| {}).await;
    let (kind, _, message) = told(&server, &reply.unwrap_err());
    assert_eq!(kind, ErrorKind::Overloaded);
    assert_eq!(
        message,
        "fake (HOST) failed while answering: model not loaded"
    );
}

#[tokio::test]
async fn json_that_was_damaged_on_the_way_is_asked_for_once_more() {
    let damaged = || {
        Answer::status(200)
            .header("content-type", "application/json")
            .body("{damaged: <<<")
    };
    let (_server, reply, seen) = once(Wire::Chat, [damaged(), Answer::text("a")], |config| {
        config.max_retries = 1;
    })
    .await;
    assert_eq!(reply.unwrap().blocks, [llm::Block::Text("a".into())]);
    assert_eq!(seen.retries.len(), 1);
    let (server, reply, _) = once(Wire::Chat, [damaged(), damaged()], |config| {
        config.max_retries = 4;
    })
    .await;
    assert_eq!(reply.unwrap_err().kind, ErrorKind::Malformed);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_compressed_answer_is_named_and_not_asked_for() {
    let packed = Answer::status(200)
        .header("content-type", "text/event-stream")
        .header("content-encoding", "gzip")
        .body("packed");
    let (server, reply, _) = once(Wire::Chat, [packed], |config| config.max_retries = 4).await;
    let (kind, _, message) = told(&server, &reply.unwrap_err());
    assert_eq!(kind, ErrorKind::Malformed);
    assert!(message.contains("compressed with `gzip`"), "{message}");
    let sent = &server.requests()[0];
    assert_eq!(sent.header("accept-encoding"), Some("identity"));
}

#[test]
fn a_wrong_configuration_fails_before_any_network() {
    #[track_caller]
    fn check(change: impl FnOnce(&mut llm::ProviderConfig), kind: ErrorKind, message: &str) {
        let mut config = config(Wire::Chat, "https://api.example/v1".into());
        change(&mut config);
        let error = llm::connect(config).err().unwrap();
        assert_eq!((error.kind, error.message.as_str()), (kind, message));
    }
    check(
        |config| config.api_key = Some("  ".into()),
        ErrorKind::Auth,
        "provider `fake` needs a key and `FAKE_API_KEY` is not set\nhint: set `FAKE_API_KEY`, or use a model on this \
         machine with `--provider local`",
    );
    check(
        |config| config.api_key = Some("a\nb".into()),
        ErrorKind::Config,
        "the key in `FAKE_API_KEY` for provider `fake` holds a character that no header can carry\nhint: look for a \
         line break or a pasted quotation mark in it",
    );
    check(
        |config| config.base_url = "ftp://x".into(),
        ErrorKind::Config,
        "`base_url` of provider `fake` is `ftp://x`: neither http nor https\nhint: write it like `https://host/v1`, or \
         `https://host` for `api = \"messages\"`",
    );
    check(
        |config| config.base_url = "https://me:pw@x/v1".into(),
        ErrorKind::Config,
        "`base_url` of provider `fake` holds a user name or a password\nhint: put the key into a variable and name it \
         in `api_key_env`",
    );
    check(
        |config| config.headers = vec![("a b".into(), "c".into())],
        ErrorKind::Config,
        "header `a b` of provider `fake` has a name that HTTP does not allow",
    );
}

#[tokio::test]
async fn a_failed_handshake_is_not_tried_again() {
    let server = FakeModel::start([]);
    let mut config = config(Wire::Chat, server.url().replace("http:", "https:"));
    config.max_retries = 4;
    let (reply, seen) = crate::run::ask(
        crate::run::provider(config).as_ref(),
        &crate::run::request(),
    )
    .await;
    let (kind, _, message) = told(&server, &reply.unwrap_err());
    assert_eq!((kind, seen.retries.len()), (ErrorKind::Network, 0));
    assert!(
        message.starts_with("fake (HOST) gave no secure connection: "),
        "{message}"
    );
}
