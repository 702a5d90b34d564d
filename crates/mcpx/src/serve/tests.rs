//! A relay with a script that is its client and its daemons.

mod after_a_break;
mod at_its_ends;

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
use tokio::sync::{mpsc, oneshot};

use super::way::{After, Trouble, Way};
use super::{Terms, relay};
use crate::exit::{Exit, Failure};

type Opened = Result<DuplexStream, Trouble>;

/// Why nothing is opened when a test has dropped its daemons.
const OVER: &str = "the test is over";

/// A way on which the test is the daemon.
struct TestWay {
    opens: mpsc::UnboundedSender<(After, oneshot::Sender<Opened>)>,
    notes: Mutex<Vec<String>>,
}

impl Way for TestWay {
    type Io = DuplexStream;

    async fn open(&self, after: After) -> Opened {
        let (sender, opened) = oneshot::channel();
        let over = || Trouble::Unreachable(Failure::failed(OVER));
        self.opens.send((after, sender)).map_err(|_| over())?;
        opened.await.map_err(|_| over())?
    }

    fn note(&self, text: &str) {
        // Which of client and daemon is seen to go first at the end of a test is chance.
        if !text.contains(OVER) {
            self.notes.lock().unwrap().push(text.to_owned());
        }
    }
}

/// One end of a connection, message by message.
struct End {
    input: Option<tokio::io::WriteHalf<DuplexStream>>,
    output: Lines<BufReader<tokio::io::ReadHalf<DuplexStream>>>,
}

impl End {
    fn new(io: DuplexStream) -> Self {
        let (output, input) = tokio::io::split(io);
        Self {
            input: Some(input),
            output: BufReader::new(output).lines(),
        }
    }

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let line = self.output.next_line().await.unwrap().expect("a message");
        serde_json::from_str(&line).unwrap()
    }

    async fn request(&mut self, id: u32, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
    }

    /// Takes a request and answers it.
    async fn answer(&mut self, method: &str, result: Value) {
        let request = self.next().await;
        assert_eq!(request["method"], method, "{request}");
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
            .await;
    }
}

struct Test {
    client: End,
    opens: mpsc::UnboundedReceiver<(After, oneshot::Sender<Opened>)>,
}

impl Test {
    /// The relay looks for a daemon, and finds one.
    async fn daemon(&mut self, expected: After) -> End {
        let (after, opened) = self.opens.recv().await.unwrap();
        assert_eq!(after, expected);
        let (here, there) = tokio::io::duplex(1 << 20);
        opened.send(Ok(there)).unwrap();
        End::new(here)
    }

    async fn no_daemon(&mut self, expected: After) {
        let (after, opened) = self.opens.recv().await.unwrap();
        assert_eq!(after, expected);
        let failure = Failure::failed("it cannot start").hint("do this");
        assert!(opened.send(Err(Trouble::Unreachable(failure))).is_ok());
    }

    /// A legacy client that had its handshake.
    async fn legacy(&mut self) -> End {
        let mut daemon = self.daemon(After::Begin).await;
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}});
        self.client.request(1, "initialize", params).await;
        daemon.answer("initialize", initialized()).await;
        assert_eq!(self.client.next().await["result"], initialized());
        self.client.send(note("notifications/initialized")).await;
        assert_eq!(daemon.next().await, note("notifications/initialized"));
        daemon
    }
}

fn initialized() -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": {
        "tools": {"listChanged": true}, "prompts": {}, "resources": {"listChanged": true, "subscribe": true}}})
}

fn note(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method})
}

fn ending(taken: u32, restart: bool) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/dev.mcpx/ending",
        "params": {"taken": taken, "restart": restart}})
}

/// How a relay ended, and what it said to people.
struct Ran {
    ended: Result<Exit, Failure>,
    notes: Vec<String>,
}

/// Runs a relay with a script that is its client and its daemons.
async fn with_relay(script: impl AsyncFnOnce(&mut Test)) -> Ran {
    let (opens, receiver) = mpsc::unbounded_channel();
    let way = TestWay {
        opens,
        notes: Mutex::default(),
    };
    let terms = Terms {
        message: 1 << 20,
        drain: Duration::from_secs(30),
        reads: vec!["mcpx_search"],
    };
    let (here, there) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(there);
    let mut test = Test {
        client: End::new(here),
        opens: receiver,
    };
    let scripted = async {
        script(&mut test).await;
        drop(test);
    };
    let relaying = relay(&way, terms, input, output);
    let both = async { tokio::join!(relaying, scripted) };
    let (ended, ()) = tokio::time::timeout(Duration::from_secs(600), both)
        .await
        .unwrap();
    Ran {
        ended,
        notes: way.notes.into_inner().unwrap(),
    }
}
