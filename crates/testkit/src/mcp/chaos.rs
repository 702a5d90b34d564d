//! Builds the chaos server.

use std::time::Duration;

use serde_json::{Value, json};

use super::{HttpChaos, Script, StdioChaos};

/// The newest revision that is agreed on by `initialize`.
const LEGACY: &str = "2025-11-25";
/// The revision without `initialize`.
const MODERN: &str = "2026-07-28";

/// How a list of tools that has pages goes on.
#[derive(Clone, Copy, Debug)]
pub enum Cursors {
    /// As it should.
    Normal,
    /// The first page's cursor is the empty string, which is a cursor.
    Empty,
    /// Every page is the first one, with the same cursor.
    Stuck,
    /// Every page has one new tool and a new cursor, without end.
    Endless,
    /// The first so many cursors that come back are refused as invalid.
    Rejected(u32),
}

/// A server to be built. Without an era it is of both; without a tool it has none.
///
/// ```no_run
/// # use testkit::mcp::{Behaviour, Chaos};
/// # use std::time::Duration;
/// let server = Chaos::new()
///     .legacy()
///     .tool("slow", [Behaviour::Progress(3, Duration::ZERO), Behaviour::Delay(Duration::from_millis(100))])
///     .stdio();
/// let command = server.command();
/// assert_eq!(server.received().methods(), ["initialize", "notifications/initialized"]);
/// ```
#[derive(Clone, Debug)]
pub struct Chaos {
    config: Value,
}

impl Chaos {
    /// Returns a server of both eras that has nothing and does nothing wrong.
    #[expect(
        clippy::new_without_default,
        reason = "it is the start of a sentence, not a value to have"
    )]
    pub fn new() -> Self {
        let lists = json!({ "listChanged": true });
        Self {
            config: json!({
                "legacy": [LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"], "modern": [MODERN], "discovered": [MODERN],
                "info": { "name": "chaos", "version": "1" }, "instructions": null,
                "capabilities_legacy": { "tools": lists, "prompts": lists, "logging": {}, "completions": {},
                    "resources": { "listChanged": true, "subscribe": true },
                    "tasks": { "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } } },
                "capabilities_modern": { "tools": lists, "prompts": lists, "completions": {},
                    "resources": { "listChanged": true, "subscribe": true },
                    "extensions": { "io.modelcontextprotocol/tasks": {} } },
                "tools": [], "resources": [], "prompts": [], "scripts": [],
                "page_size": 0, "cursors": "normal", "rejections": 0,
                "banner": [], "early_answers": [], "stderr_lines": 0, "start_ms": 0,
                "outlives_stdin": false, "ignores_sigterm": false, "grandchild": false,
                "http": { "sessions": false, "session_calls": null, "events": false, "get": false, "slow": null },
            }),
        }
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.config[key] = value.into();
        self
    }

    fn push(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.config[key].as_array_mut().unwrap().push(value.into());
        self
    }

    fn set_http(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.config["http"][key] = value.into();
        self
    }

    // --- eras -------------------------------------------------------------------------------------------------------

    /// Knows nothing newer than `initialize`; a probe gets -32601.
    #[must_use]
    pub fn legacy(self) -> Self {
        self.set("modern", json!([])).set("discovered", json!([]))
    }

    /// Knows only these legacy revisions; the first is offered to who asks for another.
    #[must_use]
    pub fn legacy_revisions(self, revisions: &[&str]) -> Self {
        self.legacy().set("legacy", json!(revisions))
    }

    /// Knows nothing older than 2026-07-28.
    #[must_use]
    pub fn modern(self) -> Self {
        self.set("legacy", json!([]))
    }

    /// Is legacy, and answers the probe with a list of legacy revisions.
    #[must_use]
    pub fn shim(self) -> Self {
        self.legacy().set("discovered", json!([LEGACY]))
    }

    /// Answers the probe with this list, whatever it really knows.
    #[must_use]
    pub fn discovered(self, revisions: &[&str]) -> Self {
        self.set("discovered", json!(revisions))
    }

    /// Does this when it is probed by `server/discover`.
    #[must_use]
    pub fn probe(self, script: impl Into<Script>) -> Self {
        self.on("server/discover", script)
    }

    // --- what it has ------------------------------------------------------------------------------------------------

    /// Has a tool that takes any object and does this when it is called.
    #[must_use]
    pub fn tool(self, name: &str, script: impl Into<Script>) -> Self {
        let tool = json!({ "name": name, "description": "misbehaves", "inputSchema": { "type": "object" } });
        self.tool_with(tool, script)
    }

    /// Has a tool with this definition, which is listed as it is, and does this when it is called.
    #[must_use]
    pub fn tool_with(self, tool: Value, script: impl Into<Script>) -> Self {
        let script = json!({ "method": "tools/call", "name": tool["name"], "steps": script.into().to_value() });
        self.push("tools", tool).push("scripts", script)
    }

    /// Lists this among its tools, be it a tool or not.
    #[must_use]
    pub fn listed(self, tool: Value) -> Self {
        self.push("tools", tool)
    }

    /// Lists its tools in pages of this size.
    #[must_use]
    pub fn pages(self, size: u32, cursors: Cursors) -> Self {
        let (kind, rejections) = match cursors {
            Cursors::Normal => ("normal", 0),
            Cursors::Empty => ("empty", 0),
            Cursors::Stuck => ("stuck", 0),
            Cursors::Endless => ("endless", 0),
            Cursors::Rejected(times) => ("rejected", times),
        };
        self.set("page_size", size)
            .set("cursors", kind)
            .set("rejections", rejections)
    }

    /// Has a resource with this text.
    #[must_use]
    pub fn resource(self, uri: &str, text: &str) -> Self {
        self.push(
            "resources",
            json!({ "uri": uri, "name": uri, "text": text }),
        )
    }

    /// Has a prompt with this text.
    #[must_use]
    pub fn prompt(self, name: &str, text: &str) -> Self {
        self.push("prompts", json!({ "name": name, "text": text }))
    }

    /// Sends these instructions.
    #[must_use]
    pub fn instructions(self, text: &str) -> Self {
        self.set("instructions", text)
    }

    /// Declares exactly these capabilities in both eras.
    #[must_use]
    pub fn capabilities(self, capabilities: &Value) -> Self {
        self.set("capabilities_legacy", capabilities.clone())
            .set("capabilities_modern", capabilities.clone())
    }

    // --- what it does -----------------------------------------------------------------------------------------------

    /// Does this for every request of this method. `GET` and `DELETE` are methods too, and notifications, for
    /// [`super::Behaviour::Http`] alone.
    #[must_use]
    pub fn on(self, method: &str, script: impl Into<Script>) -> Self {
        let steps = script.into().to_value();
        self.push("scripts", json!({ "method": method, "steps": steps }))
    }

    /// Does this for the `nth` request of this method in a process, from 1, and otherwise what it does anyway. Calls of
    /// tools, reads of resources and gets of prompts are counted by name.
    #[must_use]
    pub fn on_nth(self, method: &str, nth: u32, script: impl Into<Script>) -> Self {
        let steps = script.into().to_value();
        self.push(
            "scripts",
            json!({ "method": method, "nth": nth, "steps": steps }),
        )
    }

    /// Prints this line before anything else.
    #[must_use]
    pub fn banner(self, line: &str) -> Self {
        self.push("banner", line)
    }

    /// Answers requests with these ids before they come.
    #[must_use]
    pub fn answers_early(self, ids: &[Value]) -> Self {
        self.set("early_answers", json!(ids))
    }

    /// Prints this many lines to standard error as it starts.
    #[must_use]
    pub fn chatter(self, lines: u32) -> Self {
        self.set("stderr_lines", lines)
    }

    /// Takes this long to start.
    #[must_use]
    pub fn starts_after(self, time: Duration) -> Self {
        self.set("start_ms", u64::try_from(time.as_millis()).unwrap())
    }

    /// Lives on when its standard input ends.
    #[must_use]
    pub fn outlives_stdin(self) -> Self {
        self.set("outlives_stdin", true)
    }

    /// Lives on when it is asked to terminate.
    #[must_use]
    pub fn ignores_sigterm(self) -> Self {
        self.set("ignores_sigterm", true)
    }

    /// Starts a process of its own, which sleeps and holds no pipe.
    #[must_use]
    pub fn with_grandchild(self) -> Self {
        self.set("grandchild", true)
    }

    // --- over HTTP --------------------------------------------------------------------------------------------------

    /// Gives legacy clients a session, and wants it back on every message.
    #[must_use]
    pub fn sessions(self) -> Self {
        self.set_http("sessions", true)
    }

    /// Forgets a session after this many calls of tools: the next one gets a 404.
    #[must_use]
    pub fn sessions_of(self, calls: u32) -> Self {
        self.sessions().set_http("session_calls", calls)
    }

    /// Answers with a stream of events always, not only when something comes before the answer.
    #[must_use]
    pub fn events(self) -> Self {
        self.set_http("events", true)
    }

    /// Has a stream for messages of no request, instead of a 405 for GET.
    #[must_use]
    pub fn get_stream(self) -> Self {
        self.set_http("get", true)
    }

    /// Writes everything in pieces of this many bytes, with a pause behind each.
    #[must_use]
    pub fn slow(self, bytes: usize, pause: Duration) -> Self {
        let pause = u64::try_from(pause.as_millis()).unwrap();
        self.set_http("slow", json!([bytes, pause]))
    }

    // --- running it -------------------------------------------------------------------------------------------------

    /// Writes it down so that it can be started as a child process, any number of times.
    pub fn stdio(self) -> StdioChaos {
        StdioChaos::new(self.config)
    }

    /// Starts it on a loopback port.
    ///
    /// # Panics
    ///
    /// When there is no `python3`, or it names no address.
    #[track_caller]
    pub fn http(self) -> HttpChaos {
        HttpChaos::start(self.config)
    }
}
