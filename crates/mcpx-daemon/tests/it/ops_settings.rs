//! Every setting of the daemon keeps what its row says: a hot one counts as soon as it is set, a cold one says that it
//! waits for the next start.

use std::path::Path;
use std::time::Duration;

use futures::StreamExt as _;
use mcp_client::{CallOptions, Connection};
use mcp_wire::{Era, Outcome, Raw, method};
use mcpx_api::{Code, Op};
use mcpx_config::settings::registry::{SETTINGS, SettingScope};
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos, Question, StdioChaos};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::front_setup::{Daemon, Person, object, stdio};

/// The settings of the daemon with this switch.
fn paths(is_hot: bool) -> Vec<&'static str> {
    SETTINGS
        .iter()
        .filter(|setting| setting.scope == SettingScope::Daemon && setting.hot == is_hot)
        .map(|setting| setting.path)
        .collect()
}

#[tokio::test]
async fn a_setting_that_is_read_once_says_so_and_stays_as_it_is() {
    let daemon = Daemon::of(json!({})).await;
    for path in paths(false) {
        let before = daemon.checked(Op::SettingsGet, json!({"path": path})).await;
        let value = match before["kind"].as_str() {
            Some("bool") => json!(before["value"] != true),
            Some("int") => json!(7),
            Some("duration") => json!("7s"),
            Some("bytes") => json!("7KiB"),
            Some("list") => json!("https://example.com"),
            _ => json!("7"),
        };
        let answer = daemon
            .checked(Op::SettingsSet, json!({"path": path, "value": value}))
            .await;
        let told = (&answer["applied"], &answer["restartRequired"]);
        assert_eq!(told, (&json!(false), &json!(true)), "{path}");
        assert_eq!(answer["value"], before["value"], "{path}");
    }
}

struct Bench {
    daemon: Daemon,
    chaos: StdioChaos,
    _asks: StdioChaos,
}

impl Bench {
    async fn new() -> Self {
        let second = Duration::from_secs(1);
        let chaos = Chaos::new()
            .modern()
            .tool("quick", Behaviour::Answer)
            .tool("never", Behaviour::Never)
            .tool("big", Behaviour::Big(100_000))
            .tool("slow", [Behaviour::Delay(second * 20), Behaviour::Answer])
            .stdio();
        let server = |mcpx: Value| {
            let mut entry = stdio(&chaos);
            entry["mcpx"] = mcpx;
            entry
        };
        let mut own = server(json!({"scope": "call"}));
        own["env"] = json!({"OTHER": "1"});
        let asks = Chaos::new()
            .legacy()
            .tool(
                "ask",
                [
                    Behaviour::Ask("k", Question::confirm("?")),
                    Behaviour::Answer,
                ],
            )
            .resource("file:///a", "text")
            .stdio();
        let servers = json!({"words": server(json!({})), "own": own, "asks": stdio(&asks)});
        let daemon = Daemon::of(servers).await;
        let is_read = |server: &Value| server["tools"].is_u64();
        let all = |status: &Value| status["servers"].as_array().unwrap().iter().all(is_read);
        daemon.until(Op::Status, json!({}), all).await;
        Self {
            daemon,
            chaos,
            _asks: asks,
        }
    }

    async fn set(&self, path: &str, value: Value) {
        let answer = self
            .daemon
            .checked(Op::SettingsSet, json!({"path": path, "value": value}))
            .await;
        let told = (&answer["applied"], &answer["restartRequired"]);
        assert_eq!(told, (&json!(true), &json!(false)), "{path}");
        assert_eq!(answer["source"], "runtime", "{path}");
    }

    async fn call(&self, tool: &str) -> Result<Value, mcpx_api::ApiError> {
        self.daemon.ask(Op::Call, json!({"tool": tool})).await
    }

    async fn code(&self, tool: &str) -> Code {
        match self.call(tool).await {
            Ok(answer) => panic!("{answer:#}"),
            Err(error) => error.code,
        }
    }

    async fn server(&self, name: &str) -> Value {
        let status = self.daemon.ask(Op::Status, json!({"server": name})).await;
        status.unwrap()["servers"][0].clone()
    }

    async fn until_instances(&self, name: &str, count: usize) {
        let are = |status: &Value| status["servers"][0]["instances"].as_array().unwrap().len();
        let server = json!({"server": name});
        let is_so = |status: &Value| are(status) == count;
        self.daemon.until(Op::Status, server, is_so).await;
    }

    async fn modern(&self, server: &str) -> Connection {
        let query = format!("?passthrough={server}");
        self.daemon.client(&query, Era::Modern, None).await
    }

    /// A call that became a task, as its client is told.
    async fn task(&self, client: &Connection) -> Value {
        let params = object(&json!({"name": "slow", "arguments": {}}));
        let options = CallOptions::default();
        let outcome = client.request(method::TOOLS_CALL, params, &options).await;
        match outcome.unwrap() {
            Outcome::Task(task) => {
                serde_json::from_str(Raw::from(task.raw().clone()).as_str()).unwrap()
            }
            other => panic!("{other:?}"),
        }
    }

    /// What comes on a bare connection after these bytes, until it says `wanted` or is closed.
    async fn bare(&self, sent: &str, wanted: &str) -> String {
        let mut stream = tokio::net::UnixStream::connect(&self.daemon.socket)
            .await
            .unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut text = String::new();
        let mut buffer = [0; 1_024];
        let reading = async {
            while !text.contains(wanted) {
                match stream.read(&mut buffer).await {
                    Ok(0) | Err(_) => return,
                    Ok(count) => text += &String::from_utf8_lossy(&buffer[..count]),
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), reading)
            .await
            .expect("it comes or is closed in time");
        text
    }
}

async fn until(what: &str, is_it: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while !is_it() {
        assert!(tokio::time::Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Whether a file below this folder, whose name begins so, holds the text.
fn holds(folder: &Path, name: &str, text: &str) -> bool {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .filter(|file| file.file_name().to_string_lossy().starts_with(name))
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .any(|content| content.contains(text))
}

const EVENTS: &str = "GET /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Sets one and looks whether it counts.
async fn try_out(path: &'static str) {
    let bench = Bench::new().await;
    let state = bench.daemon.home().join("state");
    match path {
        "daemon.idleExit" => {
            bench.set("pool.idleTimeout", json!("100ms")).await;
            bench.set("daemon.reapInterval", json!("1s")).await;
            bench.set(path, json!("1s")).await;
            until("the end", || !bench.daemon.socket.exists()).await;
        }
        "daemon.leaseTTL" => {
            bench.call("words.quick").await.unwrap();
            bench.set("pool.scope", json!("session")).await;
            let caller = mcpx_api::Caller {
                session: Some("s".to_owned()),
                ..mcpx_api::Caller::default()
            };
            let call = json!({"tool": "words.quick"});
            bench.daemon.ask_as(caller, Op::Call, call).await.unwrap();
            bench.until_instances("words", 1).await;
            bench.set(path, json!("1s")).await;
            bench.set("daemon.reapInterval", json!("1s")).await;
            bench.until_instances("words", 0).await;
        }
        "daemon.reapInterval" | "pool.idleTimeout" => {
            bench.call("words.quick").await.unwrap();
            bench.until_instances("words", 1).await;
            bench.set("pool.idleTimeout", json!("100ms")).await;
            bench.set("daemon.reapInterval", json!("1s")).await;
            bench.until_instances("words", 0).await;
        }
        "daemon.refreshTimeout" => {
            bench.set(path, json!("1ms")).await;
            let refused = bench.daemon.ask(Op::Refresh, json!({})).await.unwrap_err();
            assert_eq!(refused.code, Code::Timeout);
        }
        "daemon.saveInterval" => {
            bench.call("words.quick").await.unwrap();
            assert!(!holds(&state, "schemas-", "quick"));
            bench.set(path, json!("1s")).await;
            until("the file", || holds(&state, "schemas-", "quick")).await;
        }
        "daemon.watchConfig" => {
            bench.set(path, json!(false)).await;
            bench.daemon.rewrite(&json!({}));
            let status = bench.daemon.ask(Op::Status, json!({})).await.unwrap();
            assert_eq!(status["servers"].as_array().unwrap().len(), 3);
            bench.set(path, json!(true)).await;
            let gone = |status: &Value| status["servers"] == json!([]);
            bench.daemon.until(Op::Status, json!({}), gone).await;
        }
        "http.bodyLimit" => {
            bench.set(path, json!("30")).await;
            let value = json!({"path": "search.limit", "value": "1".repeat(100)});
            let refused = bench.daemon.ask(Op::SettingsSet, value).await.unwrap_err();
            assert_eq!(refused.code, Code::TooLarge, "{refused}");
        }
        "http.callBodyLimit" => {
            let client = bench.modern("words").await;
            let big = object(&json!({"name": "quick", "arguments": {"text": "x".repeat(5_000)}}));
            let options = CallOptions::default();
            let called = client
                .request(method::TOOLS_CALL, big.clone(), &options)
                .await;
            assert!(called.is_ok(), "{called:?}");
            bench.set(path, json!("4KiB")).await;
            let refused = client
                .request(method::TOOLS_CALL, big.clone(), &options)
                .await;
            assert!(refused.is_err(), "over MCP: {refused:?}");
            let call = json!({"tool": "words.quick", "args": {"text": "x".repeat(5_000)}});
            let refused = bench.daemon.ask(Op::Call, call).await.unwrap_err();
            assert_eq!(refused.code, Code::TooLarge);
            bench.set(path, json!("1MiB")).await;
            let called = client.request(method::TOOLS_CALL, big, &options).await;
            assert!(called.is_ok(), "{called:?}");
        }
        "http.readHeaderTimeout" => {
            bench.set(path, json!("1s")).await;
            let began = tokio::time::Instant::now();
            bench.bare("GET /v1/health HTTP/1.1\r\n", "never").await;
            assert!(began.elapsed() < Duration::from_secs(8));
        }
        "http.shutdownGrace" => {
            let task = json!({"tool": "words.slow", "task": {}});
            bench.daemon.ask(Op::Call, task).await.unwrap();
            until("the call", || {
                !bench.chaos.received().of_method("tools/call").is_empty()
            })
            .await;
            bench.set(path, json!("10ms")).await;
            let began = tokio::time::Instant::now();
            bench.daemon.ask(Op::Shutdown, json!({})).await.unwrap();
            until("the end", || !bench.daemon.socket.exists()).await;
            assert!(
                began.elapsed() < Duration::from_secs(5),
                "{:?}",
                began.elapsed()
            );
        }
        "http.ssePing" => {
            bench.set(path, json!("50ms")).await;
            let text = bench.bare(EVENTS, "\n:").await;
            assert!(text.contains("\n:"), "{text}");
        }
        "http.sseRetry" => {
            bench.set(path, json!("77s")).await;
            let text = bench.bare(EVENTS, "retry: 77000").await;
            assert!(text.contains("retry: 77000"), "{text}");
        }
        "logging.level" => {
            let calls = json!({"event": "mcp.call"});
            bench.set(path, json!("error")).await;
            bench.call("words.quick").await.unwrap();
            bench.set(path, json!("info")).await;
            bench.call("own.quick").await.unwrap();
            let is_there = |all: &Value| all["records"] != json!([]);
            let all = bench.daemon.until(Op::LogQuery, calls, is_there).await;
            let records = all["records"].as_array().unwrap();
            assert_eq!(records.len(), 1, "{all:#}");
            assert_eq!(records[0]["server"], "own");
        }
        "logging.include" => {
            bench.set(path, json!("version")).await;
            bench.daemon.ask(Op::Shutdown, json!({})).await.unwrap();
            until("the end", || !bench.daemon.socket.exists()).await;
            let logs = state.join("logs");
            let line = |event: &str| {
                let files = std::fs::read_dir(&logs).unwrap().flatten();
                let text: String = files
                    .filter_map(|file| std::fs::read_to_string(file.path()).ok())
                    .collect();
                text.lines()
                    .find(|line| line.contains(event))
                    .map(str::to_owned)
            };
            until("the record", || line("daemon.stop").is_some()).await;
            let (start, stop) = (line("daemon.start").unwrap(), line("daemon.stop").unwrap());
            assert!(start.contains("\"host\""), "{start}");
            assert!(
                stop.contains("\"version\"") && !stop.contains("\"host\""),
                "{stop}"
            );
        }
        "pool.callTimeout" => {
            bench.set(path, json!("100ms")).await;
            assert_eq!(bench.code("words.never").await, Code::Timeout);
        }
        "pool.globalMax" => {
            let holds = json!({"tool": "words.slow", "task": {}});
            bench.daemon.ask(Op::Call, holds).await.unwrap();
            until("the call", || {
                !bench.chaos.received().of_method("tools/call").is_empty()
            })
            .await;
            bench.set(path, json!(1)).await;
            bench.set("pool.queueTimeout", json!("100ms")).await;
            assert_eq!(bench.code("own.quick").await, Code::Exhausted);
        }
        "pool.queueTimeout" => {
            bench.set("pool.sharing", json!("exclusive")).await;
            bench.set(path, json!("100ms")).await;
            let holds = json!({"tool": "words.slow", "task": {}});
            bench.daemon.ask(Op::Call, holds).await.unwrap();
            until("the call", || {
                !bench.chaos.received().of_method("tools/call").is_empty()
            })
            .await;
            assert_eq!(bench.code("words.quick").await, Code::Exhausted);
        }
        "pool.max" => {
            bench.set(path, json!(9)).await;
            assert_eq!(bench.server("own").await["max"], 9);
        }
        "pool.min" => {
            bench.set(path, json!(1)).await;
            bench.set("daemon.reapInterval", json!("1s")).await;
            bench.until_instances("words", 1).await;
        }
        "pool.scope" | "pool.sharing" => {
            let value = if path == "pool.scope" {
                "cwd"
            } else {
                "exclusive"
            };
            bench.set(path, json!(value)).await;
            let server = bench.server("words").await;
            assert_eq!(server[path.trim_start_matches("pool.")], value);
        }
        "pool.startTimeout" => {
            bench.set(path, json!("1ms")).await;
            let refused = bench.call("own.quick").await.unwrap_err();
            assert!(refused.message.contains("within 0.001 s"), "{refused}");
        }
        "proto.askTTL" => {
            assert!(a_late_answer_counts(&bench).await);
            bench.set(path, json!("1ms")).await;
            assert!(!a_late_answer_counts(&bench).await);
        }
        "protoMessages.listMaxAge" => {
            let client = bench.modern("words").await;
            bench.set(path, json!("77s")).await;
            assert_eq!(ttl(&client, method::TOOLS_LIST, &json!({})).await, 77_000);
        }
        "protoMessages.readMaxAge" => {
            let client = bench.modern("asks").await;
            bench.set(path, json!("77s")).await;
            let uri = json!({"uri": "file:///a"});
            assert_eq!(ttl(&client, method::RESOURCES_READ, &uri).await, 77_000);
        }
        "protoMessages.taskAfter" | "protoTasks.pollInterval" | "tasks.ttl" => {
            let client = bench.modern("words").await;
            bench.set("protoMessages.taskAfter", json!("10ms")).await;
            bench.set("protoTasks.pollInterval", json!("77s")).await;
            // More than when the client came.
            bench.set("tasks.ttl", json!("77m")).await;
            let task = bench.task(&client).await;
            assert_eq!(task["pollIntervalMs"], 77_000, "{task:#}");
            assert_eq!(task["ttlMs"], 77 * 60_000, "{task:#}");
            let task = json!({"tool": "words.slow", "task": {}});
            let begun = bench.daemon.ask(Op::Call, task).await.unwrap();
            assert_eq!(begun["task"]["ttlMs"], 77 * 60_000);
        }
        "results.keep" => {
            let answer = bench.call("words.big").await.unwrap();
            let id = &answer["result"]["_meta"]["dev.mcpx/result"]["handle"];
            let id = json!({"id": id, "length": 10});
            bench.daemon.ask(Op::ResultRead, id.clone()).await.unwrap();
            bench.set(path, json!("0s")).await;
            bench.set("daemon.reapInterval", json!("1s")).await;
            let folder = state.join("results");
            until("the sweep", || {
                std::fs::read_dir(&folder).unwrap().count() == 0
            })
            .await;
        }
        "results.quota" => {
            bench.set(path, json!("10")).await;
            let answer = bench.call("words.big").await.unwrap();
            assert!(answer["result"]["_meta"]["dev.mcpx/result"].is_null());
        }
        "upstream.protocol" => {
            bench.set(path, json!("force-initialize")).await;
            let spoken = bench.daemon.ask(Op::Protocol, json!({})).await.unwrap();
            assert_eq!(spoken["servers"][0]["first"], "force-initialize");
            bench
                .call("words.quick")
                .await
                .expect_err("it is modern alone");
        }
        _ => panic!("`{path}` is hot, and nothing here sees whether that is true"),
    }
}

async fn ttl(client: &Connection, method: &'static str, params: &Value) -> u64 {
    let options = CallOptions::default();
    let outcome = client.request(method, object(params), &options).await;
    match outcome.unwrap() {
        Outcome::Complete(result) => result.get("ttlMs").unwrap().read().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// A client takes its time for a question: whether its answer still finds the call.
async fn a_late_answer_counts(bench: &Bench) -> bool {
    let person = Person::who(Vec::new());
    let query = "?passthrough=asks";
    let client = bench.daemon.client(query, Era::Modern, Some(person)).await;
    let options = CallOptions {
        hand_back: true,
        without_tasks: true,
        ..CallOptions::default()
    };
    let mut params = object(&json!({"name": "ask", "arguments": {}}));
    let asked = client
        .request(method::TOOLS_CALL, params.clone(), &options)
        .await;
    let Ok(Outcome::InputRequired(round)) = asked else {
        panic!("{asked:?}");
    };
    tokio::time::sleep(Duration::from_millis(50)).await;
    let answers: serde_json::Map<String, Value> = round
        .questions
        .iter()
        .map(|(key, _)| {
            (
                key.clone(),
                json!({"action": "accept", "content": {"ok": true}}),
            )
        })
        .collect();
    params.append(object(&json!({"inputResponses": answers})));
    params.set("requestState", round.state.expect("a state"));
    let answered = client.request(method::TOOLS_CALL, params, &options).await;
    answered.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setting_that_is_hot_counts_as_soon_as_it_is_set() {
    // Each has a daemon of its own, and most of the time they wait.
    let all = futures::stream::iter(paths(true)).map(|path| async move {
        let tried = tokio::spawn(try_out(path)).await;
        tried.err().map(|error| format!("{path}: {error}"))
    });
    let wrong: Vec<Option<String>> = all.buffer_unordered(6).collect().await;
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
