//! How a relay begins, when it looks for a daemon, and how it ends.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_daemon_that_was_stopped_stays_stopped_until_the_client_asks_for_something() {
    let ran = with_relay(async |test| {
        let mut daemon = test.legacy().await;
        daemon.send(ending(2, false)).await;
        drop(daemon);
        tokio::time::sleep(Duration::from_secs(60)).await;
        test.client.request(2, "ping", json!({})).await;
        assert_eq!(test.client.next().await["result"], json!({}));
        test.client
            .send(note("notifications/roots/list_changed"))
            .await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(test.opens.is_empty());
        test.client.request(3, "tools/list", json!({})).await;
        let mut daemon = test.daemon(After::Rest).await;
        daemon.answer("initialize", initialized()).await;
        assert_eq!(daemon.next().await["method"], "notifications/initialized");
        assert_eq!(daemon.next().await["method"], "tools/list");
    })
    .await;
    assert!(
        ran.notes[0].contains("when the client asks for something"),
        "{:?}",
        ran.notes
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_daemon_each_request_gets_the_reason_and_the_next_one_tries_again() {
    let ran = with_relay(async |test| {
        for (id, after) in [(1, After::Begin), (2, After::Rest), (3, After::Rest)] {
            test.client.request(id, "initialize", json!({})).await;
            // It waits for the way with the others that came meanwhile.
            test.client.request(id + 10, "tools/list", json!({})).await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            test.no_daemon(after).await;
            for id in [id, id + 10] {
                let answer = test.client.next().await;
                assert_eq!(answer["id"], id);
                assert_eq!(answer["error"]["code"], 503);
                assert_eq!(answer["error"]["data"]["delivery"], "not_sent");
                let message = answer["error"]["message"].as_str().unwrap();
                assert!(
                    message.contains("it cannot start\nhint: do this"),
                    "{message}"
                );
            }
        }
    })
    .await;
    assert_eq!(ran.ended.unwrap(), Exit::Failed, "nothing was ever served");
    assert_eq!(ran.notes, ["error: it cannot start\nhint: do this"; 3]);
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_ends_again_and_again_is_looked_for_later_and_later_and_then_given_up() {
    let ran = with_relay(async |test| {
        let mut daemon = test.daemon(After::Begin).await;
        test.client.request(1, "tools/list", json!({})).await;
        daemon.next().await;
        let begun = tokio::time::Instant::now();
        drop(daemon);
        for _ in 0..5 {
            drop(test.daemon(After::Break).await);
        }
        let answer = test.client.next().await;
        assert_eq!(answer["id"], 1);
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("6 times in a row"),
            "{answer}"
        );
        let took = begun.elapsed();
        assert!(
            took > Duration::from_secs(4) && took < Duration::from_secs(6),
            "{took:?}"
        );
        // Not looked for until it is asked, then once.
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(test.opens.is_empty());
        test.client.request(2, "tools/list", json!({})).await;
        drop(test.daemon(After::Rest).await);
        assert_eq!(test.client.next().await["id"], 2);
        assert!(test.opens.is_empty());
        // One that holds is as good as the first.
        test.client.request(3, "tools/list", json!({})).await;
        let daemon = test.daemon(After::Rest).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        drop(daemon);
        test.daemon(After::Break)
            .await
            .answer("tools/list", json!({}))
            .await;
        assert_eq!(test.client.next().await["id"], 3);
    })
    .await;
    assert!(
        ran.notes.iter().any(|note| note.starts_with("error: ")),
        "{:?}",
        ran.notes
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_back_before_it_was_sent_is_never_sent() {
    with_relay(async |test| {
        let (_, opened) = test.opens.recv().await.unwrap();
        test.client.request(1, "tools/call", json!({"name": "x"})).await;
        test.client.request(2, "tools/call", json!({"name": "y"})).await;
        test.client
            .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
            .await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (here, there) = tokio::io::duplex(1 << 20);
        opened.send(Ok(there)).unwrap();
        let mut daemon = End::new(here);
        let request = daemon.next().await;
        assert_eq!(request["params"]["name"], "y");
        // One that was cancelled later gets no answer either, when the daemon ends.
        test.client
            .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}))
            .await;
        assert_eq!(daemon.next().await["method"], "notifications/cancelled");
        drop(daemon);
        let mut daemon = test.daemon(After::Break).await;
        test.client.request(3, "ping", json!({})).await;
        daemon.answer("ping", json!({})).await;
        assert_eq!(test.client.next().await["id"], 3);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_long_costs_only_its_own_request() {
    with_relay(async |test| {
        let mut daemon = test.daemon(After::Begin).await;
        let long = "x".repeat(2 << 20);
        test.client
            .request(1, "tools/call", json!({"name": long}))
            .await;
        let answer = test.client.next().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(1), &json!(-32600))
        );
        test.client.request(2, "ping", json!({})).await;
        daemon.answer("ping", json!({})).await;
        assert_eq!(test.client.next().await["id"], 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn when_the_client_has_said_its_last_its_open_requests_are_still_answered() {
    let ran = with_relay(async |test| {
        let mut daemon = test.daemon(After::Begin).await;
        test.client
            .request(1, "tools/call", json!({"name": "x"}))
            .await;
        test.client
            .request(2, "tools/call", json!({"name": "x"}))
            .await;
        test.client
            .input
            .as_mut()
            .unwrap()
            .shutdown()
            .await
            .unwrap();
        let both = [daemon.next().await, daemon.next().await];
        assert_eq!(
            daemon.output.next_line().await.unwrap(),
            None,
            "the daemon is told"
        );
        daemon
            .send(json!({"jsonrpc": "2.0", "id": both[0]["id"], "result": {}}))
            .await;
        assert_eq!(test.client.next().await["result"], json!({}));
        // The other one takes longer than it may.
        let answer = test.client.next().await;
        assert_eq!(
            answer["error"]["data"]["delivery"], "outcome_unknown",
            "{answer}"
        );
    })
    .await;
    assert_eq!(ran.ended.unwrap(), Exit::Ok);
}

#[tokio::test(start_paused = true)]
async fn the_first_daemon_may_refuse_what_is_to_be_served() {
    let ran = with_relay(async |test| {
        let (_, opened) = test.opens.recv().await.unwrap();
        let refused = Failure::usage("two servers of one name");
        assert!(opened.send(Err(Trouble::Refused(refused))).is_ok());
    })
    .await;
    assert_eq!(ran.ended.unwrap_err().exit, Exit::Usage);
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_passed_on_as_it_is_and_each_request_in_it_is_answered_for() {
    with_relay(async |test| {
        let mut daemon = test.daemon(After::Begin).await;
        let one = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
        test.client.send(json!([one(1), one(2)])).await;
        assert_eq!(daemon.next().await, json!([one(1), one(2)]));
        drop(daemon);
        let mut daemon = test.daemon(After::Break).await;
        for id in [1, 2] {
            assert_eq!(test.client.next().await["id"], id);
        }
        test.client.send(json!([one(3), one(4)])).await;
        daemon.next().await;
        let answers = json!([{"jsonrpc": "2.0", "id": 3, "result": {}}, {"jsonrpc": "2.0", "id": 4, "result": {}}]);
        daemon.send(answers.clone()).await;
        assert_eq!(test.client.next().await, answers);
    })
    .await;
}
