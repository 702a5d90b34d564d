use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;

/// A server on loopback that gives the next of its answers to each connection.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        drop(tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if stream.read(&mut byte).await.unwrap() == 0 {
                        break;
                    }
                    request.push(byte[0]);
                }
                seen.lock()
                    .unwrap()
                    .push(String::from_utf8(request).unwrap());
                // The client may have gone away in the middle of a long body.
                drop(stream.write_all(&answer).await);
            }
        }));
        Self { address, requests }
    }

    /// Makes the tool over a lookup that knows this server as `site.test` and `other.test`, and `inner.test` as private.
    fn tool(&self) -> WebFetch {
        let address = self.address;
        let lookup: Lookup = Arc::new(move |host, port| {
            Box::pin(async move {
                match host.as_str() {
                    "site.test" | "other.test" => Ok(vec![address]),
                    "inner.test" => Ok(vec![SocketAddr::new("10.0.0.7".parse().unwrap(), port)]),
                    "mixed.test" => Ok(vec![
                        address,
                        SocketAddr::new("169.254.169.254".parse().unwrap(), port),
                    ]),
                    _ => Err(std::io::Error::other("no such host")),
                }
            })
        });
        WebFetch::over(lookup, Some(address))
    }

    async fn fetch(&self, url: &str, max_bytes: usize) -> Result<ToolOutput, ToolError> {
        let url = url.replace("PORT", &self.address.port().to_string());
        let (url, max_bytes) = self
            .tool()
            .read(&json!({ "url": url, "max_bytes": max_bytes }))
            .unwrap();
        self.tool().fetch(url, max_bytes).await
    }

    fn without_port(&self, text: &str) -> String {
        text.replace(&format!(":{}", self.address.port()), "")
    }
}

fn ok(content_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn moved(target: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
    .into_bytes()
}

async fn check(answers: Vec<Vec<u8>>, max_bytes: usize, expected: &str) {
    let server = Server::start(answers).await;
    let output = server
        .fetch("http://site.test:PORT/a", max_bytes)
        .await
        .unwrap();
    assert_eq!(server.without_port(&output.text), expected);
    assert!(!output.is_error);
}

async fn check_fails(answers: Vec<Vec<u8>>, url: &str, expected: &str) {
    let server = Server::start(answers).await;
    let error = server.fetch(url, DEFAULT_BYTES).await.unwrap_err();
    assert_eq!(server.without_port(&error.to_string()), expected);
}

#[tokio::test]
async fn pages_come_as_text_with_where_they_came_from() {
    let html = b"<title>T</title><p>caf\xc3\xa9</p>";
    check(
        vec![ok("text/html; charset=utf-8", html)],
        1000,
        "T\n\ncafé\n\n[http://site.test/a, 28 bytes]",
    )
    .await;
    check(
        vec![ok("application/json", b"{\"a\":1}")],
        1000,
        "{\"a\":1}\n\n[http://site.test/a, 7 bytes]",
    )
    .await;
    check(
        vec![ok("text/plain; charset=latin1", b"caf\xe9")],
        1000,
        "café\n\n[http://site.test/a, 4 bytes]",
    )
    .await;
    check(
        vec![ok("text/html", b"<meta charset=windows-1252><p>\x80 5</p>")],
        1000,
        "€ 5\n\n[http://site.test/a, 37 bytes]",
    )
    .await;
    check(
        vec![ok("", b"<!DOCTYPE html><p>x</p>")],
        1000,
        "x\n\n[http://site.test/a, 23 bytes]",
    )
    .await;
}

#[tokio::test]
async fn what_is_cut_is_said_to_be_cut() {
    let long = "é".repeat(300);
    check(
        vec![ok("text/plain", long.as_bytes())],
        101,
        &format!(
            "{}\n\n[http://site.test/a, 101 bytes, cut: the whole has 600 bytes]",
            "é".repeat(50)
        ),
    )
    .await;
    let page = format!("<script>{}</script><p>{long}</p>", "x".repeat(2000));
    check(
        vec![ok("text/html", page.as_bytes())],
        101,
        &format!(
            "{}\n\n[http://site.test/a, 2624 bytes, text cut at 100 of 601 bytes]",
            "é".repeat(50)
        ),
    )
    .await;
    let endless = [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n".to_vec(),
        vec![b'x'; 3_000_000],
    ]
    .concat();
    check(
        vec![endless],
        10,
        "xxxxxxxxxx\n\n[http://site.test/a, 10 bytes, cut: there is more]",
    )
    .await;
}

#[tokio::test]
async fn other_data_is_refused_with_its_kind_and_size() {
    let url = "http://site.test:PORT/a";
    check_fails(
        vec![ok("image/png", b"1234")],
        url,
        "http://site.test/a is `image/png` (4 bytes), not text",
    )
    .await;
    check_fails(
        vec![ok("text/plain", b"a\0b")],
        url,
        "http://site.test/a is binary data (3 bytes), not text",
    )
    .await;
    let zipped =
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx".to_vec();
    check_fails(
        vec![zipped],
        url,
        "http://site.test/a is compressed although that was not asked for (1 bytes), not text",
    )
    .await;
}

#[tokio::test]
async fn a_failure_carries_the_status_and_the_servers_words() {
    let answer = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 14\r\n\r\n<p>no such</p>".to_vec();
    let server = Server::start(vec![answer]).await;
    let output = server.fetch("http://site.test:PORT/a", 1000).await.unwrap();
    assert!(output.is_error);
    assert_eq!(
        server.without_port(&output.text),
        "http://site.test/a answered 404 Not Found\n\nno such"
    );
}

#[tokio::test]
async fn redirects_are_followed_on_the_same_host_alone() {
    check(
        vec![moved("/b?x#y"), ok("text/plain", b"hi")],
        99,
        "hi\n\n[http://site.test/b?x, 2 bytes]",
    )
    .await;
    let server = Server::start(vec![moved("http://other.test/c")]).await;
    let output = server.fetch("http://site.test:PORT/a", 99).await.unwrap();
    assert_eq!(
        server.without_port(&output.text),
        "http://site.test/a leads to another place: http://other.test/c\nCall `web_fetch` with that address to read it."
    );
    check_fails(
        vec![moved("file:///etc/passwd")],
        "http://site.test:PORT/a",
        "http://site.test/a redirects to `file:///etc/passwd`, which is no web address",
    )
    .await;
    let server = Server::start((0..9).map(|_| moved("/a")).collect()).await;
    let error = server
        .fetch("http://site.test:PORT/a", 99)
        .await
        .unwrap_err();
    assert!(
        error.to_string().starts_with("more than 5 redirects"),
        "{error}"
    );
    assert_eq!(server.requests.lock().unwrap().len(), 6);
}

#[tokio::test]
async fn nothing_but_the_public_internet_is_reached() {
    let refused = async |url: &str, host: &str, address: &str| {
        check_fails(
            Vec::new(),
            url,
            &format!(
                "`{host}` is {address}, which is not on the public internet: this tool reaches no private, local or internal addresses; a local server can be asked with `bash` where the sandbox lets it"
            ),
        )
        .await;
    };
    refused("http://inner.test/", "inner.test", "10.0.0.7").await;
    refused("http://mixed.test:PORT/", "mixed.test", "169.254.169.254").await;
    refused("http://127.0.0.1:1/", "127.0.0.1", "127.0.0.1").await;
    refused("http://0x7f000001:1/", "127.0.0.1", "127.0.0.1").await;
    refused(
        "http://[::ffff:127.0.0.1]:1/",
        "[::ffff:7f00:1]",
        "::ffff:127.0.0.1",
    )
    .await;
    refused(
        "http://169.254.169.254/latest/",
        "169.254.169.254",
        "169.254.169.254",
    )
    .await;
    check_fails(
        Vec::new(),
        "http://nowhere.test/",
        "cannot find the host `nowhere.test`: no such host",
    )
    .await;
}

#[tokio::test]
async fn the_connection_goes_to_the_address_that_was_checked() {
    let server = Server::start(vec![ok("text/plain", b"hi")]).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let (address, count) = (server.address, asked.clone());
    // Gives a private address from the second time on, as a hostile name server would.
    let lookup: Lookup = Arc::new(move |_, port| {
        let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
        let private = SocketAddr::new("127.0.0.2".parse().unwrap(), port);
        Box::pin(async move { Ok(vec![if is_first { address } else { private }]) })
    });
    let tool = WebFetch::over(lookup, Some(address));
    let url = Url::parse(&format!("http://site.test:{}/", address.port())).unwrap();
    assert!(
        tool.fetch(url.clone(), 99)
            .await
            .unwrap()
            .text
            .starts_with("hi\n")
    );
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(matches!(
        tool.fetch(url, 99).await,
        Err(ToolError::Refused(_))
    ));
}

#[tokio::test]
async fn a_request_says_who_asks_and_nothing_else() {
    let server = Server::start(vec![ok("text/plain", b"")]).await;
    server
        .fetch("http://me:secret@site.test:PORT/a#here", 9)
        .await
        .unwrap();
    let request = server.requests.lock().unwrap()[0].to_ascii_lowercase();
    assert!(request.starts_with("get /a http/1.1\r\n"), "{request}");
    assert!(request.contains("user-agent: cox/"), "{request}");
    for header in ["authorization", "cookie", "accept-encoding", "referer"] {
        assert!(!request.contains(header), "{request}");
    }
}

#[test]
fn the_subject_is_the_address_in_normal_form() {
    let tool = WebFetch::new();
    let read = |url: &str| match tool.read(&json!({ "url": url })) {
        Ok((url, _)) => url.to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        read("HTTPS://Example.com:443/a/../b"),
        "https://example.com/b"
    );
    assert!(
        read("ftp://example.com").starts_with("bad arguments for `web_fetch`: `ftp://example.com`")
    );
    assert!(
        tool.read(&json!({ "url": "https://example.com", "max_bytes": 0 }))
            .is_err()
    );
}
