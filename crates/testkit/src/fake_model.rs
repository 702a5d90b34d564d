//! A model server that does what a test says, on all three wires, with its own code.
//!
//! Each request takes the next answer of the script, in the wire that its path names: `…/messages`, `…/responses` or
//! `…/chat/completions`. Requests are kept. When the script is used up the server answers 400 and says so.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::Value;

mod answer;
mod frames;

pub use answer::{Answer, Tokens};

/// A running server. Ends when it is dropped.
pub struct FakeModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub text: String,
    /// The body as JSON; null if it is none.
    pub body: Value,
}

impl Recorded {
    /// Returns a header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

struct Shared {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Recorded>>,
    is_over: AtomicBool,
}

impl FakeModel {
    /// Starts a server on a free port of 127.0.0.1 that gives these answers.
    ///
    /// # Panics
    ///
    /// When no port can be had.
    pub fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            answers: Mutex::new(answers.into_iter().collect()),
            requests: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        let acceptor = thread::spawn(move || accept(&listener, &for_thread));
        Self {
            address,
            shared,
            acceptor: Some(acceptor),
        }
    }

    /// Returns `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Appends an answer to the script.
    ///
    /// # Panics
    ///
    /// When another thread panicked meanwhile.
    pub fn push(&self, answer: Answer) {
        self.shared.answers.lock().unwrap().push_back(answer);
    }

    /// Returns the requests so far, oldest first.
    ///
    /// # Panics
    ///
    /// When another thread panicked meanwhile.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the acceptor.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut connections = Vec::new();
    for stream in listener.incoming() {
        if shared.is_over.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        connections.push(thread::spawn(move || serve(stream, &shared)));
    }
    for connection in connections {
        drop(connection.join());
    }
}

/// Serves one connection until the client closes it, an answer ends it or the server is over.
fn serve(stream: TcpStream, shared: &Shared) {
    drop(stream.set_nodelay(true));
    drop(stream.set_read_timeout(Some(Duration::from_millis(20))));
    let Ok(mut out) = stream.try_clone() else {
        return;
    };
    let mut reader = BufReader::new(Patient { stream, shared });
    while let Some(request) = read_request(&mut reader) {
        let path = request.path.clone();
        shared.requests.lock().unwrap().push(request);
        let answer = shared.answers.lock().unwrap().pop_front();
        let answer = answer.unwrap_or_else(|| {
            Answer::status(400).body(r#"{"error":{"message":"the fake model has no answer left"}}"#)
        });
        let mut hang = || {
            // Until the client goes away or the test is over.
            let mut byte = [0];
            while matches!(reader.read(&mut byte), Ok(1..)) {}
        };
        match answer.send(&path, &mut out, &mut hang) {
            Ok(true) => {}
            Ok(false) | Err(_) => break,
        }
    }
    drop(out.shutdown(Shutdown::Both));
}

/// Reads a socket, waiting until there is something, the client closes or the server is over.
struct Patient<'a> {
    stream: TcpStream,
    shared: &'a Shared,
}

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock
                            | std::io::ErrorKind::TimedOut
                            | std::io::ErrorKind::Interrupted
                    ) && !self.shared.is_over.load(Ordering::SeqCst) => {}
                other => return other,
            }
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<Recorded> {
    let first = read_line(reader)?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let line = read_line(reader)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().unwrap_or(0));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let text = String::from_utf8_lossy(&body).into_owned();
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    Some(Recorded {
        method,
        path,
        headers,
        text,
        body,
    })
}

fn read_line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    match reader.read_line(&mut line) {
        Ok(1..) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
        _ => None,
    }
}

/// Writes one chunk of a chunked body.
fn write_chunk(out: &mut dyn Write, bytes: &[u8]) -> std::io::Result<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    out.write_all(&chunk)?;
    out.flush()
}
