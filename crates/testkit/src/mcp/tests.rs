use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStdin, ChildStdout, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use super::{Chaos, HttpChaos, StdioChaos};

mod http;
mod stdio;

const NOTHING: Duration = Duration::ZERO;

/// A client that knows no protocol: it writes and reads lines.
struct Pipe {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Pipe {
    fn open(server: &StdioChaos) -> Self {
        let mut child = server
            .command()
            .to_command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn send(&mut self, message: &Value) {
        let mut line = message.to_string();
        line.push('\n');
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
    }

    /// Returns the next line without its end; empty at the end of the output.
    fn line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        self.stdout.read_until(b'\n', &mut line).unwrap();
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        line
    }

    fn next(&mut self) -> Value {
        let line = self.line();
        serde_json::from_slice(&line)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&line)))
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.next()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn request(id: u32, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn legacy_call(id: u32, tool: &str) -> Value {
    request(id, "tools/call", &json!({ "name": tool, "arguments": {} }))
}

/// Puts what the modern era wants into the parameters.
fn modern(id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":
            { "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } },
    });
    request(id, method, &params)
}

fn modern_call(id: u32, tool: &str) -> Value {
    modern(id, "tools/call", json!({ "name": tool, "arguments": {} }))
}

/// What a tool says that answers normally.
fn said(message: &Value) -> Value {
    let text = message["result"]["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{message}"));
    serde_json::from_str(text).unwrap()
}

/// Sends one HTTP request on a connection of its own and returns all of the response.
fn exchange(server: &HttpChaos, request: &str) -> String {
    let mut stream = connect(server);
    let (first, rest) = request.split_once("\r\n").unwrap();
    let request = format!("{first}\r\nConnection: close\r\n{rest}");
    stream.write_all(request.as_bytes()).unwrap();
    read_all(&mut stream)
}

fn connect(server: &HttpChaos) -> TcpStream {
    let address = server.url()["http://".len()..].trim_end_matches("/mcp");
    let stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream
}

fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    drop(stream.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn raw_post(message: &Value, headers: &str) -> String {
    let body = message.to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}
