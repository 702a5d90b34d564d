//! The chaos server over HTTP, driven with raw requests.

use super::*;
use crate::mcp::{Behaviour, Question, Reply};

fn body(response: &str) -> Value {
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {response}"))
}

/// The messages of a stream of events.
fn events(response: &str) -> Vec<Value> {
    let lines = response
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    lines
        .filter(|data| !data.is_empty())
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

fn status(response: &str) -> &str {
    response.split(' ').nth(1).unwrap_or("none")
}

#[test]
fn headers_are_written_down_and_answers_are_json() {
    let server = Chaos::new().modern().tool("x", Behaviour::Answer).http();
    let response = exchange(
        &server,
        &raw_post(&modern_call(1, "x"), "Mcp-Method: tools/call\r\n"),
    );
    assert_eq!(status(&response), "200");
    assert!(
        response.contains("Content-Type: application/json"),
        "{response}"
    );
    assert_eq!(said(&body(&response))["tool"], "x");
    let received = server.received();
    let call = received.of_method("tools/call")[0];
    assert_eq!(
        (call.headers["mcp-method"].as_str(), call.connection),
        ("tools/call", Some(1))
    );
}

#[test]
fn a_connection_is_used_again() {
    let server = Chaos::new().http();
    let mut stream = connect(&server);
    for id in 1..3 {
        let request = raw_post(&request(id, "ping", &json!({})), "");
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = vec![0; 4096];
        let count = stream.read(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
        assert_eq!(body(&text)["id"], id);
    }
    let received = server.received();
    let connections: Vec<_> = received
        .of_method("ping")
        .iter()
        .map(|entry| entry.connection)
        .collect();
    assert_eq!(connections, [Some(1), Some(1)]);
}

#[test]
fn modern_errors_have_their_status() {
    let server = Chaos::new().modern().http();
    let unknown = exchange(&server, &raw_post(&modern(1, "no/such", json!({})), ""));
    assert_eq!(
        (status(&unknown), &body(&unknown)["error"]["code"]),
        ("404", &json!(-32601))
    );
    let bare = exchange(
        &server,
        &raw_post(&request(2, "tools/list", &json!({})), ""),
    );
    assert_eq!(
        (status(&bare), &body(&bare)["error"]["code"]),
        ("400", &json!(-32602))
    );
}

#[test]
fn any_status_comes_with_or_without_a_body() {
    let html = Reply::status(502).body("text/html", "<p>bad gateway");
    let server = Chaos::new()
        .on_nth("ping", 1, Behaviour::Http(html))
        .on_nth(
            "ping",
            2,
            Behaviour::Http(Reply::unauthorized("Bearer x=\"y\"")),
        )
        .on_nth(
            "ping",
            3,
            Behaviour::Http(Reply::redirect(307, "http://127.0.0.1:9/")),
        )
        .on_nth(
            "ping",
            4,
            Behaviour::Http(Reply::status(200).huge_header(100_000)),
        )
        .on(
            "notifications/initialized",
            Behaviour::Http(Reply::status(500)),
        )
        .on("GET", Behaviour::Http(Reply::status(503)))
        .http();
    let ping = raw_post(&request(1, "ping", &json!({})), "");
    let responses: Vec<_> = (0..4).map(|_| exchange(&server, &ping)).collect();
    assert!(responses[0].ends_with("<p>bad gateway"), "{}", responses[0]);
    assert!(
        responses[1].contains("\r\nWWW-Authenticate: Bearer x=\"y\"\r\n"),
        "{}",
        responses[1]
    );
    assert!(
        responses[2].starts_with("HTTP/1.1 307") && responses[2].contains("Location: "),
        "{}",
        responses[2]
    );
    assert!(responses[3].len() > 100_000);
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(status(&exchange(&server, &raw_post(&note, ""))), "500");
    assert_eq!(
        status(&exchange(&server, "GET /mcp HTTP/1.1\r\n\r\n")),
        "503"
    );
}

#[test]
fn a_session_is_wanted_and_forgotten() {
    let server = Chaos::new()
        .legacy()
        .sessions_of(1)
        .tool("x", Behaviour::Answer)
        .http();
    let hello = exchange(
        &server,
        &raw_post(&request(1, "initialize", &json!({})), ""),
    );
    let id = hello.split("Mcp-Session-Id: ").nth(1).unwrap();
    let header = format!("Mcp-Session-Id: {}\r\n", id.lines().next().unwrap());
    let call = |header: &str| {
        status(&exchange(&server, &raw_post(&legacy_call(2, "x"), header))).to_owned()
    };
    assert_eq!(call(""), "400");
    assert_eq!(
        [call(&header), call(&header), call(&header)],
        ["200", "404", "404"]
    );
    let delete = format!("DELETE /mcp HTTP/1.1\r\n{header}\r\n");
    assert_eq!(status(&exchange(&server, &delete)), "404");
    assert_eq!(server.received().of_kind("http")[0].verb, "DELETE");
}

#[test]
fn progress_makes_a_stream_of_events_and_a_question_travels_on_it() {
    let steps = [
        Behaviour::Progress(1, NOTHING),
        Behaviour::Ask("q", Question::confirm("?")),
    ];
    let server = Chaos::new().legacy().tool("x", steps).http();
    let mut call = legacy_call(1, "x");
    call["params"]["_meta"] = json!({ "progressToken": 5 });
    let mut stream = connect(&server);
    stream.write_all(raw_post(&call, "").as_bytes()).unwrap();
    let mut seen = String::new();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while !seen.contains("elicitation/create") {
        assert!(reader.read_line(&mut seen).unwrap() > 0, "{seen}");
    }
    let question = events(&seen).pop().unwrap();
    let answer =
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    assert_eq!(status(&exchange(&server, &raw_post(&answer, ""))), "202");
    drop(reader.read_to_string(&mut seen));
    let last = events(&seen).pop().unwrap();
    assert_eq!(said(&last)["answers"]["q"]["action"], "decline");
}

#[test]
fn a_client_that_leaves_cancels_a_modern_call() {
    let server = Chaos::new().modern().tool("x", Behaviour::Never).http();
    let mut stream = connect(&server);
    stream
        .write_all(raw_post(&modern_call(7, "x"), "").as_bytes())
        .unwrap();
    server.wait_for("the call", |received| received.methods() == ["tools/call"]);
    drop(stream);
    let received = server.wait_for("the close", |received| {
        received.of_kind("closed").len() == 1
    });
    assert_eq!(received.of_kind("closed")[0].raw["id"], 7);
}

#[test]
fn a_stream_breaks_off_or_is_resumed_where_it_was() {
    let resumed = [
        Behaviour::ResumeLater(Duration::from_millis(70)),
        Behaviour::Progress(1, NOTHING),
    ];
    let server = Chaos::new()
        .legacy()
        .tool("drop", [Behaviour::Log("info", "x"), Behaviour::Drop])
        .tool("resume", resumed)
        .http();
    let broken = exchange(&server, &raw_post(&legacy_call(1, "drop"), ""));
    assert!(!broken.contains("result"), "{broken}");
    let mut call = legacy_call(2, "resume");
    call["params"]["_meta"] = json!({ "progressToken": 5 });
    let first = exchange(&server, &raw_post(&call, ""));
    assert!(first.contains("retry: 70\ndata: \n\n"), "{first}");
    let id = first.split("id: ").nth(1).unwrap().lines().next().unwrap();
    let get = format!("GET /mcp HTTP/1.1\r\nLast-Event-ID: {id}\r\n\r\n");
    let mut stream = connect(&server);
    stream.write_all(get.as_bytes()).unwrap();
    let messages = events(&read_all(&mut stream));
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(said(&messages[1])["tool"], "resume");
}

#[test]
fn messages_of_no_request_come_on_the_stream_of_a_get() {
    let changed = Behaviour::Announce("notifications/tools/list_changed", json!({}));
    let server = Chaos::new()
        .legacy()
        .get_stream()
        .tool("change", changed)
        .http();
    let mut stream = connect(&server);
    stream.write_all(b"GET /mcp HTTP/1.1\r\n\r\n").unwrap();
    let mut reader = BufReader::new(stream);
    let mut seen = String::new();
    while !seen.ends_with("\r\n\r\n") {
        reader.read_line(&mut seen).unwrap();
    }
    exchange(&server, &raw_post(&legacy_call(1, "change"), ""));
    while !seen.contains("tools/list_changed") {
        assert!(reader.read_line(&mut seen).unwrap() > 0, "{seen}");
    }
    let none = Chaos::new().http();
    assert_eq!(status(&exchange(&none, "GET /mcp HTTP/1.1\r\n\r\n")), "405");
}

#[test]
fn bytes_come_slowly_and_chunked_bodies_are_read() {
    let server = Chaos::new().slow(7, Duration::from_millis(1)).http();
    let message = request(1, "ping", &json!({})).to_string();
    let chunked = format!(
        "POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{message}\r\n0\r\n\r\n",
        message.len()
    );
    let response = exchange(&server, &chunked);
    assert_eq!(body(&response)["id"], 1);
}
