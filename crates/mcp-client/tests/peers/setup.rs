//! What the tests share: what a peer is expected to do, and one way through all of it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use child_process::{Env, Program};
use mcp_client::call::Progress;
use mcp_client::server::HttpReach;
use mcp_client::{
    Abilities, Ask, Asked, CallOptions, Cause, Connection, FailureKind, Reach, ServerSpec, Verdict,
    connect,
};
use mcp_wire::{Answer, Era, Implementation, Object, Raw};
use testkit::mcp::CommandLine;

/// Set for each server that a test starts, so that what is left of it can be found.
const MARK: &str = "MCP_CLIENT_TEST_MARK";

pub(crate) fn object(text: &str) -> Object {
    Raw::parse(text).unwrap().object().unwrap()
}

/// A program that Cargo built as an example, beside the tests.
pub(crate) fn example(name: &str) -> CommandLine {
    let this = std::env::current_exe().unwrap();
    let target = this.parent().and_then(|deps| deps.parent()).unwrap();
    let example = target.join("examples").join(name);
    assert!(
        example.exists(),
        "{} is missing: cargo build -p mcp-client -p mcp-server --examples",
        example.display()
    );
    CommandLine::new(example.to_str().unwrap(), &[])
}

/// A server over its standard streams. A quiet start is a slow one here: many start at once.
pub(crate) fn program(line: &CommandLine, mark: &str) -> ServerSpec {
    let env = Env::allowlisted(&std::env::vars_os().collect()).set(MARK, mark);
    let program = Program::new(PathBuf::from(&line.program))
        .args(&line.args)
        .env(env);
    patient(ServerSpec::new(
        mark,
        Reach::Stdio(program),
        Implementation::new("test", "1"),
    ))
}

pub(crate) fn url(url: &str) -> ServerSpec {
    let reach = HttpReach {
        url: url.parse().unwrap(),
        unix_socket: None,
        headers: Vec::new(),
        authorizer: None,
    };
    patient(ServerSpec::new(
        "http",
        Reach::Http(reach),
        Implementation::new("test", "1"),
    ))
}

fn patient(mut spec: ServerSpec) -> ServerSpec {
    spec.timeouts.start = Duration::from_secs(120);
    spec.timeouts.probe = Duration::from_secs(60);
    spec
}

/// As if an earlier connection had found a legacy server.
pub(crate) fn legacy(mut spec: ServerSpec) -> ServerSpec {
    spec.remembered = Some(Verdict {
        era: Era::Legacy,
        old_sse: false,
    });
    spec
}

/// The processes that carry a mark and are not over.
pub(crate) fn processes(mark: &str) -> Vec<String> {
    let entry = format!("{MARK}={mark}\0");
    let carries = |folder: &PathBuf| {
        std::fs::read(folder.join("environ")).is_ok_and(|bytes| {
            bytes
                .windows(entry.len())
                .any(|part| part == entry.as_bytes())
        })
    };
    let folders = std::fs::read_dir("/proc").unwrap().flatten();
    let folders = folders.map(|folder| folder.path()).filter(carries);
    folders.map(|folder| folder.display().to_string()).collect()
}

/// Accepts every form, and keeps what it was asked.
#[derive(Default)]
pub(crate) struct Person {
    pub(crate) asked: Mutex<Vec<Asked>>,
}

#[async_trait]
impl Ask for Person {
    fn abilities(&self) -> Abilities {
        Abilities {
            forms: true,
            urls: true,
            sampling: false,
            roots: false,
        }
    }

    async fn ask(&self, asked: Asked, _deadline: Duration) -> Answer {
        self.asked.lock().unwrap().push(asked);
        Answer::Accept(Some(Raw::parse(r#"{"ok":true}"#).unwrap()))
    }
}

/// A call and a part of the text that answers it, white space left out.
pub(crate) type Call = (&'static str, String, &'static str);

pub(crate) fn call(tool: &'static str, arguments: &str, says: &'static str) -> Call {
    (tool, arguments.to_owned(), says)
}

/// The calls that each server on an SDK answers, as `testkit::peers::mcp::Server` lists them.
pub(crate) fn sdk_calls() -> Vec<Call> {
    vec![
        call("echo", r#"{"text":"h\u00e9 \ud83d\ude00"}"#, "hé😀"),
        call("add", r#"{"a":2,"b":3}"#, "5"),
        call("big", r#"{"bytes":100000}"#, "xxxxxxxxxx"),
    ]
}

/// Lists, calls, and sees progress.
pub(crate) async fn look(connection: &Connection, era: Era, calls: &[Call], slow: Option<Call>) {
    let name = connection.label().name;
    assert_eq!(connection.era(), era, "{name}");
    let listed = connection.tools(&CallOptions::default()).await.unwrap();
    assert!(
        listed.set_aside.is_empty() && listed.cut.is_none(),
        "{name}: {listed:?}"
    );
    for (tool, arguments, says) in calls {
        assert!(
            listed.elements.iter().any(|one| one.name == *tool),
            "{name}: {listed:?}"
        );
        let result = connection
            .call_tool(tool, object(arguments), &CallOptions::default())
            .await;
        let result = result.unwrap_or_else(|failure| panic!("{failure}"));
        let text = result.joined_text().replace(char::is_whitespace, "");
        assert!(
            text.contains(says) && !result.is_error,
            "{name}: {tool}: {}",
            result.joined_text()
        );
    }
    let Some((tool, arguments, says)) = slow else {
        return;
    };
    let seen: Arc<Mutex<Vec<f64>>> = Arc::default();
    let keep = Arc::clone(&seen);
    let told = move |progress: Progress| keep.lock().unwrap().push(progress.progress);
    let options = CallOptions {
        on_progress: Some(Arc::new(told)),
        ..CallOptions::default()
    };
    let result = connection
        .call_tool(tool, object(&arguments), &options)
        .await
        .unwrap();
    assert!(
        result.joined_text().contains(says),
        "{name}: {}",
        result.joined_text()
    );
    assert_eq!(*seen.lock().unwrap(), [1.0, 2.0, 3.0], "{name}");
}

/// Lets a server ask: the person is asked once, and the server is told what was answered.
pub(crate) async fn asks(connection: &Connection, person: &Person) {
    let name = connection.label().name;
    let question = object(r#"{"question":"sure?"}"#);
    let result = connection
        .call_tool("ask", question, &CallOptions::default())
        .await
        .unwrap();
    let text = result.joined_text().replace(char::is_whitespace, "");
    assert_eq!(
        text, r#"{"action":"accept","content":{"ok":true}}"#,
        "{name}"
    );
    let asked = person.asked.lock().unwrap();
    assert_eq!(asked.len(), 1, "{name}");
    assert!(
        format!("{:?}", asked[0].question).contains("sure?"),
        "{name}"
    );
}

/// Cancels a call in its middle: it ends at once, and the next one is answered.
pub(crate) async fn cancels(connection: &Connection) {
    let name = connection.label().name;
    let mut options = CallOptions::default();
    let cancelled = options.cancelled.clone();
    options.on_progress = Some(Arc::new(move |_| cancelled.cancel()));
    let steps = object(r#"{"steps":2000}"#);
    let failure = connection
        .call_tool("slow", steps, &options)
        .await
        .unwrap_err();
    let is_cancelled = matches!(
        failure.kind,
        FailureKind::NoAnswer {
            cause: Cause::Cancelled,
            ..
        }
    );
    assert!(is_cancelled, "{name}: {failure}");
    let text = object(r#"{"text":"still there"}"#);
    let result = connection
        .call_tool("echo", text, &CallOptions::default())
        .await
        .unwrap();
    assert_eq!(result.joined_text(), "still there", "{name}");
}

/// Connects with somebody to ask.
pub(crate) async fn connected(spec: ServerSpec) -> (Connection, Arc<Person>) {
    let person = Arc::new(Person::default());
    let connection = connect(spec, Some(person.clone())).await;
    (
        connection.unwrap_or_else(|failure| panic!("{failure}")),
        person,
    )
}

/// Closes; nothing that carries the mark is left.
pub(crate) async fn close(connection: &Connection, mark: &str) {
    assert!(
        cfg!(not(target_os = "linux")) || !processes(mark).is_empty(),
        "{mark} is not found"
    );
    assert_eq!(connection.close().await, Vec::<i32>::new(), "{mark}");
    assert_eq!(processes(mark), Vec::<String>::new(), "{mark}");
}
