use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use mcp_wire::Raw;

use super::*;
use crate::operation;

/// Reads one request and answers it.
fn answer_one(stream: &mut TcpStream) {
    const ANSWER: &[u8] =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        assert_eq!(stream.read(&mut byte).expect("a request"), 1, "{head:?}");
        head.push(byte[0]);
    }
    stream.write_all(ANSWER).expect("an answer");
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_lay_idle_costs_no_request() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = Endpoint::Tcp {
        address: listener.local_addr().expect("an address").to_string(),
        token: None,
    };
    let (close, closes) = std::sync::mpsc::channel();
    let (closed, is_closed) = std::sync::mpsc::channel();
    let daemon = std::thread::spawn(move || {
        for _ in 0..4 {
            let (mut stream, _) = listener.accept().expect("a client");
            answer_one(&mut stream);
            closes.recv().expect("the client has its answer");
            drop(stream);
            closed.send(()).expect("the client waits");
        }
    });
    let client = Client::new(endpoint, Caller::default(), Duration::from_secs(20));
    for op in [Op::Reload, Op::Refresh, Op::Restart, Op::LogRecord] {
        let answer = client.send(operation(op), &Object::new()).await;
        assert_eq!(answer.expect("an answer").status, 200);
        // The runtime's one thread waits here: the client has not seen the end when it sends again.
        close.send(()).expect("the daemon waits");
        is_closed.recv().expect("closed");
    }
    daemon.join().expect("its end");
}

#[test]
fn a_call_is_waited_for_as_long_as_its_server_may_take_and_nothing_else_is() {
    let second = Duration::from_secs(1);
    let client =
        Client::unix(Path::new("/s"), Caller::default(), 5 * second).for_calls(60 * second);
    let nothing = Object::new();
    let patience = |op, params: &Object| client.patience(operation(op), params);
    assert_eq!(patience(Op::Status, &nothing), 5 * second);
    assert_eq!(patience(Op::Call, &nothing), 60 * second + GRACE);
    let named = Object::new().with("timeoutMs", 100_000);
    assert_eq!(patience(Op::Call, &named), 100 * second + GRACE);
    let two = Object::new().with("calls", Raw::of(&[1, 2]));
    assert_eq!(patience(Op::Batch, &two), 2 * (60 * second + GRACE));
    // Never for less than for anything else.
    let quick = Client::unix(Path::new("/s"), Caller::default(), 50 * second).for_calls(second);
    assert_eq!(quick.patience(operation(Op::Call), &nothing), 50 * second);
}
