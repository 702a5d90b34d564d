//! A client of `mcpx serve` in either era, message by message.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::Mcpx;

/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Which era a client speaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// A client, message by message.
pub(crate) struct Agent {
    era: Era,
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// What came before it was waited for.
    early: Vec<Value>,
}

impl Agent {
    pub(crate) fn begin(mcpx: &Mcpx, era: Era, args: &[&str]) -> Self {
        let mut command = mcpx.command(&[&["serve"], args].concat());
        command.stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                drop(sender.send(serde_json::from_str(&line).unwrap()));
            }
        });
        let mut agent = Self {
            era,
            input: child.stdin.take(),
            child,
            messages,
            early: Vec::new(),
        };
        if era == Era::Legacy {
            let client = json!({"name": "test", "version": "1"});
            let params =
                json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
            agent.send(
                &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
            );
            assert_eq!(agent.answer(1)["result"]["protocolVersion"], "2025-11-25");
            agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        agent
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.input.as_ref().unwrap(), "{message}").unwrap();
    }

    pub(crate) fn request(&mut self, id: u32, method: &str, mut params: Value) {
        if self.era == Era::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// A call of a tool behind the hub.
    pub(crate) fn call(&mut self, id: u32, tool: &str, args: &Value) {
        let params = json!({"name": "mcpx_call", "arguments": {"tool": tool, "args": args}});
        self.request(id, "tools/call", params);
    }

    /// The first message for which this holds.
    #[track_caller]
    pub(crate) fn first(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.early.iter().position(&is_it) {
            return self.early.remove(at);
        }
        loop {
            let message = self.messages.recv_timeout(PATIENCE);
            let message = message.unwrap_or_else(|_| panic!("{what}: {:?}", self.early));
            if is_it(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    #[track_caller]
    pub(crate) fn answer(&mut self, id: u32) -> Value {
        self.first(&format!("the answer to {id}"), |message| {
            message["id"] == id && message.get("method").is_none()
        })
    }

    /// The text that an echo answers.
    #[track_caller]
    pub(crate) fn echo(&mut self, id: u32, text: &str) {
        self.call(id, "demo.echo", &json!({"message": text}));
        let answer = self.answer(id);
        assert_eq!(answer["result"]["content"][0]["text"], text, "{answer}");
    }

    /// Says its last; what is still said, and how it ended.
    pub(crate) fn end(mut self) -> (Vec<Value>, i32, String) {
        self.input = None;
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let mut err = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut err).unwrap();
        let mut rest = std::mem::take(&mut self.early);
        rest.extend(self.messages.iter());
        (rest, code, err)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.input = None;
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
