//! Just enough HTTP: one request and one answer on a connection.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, decoded; the last value of a name.
    pub query: HashMap<String, String>,
    /// Headers, names in lower case; the last value of a name.
    pub headers: HashMap<String, String>,
    /// The body.
    pub body: String,
    /// The whole head, as it came.
    pub head: String,
}

impl Request {
    /// Returns the body as a form.
    pub fn form(&self) -> HashMap<String, String> {
        pairs(&self.body)
    }

    /// Returns the body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// More headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// How long it takes.
    pub delay: Duration,
}

impl Reply {
    /// Returns an answer without a body.
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: String::new(),
            delay: Duration::ZERO,
        }
    }

    /// Returns an answer with JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        let reply = Self::status(status).header("content-type", "application/json");
        Self {
            body: body.to_string(),
            ..reply
        }
    }

    /// Returns a redirect.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("location", location)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

pub(super) fn read(stream: &TcpStream) -> Option<Request> {
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .ok()?;
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim_end().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), pairs(query));
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    let headers: HashMap<String, String> = lines.filter_map(header).collect();
    let length = headers
        .get("content-length")
        .and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        method,
        path,
        query,
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
        head,
    })
}

pub(super) fn write(mut stream: &TcpStream, reply: &Reply) {
    let mut text = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n", reply.body.len()));
    text.push_str(&reply.body);
    // Whoever asked may have gone.
    let _gone = stream.write_all(text.as_bytes());
}

fn pairs(text: &str) -> HashMap<String, String> {
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

/// Decodes a part of a form or query.
pub(super) fn decode(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'+' => out.push(b' '),
            b'%' if after.len() >= 2 => {
                let hex = String::from_utf8_lossy(&after[..2]).into_owned();
                out.push(u8::from_str_radix(&hex, 16).unwrap_or(b'?'));
                rest = &after[2..];
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Encodes a part of a form or query.
pub(super) fn encode(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    let one = |byte: u8| {
        if plain(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(one).collect()
}
