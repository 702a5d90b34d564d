//! Servers that offer less than everything.

use std::sync::Arc;

use async_trait::async_trait;
use mcp_server::{
    Config, Context, Incoming, Notifier, Offer, Reply, Sealer, Server, Service, TaskWork,
};
use mcp_wire::{Era, Implementation, Object, Raw, Revision, RpcError, ServerCapabilities};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::Notify;

use crate::wire::{WAIT, envelope};

struct Small {
    offer: Arc<Offer>,
    cancelled: Arc<Notify>,
}

#[async_trait]
impl Service for Small {
    fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer)
    }

    async fn task_state(&self, id: &str, _context: &Context) -> Option<Object> {
        (id == "own").then(|| Object::new().with("taskId", id).with("status", "working"))
    }

    async fn handle(&self, incoming: Incoming, _context: Context) -> Result<Reply, RpcError> {
        match incoming.method.as_str() {
            "tools/call" => {
                let cancelled = Arc::clone(&self.cancelled);
                Ok(Reply::Task(TaskWork::new(move |task| async move {
                    task.cancelled().cancelled().await;
                    cancelled.notify_one();
                    Err(RpcError::new(1, "cancelled"))
                })))
            }
            "tools/list" => Ok(Reply::complete(Object::new())),
            "tasks/get" => Ok(Reply::complete(
                Object::new()
                    .with("resultType", "task")
                    .with("taskId", "own"),
            )),
            other => Err(RpcError::method_not_found(other)),
        }
    }
}

/// What a server of these capabilities and revisions answers to these lines.
async fn talk(
    change: impl FnOnce(&mut Offer, &mut Config),
    lines: &[Value],
) -> (Vec<Value>, Arc<Notify>) {
    let tools = Raw::parse(r#"{"tools":{}}"#).unwrap().object().unwrap();
    let mut offer = Offer::new(
        Implementation::new("small", "1"),
        ServerCapabilities::from(tools),
    );
    let mut config = Config::new(|| jiff::Timestamp::UNIX_EPOCH);
    change(&mut offer, &mut config);
    let cancelled = Arc::new(Notify::new());
    let service = Arc::new(Small {
        offer: Arc::new(offer),
        cancelled: Arc::clone(&cancelled),
    });
    let server = Server::new(
        service,
        Notifier::new(),
        Arc::new(Sealer::random().unwrap()),
        config,
    );
    let (mut input, their_input) = tokio::io::duplex(1 << 16);
    let (their_output, output) = tokio::io::duplex(1 << 16);
    let serving =
        tokio::spawn(
            async move { mcp_server::stdio::serve(&server, their_input, their_output).await },
        );
    let mut output = BufReader::new(output).lines();
    let mut answers = Vec::new();
    for line in lines {
        input
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
        let line = tokio::time::timeout(WAIT, output.next_line())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        answers.push(serde_json::from_str(&line).unwrap());
    }
    drop(input);
    tokio::time::timeout(WAIT, serving)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    (answers, cancelled)
}

fn modern(method: &str, more: &Value) -> Value {
    let mut params =
        json!({"_meta": envelope(&json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}))});
    params
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn initialize(revision: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": revision}})
}

#[tokio::test]
async fn what_is_not_offered_is_not_found() {
    let methods = [
        "prompts/list",
        "resources/list",
        "resources/read",
        "completion/complete",
        "tasks/get",
    ];
    let lines: Vec<_> = methods
        .iter()
        .map(|method| modern(method, &json!({})))
        .collect();
    for answer in talk(|_, _| {}, &lines).await.0 {
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
    let legacy = [
        "logging/setLevel",
        "resources/subscribe",
        "tasks/list",
        "prompts/get",
    ];
    let mut lines = vec![initialize("2025-11-25")];
    lines.extend(legacy.map(|method| json!({"jsonrpc": "2.0", "id": 1, "method": method})));
    let (answers, _) = talk(|_, _| {}, &lines).await;
    assert_eq!(answers[0]["result"]["capabilities"], json!({"tools": {}}));
    for answer in &answers[1..] {
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
}

#[tokio::test]
async fn a_server_of_one_era_says_so() {
    let only = |era: Era| {
        move |offer: &mut Offer, _: &mut Config| {
            offer.revisions.retain(|revision| revision.era() == era);
        }
    };
    let lines = [
        modern("server/discover", &json!({})),
        modern("tools/list", &json!({})),
        initialize("2026-07-28"),
    ];
    let (answers, _) = talk(only(Era::Legacy), &lines).await;
    let legacy = json!(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
    assert_eq!(answers[0]["result"]["supportedVersions"], legacy);
    assert_eq!(answers[1]["error"]["data"]["supported"], legacy);
    assert_eq!(
        answers[2]["result"]["protocolVersion"],
        Revision::NEWEST_LEGACY.as_str()
    );
    let (answers, _) = talk(only(Era::Modern), &lines).await;
    assert_eq!(
        answers[0]["result"]["supportedVersions"],
        json!(["2026-07-28"])
    );
    assert!(answers[1]["result"].is_object());
    assert_eq!(answers[2]["error"]["code"], -32022);
}

fn with_tasks(offer: &mut Offer) {
    let capabilities = r#"{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    offer.capabilities = Raw::parse(capabilities).unwrap().object().unwrap().into();
}

#[tokio::test]
async fn work_that_outlives_its_task_is_cancelled() {
    let change = |offer: &mut Offer, config: &mut Config| {
        with_tasks(offer);
        config.limits.task_ttl = std::time::Duration::from_millis(50);
    };
    let (answers, cancelled) = talk(change, &[modern("tools/call", &json!({"name": "x"}))]).await;
    assert_eq!(answers[0]["result"]["resultType"], "task");
    tokio::time::timeout(WAIT, cancelled.notified())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_service_that_keeps_its_own_tasks_is_asked_about_them() {
    let change = |offer: &mut Offer, _: &mut Config| {
        with_tasks(offer);
        offer.keeps_tasks = true;
    };
    let (answers, _) = talk(change, &[modern("tasks/get", &json!({"taskId": "own"}))]).await;
    assert_eq!(answers[0]["result"]["resultType"], "task");
    assert_eq!(answers[0]["result"]["taskId"], "own");
    let wanted = json!({"notifications": {"taskIds": ["own", "of somebody else"]}});
    let (answers, _) = talk(change, &[modern("subscriptions/listen", &wanted)]).await;
    let accepted = &answers[0]["params"]["notifications"];
    assert_eq!(accepted, &json!({"taskIds": ["own"]}));
}
