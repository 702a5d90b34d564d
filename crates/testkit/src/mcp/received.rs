//! What the chaos server wrote down.

use std::collections::BTreeMap;

use serde_json::Value;

/// One thing that reached the server, or happened to it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// `started`, `message`, `http` (a request without a message), `garbage` (a body or line that is no JSON), `closed` (the
    /// client left before the answer was whole), `eof`, `sigterm`, or `failed` (the server itself, in Python).
    pub kind: String,
    /// The message, for a `message`; otherwise null.
    pub message: Value,
    /// The headers of the HTTP request, names in lower case; empty over stdio.
    pub headers: BTreeMap<String, String>,
    /// The verb of the HTTP request; empty over stdio.
    pub verb: String,
    /// The number of the connection, from 1; none over stdio.
    pub connection: Option<u64>,
    /// The server's process.
    pub pid: u32,
    /// Milliseconds since that process started.
    pub ms: u64,
    /// Everything else that was written down.
    pub raw: Value,
}

impl Entry {
    fn new(raw: Value) -> Self {
        let headers = raw["headers"].as_object().cloned().unwrap_or_default();
        Self {
            kind: raw["kind"].as_str().unwrap().to_owned(),
            message: raw["message"].clone(),
            headers: headers
                .into_iter()
                .map(|(name, value)| (name, value.as_str().unwrap().to_owned()))
                .collect(),
            verb: raw["verb"].as_str().unwrap_or_default().to_owned(),
            connection: raw["connection"].as_u64(),
            pid: u32::try_from(raw["pid"].as_u64().unwrap()).unwrap(),
            ms: raw["ms"].as_u64().unwrap(),
            raw,
        }
    }
}

/// Everything that a chaos server wrote down so far, of all its processes, oldest first.
#[derive(Clone, Debug)]
pub struct Received {
    /// One per line of the record.
    pub entries: Vec<Entry>,
}

impl Received {
    /// Reads whole lines; one that is being written is not there yet.
    pub(super) fn parse(lines: &str) -> Self {
        let whole = lines.rfind('\n').map_or("", |end| &lines[..end]);
        let entries = whole
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        Self {
            entries: entries.map(Entry::new).collect(),
        }
    }

    /// Returns the entries of one kind.
    pub fn of_kind(&self, kind: &str) -> Vec<&Entry> {
        self.entries
            .iter()
            .filter(|entry| entry.kind == kind)
            .collect()
    }

    /// Returns all messages, as they came.
    pub fn messages(&self) -> Vec<&Value> {
        let messages = self.entries.iter().filter(|entry| entry.kind == "message");
        messages.map(|entry| &entry.message).collect()
    }

    /// Returns the methods of all messages, as they came; a response is `response`.
    pub fn methods(&self) -> Vec<&str> {
        self.messages()
            .into_iter()
            .map(|message| message["method"].as_str().unwrap_or("response"))
            .collect()
    }

    /// Returns the entries of requests and notifications of one method.
    pub fn of_method(&self, method: &str) -> Vec<&Entry> {
        self.entries
            .iter()
            .filter(|entry| entry.message["method"] == method)
            .collect()
    }

    /// Returns the processes that served, oldest first.
    pub fn processes(&self) -> Vec<u32> {
        self.of_kind("started")
            .iter()
            .map(|entry| entry.pid)
            .collect()
    }

    /// Returns the processes that those started, if they were told to.
    pub fn grandchildren(&self) -> Vec<u32> {
        let pids = self.of_kind("started").into_iter();
        pids.filter_map(|entry| entry.raw["grandchild"].as_u64())
            .map(|pid| u32::try_from(pid).unwrap())
            .collect()
    }
}
