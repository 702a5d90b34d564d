//! Tasks of the modern era.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::wait_until;

use crate::served::{Served, Setup, with_tokens};
use crate::wire::{WAIT, call, envelope, modern, modern_with};

fn tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {}})
}

fn of_task(served: &Served, method: &str, mut params: Value, headers: &[(&str, &str)]) -> Value {
    params["_meta"] = envelope(&tasks());
    modern_with(served.address, method, params, headers).json()
}

fn start(served: &Served, tool: &str, arguments: &Value) -> String {
    let answer = call(served.address, tool, arguments.clone(), &tasks()).json();
    assert_eq!(answer["result"]["resultType"], "task", "{answer}");
    answer["result"]["taskId"].as_str().unwrap().to_owned()
}

fn status(served: &Served, id: &str) -> Value {
    of_task(served, "tasks/get", json!({"taskId": id}), &[])["result"].clone()
}

#[test]
fn a_failed_tool_is_a_completed_task_and_an_error_a_failed_one() {
    let served = Served::new();
    let (failing, broken) = (
        start(&served, "failing_job", &json!({})),
        start(&served, "protocol_error_job", &json!({})),
    );
    wait_until("the job", WAIT, || {
        status(&served, &failing)["status"] == "completed"
    });
    wait_until("the broken job", WAIT, || {
        status(&served, &broken)["status"] == "failed"
    });
    assert_eq!(status(&served, &failing)["result"]["isError"], true);
    let broken = status(&served, &broken);
    assert_eq!(
        (broken["error"]["code"].as_i64(), broken.get("result")),
        (Some(-32603), None)
    );
}

#[test]
fn a_task_asks_and_is_answered_piece_by_piece() {
    let served = Served::new();
    let id = start(&served, "multi_input", &json!({}));
    wait_until("the questions", WAIT, || {
        status(&served, &id)["status"] == "input_required"
    });
    let update = |answers: Value| {
        of_task(
            &served,
            "tasks/update",
            json!({"taskId": id, "inputResponses": answers}),
            &[],
        )
    };
    assert_eq!(update(json!({"first": 7}))["error"]["code"], -32602);
    let empty = json!({"resultType": "complete"});
    assert_eq!(
        update(json!({"first": {"action": "decline"}, "unknown": 1}))["result"],
        empty
    );
    let open = status(&served, &id)["inputRequests"].clone();
    assert_eq!(
        open.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["second"]
    );
    update(json!({"second": {"action": "accept", "content": {"value": "x"}}}));
    wait_until("the end", WAIT, || {
        status(&served, &id)["status"] == "completed"
    });
}

#[test]
fn a_task_is_shown_to_its_principal_alone() {
    let served = with_tokens();
    let (ann, bob) = (
        ("authorization", "Bearer ann"),
        ("authorization", "Bearer bob"),
    );
    let params =
        json!({"name": "slow_compute", "arguments": {"seconds": 30}, "_meta": envelope(&tasks())});
    let answer = modern_with(served.address, "tools/call", params, &[ann]).json();
    let id = json!({"taskId": answer["result"]["taskId"]});
    for method in ["tasks/get", "tasks/cancel"] {
        let refused = of_task(&served, method, id.clone(), &[bob]);
        let unknown = of_task(&served, method, json!({"taskId": "x"}), &[bob]);
        assert_eq!(refused["error"], unknown["error"]);
    }
    assert_eq!(
        of_task(&served, "tasks/get", id.clone(), &[ann])["result"]["status"],
        "working"
    );
    for _ in 0..2 {
        assert_eq!(
            of_task(&served, "tasks/cancel", id.clone(), &[ann])["result"],
            json!({"resultType": "complete"})
        );
    }
    assert_eq!(
        of_task(&served, "tasks/get", id, &[ann])["result"]["status"],
        "cancelled"
    );
}

#[test]
fn without_the_extension_work_is_waited_for_and_tasks_cannot_be_asked_about() {
    let served = Served::new();
    let answer = call(
        served.address,
        "slow_compute",
        json!({"seconds": 0.05}),
        &json!({}),
    )
    .json();
    assert_eq!(answer["result"]["resultType"], "complete");
    let mut reply = modern(served.address, "tasks/get", json!({"taskId": "x"}));
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (400, &json!(-32021))
    );
    let answer = call(
        served.address,
        "confirm_delete",
        json!({"filename": "x"}),
        &json!({"elicitation": {}}),
    )
    .json();
    assert_eq!(answer["error"]["code"], -32021);
}

#[test]
fn a_task_is_forgotten_when_its_time_is_over() {
    let mut setup = Setup::default();
    setup.config.limits.task_ttl = Duration::from_millis(600);
    let served = Served::with(setup);
    let id = start(&served, "protocol_error_job", &json!({}));
    let running = start(&served, "slow_compute", &json!({"seconds": 30}));
    assert_eq!(status(&served, &id)["ttlMs"], 600);
    wait_until("forgetting", WAIT, || {
        [&id, &running].iter().all(|id| {
            of_task(&served, "tasks/get", json!({"taskId": id}), &[])["error"]["code"] == -32602
        })
    });
    wait_until("the end of both", WAIT, || served.server.running() == 0);
}

#[test]
fn a_full_store_forgets_a_finished_task_first_and_then_refuses() {
    let mut setup = Setup::default();
    setup.config.limits.tasks = 2;
    let served = Served::with(setup);
    let finished = start(&served, "protocol_error_job", &json!({}));
    wait_until("the job", WAIT, || {
        status(&served, &finished)["status"] == "failed"
    });
    let slow = json!({"seconds": 30});
    start(&served, "slow_compute", &slow);
    start(&served, "slow_compute", &slow);
    assert_eq!(
        of_task(&served, "tasks/get", json!({"taskId": finished}), &[])["error"]["code"],
        -32602
    );
    let mut refused = call(served.address, "slow_compute", slow, &tasks());
    let status = refused.status;
    assert_eq!(status, 503, "{}", refused.text());
}

#[test]
fn a_listener_hears_of_the_tasks_it_named() {
    let served = Served::new();
    let id = start(&served, "confirm_delete", &json!({"filename": "x"}));
    wait_until("the question", WAIT, || {
        status(&served, &id)["status"] == "input_required"
    });
    let params =
        json!({"notifications": {"taskIds": [id, "made-up"]}, "_meta": envelope(&tasks())});
    let mut reply = modern(served.address, "subscriptions/listen", params);
    assert_eq!(
        reply.event().unwrap().1["params"]["notifications"],
        json!({"taskIds": [id]})
    );
    of_task(
        &served,
        "tasks/update",
        json!({"taskId": id, "inputResponses": {"confirm": {"action": "decline"}}}),
        &[],
    );
    loop {
        let (_, message) = reply.event().unwrap();
        assert_eq!(
            (&message["method"], &message["params"]["taskId"]),
            (&json!("notifications/tasks"), &json!(id))
        );
        if message["params"]["status"] == "completed" {
            break;
        }
    }
}
