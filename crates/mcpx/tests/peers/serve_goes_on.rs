//! Clients on the official SDK over `mcpx serve`, while daemons come and go under them.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};
use testkit::mcp::CommandLine;
use testkit::peers::mcp::node;
use testkit::wait_until;

use crate::hub::{Hub, PATIENCE, runs, signal, stateful};

/// A client that calls one tool after the other.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Client {
    #[track_caller]
    fn begin(hub: &Hub, version: &str, era: &str) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/serve_client.mjs");
        let modules = testkit::peers::dir().join("mcp");
        let serve = hub.line(&["serve"]);
        let line = CommandLine::new(node(), &[script, modules.to_str().unwrap(), version]);
        let line = line.arg(serve.program);
        let line = serve.args.into_iter().fold(line, CommandLine::arg);
        let mut command = line.to_command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.current_dir(hub.home.path()).spawn().unwrap();
        let mut client = Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
        };
        assert_eq!(client.said(), json!({ "era": era }));
        client
    }

    #[track_caller]
    fn said(&mut self) -> Value {
        serde_json::from_str(&self.output.next().unwrap().unwrap()).unwrap()
    }

    fn ask(&mut self, tool: &str, args: &Value) {
        let arguments = json!({ "tool": tool, "args": args });
        let call = json!({ "tool": "mcpx_call", "arguments": arguments });
        writeln!(self.input.as_mut().unwrap(), "{call}").unwrap();
    }

    /// The process of the server.
    #[track_caller]
    fn who(&mut self) -> u32 {
        self.ask("state.who", &json!({}));
        let said = self.said();
        said["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{said}"))
            .parse()
            .unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.child.wait());
    }
}

#[test]
fn an_agent_on_the_official_sdk_goes_on_calling_after_its_daemon_was_killed() {
    for (version, era) in [("v1", "legacy"), ("v2", "modern")] {
        let hub = Hub::new(&json!({ "state": stateful(json!({})) }));
        let mut client = Client::begin(&hub, version, era);
        let server = client.who();
        for round in 0..3 {
            let before = hub.record().pid;
            let until = hub.path(&format!("never-{round}"));
            client.ask("state.hold", &json!({ "until": until }));
            wait_until("the call is open", PATIENCE, || {
                let instances = hub.server("state").instances;
                instances.iter().any(|instance| instance.holders == 1)
            });
            signal("KILL", before);
            let said = client.said();
            assert!(
                said["error"]
                    .as_str()
                    .unwrap()
                    .contains("outcome of this request is unknown"),
                "{version}: {said}"
            );
            let after = client.who();
            assert!(after != server && runs(after), "{version}");
            assert_ne!(hub.record().pid, before);
        }
        hub.ok(&["daemon", "restart"]);
        client.who();
        hub.ok(&["stop"]);
        assert!(hub.records().is_empty());
        client.who();
    }
}
