//! The address of this machine that a browser is sent back to after a sign-in (RFC 8252, 7.3).
//!
//! It lives for one sign-in, listens on 127.0.0.1, and takes one answer: a `GET` of its path with the right `state`.
//! Everything else is answered with an error and changes nothing, so neither an old tab nor another program can end a
//! sign-in or put a code of its own into it.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::failure::AuthError;
use super::secret::Secret;

/// The path that answers come to.
pub(crate) const PATH: &str = "/callback";

/// Largest head of a request, in bytes.
const HEAD: usize = 16 * 1024;

/// Connections at a time. A browser opens a few ahead; more wait in the system's queue.
const CONNECTIONS: usize = 16;

/// How long a connection may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);

/// How redirect addresses name this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RedirectHost {
    /// `127.0.0.1`, as RFC 8252 wants it.
    #[default]
    Address,
    /// `localhost`, for authorization servers that know nothing else.
    Name,
}

/// A listener that waits for one answer.
pub(crate) struct Callback {
    listener: TcpListener,
    /// The redirect address.
    pub redirect: String,
}

impl Callback {
    /// Listens: on `port`, which has to be free when `is_needed`, else on whatever is.
    pub(crate) async fn listen(
        host: RedirectHost,
        port: Option<u16>,
        is_needed: bool,
    ) -> Result<Self, AuthError> {
        let bind = async |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let wanted = bind(port.unwrap_or(0)).await;
        let listener = match (wanted, port) {
            (Err(_taken), Some(_)) if !is_needed => bind(0).await,
            (other, _) => other,
        };
        let listener = listener.map_err(|error| {
            let port = port.unwrap_or(0);
            AuthError::Local(format!(
                "cannot listen on 127.0.0.1:{port} for the browser's answer: {error}"
            ))
        })?;
        let port = listener
            .local_addr()
            .map_err(|error| AuthError::Local(format!("the listener has no address: {error}")))?
            .port();
        let host = match host {
            RedirectHost::Address => "127.0.0.1",
            RedirectHost::Name => "localhost",
        };
        let redirect = format!("http://{host}:{port}{PATH}");
        Ok(Self { listener, redirect })
    }

    /// Waits for the answer and returns its query. The caller sets the deadline.
    pub(crate) async fn answer(&self, state: &Secret) -> Result<Secret, AuthError> {
        let (found, mut answers) = mpsc::channel(1);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                Some(query) = answers.recv() => return Ok(query),
                Some(_ended) = connections.join_next(), if !connections.is_empty() => {}
                accepted = self.listener.accept(), if connections.len() < CONNECTIONS => {
                    let Ok((stream, _)) = accepted else {
                        // A connection that broke before it was taken, or no descriptors left for a moment.
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        continue;
                    };
                    let (state, found) = (state.clone(), found.clone());
                    connections.spawn(async move {
                        let served = serve(stream, &state, &found);
                        drop(tokio::time::timeout(PATIENCE, served).await);
                    });
                }
            }
        }
    }
}

async fn serve(mut stream: TcpStream, state: &Secret, found: &mpsc::Sender<Secret>) {
    let Some(head) = read_head(&mut stream).await else {
        return;
    };
    let answer = judge(&head, state);
    let (status, text) = match &answer {
        Ok(_) => (
            "200 OK",
            "The answer has arrived. You can close this page and go back to where you came from.",
        ),
        Err(refused) => *refused,
    };
    let body = format!("<!doctype html><meta charset=utf-8><title>Sign-in</title><p>{text}\n");
    let page = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         connection: close\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\n\
         content-security-policy: default-src 'none'\r\n\r\n{body}",
        body.len()
    );
    let _gone = stream.write_all(page.as_bytes()).await;
    let _gone = stream.shutdown().await;
    if let Ok(query) = answer {
        // Full when another connection has brought the answer already.
        let _second = found.try_send(query);
    }
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 2048];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let count = stream.read(&mut buffer).await.ok()?;
        if count == 0 || head.len() + count > HEAD {
            return None;
        }
        head.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(head).ok()
}

/// Returns the query of the one request that is waited for, or what to answer instead.
fn judge(head: &str, state: &Secret) -> Result<Secret, (&'static str, &'static str)> {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let method = words.next().unwrap_or_default();
    let (path, query) = {
        let target = words.next().unwrap_or_default();
        target.split_once('?').unwrap_or((target, ""))
    };
    if path != PATH {
        return Err(("404 Not Found", "There is nothing here."));
    }
    if method != "GET" {
        return Err(("405 Method Not Allowed", "Only GET is answered here."));
    }
    let has_state = url::form_urlencoded::parse(query.as_bytes())
        .any(|(name, value)| name == "state" && value == state.expose());
    if !has_state {
        return Err((
            "400 Bad Request",
            "This answer belongs to no sign-in that is under way. Start it again.",
        ));
    }
    Ok(Secret::new(query))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_path_and_state_are_taken() {
        let state = Secret::new("s t");
        let status =
            |line: &str| judge(&format!("{line}\r\n\r\n"), &state).map_err(|(status, _)| status);
        assert_eq!(
            status("GET /callback?code=1&state=s+t HTTP/1.1"),
            Ok(Secret::new("code=1&state=s+t"))
        );
        assert_eq!(
            status("GET /callback?error=x&state=s%20t HTTP/1.1"),
            Ok(Secret::new("error=x&state=s%20t"))
        );
        for (line, wanted) in [
            ("GET / HTTP/1.1", "404 Not Found"),
            ("GET /callback/ HTTP/1.1", "404 Not Found"),
            ("GET /favicon.ico?state=s+t HTTP/1.1", "404 Not Found"),
            (
                "POST /callback?code=1&state=s+t HTTP/1.1",
                "405 Method Not Allowed",
            ),
            ("GET /callback?code=1 HTTP/1.1", "400 Bad Request"),
            (
                "GET /callback?code=1&state=other HTTP/1.1",
                "400 Bad Request",
            ),
            ("", "404 Not Found"),
        ] {
            assert_eq!(status(line), Err(wanted), "{line}");
        }
    }

    #[tokio::test]
    async fn a_silent_connection_and_a_wrong_answer_do_not_end_the_wait() {
        let callback = Callback::listen(RedirectHost::Address, None, false)
            .await
            .unwrap();
        let address = callback
            .redirect
            .strip_prefix("http://")
            .unwrap()
            .strip_suffix(PATH)
            .unwrap();
        let state = Secret::new("right");
        let browser = async {
            let _silent = TcpStream::connect(address).await.unwrap();
            let mut pages = Vec::new();
            for state in ["wrong", "right"] {
                let mut stream = TcpStream::connect(address).await.unwrap();
                let request =
                    format!("GET {PATH}?code=c&state={state} HTTP/1.1\r\nhost: x\r\n\r\n");
                stream.write_all(request.as_bytes()).await.unwrap();
                let mut page = String::new();
                stream.read_to_string(&mut page).await.unwrap();
                pages.push(page[..12].to_owned());
            }
            pages
        };
        let (answer, pages) = tokio::join!(callback.answer(&state), browser);
        assert_eq!(answer.unwrap().expose(), "code=c&state=right");
        assert_eq!(pages, ["HTTP/1.1 400", "HTTP/1.1 200"]);
    }

    #[tokio::test]
    async fn a_taken_port_is_an_error_only_where_it_is_needed() {
        let first = Callback::listen(RedirectHost::Name, None, false)
            .await
            .unwrap();
        let port = first.listener.local_addr().unwrap().port();
        assert_eq!(first.redirect, format!("http://localhost:{port}/callback"));
        let other = Callback::listen(RedirectHost::Address, Some(port), false)
            .await
            .unwrap();
        assert_ne!(other.listener.local_addr().unwrap().port(), port);
        assert!(
            Callback::listen(RedirectHost::Address, Some(port), true)
                .await
                .is_err()
        );
    }
}
