//! Calls over a connection: questions and tasks in them, and the end of the daemon under them.

use super::*;

#[tokio::test]
async fn a_question_comes_as_a_request_in_mid_call_and_a_broken_line_costs_nothing_else() {
    let script = [
        Behaviour::Ask("q", testkit::mcp::Question::confirm("Sure?")),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new().legacy().tool("ask", script).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let mut pipe = serve(&daemon, "?passthrough=s&tools=none", Caller::default()).await;
    pipe.begin(json!({"elicitation": {}})).await;
    pipe.out.write_all(b"this is no message\n").await.unwrap();
    assert_eq!(pipe.read().await["error"]["code"], -32700);
    pipe.write(
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ask"}}),
    )
    .await;
    let question = pipe.read().await;
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Sure?");
    pipe.write(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"ok": true}}})).await;
    let answer = pipe.read().await;
    assert_eq!(answer["id"], 2);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(r#""ok": true"#), "{text}");
    // The client goes away in the middle of a question: the server is told.
    pipe.write(
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "ask"}}),
    )
    .await;
    let question = pipe.read().await;
    assert_eq!(question["method"], "elicitation/create");
    pipe.write(
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}),
    )
    .await;
    let answer = pipe.ask(4, "ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
    let deadline = tokio::time::Instant::now() + Duration::from_secs(15);
    while chaos
        .received()
        .of_method("notifications/cancelled")
        .is_empty()
    {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the server was not told"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_client_hears_when_a_person_is_done_at_a_page() {
    let script = [
        Behaviour::Ask(
            "q",
            testkit::mcp::Question::url("Sign in", "https://example.com/in", Some("e1")),
        ),
        Behaviour::Announce(
            "notifications/elicitation/complete",
            json!({"elicitationId": "e1"}),
        ),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new().legacy().tool("ask", script).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let mut pipe = serve(&daemon, "", Caller::default()).await;
    pipe.begin(json!({"elicitation": {"url": {}}})).await;
    let params = json!({"name": "mcpx_call", "arguments": {"tool": "s.ask"}});
    pipe.write(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}))
        .await;
    let question = pipe.read().await;
    assert_eq!(question["params"]["elicitationId"], "e1", "{question}");
    assert_eq!(question["params"]["message"], "s: Sign in");
    pipe.write(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}))
        .await;
    let (mut done, mut answered) = (false, false);
    while !(done && answered) {
        let message = pipe.read().await;
        done |= message["method"] == "notifications/elicitation/complete"
            && message["params"]["elicitationId"] == "e1";
        answered |= message["id"] == 2;
    }
}

#[tokio::test]
async fn a_legacy_client_may_have_its_call_as_a_task() {
    let chaos = Chaos::new()
        .tool(
            "slow",
            [
                Behaviour::Delay(Duration::from_millis(200)),
                Behaviour::Answer,
            ],
        )
        .stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let mut pipe = serve(&daemon, "", Caller::default()).await;
    pipe.begin(json!({})).await;
    let params =
        json!({"name": "mcpx_call", "arguments": {"tool": "s.slow"}, "task": {"ttl": 60_000}});
    let made = pipe.ask(2, "tools/call", params).await;
    let task = made["result"]["task"]["taskId"].clone();
    assert!(task.is_string(), "{made}");
    let result = pipe.ask(3, "tasks/result", json!({"taskId": task})).await;
    assert_eq!(
        result["result"]["_meta"]["dev.mcpx/call"]["tool"], "slow",
        "{result}"
    );
}

#[tokio::test]
async fn a_daemon_that_ends_says_what_it_took_and_lets_that_be_finished() {
    let script = [
        Behaviour::Delay(Duration::from_millis(300)),
        Behaviour::Answer,
    ];
    let chaos = Chaos::new().tool("slow", script).stdio();
    let daemon = Daemon::of(json!({"s": stdio(&chaos)})).await;
    let mut pipe = serve(&daemon, "?passthrough=s", Caller::default()).await;
    pipe.begin(json!({})).await;
    pipe.ask(2, "tools/list", json!({})).await;
    let call =
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "slow"}});
    pipe.write(call).await;
    let deadline = tokio::time::Instant::now() + Duration::from_secs(15);
    while chaos.received().of_method("tools/call").is_empty() {
        assert!(tokio::time::Instant::now() < deadline, "it was not called");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let client = Client::unix(&daemon.socket, Caller::default(), Duration::from_secs(10));
    let shutdown = mcpx_api::operation(mcpx_api::Op::Shutdown);
    client.send(shutdown, &Object::new()).await.unwrap();
    let said = pipe.read().await;
    assert_eq!(said["method"], "notifications/dev.mcpx/ending", "{said}");
    assert_eq!(said["params"], json!({"taken": 4, "restart": false}));
    // Nobody looks at what comes now; what runs is finished.
    drop(
        pipe.out
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}\n")
            .await,
    );
    assert_eq!(pipe.read().await["id"], 3);
    let end = tokio::time::timeout(Duration::from_secs(15), pipe.lines.next_line());
    assert!(matches!(end.await.unwrap(), Ok(None) | Err(_)));
    assert_eq!(chaos.received().of_method("tools/call").len(), 1);
}
