//! What is refused by the head of a request: names, types, sizes, slowness.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::served::{Served, Setup, with_tokens};
use crate::wire::{BOTH, JSON, modern, modern_with, read_head, send};

#[test]
fn foreign_hosts_and_origins_are_refused_before_anything_is_read() {
    let served = Served::new();
    for headers in [
        [("host", "evil.example"), JSON],
        [("origin", "http://evil.example"), JSON],
        [("origin", "null"), JSON],
    ] {
        let mut reply = send(served.address, "POST", &headers, b"not json");
        assert_eq!(reply.status, 403, "{headers:?}");
        assert!(reply.text().contains("is not let in"));
    }
    let own = format!("http://{}", served.address);
    let reply = modern_with(served.address, "tools/list", json!({}), &[("origin", &own)]);
    assert_eq!(reply.status, 200);
}

#[test]
fn types_that_do_not_fit_are_refused() {
    let served = Served::new();
    for (headers, status) in [
        (vec![("content-type", "text/plain"), BOTH], 415),
        (vec![BOTH], 415),
        (vec![JSON, ("accept", "text/html")], 406),
        (
            vec![("content-type", "application/json; charset=utf-8"), BOTH],
            400,
        ),
    ] {
        assert_eq!(
            send(served.address, "POST", &headers, b"{}").status,
            status,
            "{headers:?}"
        );
    }
    assert_eq!(send(served.address, "PUT", &[JSON], b"").status, 405);
}

#[test]
fn a_body_over_the_limit_is_refused_whether_it_says_so_or_not() {
    let mut setup = Setup::default();
    setup.config.limits.message_bytes = 1_000;
    let served = Served::with(setup);
    let big = vec![b' '; 5_000];
    assert_eq!(
        send(served.address, "POST", &[JSON, BOTH], &big).status,
        413
    );
    let mut stream = TcpStream::connect(served.address).unwrap();
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    for _ in 0..20 {
        let _refused = stream.write_all(format!("{:x}\r\n{}\r\n", 100, " ".repeat(100)).as_bytes());
    }
    assert_eq!(read_head(stream).status, 413);
}

#[test]
fn a_body_that_does_not_arrive_is_given_up() {
    let mut setup = Setup::default();
    setup.http.read = Duration::from_millis(200);
    let served = Served::with(setup);
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream
        .write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{")
        .unwrap();
    assert_eq!(read_head(stream).status, 408);
}

#[test]
fn a_head_that_does_not_arrive_is_given_up() {
    use std::io::Read as _;
    let mut setup = Setup::default();
    setup.http.read = Duration::from_millis(200);
    let served = Served::with(setup);
    for start in [
        "POST /mcp HTTP/1.1\r\nhost: local",
        "",
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.set_read_timeout(Some(crate::wire::WAIT)).unwrap();
        stream.write_all(start.as_bytes()).unwrap();
        // A whole request is answered first; then the connection is idle for too long.
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        let rest = String::from_utf8_lossy(&rest);
        let is_answered = rest.starts_with("HTTP/1.1 415");
        assert_eq!(is_answered, start.ends_with("\r\n\r\n"), "{rest}");
    }
}

#[test]
fn who_brings_no_token_gets_the_challenge() {
    let served = with_tokens();
    let reply = modern(served.address, "tools/list", json!({}));
    assert_eq!(reply.status, 401);
    assert_eq!(
        reply.header("www-authenticate"),
        Some("Bearer realm=\"test\"")
    );
    let reply = modern_with(
        served.address,
        "tools/list",
        json!({}),
        &[("authorization", "bearer ann")],
    );
    assert_eq!(reply.status, 200);
}

#[test]
fn what_is_no_message_is_refused_with_its_reason() {
    let served = Served::new();
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"a":{}{}}}}}"#,
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    for (body, code, id) in [
        (b"\xff\xfe".as_slice(), -32700, None),
        (b"{", -32700, None),
        (b"", -32700, None),
        (b"7", -32600, None),
        (
            br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            -32600,
            None,
        ),
        (
            br#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#,
            -32600,
            None,
        ),
        (
            br#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
            -32600,
            Some(7),
        ),
        (
            br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#,
            -32600,
            Some(7),
        ),
        (
            br#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#,
            -32600,
            None,
        ),
        (deep.as_bytes(), -32600, Some(7)),
    ] {
        let mut reply = send(served.address, "POST", &[JSON, BOTH], body);
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        assert_eq!(reply.status, 400, "{shown}");
        let message = reply.json();
        assert_eq!(message["error"]["code"], code, "{shown}: {message}");
        assert_eq!(
            message.get("id").and_then(serde_json::Value::as_i64),
            id,
            "{shown}"
        );
    }
}
