//! HTTP by hand: what is sent is spelled out, what comes back is read as bytes.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

/// How long a test waits for anything.
pub(crate) const WAIT: Duration = Duration::from_secs(20);

/// A response whose head was read.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
}

pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Reply {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    let mut head = format!(
        "{method} /mcp HTTP/1.1\r\ncontent-length: {}\r\n",
        body.len()
    );
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("host"))
    {
        head.push_str("host: localhost\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses early closes before it read everything.
    let _refused = stream.write_all(body);
    read_head(stream)
}

pub(crate) fn read_head(stream: TcpStream) -> Reply {
    let mut reader = BufReader::new(stream);
    let line = read_line(&mut reader);
    let status = line
        .split(' ')
        .nth(1)
        .unwrap_or_else(|| panic!("no status: {line:?}"));
    let status = status.parse().unwrap();
    let mut headers = Vec::new();
    loop {
        let line = read_line(&mut reader);
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Reply {
        status,
        headers,
        reader,
    }
}

fn read_line(reader: &mut impl std::io::BufRead) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    line.trim_end_matches(['\r', '\n']).to_owned()
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type")
            .is_some_and(|value| value.starts_with("text/event-stream"))
    }

    fn chunk(&mut self) -> Option<Vec<u8>> {
        if let Some(length) = self.header("content-length") {
            let mut bytes = vec![0; length.parse().unwrap()];
            self.headers.retain(|(name, _)| name != "content-length");
            self.reader.read_exact(&mut bytes).unwrap();
            return Some(bytes);
        }
        if self.header("transfer-encoding") != Some("chunked") {
            return None;
        }
        let length = read_line(&mut self.reader);
        let length = usize::from_str_radix(&length, 16).ok()?;
        let mut bytes = vec![0; length + 2];
        self.reader.read_exact(&mut bytes).unwrap();
        bytes.truncate(length);
        (length > 0).then_some(bytes)
    }

    /// All of the body.
    pub(crate) fn text(&mut self) -> String {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.chunk() {
            bytes.extend(chunk);
        }
        String::from_utf8(bytes).unwrap()
    }

    /// The body as one message.
    pub(crate) fn json(&mut self) -> Value {
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }

    /// The next block of the stream, as it was spelled; `None` at its end. A block never comes in two chunks.
    pub(crate) fn block(&mut self) -> Option<String> {
        self.chunk().map(|bytes| String::from_utf8(bytes).unwrap())
    }

    /// The next message of the stream, with the id of its event; comments and empty events are passed over.
    pub(crate) fn event(&mut self) -> Option<(Option<String>, Value)> {
        loop {
            let block = self.block()?;
            let field = |name: &str| {
                block
                    .lines()
                    .find_map(|line| line.strip_prefix(name))
                    .map(|value| value.trim_start_matches(' ').to_owned())
            };
            match field("data:") {
                Some(data) if !data.is_empty() => {
                    let message = serde_json::from_str(&data).unwrap();
                    return Some((field("id:"), message));
                }
                _ => {}
            }
        }
    }

    /// The messages of the stream to its end.
    pub(crate) fn messages(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.event().map(|(_, message)| message)).collect()
    }

    /// The answer, and how many messages came before it.
    pub(crate) fn answer_and_count(&mut self) -> (Value, usize) {
        if self.is_stream() {
            let mut messages = self.messages();
            (messages.pop().unwrap(), messages.len())
        } else {
            (self.json(), 0)
        }
    }

    /// The answer, in whichever form it came.
    pub(crate) fn answer(&mut self) -> Value {
        if self.is_stream() {
            self.messages().pop().unwrap()
        } else {
            self.json()
        }
    }
}

/// `_meta` of a modern request, with these capabilities.
pub(crate) fn envelope(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "0"}
    })
}

pub(crate) const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");
pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

/// Sends a modern request whose headers fit its body.
pub(crate) fn modern(address: SocketAddr, method: &str, params: Value) -> Reply {
    modern_with(address, method, params, &[])
}

/// As [`modern`], with headers beside.
pub(crate) fn modern_with(
    address: SocketAddr,
    method: &str,
    mut params: Value,
    more: &[(&str, &str)],
) -> Reply {
    if params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_null() {
        let mut meta = envelope(&json!({}));
        if let Some(own) = params["_meta"].as_object() {
            meta.as_object_mut().unwrap().extend(own.clone());
        }
        params["_meta"] = meta;
    }
    let name = ["name", "uri", "taskId"]
        .iter()
        .find_map(|name| params[name].as_str())
        .map(str::to_owned);
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
    let mut headers = vec![
        JSON,
        BOTH,
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ];
    if let Some(name) = &name {
        headers.push(("mcp-name", name));
    }
    headers.extend_from_slice(more);
    send(address, "POST", &headers, body.as_bytes())
}

/// A modern tool call of a client with these capabilities.
pub(crate) fn call(
    address: SocketAddr,
    tool: &str,
    arguments: Value,
    capabilities: &Value,
) -> Reply {
    let params = json!({"name": tool, "arguments": arguments, "_meta": envelope(capabilities)});
    modern(address, "tools/call", params)
}

/// A legacy session.
pub(crate) struct Session {
    pub(crate) address: SocketAddr,
    pub(crate) id: String,
    pub(crate) revision: &'static str,
}

impl Session {
    pub(crate) fn begin(address: SocketAddr, revision: &'static str, capabilities: &Value) -> Self {
        let params = json!({"protocolVersion": revision, "capabilities": capabilities,
            "clientInfo": {"name": "by hand", "version": "0"}});
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
            .to_string();
        let mut reply = send(address, "POST", &[JSON, BOTH], body.as_bytes());
        let status = reply.status;
        assert!(status == 200, "{status}: {}", reply.text());
        let id = reply.header("mcp-session-id").unwrap().to_owned();
        assert_eq!(reply.json()["result"]["protocolVersion"], revision);
        let session = Self {
            address,
            id,
            revision,
        };
        let mut reply =
            session.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!((reply.status, reply.text().as_str()), (202, ""));
        session
    }

    pub(crate) fn post(&self, message: &Value) -> Reply {
        let headers = [
            JSON,
            BOTH,
            ("mcp-session-id", self.id.as_str()),
            ("mcp-protocol-version", self.revision),
        ];
        send(
            self.address,
            "POST",
            &headers,
            message.to_string().as_bytes(),
        )
    }

    pub(crate) fn request(&self, id: i64, method: &str, params: Value) -> Reply {
        self.post(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    pub(crate) fn call(&self, id: i64, tool: &str, arguments: Value) -> Reply {
        self.request(
            id,
            "tools/call",
            json!({"name": tool, "arguments": arguments}),
        )
    }

    pub(crate) fn answer(&self, question: &Value, result: Value) {
        let mut reply =
            self.post(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
        assert_eq!((reply.status, reply.text().as_str()), (202, ""));
    }

    pub(crate) fn get(&self, last_event: Option<&str>) -> Reply {
        let mut headers = vec![
            ("accept", "text/event-stream"),
            ("mcp-session-id", self.id.as_str()),
        ];
        headers.extend(last_event.map(|id| ("last-event-id", id)));
        send(self.address, "GET", &headers, b"")
    }
}
