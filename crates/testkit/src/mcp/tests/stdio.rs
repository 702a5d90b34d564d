//! The chaos server over stdio, driven line by line.

use super::*;
use crate::mcp::{Behaviour, Cursors, Question};

#[test]
fn a_legacy_server_refuses_the_probe_and_initialises() {
    let server = Chaos::new().legacy().stdio();
    let mut pipe = Pipe::open(&server);
    let probe = pipe.ask(&modern(1, "server/discover", json!({})));
    assert_eq!(probe["error"]["code"], -32601);
    let asked = json!({ "protocolVersion": "2026-07-28", "capabilities": {} });
    let hello = pipe.ask(&request(2, "initialize", &asked));
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    drop(pipe.stdin.take());
    assert_eq!(pipe.child.wait().unwrap().code(), Some(0));
    let received = server.received();
    assert_eq!(received.methods(), ["server/discover", "initialize"]);
    assert_eq!(received.of_kind("eof").len(), 1);
}

#[test]
fn a_modern_server_knows_no_handshake_and_names_its_versions() {
    let server = Chaos::new().modern().stdio();
    let mut pipe = Pipe::open(&server);
    let found = pipe.ask(&modern(1, "server/discover", json!({})));
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(found["result"]["resultType"], "complete");
    let legacy = pipe.ask(&request(2, "initialize", &json!({})));
    assert_eq!(legacy["error"]["code"], -32601);
    let mut other = modern(3, "tools/list", json!({}));
    other["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01".into();
    let data = json!({ "supported": ["2026-07-28"], "requested": "2099-01-01" });
    assert_eq!(pipe.ask(&other)["error"]["data"], data);
}

#[test]
fn a_shim_answers_the_probe_with_legacy_revisions() {
    let server = Chaos::new().shim().stdio();
    let found = Pipe::open(&server).ask(&modern(1, "server/discover", json!({})));
    assert_eq!(found["result"]["supportedVersions"], json!(["2025-11-25"]));
}

#[test]
fn a_probe_can_be_death_silence_or_garbage() {
    let server = Chaos::new().legacy().probe(Behaviour::Exit(3)).stdio();
    let mut pipe = Pipe::open(&server);
    pipe.send(&modern(1, "server/discover", json!({})));
    assert_eq!(pipe.line(), b"");
    assert_eq!(pipe.child.wait().unwrap().code(), Some(3));
    let mut second = Pipe::open(&server);
    assert!(second.ask(&request(1, "initialize", &json!({})))["result"].is_object());
    assert_eq!(server.received().processes().len(), 2);

    let silent = Chaos::new().legacy().probe(Behaviour::Never).stdio();
    let mut pipe = Pipe::open(&silent);
    pipe.send(&modern(1, "server/discover", json!({})));
    assert_eq!(pipe.ask(&request(2, "ping", &json!({})))["id"], 2);

    let garbage = [Behaviour::Raw(b"}{ nonsense\n".to_vec()), Behaviour::Never];
    let server = Chaos::new().legacy().probe(garbage).stdio();
    let mut pipe = Pipe::open(&server);
    pipe.send(&modern(1, "server/discover", json!({})));
    assert_eq!(pipe.line(), b"}{ nonsense");
}

#[test]
fn pages_have_every_kind_of_cursor() {
    let names = |answer: &Value| -> Vec<String> {
        let tools = answer["result"]["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let three = |cursors| {
        let chaos = Chaos::new().tool("a", Behaviour::Answer);
        let chaos = chaos
            .tool("b", Behaviour::Answer)
            .tool("c", Behaviour::Answer);
        chaos.pages(2, cursors).stdio()
    };
    let server = three(Cursors::Empty);
    let mut pipe = Pipe::open(&server);
    let first = pipe.ask(&request(1, "tools/list", &json!({})));
    assert_eq!(
        (names(&first), &first["result"]["nextCursor"]),
        (vec!["a".to_owned(), "b".to_owned()], &json!(""))
    );
    let second = pipe.ask(&request(2, "tools/list", &json!({ "cursor": "" })));
    assert_eq!(
        (names(&second), &second["result"]["nextCursor"]),
        (vec!["c".to_owned()], &Value::Null)
    );

    let server = three(Cursors::Stuck);
    let mut pipe = Pipe::open(&server);
    let stuck = pipe.ask(&request(1, "tools/list", &json!({ "cursor": "again" })));
    assert_eq!(stuck["result"]["nextCursor"], "again");

    let server = three(Cursors::Rejected(1));
    let mut pipe = Pipe::open(&server);
    let page = request(1, "tools/list", &json!({ "cursor": "2" }));
    assert_eq!(pipe.ask(&page)["error"]["code"], -32602);
    assert_eq!(names(&pipe.ask(&page)), ["c"]);

    let server = three(Cursors::Endless);
    let mut pipe = Pipe::open(&server);
    let far = pipe.ask(&request(1, "tools/list", &json!({ "cursor": "41" })));
    assert_eq!(
        (names(&far), &far["result"]["nextCursor"]),
        (vec!["a_41".to_owned()], &json!("42"))
    );
}

#[test]
fn a_malformed_tool_is_listed_as_it_is() {
    let bad = json!({ "name": 7, "inputSchema": true });
    let server = Chaos::new()
        .tool("good", Behaviour::Answer)
        .listed(bad.clone())
        .stdio();
    let list = Pipe::open(&server).ask(&request(1, "tools/list", &json!({})));
    assert_eq!(list["result"]["tools"][1], bad);
}

#[test]
fn answers_come_twice_under_another_id_or_before_they_are_asked_for() {
    let server = Chaos::new()
        .answers_early(&[json!(9)])
        .tool("twice", Behaviour::Twice)
        .tool(
            "other",
            [Behaviour::OtherId(json!("x")), Behaviour::Error(-5)],
        )
        .stdio();
    let mut pipe = Pipe::open(&server);
    assert_eq!(pipe.next()["id"], 9);
    let first = pipe.ask(&legacy_call(1, "twice"));
    assert_eq!((first, json!(1)), (pipe.next(), json!(1)));
    assert_eq!(pipe.ask(&legacy_call(2, "other"))["id"], "x");
    assert_eq!(pipe.next()["error"]["code"], -5);
}

#[test]
fn a_cancelled_call_is_not_answered_or_late() {
    let long = Duration::from_secs(20);
    let server = Chaos::new()
        .tool("slow", Behaviour::Delay(long))
        .tool("late", Behaviour::UntilCancelled(long))
        .stdio();
    let mut pipe = Pipe::open(&server);
    for (id, tool) in [(1, "slow"), (2, "late")] {
        pipe.send(&legacy_call(id, tool));
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        pipe.send(&cancel);
    }
    assert_eq!(pipe.next()["id"], 2);
    assert_eq!(pipe.ask(&request(3, "ping", &json!({})))["id"], 3);
    assert_eq!(
        server.received().of_method("notifications/cancelled").len(),
        2
    );
}

#[test]
fn progress_and_logs_come_before_the_answer() {
    let steps = [
        Behaviour::Progress(2, NOTHING),
        Behaviour::Log("info", "half"),
    ];
    let server = Chaos::new().tool("x", steps).stdio();
    let mut pipe = Pipe::open(&server);
    let mut call = legacy_call(1, "x");
    call["params"]["_meta"] = json!({ "progressToken": "p" });
    pipe.send(&call);
    let params = [pipe.next(), pipe.next(), pipe.next()].map(|mut note| note["params"].take());
    assert_eq!(
        params,
        [
            json!({ "progressToken": "p", "progress": 1, "total": 2 }),
            json!({ "progressToken": "p", "progress": 2, "total": 2 }),
            json!({ "level": "info", "data": "half" })
        ]
    );
    assert_eq!(said(&pipe.next())["tool"], "x");
}

#[test]
fn a_question_is_a_request_to_a_legacy_client() {
    let steps = [Behaviour::AskAll(vec![
        ("sure", Question::confirm("sure?")),
        ("roots", Question::roots()),
    ])];
    let server = Chaos::new().legacy().tool("ask", steps).stdio();
    let mut pipe = Pipe::open(&server);
    let question = pipe.ask(&legacy_call(1, "ask"));
    assert_eq!(question["method"], "elicitation/create");
    let given = json!({ "action": "accept", "content": { "ok": true } });
    let roots = pipe.ask(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": &given }));
    assert_eq!(roots["method"], "roots/list");
    let refused = json!({ "code": -1, "message": "no" });
    let answer = pipe.ask(&json!({ "jsonrpc": "2.0", "id": roots["id"], "error": &refused }));
    assert_eq!(
        said(&answer)["answers"],
        json!({ "sure": given, "roots": { "error": refused } })
    );
    assert_eq!(
        server.received().methods(),
        ["tools/call", "response", "response"]
    );
}

#[test]
fn questions_of_several_rounds_are_input_required_to_a_modern_client() {
    let steps = [
        Behaviour::Ask("one", Question::confirm("1?")),
        Behaviour::StateOnly,
        Behaviour::AskAll(vec![
            ("two", Question::url("2?", "https://example.com", None)),
            ("three", Question::sampling("3?")),
        ]),
    ];
    let server = Chaos::new().modern().tool("ask", steps).stdio();
    let mut pipe = Pipe::open(&server);
    let mut retry = |id, answers: Value, state: &Value| {
        let mut call = modern_call(id, "ask");
        if !answers.is_null() {
            call["params"]["inputResponses"] = answers;
        }
        if !state.is_null() {
            call["params"]["requestState"] = state.clone();
        }
        pipe.ask(&call)["result"].take()
    };
    let first = retry(1, Value::Null, &Value::Null);
    assert_eq!(first["resultType"], "input_required");
    assert_eq!(
        first["inputRequests"],
        json!({ "one": Question::confirm("1?").to_value() })
    );
    let second = retry(2, json!({ "one": 1 }), &first["requestState"]);
    assert_eq!(
        (
            second["inputRequests"].is_null(),
            second["requestState"].is_string()
        ),
        (true, true)
    );
    let third = retry(3, Value::Null, &second["requestState"]);
    assert_eq!(third["inputRequests"].as_object().unwrap().len(), 2);
    let partial = retry(4, json!({ "three": 3 }), &third["requestState"]);
    assert_eq!(
        partial["inputRequests"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["two"]
    );
    let done = retry(5, json!({ "two": 2 }), &partial["requestState"]);
    assert_eq!(
        said(&json!({ "result": done }))["answers"],
        json!({ "one": 1, "two": 2, "three": 3 })
    );
}

#[test]
fn a_question_without_state_is_answered_by_its_key() {
    let steps = Behaviour::AskWithoutState("q", Question::confirm("?"));
    let server = Chaos::new().tool("ask", steps).stdio();
    let mut pipe = Pipe::open(&server);
    let first = pipe.ask(&modern_call(1, "ask"));
    assert!(first["result"]["requestState"].is_null());
    let mut call = modern_call(2, "ask");
    call["params"]["inputResponses"] = json!({ "q": 1 });
    assert_eq!(said(&pipe.ask(&call))["answers"], json!({ "q": 1 }));
}

#[test]
fn a_task_of_either_era_asks_and_ends() {
    let steps = [
        Behaviour::Task(Duration::from_millis(10)),
        Behaviour::Ask("q", Question::confirm("?")),
    ];
    let server = Chaos::new().tool("task", steps).stdio();
    let mut pipe = Pipe::open(&server);
    let created = pipe.ask(&modern_call(1, "task"));
    assert_eq!(
        (
            &created["result"]["resultType"],
            &created["result"]["pollIntervalMs"]
        ),
        (&json!("task"), &json!(10))
    );
    let id = created["result"]["taskId"].clone();
    let mut get = || pipe.ask(&modern(2, "tasks/get", json!({ "taskId": id })))["result"].take();
    let mut task = get();
    while task["status"] == "working" {
        task = get();
    }
    assert!(task["inputRequests"]["q"].is_object(), "{task}");
    pipe.ask(&modern(
        3,
        "tasks/update",
        json!({ "taskId": id, "inputResponses": { "q": 1 } }),
    ));
    let mut task = Value::Null;
    while task["status"] != "completed" {
        task = pipe.ask(&modern(4, "tasks/get", json!({ "taskId": id })))["result"].take();
    }
    assert_eq!(said(&task)["answers"], json!({ "q": 1 }));

    let mut call = legacy_call(5, "task");
    call["params"]["task"] = json!({ "ttl": 1000 });
    let mut created = pipe.ask(&call);
    let mut question = pipe.next();
    if created["method"].is_string() {
        std::mem::swap(&mut created, &mut question);
    }
    let id = created["result"]["task"]["taskId"].clone();
    pipe.send(&request(6, "tasks/result", &json!({ "taskId": id })));
    let result = pipe.ask(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": 1 }));
    assert_eq!(
        (&result["id"], said(&result)["answers"].clone()),
        (&json!(6), json!({ "q": 1 }))
    );
    assert_eq!(
        pipe.ask(&request(7, "tasks/cancel", &json!({ "taskId": id })))["error"]["code"],
        -32602
    );
}

#[test]
fn output_is_huge_split_broken_or_mixed_with_junk() {
    let server = Chaos::new()
        .banner("welcome")
        .chatter(2000)
        .tool("big", Behaviour::Big(3_000_000))
        .tool("utf8", Behaviour::InvalidUtf8)
        .tool("deep", Behaviour::Deep(100_000))
        .tool("junk", [Behaviour::Junk(2), Behaviour::Stderr(2000)])
        .tool("split", Behaviour::Split(3, NOTHING))
        .stdio();
    let mut pipe = Pipe::open(&server);
    assert_eq!(pipe.line(), b"welcome");
    let big = pipe.ask(&legacy_call(1, "big"));
    assert_eq!(
        big["result"]["content"][0]["text"].as_str().unwrap().len(),
        3_000_000
    );
    pipe.send(&legacy_call(2, "utf8"));
    assert!(String::from_utf8(pipe.line()).is_err());
    pipe.send(&legacy_call(3, "deep"));
    let nested = [b'['; 100_000];
    assert!(pipe.line().windows(nested.len()).any(|part| part == nested));
    pipe.send(&legacy_call(4, "junk"));
    assert_eq!(
        pipe.line(),
        b"junk 0: this line is no JSON",
        "before the answer"
    );
    pipe.line();
    assert_eq!(said(&pipe.next())["tool"], "junk");
    assert_eq!(said(&pipe.ask(&legacy_call(5, "split")))["tool"], "split");
}

#[test]
fn standard_output_closes_while_the_server_lives() {
    let server = Chaos::new()
        .outlives_stdin()
        .tool("close", [Behaviour::Answer, Behaviour::Drop])
        .stdio();
    let mut pipe = Pipe::open(&server);
    assert_eq!(said(&pipe.ask(&legacy_call(1, "close")))["tool"], "close");
    assert_eq!(pipe.line(), b"");
    pipe.send(&request(2, "ping", &json!({})));
    drop(pipe.stdin.take());
    server.wait_for("the ping and the end of input", |received| {
        received.methods() == ["tools/call", "ping"] && received.of_kind("eof").len() == 1
    });
    assert!(pipe.child.try_wait().unwrap().is_none());
}

#[test]
fn the_nth_request_is_different_and_lists_change_by_themselves() {
    let changed = Behaviour::Announce("notifications/tools/list_changed", json!({}));
    let server = Chaos::new()
        .tool("change", changed)
        .on_nth("tools/list", 2, Behaviour::Error(-32603))
        .stdio();
    let mut pipe = Pipe::open(&server);
    let list = request(1, "tools/list", &json!({}));
    assert!(pipe.ask(&list)["result"].is_object());
    assert_eq!(pipe.ask(&list)["error"]["code"], -32603);
    assert!(pipe.ask(&list)["result"].is_object());
    assert_eq!(
        pipe.ask(&legacy_call(2, "change"))["method"],
        "notifications/tools/list_changed"
    );
    assert_eq!(pipe.next()["id"], 2);

    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let ack = pipe.ask(&modern(8, "subscriptions/listen", filter));
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged");
    let tagged = pipe.ask(&modern_call(3, "change"));
    assert_eq!(
        tagged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        8
    );
}

#[test]
#[cfg(unix)]
fn a_stubborn_server_with_a_child_writes_down_who_asked_it_to_end() {
    let server = Chaos::new().ignores_sigterm().with_grandchild().stdio();
    let mut pipe = Pipe::open(&server);
    pipe.ask(&request(1, "ping", &json!({})));
    let received = server.received();
    assert_eq!(received.processes(), [pipe.child.id()]);
    let kill = |signal: &str, pid: u32| {
        let status = std::process::Command::new("kill")
            .args([signal, &pid.to_string()])
            .status();
        assert!(status.unwrap().success());
    };
    kill("-TERM", pipe.child.id());
    server.wait_for("the signal", |received| {
        received.of_kind("sigterm").len() == 1
    });
    assert!(pipe.child.try_wait().unwrap().is_none());
    kill("-KILL", received.grandchildren()[0]);
}
