//! Questions of the modern era: sealed states, and what happens to those that were tampered with.

use std::time::Duration;

use serde_json::{Value, json};

use crate::served::{Served, with_tokens};
use crate::wire::{call, envelope, modern, modern_with};

fn forms() -> Value {
    json!({"elicitation": {}})
}

/// The state of a first call.
fn state(served: &Served, headers: &[(&str, &str)]) -> String {
    let params = json!({"name": "hold", "arguments": {"a": 1}, "_meta": envelope(&forms())});
    let answer = modern_with(served.address, "tools/call", params, headers).json();
    assert_eq!(
        answer["result"]["inputRequests"]["k"]["method"],
        "elicitation/create"
    );
    answer["result"]["requestState"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn again(served: &Served, method: &str, change: &Value, headers: &[(&str, &str)]) -> Value {
    let mut params = json!({"name": "hold", "arguments": {"a": 1}, "_meta": envelope(&forms()),
        "inputResponses": {"k": {"action": "accept", "content": {}}}});
    params
        .as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    modern_with(served.address, method, params, headers).json()
}

fn refused(answer: &Value, reason: &str) {
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains(reason),
        "{answer}"
    );
}

#[test]
fn a_state_comes_back_to_the_service_and_the_answer_is_not_kept() {
    let served = Served::new();
    let state = state(&served, &[]);
    let answer = again(&served, "tools/call", &json!({"requestState": state}), &[]);
    assert_eq!(answer["result"]["state"], true);
    assert_eq!(served.last_seen(), r#"{"name":"hold","arguments":{"a":1}}"#);
}

#[test]
fn a_state_that_was_taken_elsewhere_is_refused_with_the_reason() {
    let served = Served::new();
    let state = state(&served, &[]);
    let try_with = |method: &str, change: Value| again(&served, method, &change, &[]);
    refused(
        &try_with("tools/call", json!({"requestState": format!("{state}A")})),
        "was not made by this server",
    );
    refused(
        &try_with("tools/call", json!({"requestState": ""})),
        "was not made by this server",
    );
    refused(
        &try_with("tools/call", json!({"requestState": 7})),
        "is a string, got a number",
    );
    refused(
        &try_with(
            "tools/call",
            json!({"requestState": state, "arguments": {"a": 2}}),
        ),
        "for other params",
    );
    refused(
        &try_with("prompts/get", json!({"requestState": state})),
        "was made for `tools/call`",
    );
    served.clock.by(Duration::from_secs(3_600));
    refused(
        &try_with("tools/call", json!({"requestState": state})),
        "has expired",
    );
}

#[test]
fn a_state_of_another_principal_is_refused() {
    let served = with_tokens();
    let (ann, bob) = (
        ("authorization", "Bearer ann"),
        ("authorization", "Bearer bob"),
    );
    let state = state(&served, &[ann]);
    let change = json!({"requestState": state});
    refused(
        &again(&served, "tools/call", &change, &[bob]),
        "somebody else",
    );
    assert_eq!(
        again(&served, "tools/call", &change, &[ann])["result"]["state"],
        true
    );
}

#[test]
fn answers_that_have_not_the_shape_of_their_question_are_refused_and_unknown_ones_ignored() {
    let served = Served::new();
    let state = state(&served, &[]);
    let answers = |answers: Value| {
        again(
            &served,
            "tools/call",
            &json!({"requestState": state, "inputResponses": answers}),
            &[],
        )
    };
    refused(&answers(json!(null)), "`inputResponses`");
    refused(&answers(json!({"k": 12345})), "`inputResponses.k`");
    refused(
        &answers(json!({"k": {"action": "perhaps"}})),
        "accept, decline or cancel",
    );
    assert_eq!(
        answers(json!({"other": {"action": "accept"}}))["result"]["resultType"],
        "input_required"
    );
    let both = json!({"k": {"action": "decline"}, "other": 7});
    assert_eq!(answers(both)["result"]["state"], true);
}

#[test]
fn only_what_the_client_declared_is_asked() {
    let served = Served::new();
    for (tool, capability) in [
        ("hold", json!({"elicitation": {"form": {}}})),
        ("test_url_elicitation", json!({"elicitation": {"url": {}}})),
        ("test_sampling", json!({"sampling": {}})),
        (
            "test_input_required_result_list_roots",
            json!({"roots": {}}),
        ),
    ] {
        let mut reply = call(served.address, tool, json!({"prompt": "x"}), &json!({}));
        let answer = reply.answer();
        assert_eq!(
            (reply.status, &answer["error"]["code"]),
            (400, &json!(-32021)),
            "{tool}"
        );
        assert_eq!(answer["error"]["data"]["requiredCapabilities"], capability);
        let answer = call(served.address, tool, json!({"prompt": "x"}), &capability).answer();
        assert_eq!(
            answer["result"]["resultType"], "input_required",
            "{tool}: {answer}"
        );
    }
    let answer = call(
        served.address,
        "test_url_elicitation",
        json!({}),
        &json!({"elicitation": {"url": {}}}),
    )
    .answer();
    let params = &answer["result"]["inputRequests"]["answer"]["params"];
    assert_eq!(
        params,
        &json!({"mode": "url", "message": "Please visit", "url": "https://example.com/visit"})
    );
}

#[test]
fn the_result_of_a_request_that_carried_answers_may_not_be_kept() {
    let served = Served::new();
    let kept = modern(
        served.address,
        "resources/read",
        json!({"uri": "test://static-text"}),
    )
    .json();
    assert_eq!(kept["result"]["ttlMs"], 0);
    let listed = modern(served.address, "tools/list", json!({})).json();
    assert_eq!(
        (&listed["result"]["ttlMs"], &listed["result"]["cacheScope"]),
        (&json!(60_000), &json!("public"))
    );
    let answer = again(
        &served,
        "tools/call",
        &json!({"requestState": state(&served, &[])}),
        &[],
    );
    assert_eq!(answer["result"].get("ttlMs"), None);
}
