//! A model server that answers from a list, and notes when each request began, what it held and when it was answered.
//!
//! It speaks Chat Completions over plain HTTP/1.1 on a free port of the loopback, with no code of ours: it is the outside.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Instant,
};

use anyhow::Context as _;
use serde_json::{Value, json};

/// What the server answers to one request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A tool call: the tool and its arguments.
    Call(&'static str, Value),
    /// The final text.
    Text(&'static str),
}

/// One request as it arrived.
#[derive(Debug)]
pub(crate) struct Request {
    /// When its first byte could be read.
    pub(crate) began: Instant,
    /// Its body.
    pub(crate) body: Vec<u8>,
    /// When the last byte of the answer had been written.
    pub(crate) answered: Instant,
}

/// The server; it lives as long as the process.
pub(crate) struct Mock {
    /// Its port on 127.0.0.1.
    pub(crate) port: u16,
    /// Gives each request once it is answered.
    pub(crate) requests: mpsc::Receiver<Request>,
}

/// Starts a server that gives these answers in order, and the last one again for every request after them.
pub(crate) fn start(replies: Vec<Reply>) -> anyhow::Result<Mock> {
    let listener = TcpListener::bind("127.0.0.1:0").context("listen on the loopback")?;
    let port = listener.local_addr()?.port();
    let (sender, requests) = mpsc::channel();
    let replies = Arc::new(Mutex::new(replies.into_iter()));
    thread::spawn(move || {
        let last = Arc::new(Mutex::new(Reply::Text("done")));
        for stream in listener.incoming().flatten() {
            let (sender, replies, last) = (sender.clone(), replies.clone(), last.clone());
            thread::spawn(move || {
                let next = || {
                    let mut last = last.lock().ok()?;
                    if let Some(reply) = replies.lock().ok()?.next() {
                        *last = reply;
                    }
                    Some(last.clone())
                };
                // A client that goes away in mid-request ends its connection, nothing else.
                serve(stream, &sender, next).unwrap_or_default();
            });
        }
    });
    Ok(Mock { port, requests })
}

fn serve(
    stream: TcpStream,
    sender: &mpsc::Sender<Request>,
    next: impl Fn() -> Option<Reply>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    loop {
        if reader.fill_buf()?.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        let Some(length) = read_head(&mut reader)? else {
            return Ok(());
        };
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let Some(reply) = next() else { return Ok(()) };
        let text = events(&reply);
        write!(
            writer,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        )?;
        writer.flush()?;
        if sender
            .send(Request {
                began,
                body,
                answered: Instant::now(),
            })
            .is_err()
        {
            return Ok(());
        }
    }
}

/// Reads the head of a request and returns the length of its body; none when the connection ends in it.
fn read_head(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<usize>> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line.trim().is_empty() {
            return Ok(Some(length));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
}

/// Returns the answer as server-sent events.
fn events(reply: &Reply) -> String {
    let (delta, reason) = match reply {
        Reply::Call(name, arguments) => (
            json!({"role": "assistant", "tool_calls": [{"index": 0, "id": "call_1", "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()}}]}),
            "tool_calls",
        ),
        Reply::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
    };
    let chunk = |choices: Value, usage: Value| json!({"id": "mock", "object": "chat.completion.chunk", "created": 0, "model": "mock", "choices": choices, "usage": usage});
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12});
    [
        chunk(
            json!([{"index": 0, "delta": delta, "finish_reason": null}]),
            Value::Null,
        ),
        chunk(
            json!([{"index": 0, "delta": {}, "finish_reason": reason}]),
            Value::Null,
        ),
        chunk(json!([]), usage),
    ]
    .iter()
    .map(|event| format!("data: {event}\n\n"))
    .chain(["data: [DONE]\n\n".to_owned()])
    .collect()
}
