//! Requests as they stand on the wire, and what comes back.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::front_setup::Daemon;

/// A response as it came.
#[derive(Debug)]
pub(crate) struct Came {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Came {
    /// A header, in lower case as all of ours are.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The message and the hint of a refusal.
    pub(crate) fn said(&self) -> String {
        let document = self.json();
        format!(
            "{} {}",
            document["error"].as_str().unwrap_or_default(),
            document["hint"].as_str().unwrap_or_default()
        )
    }
}

pub(crate) async fn connect(daemon: &Daemon) -> UnixStream {
    UnixStream::connect(&daemon.socket).await.unwrap()
}

/// Reads one response. `has_body`: not so for HEAD.
pub(crate) async fn receive(stream: &mut (impl AsyncRead + Unpin), has_body: bool) -> Came {
    let reading = async {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let mut came = Came {
            status: head[9..12].parse().unwrap(),
            head,
            body: String::new(),
        };
        let length = came.header("content-length").map(|text| text.parse());
        if let Some(length) = length.filter(|_| has_body) {
            let mut body = vec![0; length.unwrap()];
            stream.read_exact(&mut body).await.unwrap();
            came.body = String::from_utf8(body).unwrap();
        }
        came
    };
    tokio::time::timeout(Duration::from_secs(30), reading)
        .await
        .expect("an answer in time")
}

/// Sends a request and reads its response.
pub(crate) async fn exchange(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    request: impl AsRef<[u8]>,
) -> Came {
    stream.write_all(request.as_ref()).await.unwrap();
    let has_body = !request.as_ref().starts_with(b"HEAD");
    receive(stream, has_body).await
}

/// The same on a connection of its own.
pub(crate) async fn ask(daemon: &Daemon, request: impl AsRef<[u8]>) -> Came {
    exchange(&mut connect(daemon).await, request).await
}

/// A request without a body.
pub(crate) fn plain(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: mcpx\r\n\r\n")
}

/// A request with a body, and these headers.
pub(crate) fn posted(path: &str, headers: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: mcpx\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}
