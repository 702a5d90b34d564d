//! What every operation answers.

use mcpx_api::{Caller, Code, Op};
use serde_json::{Value, json};
use testkit::mcp::{Behaviour, Chaos};

use crate::front_setup::{Daemon, stdio};

pub(crate) async fn daemon() -> (Daemon, testkit::mcp::StdioChaos) {
    let tool = json!({"name": "say", "description": "Says a word.", "inputSchema":
        {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}});
    let chaos = Chaos::new()
        .tool_with(tool, Behaviour::Answer)
        .tool("fails", Behaviour::Failed("no luck"))
        .tool("big", Behaviour::Big(200_000))
        .resource("file:///a", "the text of a")
        .prompt("greet", "Hello!")
        .stdio();
    let mut entry = stdio(&chaos);
    entry["mcpx"] = json!({"profiles": ["odd"], "description": "Words"});
    entry["env"] = json!({"API_TOKEN": "sentinel-7d3f1"});
    let broken = json!({"command": "no-such-program-here"});
    (
        Daemon::of(json!({"words": entry, "broken": broken})).await,
        chaos,
    )
}

#[tokio::test]
async fn every_answer_fits_the_document_that_describes_it() {
    let (daemon, _chaos) = daemon().await;
    let called = daemon
        .checked(
            Op::Call,
            json!({"tool": "words.say", "args": {"word": "hi"}, "session": "s"}),
        )
        .await;
    assert_eq!(called["server"], "words");
    daemon
        .checked(
            Op::CallPath,
            json!({"server": "words", "tool": "say", "args": {"word": "x"}}),
        )
        .await;
    let batch = daemon
        .checked(Op::Batch, json!({"calls": [{"tool": "words.say"}, {"tool": "words.fails"}, {"tool": "words.say"}]}))
        .await;
    assert_eq!(batch["failed"], 1);
    let big = daemon.checked(Op::Call, json!({"tool": "words.big"})).await;
    let handle = big["result"]["_meta"]["dev.mcpx/result"]["handle"]
        .as_str()
        .expect("a handle");
    daemon
        .checked(Op::ResultRead, json!({"id": handle, "length": 100}))
        .await;
    daemon
        .checked(
            Op::ResourceRead,
            json!({"server": "words", "uri": "file:///a"}),
        )
        .await;
    daemon
        .checked(Op::PromptGet, json!({"server": "words", "name": "greet"}))
        .await;
    let begun = daemon
        .ask(
            Op::Call,
            json!({"tool": "words.say", "args": {}, "task": {}}),
        )
        .await
        .expect("a task");
    let id = begun["task"]["id"].as_str().expect("an id");
    daemon
        .checked(Op::TaskResult, json!({"id": id, "waitMs": 20_000}))
        .await;
    daemon.checked(Op::TaskGet, json!({"id": id})).await;
    let over = daemon
        .ask(Op::TaskCancel, json!({"id": id}))
        .await
        .expect_err("over");
    assert_eq!(over.code, Code::Conflict);
    for op in [
        Op::TasksList,
        Op::Health,
        Op::Status,
        Op::Protocol,
        Op::Resolve,
        Op::Namespaces,
        Op::Tools,
        Op::Catalog,
        Op::Client,
        Op::Globals,
        Op::History,
        Op::Resources,
        Op::ResourceTemplates,
        Op::Prompts,
        Op::ServersList,
        Op::SettingsList,
        Op::LogQuery,
        Op::StatsQuery,
        Op::Reload,
        Op::Openapi,
    ] {
        daemon.checked(op, json!({})).await;
    }
    let found = daemon.checked(Op::Search, json!({"q": "say"})).await;
    assert_eq!(found[0]["function"], "words.say");
    daemon
        .checked(Op::Types, json!({"ns": ["words.say"]}))
        .await;
    for format in ["json-schema", "openapi", "typescript", "mcp"] {
        let schema = daemon
            .checked(Op::Schema, json!({"format": format, "ns": ["words"]}))
            .await;
        assert_eq!(schema.is_string(), format == "typescript", "{format}");
    }
    for by in [
        "calls",
        "servers",
        "instances",
        "errors",
        "sessions",
        "volume",
        "slowest",
    ] {
        daemon
            .checked(Op::StatsQuery, json!({"by": by, "since": "1h"}))
            .await;
    }
    daemon
        .checked(
            Op::LogRecord,
            json!({"msg": "done", "attributes": {"a": [1]}}),
        )
        .await;
    daemon
        .checked(Op::SettingsGet, json!({"path": "pool.callTimeout"}))
        .await;
    daemon
        .checked(
            Op::SettingsSet,
            json!({"path": "logging.level", "value": "debug"}),
        )
        .await;
    daemon
        .checked(Op::SettingsUnset, json!({"path": "logging.level"}))
        .await;
    daemon
        .checked(Op::SessionRelease, json!({"session": "s"}))
        .await;
    daemon
        .checked(Op::Refresh, json!({"server": "words"}))
        .await;
    daemon
        .checked(Op::Restart, json!({"server": "words", "lazy": true}))
        .await;
    daemon
        .checked(
            Op::ToolInvoke,
            json!({"tool": "mcpx_status", "arguments": {}}),
        )
        .await;
    let page = daemon.checked(Op::LogQuery, json!({})).await;
    let trace = called["traceId"].as_str().expect("a span");
    let chain = daemon.checked(Op::LogQuery, json!({"chain": trace})).await;
    let depths: Vec<u64> = chain["chain"]
        .as_array()
        .expect("links")
        .iter()
        .filter(|link| link["trace"] == trace || link["depth"] == 0)
        .filter_map(|link| link["depth"].as_u64())
        .collect();
    assert_eq!(
        depths,
        [0, 2],
        "the daemon, the instance, the call: {chain:#}"
    );
    assert!(!page.to_string().contains("sentinel-7d3f1"));
    assert!(
        !daemon
            .checked(Op::ServersList, json!({}))
            .await
            .to_string()
            .contains("sentinel-7d3f1")
    );
}

#[tokio::test]
async fn the_document_has_a_path_for_each_tool_and_asks_no_server_for_it() {
    let (daemon, chaos) = daemon().await;
    let document = daemon
        .ask(Op::Openapi, json!({}))
        .await
        .expect("a document");
    assert!(document["paths"].get("/v1/call/words/say").is_none());
    assert!(chaos.received().methods().is_empty(), "not started");
    daemon
        .ask(Op::Call, json!({"tool": "words.say"}))
        .await
        .expect("an answer");
    let document = daemon
        .ask(Op::Openapi, json!({}))
        .await
        .expect("a document");
    let post = &document["paths"]["/v1/call/words/say"]["post"];
    assert_eq!(
        post.pointer("/requestBody/content/application~1json/schema/$ref"),
        Some(&json!("#/components/schemas/words.say"))
    );
    assert_eq!(
        document["components"]["schemas"]["words.say"]["required"],
        json!(["word"])
    );
}

#[tokio::test]
async fn an_unknown_profile_is_named_with_those_there_are() {
    let (daemon, _chaos) = daemon().await;
    for op in [Op::Namespaces, Op::Tools, Op::Catalog, Op::Resources] {
        let error = daemon
            .ask(op, json!({"profile": ["od"]}))
            .await
            .expect_err("refused");
        assert_eq!(error.code, Code::BadRequest);
        assert!(
            error
                .hint
                .as_deref()
                .is_some_and(|hint| hint.contains("`odd`")),
            "{error:?}"
        );
    }
    let rows = daemon
        .ask(
            Op::Namespaces,
            json!({"profile": ["odd"], "skipDefault": true}),
        )
        .await
        .expect("rows");
    let names: Vec<&Value> = rows
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| &row["server"])
        .collect();
    assert_eq!(names, ["words"]);
}

/// The daemon's record, which only its owner can read.
pub(crate) fn record(daemon: &Daemon) -> Value {
    let files = std::fs::read_dir(daemon.home().join("state")).expect("a folder");
    let file = files
        .flatten()
        .map(|entry| entry.path())
        .find(|path| {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            name.starts_with("daemon-") && name.ends_with(".json")
        })
        .expect("a record");
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata().expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    serde_json::from_slice(&std::fs::read(file).expect("text")).expect("JSON")
}

#[tokio::test]
async fn over_tcp_only_this_machine_with_the_token_is_answered_and_no_page_of_the_web() {
    use mcpx_api::client::{ClientError, Endpoint};
    use mcpx_api::{Client, operation};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let (daemon, _chaos) = daemon().await;
    // It answers from then on when its record is written.
    daemon.checked(Op::Health, json!({})).await;
    let record = record(&daemon);
    let endpoint = record["endpoint"].as_str().expect("an endpoint");
    let address = endpoint
        .strip_prefix("http://")
        .expect("an address")
        .to_owned();
    let token = record["token"].as_str().expect("a token").to_owned();
    let ask = async |token: Option<&str>| {
        let endpoint = Endpoint::Tcp {
            address: address.clone(),
            token: token.map(str::to_owned),
        };
        let client = Client::new(
            endpoint,
            Caller::default(),
            std::time::Duration::from_secs(20),
        );
        client
            .send(operation(Op::Health), &mcp_wire::Object::new())
            .await
    };
    assert!(ask(Some(&token)).await.is_ok());
    for wrong in [None, Some("x"), Some("")] {
        let Err(ClientError::Api(error)) = ask(wrong).await else {
            panic!("{wrong:?} was let in")
        };
        assert_eq!(error.code, Code::Unauthorized);
        assert!(!error.message.contains(&token));
    }
    // A name that leads to this machine, and a page that knows the token.
    let cases = [
        ("evil.example", None, "403"),
        (address.as_str(), Some("https://evil.example"), "403"),
        (address.as_str(), Some("null"), "403"),
        (address.as_str(), Some("http://localhost:3000"), "200"),
    ];
    for (host, origin, status) in cases {
        let mut stream = tokio::net::TcpStream::connect(&address)
            .await
            .expect("a daemon");
        let origin = origin.map_or_else(String::new, |origin| format!("origin: {origin}\r\n"));
        let request = format!(
            "GET /v1/health HTTP/1.1\r\nhost: {host}\r\n{origin}authorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut head = [0_u8; 12];
        stream.read_exact(&mut head).await.expect("a head");
        assert_eq!(
            String::from_utf8_lossy(&head[9..]),
            status,
            "{host} {origin}"
        );
    }
}
