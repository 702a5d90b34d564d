//! A client of `mcpx serve` while the servers behind it come late and change.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::hub::{Hub, PATIENCE, stateful};

/// A legacy client over stdio, message by message.
struct Session {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Notifications that nobody waited for yet.
    told: Vec<Value>,
}

impl Session {
    #[track_caller]
    fn begin(hub: &Hub, args: &[&str]) -> Self {
        let mut command = hub.command(&[&["serve"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                drop(sender.send(serde_json::from_str(&line).unwrap()));
            }
        });
        let mut session = Self {
            input: child.stdin.take(),
            child,
            messages,
            told: Vec::new(),
        };
        let client = json!({ "name": "test", "version": "1" });
        session.ask(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }),
        );
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_ref().unwrap(), "{message}").unwrap();
    }

    /// Sends a request and returns its result.
    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params }));
        loop {
            let message = self.messages.recv_timeout(PATIENCE).unwrap();
            if message["id"] == method {
                assert!(message["result"].is_object(), "{message}");
                return message["result"].clone();
            }
            self.told.push(message);
        }
    }

    /// Waits for a notification.
    #[track_caller]
    fn hears(&mut self, method: &str) {
        loop {
            if let Some(at) = self.told.iter().position(|told| told["method"] == method) {
                self.told.remove(at);
                return;
            }
            let message = self.messages.recv_timeout(PATIENCE);
            self.told
                .push(message.unwrap_or_else(|_| panic!("{method} did not come")));
        }
    }

    #[track_caller]
    fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.child.wait());
    }
}

/// A server that starts when a file is there.
fn gated(hub: &Hub) -> Value {
    let script = "while [ ! -e \"$HOME/gate\" ]; do sleep 0.02; done; exec python3 -S -E -B \"$HOME/stateful.py\"";
    let gate = hub.path("gate");
    assert!(!gate.exists());
    json!({ "command": "sh", "args": ["-c", script] })
}

#[test]
fn late_server_visible() {
    let hub = Hub::new(&json!({}));
    hub.configure(&json!({ "late": gated(&hub), "prompt": stateful(json!({})) }));
    // One that takes long to start keeps nobody waiting: not its neighbours, not a client that lists.
    let neighbour = hub.ok(&["call", "prompt.who"]);
    let mut session = Session::begin(&hub, &[]);
    assert!(session.tools().contains(&"mcpx_call".to_owned()));
    let called = session.call("mcpx_call", json!({ "tool": "prompt.who" }));
    assert_eq!(called["content"][0]["text"], neighbour.as_str());
    let found = |session: &mut Session| {
        session
            .call("mcpx_search", json!({ "q": "grow" }))
            .to_string()
    };
    assert!(found(&mut session).contains("prompt.grow"));
    assert!(!found(&mut session).contains("late.grow"));
    assert!(hub.server("late").instances.is_empty());
    std::fs::write(hub.path("gate"), "").unwrap();
    testkit::wait_until("it is found", PATIENCE, || {
        found(&mut session).contains("late.grow")
    });
    let called = session.call(
        "mcpx_call",
        json!({ "tool": "late.put", "args": { "value": "x" } }),
    );
    assert_eq!(called["isError"], false, "{called}");
}

#[test]
fn a_late_server_that_is_passed_through_is_announced() {
    let hub = Hub::new(&json!({}));
    hub.configure(&json!({ "late": gated(&hub) }));
    let opened = hub.path("gate");
    let mut session = std::thread::scope(|scope| {
        let begun = scope.spawn(|| Session::begin(&hub, &["--passthrough", "late"]));
        testkit::wait_until("the client is there", PATIENCE, || {
            begun.is_finished() || !hub.processes_with("stateful.py").is_empty()
        });
        std::fs::write(&opened, "").unwrap();
        begun.join().unwrap()
    });
    if !session.tools().contains(&"grow".to_owned()) {
        session.hears("notifications/tools/list_changed");
    }
    assert!(session.tools().contains(&"grow".to_owned()));
}

#[test]
fn a_tool_that_comes_later_reaches_the_client_the_search_and_the_history() {
    let hub = Hub::new(&json!({ "state": stateful(json!({})) }));
    let mut session = Session::begin(&hub, &["--passthrough", "state"]);
    assert!(!session.tools().contains(&"brand_new".to_owned()));
    session.call("grow", json!({ "name": "brand_new" }));
    session.hears("notifications/tools/list_changed");
    assert!(session.tools().contains(&"brand_new".to_owned()));
    let called = session.call("brand_new", json!({}));
    assert_eq!(called["isError"], false, "{called}");
    assert!(hub.ok(&["search", "brand_new"]).contains("state.brand_new"));
    let history = hub.ok(&["history"]);
    assert!(history.contains("brand_new"), "{history}");
}
