//! `subscriptions/listen`: acknowledged, filtered, told, ended.

use serde_json::{Value, json};
use testkit::wait_until;

use crate::served::Served;
use crate::wire::{Reply, WAIT, envelope, modern};

fn listen(served: &Served, notifications: &Value) -> Reply {
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let mut reply = modern(
        served.address,
        "subscriptions/listen",
        json!({"notifications": notifications, "_meta": envelope(&tasks)}),
    );
    assert!(reply.is_stream(), "{}", reply.text());
    reply
}

#[test]
fn a_listener_hears_what_it_asked_for_and_nothing_else() {
    let served = Served::new();
    let wanted = json!({"toolsListChanged": true, "promptsListChanged": false, "unknown": true,
        "resourceSubscriptions": ["test://a", "test://secret"]});
    let mut reply = listen(&served, &wanted);
    let (_, acknowledged) = reply.event().unwrap();
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(
        acknowledged["params"],
        json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["test://a"]},
            "_meta": {"io.modelcontextprotocol/subscriptionId": 7}})
    );
    served.notifier.prompts_changed();
    served.notifier.resource_updated("test://secret");
    served.notifier.resource_updated("test://a");
    let (_, updated) = reply.event().unwrap();
    assert_eq!(
        (&updated["method"], &updated["params"]["uri"]),
        (
            &json!("notifications/resources/updated"),
            &json!("test://a")
        )
    );
    served.notifier.tools_changed();
    let (_, changed) = reply.event().unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(
        changed["params"],
        json!({"_meta": {"io.modelcontextprotocol/subscriptionId": 7}})
    );
}

#[test]
fn a_listener_that_leaves_is_forgotten_and_its_resources_are_no_longer_watched() {
    let served = Served::new();
    let mut reply = listen(&served, &json!({"resourceSubscriptions": ["test://a"]}));
    reply.event().unwrap();
    assert!(served.notifier.is_watched("test://a"));
    drop(reply);
    wait_until("the end of the subscription", WAIT, || {
        served.notifier.listeners() == 0
    });
    wait_until("unwatch", WAIT, || {
        *served.probe.unwatched.lock().unwrap() == ["test://a"]
    });
}

#[test]
fn the_end_of_the_server_is_the_answer_to_a_listener() {
    let served = Served::new();
    let mut reply = listen(&served, &json!({"toolsListChanged": true}));
    reply.event().unwrap();
    let server = served.server.clone();
    served
        .runtime
        .spawn(async move { server.shut_down().await });
    let (_, last) = reply.event().unwrap();
    assert_eq!(last["id"], 7);
    assert_eq!(
        last["result"],
        json!({"resultType": "complete", "_meta": {"io.modelcontextprotocol/subscriptionId": 7}})
    );
    assert!(reply.event().is_none());
}

#[test]
fn a_listener_without_a_list_is_refused() {
    let served = Served::new();
    for params in [
        json!({}),
        json!({"notifications": {"resourceSubscriptions": "test://a"}}),
    ] {
        let answer = modern(served.address, "subscriptions/listen", params).json();
        assert_eq!(answer["error"]["code"], -32602);
    }
}
