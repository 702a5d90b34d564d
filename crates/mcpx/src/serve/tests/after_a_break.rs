//! What becomes of a conversation when its daemon has gone.

use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_call_under_way_gets_an_error_and_is_not_made_again_and_what_only_reads_is() {
    let ran = with_relay(async |test| {
        let mut daemon = test.daemon(After::Begin).await;
        test.client
            .request(1, "tools/call", json!({"name": "mcpx_call"}))
            .await;
        test.client.request(2, "tools/list", json!({})).await;
        test.client
            .request(3, "tools/call", json!({"name": "mcpx_search"}))
            .await;
        test.client
            .request(4, "tools/call", json!({"name": "mcpx_search", "task": {}}))
            .await;
        test.client
            .request(5, "prompts/get", json!({"name": "x", "requestState": "s"}))
            .await;
        for _ in 0..5 {
            daemon.next().await;
        }
        drop(daemon);
        let mut daemon = test.daemon(After::Break).await;
        for id in [1, 4, 5] {
            let answer = test.client.next().await;
            assert_eq!(
                (&answer["id"], &answer["error"]["code"]),
                (&json!(id), &json!(502))
            );
            let data = json!({"code": "upstream", "delivery": "outcome_unknown", "origin": "hub"});
            assert_eq!(answer["error"]["data"], data);
        }
        for id in [2, 3] {
            let again = daemon.next().await;
            assert_eq!(again["id"], id);
            daemon
                .send(json!({"jsonrpc": "2.0", "id": id, "result": {"n": id}}))
                .await;
            assert_eq!(test.client.next().await["result"]["n"], id);
        }
    })
    .await;
    assert_eq!(ran.ended.unwrap(), Exit::Ok);
}

#[tokio::test(start_paused = true)]
async fn what_the_daemon_did_not_take_is_sent_to_its_successor() {
    with_relay(async |test| {
        let mut daemon = test.daemon(After::Begin).await;
        for id in 1..=3 {
            test.client
                .request(id, "tools/call", json!({"name": "x"}))
                .await;
            daemon.next().await;
        }
        daemon.send(ending(1, true)).await;
        // The one that it took is answered; a later one is not even sent to it.
        daemon
            .send(json!({"jsonrpc": "2.0", "id": 1, "result": {}}))
            .await;
        assert_eq!(test.client.next().await["id"], 1);
        test.client
            .request(4, "tools/call", json!({"name": "x"}))
            .await;
        drop(daemon);
        let mut daemon = test.daemon(After::Restart).await;
        for id in 2..=4 {
            daemon.answer("tools/call", json!({})).await;
            let answer = test.client.next().await;
            assert_eq!((&answer["id"], &answer["result"]), (&json!(id), &json!({})));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_legacy_client_is_introduced_again_and_told_what_it_may_have_missed() {
    let ran = with_relay(async |test| {
        let mut daemon = test.legacy().await;
        test.client
            .request(2, "logging/setLevel", json!({"level": "error"}))
            .await;
        daemon.answer("logging/setLevel", json!({})).await;
        for (id, uri) in [(3, "a:1"), (4, "a:2"), (5, "a:3")] {
            test.client
                .request(id, "resources/subscribe", json!({"uri": uri}))
                .await;
            daemon.answer("resources/subscribe", json!({})).await;
        }
        test.client
            .request(6, "resources/unsubscribe", json!({"uri": "a:2"}))
            .await;
        daemon.answer("resources/unsubscribe", json!({})).await;
        for _ in 2..=6 {
            test.client.next().await;
        }
        drop(daemon);
        let mut daemon = test.daemon(After::Break).await;
        let greeting = daemon.next().await;
        assert_eq!(greeting["params"]["capabilities"], json!({"roots": {}}));
        daemon
            .send(json!({"jsonrpc": "2.0", "id": greeting["id"], "result": initialized()}))
            .await;
        assert_eq!(daemon.next().await, note("notifications/initialized"));
        let mut asked = Vec::new();
        for _ in 0..3 {
            let request = daemon.next().await;
            asked.push((request["method"].clone(), request["params"].clone()));
            daemon
                .send(json!({"jsonrpc": "2.0", "id": request["id"], "result": {}}))
                .await;
        }
        let expected = [
            ("logging/setLevel", json!({"level": "error"})),
            ("resources/subscribe", json!({"uri": "a:1"})),
            ("resources/subscribe", json!({"uri": "a:3"})),
        ];
        assert_eq!(
            asked,
            expected.map(|(method, params)| (json!(method), params))
        );
        let mut told = Vec::new();
        for _ in 0..4 {
            let said = test.client.next().await;
            told.push((
                said["method"].as_str().unwrap().to_owned(),
                said["params"]["uri"].clone(),
            ));
        }
        let updated = "notifications/resources/updated";
        assert_eq!(
            told,
            [
                ("notifications/tools/list_changed".to_owned(), Value::Null),
                (
                    "notifications/resources/list_changed".to_owned(),
                    Value::Null
                ),
                (updated.to_owned(), json!("a:1")),
                (updated.to_owned(), json!("a:3")),
            ]
        );
        // None of our own answers comes through.
        test.client.request(7, "ping", json!({})).await;
        daemon.answer("ping", json!({})).await;
        assert_eq!(test.client.next().await["id"], 7);
    })
    .await;
    assert_eq!(ran.notes, ["note: connected to the daemon again"]);
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_to_a_question_of_a_daemon_that_is_gone_is_not_an_answer_to_the_next_one() {
    with_relay(async |test| {
        let question = json!({"jsonrpc": "2.0", "id": "ask-1", "method": "elicitation/create", "params": {}});
        let mut daemon = test.legacy().await;
        daemon.send(question.clone()).await;
        assert_eq!(test.client.next().await, question);
        drop(daemon);
        let mut daemon = test.daemon(After::Break).await;
        let taken_back = test.client.next().await;
        assert_eq!(taken_back["method"], "notifications/cancelled");
        assert_eq!(taken_back["params"]["requestId"], "ask-1");
        daemon.answer("initialize", initialized()).await;
        daemon.next().await;
        for _ in 0..2 {
            test.client.next().await;
        }
        // The next daemon counts from the beginning.
        daemon.send(question.clone()).await;
        let asked = test.client.next().await;
        assert_ne!(asked["id"], question["id"]);
        let answer = |id: &Value, word: &str| json!({"jsonrpc": "2.0", "id": id, "result": {"action": word}});
        test.client.send(answer(&question["id"], "accept")).await;
        test.client.send(answer(&asked["id"], "decline")).await;
        assert_eq!(daemon.next().await, answer(&question["id"], "decline"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_goes_on_with_the_next_daemon() {
    with_relay(async |test| {
        let mut daemon = test.daemon(After::Begin).await;
        let listens = json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["a:1"]});
        let accepted = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:1"]});
        let acknowledged = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
            "notifications": accepted, "_meta": {"io.modelcontextprotocol/subscriptionId": 7}}});
        test.client.request(7, "subscriptions/listen", json!({"notifications": listens})).await;
        let first = daemon.next().await;
        daemon.send(acknowledged.clone()).await;
        assert_eq!(test.client.next().await, acknowledged);
        // It ends in order: the client is not told that its subscription has ended. Alone it starts no daemon.
        daemon.send(json!({"jsonrpc": "2.0", "id": 7, "result": {"resultType": "complete"}})).await;
        daemon.send(ending(1, false)).await;
        drop(daemon);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(test.opens.is_empty());
        test.client.request(8, "tools/list", json!({})).await;
        let mut daemon = test.daemon(After::Rest).await;
        assert_eq!(daemon.next().await, first);
        daemon.send(acknowledged).await;
        daemon.answer("tools/list", json!({})).await;
        for (method, uri) in [("tools/list_changed", Value::Null), ("resources/updated", json!("a:1"))] {
            let said = test.client.next().await;
            assert_eq!(said["method"], format!("notifications/{method}"));
            assert_eq!(said["params"]["uri"], uri);
            assert_eq!(said["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
        }
        assert_eq!(test.client.next().await["id"], 8);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn half_a_message_was_not_sent_and_a_client_never_sees_half_of_one() {
    with_relay(async |test| {
        let (_, opened) = test.opens.recv().await.unwrap();
        // Room for less than the message.
        let (here, there) = tokio::io::duplex(64);
        opened.send(Ok(there)).unwrap();
        let mut daemon = End::new(here);
        let long = "x".repeat(10_000);
        test.client
            .request(1, "tools/call", json!({"name": long}))
            .await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        daemon
            .input
            .as_mut()
            .unwrap()
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"res")
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(daemon);
        let mut daemon = test.daemon(After::Break).await;
        daemon.answer("tools/call", json!({"n": 1})).await;
        assert_eq!(test.client.next().await["result"]["n"], 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn another_revision_is_no_daemon_for_this_client() {
    with_relay(async |test| {
        let daemon = test.legacy().await;
        drop(daemon);
        let mut daemon = test.daemon(After::Break).await;
        test.client.request(2, "tools/list", json!({})).await;
        daemon
            .answer("initialize", json!({"protocolVersion": "2024-11-05"}))
            .await;
        let answer = test.client.next().await;
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("2025-11-25") && message.contains("2024-11-05"),
            "{message}"
        );
    })
    .await;
}
