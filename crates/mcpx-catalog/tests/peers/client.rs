//! The client, run by Node.

use std::fs;
use std::path::Path;
use std::process::Command;

use mcpx_catalog::typescript::Namespace;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{corpus, write};

/// Runs `script` beside the client of the hostile tools, `t.client.ts`, and gives back what it prints as JSON.
#[track_caller]
fn run(script: &str) -> Value {
    let dir = TempDir::new().unwrap();
    let hostile =
        corpus(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/typescript/hostile.json"));
    write(
        &dir,
        "t",
        &[Namespace {
            server: "my-server",
            tools: &hostile,
            ..Namespace::default()
        }],
    );
    fs::write(dir.path().join("run.mjs"), script).unwrap();
    let output = Command::new(testkit::peers::mcp::node())
        .env_remove("MCPX_DAEMON_ENDPOINT")
        .env("MCPX_SESSION_ID", "of-the-environment")
        .args(["--no-warnings", "--experimental-strip-types", "run.mjs"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_client_runs_as_it_is_and_unwraps_what_comes_back() {
    let script = r#"
import { connect, tools, my_server, ToolError } from "./t.client.ts";
const seen = [];
let next;
try { await my_server.a_b(); } catch (error) { seen.push(error.message); }
connect(async (server, tool, args) => { seen.push([server, tool, args]); return next; });
next = { content: [{ type: "text", text: "plain" }] };
seen.push(await my_server.a_b({ x: 1 }), await my_server["a-b"](), await my_server["__proto__"](), await tools["my-server"].new());
next = { content: [{ type: "text", text: "{\"n\": 1}" }] };
const parsed = await my_server.a_b();
seen.push(parsed, parsed.raw === next);
next = { content: [{ type: "text", text: "{no json" }] };
seen.push(await my_server.a_b());
next = { structuredContent: { s: 2 }, content: [] };
seen.push(await my_server.a_b());
next = { content: [{ type: "image", data: "" }] };
seen.push(await my_server.a_b());
next = { isError: true, content: [{ type: "text", text: "went wrong" }] };
try { await my_server.a_b(); } catch (error) { seen.push([error instanceof ToolError, error.message, error.server, error.tool, error.raw === next, error.diagnostics]); }
console.log(JSON.stringify(seen));
"#;
    let call = |tool: &str| json!(["my-server", tool, {}]);
    assert_eq!(
        run(script),
        json!([
            "not connected: set MCPX_DAEMON_ENDPOINT to `unix://` and the socket that `mcpx --json status` shows, or call `connect`",
            ["my-server", "a_b", {"x": 1}], call("a-b"), call("__proto__"), call("new"),
            "plain", "plain", "plain", "plain",
            call("a_b"), {"n": 1}, true,
            call("a_b"), "{no json",
            call("a_b"), {"s": 2},
            call("a_b"), [{"type": "image", "data": ""}],
            call("a_b"), [true, "went wrong", "my-server", "a_b", true, []],
        ])
    );
}

#[test]
fn the_client_finds_the_hub_by_itself_and_tells_every_way_to_fail() {
    let script = r#"
import http from "node:http";
import { connect, my_server, ToolError } from "./t.client.ts";
const seen = [];
const asked = [];
const answers = {
  good: { result: { structuredContent: { n: 1 } } },
  said: { result: { isError: true, content: [{ type: "text", text: "went wrong" }, { type: "image", data: "" }] }, diagnostics: [{ field: "a" }] },
  refused: { error: "no such tool", code: "bad_request", hint: "look", diagnostics: [{ field: "b" }] },
  asks: { inputRequired: {} },
  torn: "{",
};
let waiting = 0;
const hub = http.createServer(async (request, response) => {
  let text = "";
  for await (const piece of request) text += piece;
  const body = JSON.parse(text);
  asked.push([request.method, request.url, request.headers.authorization ?? null, body.server, body.tool, body.raw, body.timeoutMs ?? null, body.context.sessionId, body.context.pid === process.pid]);
  if (body.args.way === "wait") {
    waiting += 1;
    request.socket.on("close", () => seen.push("given up"));
    return;
  }
  const answer = answers[body.args.way];
  response.statusCode = answer.error ? 400 : 200;
  response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
});
await new Promise((resolve) => hub.listen("hub.sock", resolve));
const away = process.cwd() + "/away.sock";
const there = `unix://${process.cwd()}/hub.sock`;
const attempt = async (way) => {
  try {
    seen.push(await my_server.a_b({ way }));
  } catch (error) {
    seen.push([error instanceof ToolError, error.message.replaceAll(process.cwd(), ""), error.diagnostics ?? null]);
  }
};
process.env.MCPX_DAEMON_ENDPOINT = there;
await Promise.all([attempt("good"), attempt("good"), attempt("good")]);
for (const way of ["said", "refused", "asks", "torn"]) await attempt(way);
connect({ endpoint: `unix://${away}` });
await attempt("good");
connect({ endpoint: "ftp://x" });
await attempt("good");
const giveUp = new AbortController();
connect({ session: "mine", timeoutMs: 7, signal: giveUp.signal });
const attempted = attempt("wait");
while (waiting === 0) await new Promise((resolve) => setImmediate(resolve));
giveUp.abort(new Error("enough"));
await attempted;
await attempt("good");
while (!seen.includes("given up")) await new Promise((resolve) => setImmediate(resolve));
hub.close();
hub.closeAllConnections();
const web = http.createServer((request, response) => response.end(JSON.stringify({ result: { content: [{ type: "text", text: request.headers.authorization }] } })));
await new Promise((resolve) => web.listen(0, "127.0.0.1", resolve));
connect({ endpoint: `http://127.0.0.1:${web.address().port}`, token: "secret" });
await attempt("good");
web.close();
web.closeAllConnections();
console.log(JSON.stringify({ seen, asked: [asked[0], asked.at(-1)], count: asked.length }));
"#;
    let found = run(script);
    let good = json!({"n": 1});
    let plain = |text: &str| json!([false, text, null]);
    let mut seen = found["seen"].as_array().unwrap().clone();
    seen.retain(|one| one != "given up");
    assert_eq!(
        seen,
        [
            good.clone(),
            good.clone(),
            good,
            json!([true, "went wrong", [{"field": "a"}]]),
            json!([true, "no such tool\nhint: look", [{"field": "b"}]]),
            json!([
                true,
                "it asks something in mid-call, which a script cannot answer",
                []
            ]),
            plain("the hub at unix:///hub.sock answered 200 with what is no JSON"),
            plain(
                "the hub does not answer at unix:///away.sock: `mcpx daemon --detached` starts it"
            ),
            plain("the hub's endpoint is \"ftp://x\", expected unix://PATH or http://HOST:PORT"),
            plain("enough"),
            plain("enough"),
            json!("Bearer secret"),
        ]
    );
    let asked = |session: &str, timeout: Value| {
        json!([
            "POST",
            "/v1/call",
            null,
            "my-server",
            "a_b",
            true,
            timeout,
            session,
            true
        ])
    };
    assert_eq!(
        (&found["asked"], &found["count"]),
        (
            &json!([
                asked("of-the-environment", Value::Null),
                asked("mine", json!(7))
            ]),
            &json!(8)
        )
    );
}
