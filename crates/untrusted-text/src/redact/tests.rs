use std::{borrow::Cow, time::Instant};

use proptest::prelude::*;

use super::{Redaction, Redactor, SecretKind, redact};

const VALUE: &str = "correct-horse-battery";

fn redactor() -> Redactor {
    Redactor::with_values(vec![
        VALUE.into(),
        format!("{VALUE}-staple"),
        "short".into(),
        "redacted: api".into(),
    ])
}

#[track_caller]
fn check(text: &str, expect: &str) {
    let redaction = redactor().redact(text);
    assert_eq!(redaction.text, expect, "from {text:?}");
    assert_eq!(redactor().redact(expect).text, expect, "redacted twice");
    for size in 1..=text.len() {
        assert_eq!(streamed(text, &[size]), expect, "{size} bytes at a time");
    }
}

/// Streams `text` in chunks of the given sizes, again and again.
fn streamed(text: &str, sizes: &[usize]) -> String {
    let mut stream = redactor().stream();
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    for &size in sizes.iter().cycle() {
        let (chunk, after) = rest.split_at(size.min(rest.len()));
        out.extend(stream.push(chunk));
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    out.extend(stream.finish());
    String::from_utf8(out).unwrap()
}

const PEM: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\n\
    b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n\
    QyNTUxOQAAACDrWmyVdKMfFq0Zt0rTHq2v9Q6d0p3t\n\
    -----END OPENSSH PRIVATE KEY-----";

#[test]
fn secrets_go_and_what_stands_around_them_stays() {
    let hex40 = "0123456789abcdef0123456789abcdef01234567";
    let alnum36 = "Ab3dEf6hIj9lMn2pQr5tUv8xYz1bCd4fGh7j";
    let cases = [
        (format!("key=sk-{alnum36}{alnum36};"), "key=[redacted: api key];"),
        (format!("sk-ant-api03-{alnum36}-_{alnum36}AA"), "[redacted: api key]"),
        (format!("'sk-proj-{alnum36}_x'"), "'[redacted: api key]'"),
        (format!("sk-or-v1-{hex40}"), "[redacted: api key]"),
        (format!("AIza{alnum36}"), "[redacted: api key]"),
        (format!("hf_{alnum36} gsk_{alnum36}{alnum36}"), "[redacted: api key] [redacted: api key]"),
        (format!("Authorization: Bearer {hex40}\r\n"), "Authorization: Bearer [redacted: bearer token]\r\n"),
        (format!("-H 'authorization: bearer  a.b~{hex40}=='"), "-H 'authorization: bearer  [redacted: bearer token]'"),
        ("AKIAIOSFODNN7EXAMPLE".into(), "[redacted: aws key]"),
        ("id: ASIAIOSFODNN7EXAMPLE,".into(), "id: [redacted: aws key],"),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n".into(),
            "aws_secret_access_key = [redacted: aws key]\n",
        ),
        (
            r#"{"SecretAccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "x": 1}"#.into(),
            r#"{"SecretAccessKey": "[redacted: aws key]", "x": 1}"#,
        ),
        (
            "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            "export AWS_SECRET_ACCESS_KEY=[redacted: aws key]",
        ),
        (format!("https://x:ghp_{alnum36}@github.com/a/b"), "https://x:[redacted: github token]@github.com/a/b"),
        (
            format!("gho_{alnum36} ghu_{alnum36} ghs_{alnum36}"),
            "[redacted: github token] [redacted: github token] [redacted: github token]",
        ),
        (format!("github_pat_11ABCDEFG0123456789abc_{alnum36}"), "[redacted: github token]"),
        ("glpat-Ab3dEf6hIj9lMn2pQr5t".into(), "[redacted: gitlab token]"),
        ("xoxb-123456789012-1234567890123-Ab3dEf6hIj9l".into(), "[redacted: slack token]"),
        (format!("//registry/:_authToken=npm_{alnum36}"), "//registry/:_authToken=[redacted: registry token]"),
        (format!("pypi-AgEIcHlwaS5vcmcC{alnum36}"), "[redacted: registry token]"),
        (
            "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P. End.".into(),
            "token [redacted: jwt]. End.",
        ),
        (format!("a\n{PEM}\nb"), "a\n[redacted: private key]\nb"),
        (format!("{:?}", format!("{PEM}\n")), r#""[redacted: private key]\n""#),
        (PEM.replace('\n', "\n   12\t"), "[redacted: private key]"),
        (VALUE.into(), "[redacted: configured key]"),
        (format!("x{VALUE}-stapley{VALUE}-stap"), "x[redacted: configured key]y[redacted: configured key]-stap"),
        // What comes before may be an escape.
        (format!(r"line\nsk-{alnum36}"), r"line\n[redacted: api key]"),
        (format!("\u{1b}[1;31msk-{alnum36}\u{1b}[0m"), "\u{1b}[1;31m[redacted: api key]\u{1b}[0m"),
        (format!(r"\u001b[31msk-{alnum36}"), r"\u001b[31m[redacted: api key]"),
        // Two in a row, and text of more than one byte a character.
        (format!("é{VALUE}sk-{alnum36}é"), "é[redacted: configured key][redacted: api key]é"),
    ];
    for (text, expect) in cases {
        check(&text, expect);
    }
}

#[test]
fn ordinary_text_stays_as_it_is() {
    let base64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    let cases = [
        "",
        "sk-",
        "sk-learn sk-circle-fade-dot-animation-twelve sk-SK sk-some-very-long-kebab-case-identifier-2",
        "task-01ARZ3NDEKTSV4RRFFQ69G5FAV disk-0123456789abcdef0123456789abcdef mask-550e8400-e29b-41d4-a716-446655440000",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "550e8400-e29b-41d4-a716-446655440000",
        "3f20eec8d1a94b1c8e0f7a6b5c4d3e2f1a0b9c8d",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        base64,
        "data:image/png;base64,iVBORw0KGgoAKIA1234567890ABCDEF+AKIA",
        "XAKIAIOSFODNN7EXAMPLE AKIAIOSFODNN7EXAMPLe AKIA AKIAshort",
        "Bearer tokens, Bearer authentication-scheme, bearer internationalization, Bearer $TOKEN, Bearer <token-of-16-chars>",
        "Authorization: Bearer ${{ secrets.GITHUB_TOKEN }}",
        "aws_secret_access_key = os.environ[\"AWS_SECRET_ACCESS_KEY\"]",
        "secret_access_key: /a/very/long/path/to/the/file/that/holds/the/secret/key",
        "the session token is kept; session_token: String, session_tokens",
        "npm_config_registry npm_package_name npm_lifecycle_event pypi-server pypi-AgE",
        "ghp_ gho_token github_pat_ glpat- xoxb-your-token-here-please AIza",
        "eyJhbGciOiJIUzI1NiJ9 eyJhbGciOiJIUzI1NiJ9.txt eyJhbGciOiJIUzI1NiJ9.eyJ0",
        "if line.contains(\"-----BEGIN PRIVATE KEY-----\") { return read_private_key_from_the_file(path); }",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUb3BlbnNzaC1rZXktdjEAAAAABG5vbm\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEb3BlbnNzaC1rZXkt\n-----END PUBLIC KEY-----",
        "short correct-horse-batter correct-horse",
        "[redacted: api key] [redacted: private key]",
        "fn sketch(sk: &str) -> Result<(), SecretError> { bee::keep(sk) }",
    ];
    for text in cases {
        check(text, text);
        assert!(matches!(redact(text), Cow::Borrowed(_)));
    }
}

#[test]
fn a_private_key_without_an_end_does_not_take_the_rest_with_it() {
    let cut = &PEM[..PEM.len() - 60];
    let words = "all of these are plain words, and there are many. ".repeat(20);
    let redacted = redact(&format!("{cut}\n{words}")).into_owned();
    assert!(
        redacted.starts_with("[redacted: private key]"),
        "{redacted}"
    );
    assert!(redacted.len() > words.len() - 250, "{redacted}");
    check(&format!("{cut}\n{words}"), &redacted);
}

#[test]
fn a_long_secret_goes_whole() {
    check(
        &format!("sk-a1{} x", "b2".repeat(3000)),
        "[redacted: api key] x",
    );
    let key = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----\n",
        "MIIEowIBAAKCAQEA7bq3\n".repeat(2)
    );
    assert_eq!(
        redact(&key),
        key,
        "lines shorter than any real key's are no key"
    );
    let body = "MIIEowIBAAKCAQEA7bq3MIIEowIBAAKCAQEA7bq3MIIEowIBAAKCAQEA7bq3ABCD\n".repeat(200);
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n");
    assert_eq!(redact(&key), "[redacted: private key]\n");
}

#[test]
fn the_report_counts_and_names_what_went() {
    let text = format!("{VALUE} AKIAIOSFODNN7EXAMPLE {VALUE}");
    assert_eq!(
        redactor().redact(&text),
        Redaction {
            text: Cow::Borrowed(
                "[redacted: configured key] [redacted: aws key] [redacted: configured key]"
            ),
            count: 3,
            kinds: vec![SecretKind::AwsKey, SecretKind::Registered],
        }
    );
    let mut stream = redactor().stream();
    let shown = [stream.push(text.as_bytes()), stream.finish()].concat();
    assert_eq!(shown, redactor().redact(&text).text.as_bytes());
    assert_eq!(stream.count(), 3);
}

#[test]
fn little_is_held_back() {
    let mut stream = redactor().stream();
    assert_eq!(stream.push(b"Hello, world. "), b"Hello, world. ");
    assert_eq!(stream.push(b"a task"), b"a ta");
    assert_eq!(stream.push(b" s"), b"sk ");
    assert_eq!(stream.push(b"o"), b"so");
    assert_eq!(stream.push(b" -----BEGIN RSA PRIVATE KEY-----\n"), b" ");
    assert!(stream.push(&b"x ".repeat(4096)).len() > 8192 - 320);
    assert!(stream.push(&b"eyJa".repeat(4096)).len() > 4 * 4096 - 2100);
}

#[test]
fn a_megabyte_takes_milliseconds() {
    let text = include_str!("shapes.rs").repeat(60);
    let start = Instant::now();
    let redacted = redactor().redact(&text);
    let elapsed = start.elapsed();
    assert_eq!(redacted.count, 0, "{:?}", redacted.kinds);
    println!("{} bytes in {elapsed:?}", text.len());
    // Generous: an unoptimised build on a busy machine.
    assert!(elapsed.as_millis() < 2000, "{elapsed:?}");
}

fn hostile() -> impl Strategy<Value = String> {
    let pieces = vec![
        "sk-",
        "sk-ant-",
        "sk",
        "s",
        "AKIA",
        "IOSFODNN7EXAMPLE",
        "ghp_",
        "github_pat_",
        "eyJ",
        "eyJhbGciOiJI",
        ".",
        "..",
        "Bearer ",
        "bearer",
        " ",
        "\n",
        "\\n",
        "\u{1b}[31m",
        "a1B2c3D4e5F6g7H8",
        "0123456789",
        "abcdefghij",
        "-",
        "_",
        "-----",
        "-----BEGIN ",
        "RSA PRIVATE KEY-----",
        "PRIVATE KEY",
        "-----END ",
        "MIIEowIBAAKCAQEA7bq3MIIEowIBAAKCAQEA7bq3",
        "=",
        ":",
        "\"",
        "aws_secret_access_key",
        "SecretAccessKey",
        "session_token",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        VALUE,
        "correct-",
        "horse-",
        "battery",
        "-staple",
        "é",
        "日",
        "[redacted: api key]",
        "]",
        "[",
        "xoxb-",
        "npm_",
        "/",
        "+",
        "x",
    ];
    proptest::collection::vec(proptest::sample::select(pieces), 0..24)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_stream_cut_anywhere_gives_the_whole(text in hostile(), sizes in proptest::collection::vec(1_usize..9, 1..6)) {
        let whole = redactor().redact(&text).text.into_owned();
        prop_assert_eq!(&streamed(&text, &sizes), &whole);
        prop_assert_eq!(&redactor().redact(&whole).text, &whole);
    }

    #[test]
    fn any_text_is_read_without_panic(text in any::<String>()) {
        let whole = redactor().redact(&text).text.into_owned();
        prop_assert_eq!(streamed(&text, &[1]), whole);
    }
}
