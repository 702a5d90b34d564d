//! Who brings credentials is asked before each request, and told what the server said about them.

use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use mcp_client::transport::Authorizer;
use mcp_client::{FailureKind, Reach, Refuser, connect};
use testkit::mcp::{Behaviour, Chaos, HttpChaos, Reply};

use crate::http_setup::{http_spec, reach};
use crate::setup::{object, options};

/// A status, its challenges, and what had been sent.
type Told = (u16, Vec<String>, Option<String>);

/// Has the next token after each challenge.
#[derive(Default)]
struct Tokens {
    number: Mutex<u32>,
    told: Mutex<Vec<Told>>,
    refuses: bool,
    takes: std::time::Duration,
}

#[async_trait]
impl Authorizer for Tokens {
    async fn header(&self) -> Result<Option<String>, String> {
        let number = *self.number.lock().unwrap();
        Ok((number > 0).then(|| format!("Bearer token-{number}")))
    }

    async fn challenged(
        &self,
        status: u16,
        challenges: &[String],
        sent: Option<&str>,
    ) -> Result<bool, String> {
        let told = (status, challenges.to_vec(), sent.map(str::to_owned));
        self.told.lock().unwrap().push(told);
        *self.number.lock().unwrap() += 1;
        tokio::time::sleep(self.takes).await;
        if self.refuses {
            return Err("sign in first".to_owned());
        }
        Ok(true)
    }
}

fn spec(server: &HttpChaos, tokens: &Arc<Tokens>) -> mcp_client::ServerSpec {
    let mut reach = reach(server.url());
    reach.authorizer = Some(tokens.clone());
    let mut spec = http_spec(server);
    spec.reach = Reach::Http(reach);
    spec
}

fn challenge() -> Behaviour {
    Behaviour::Http(Reply::unauthorized("Bearer scope=\"a\""))
}

#[tokio::test]
async fn a_challenge_is_passed_on_and_the_request_sent_again() {
    let server = Chaos::new()
        .modern()
        .on_nth("server/discover", 1, challenge())
        .tool("x", Behaviour::Answer)
        .http();
    let tokens = Arc::new(Tokens::default());
    let connection = connect(spec(&server, &tokens), None).await.unwrap();
    connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
    assert_eq!(
        *tokens.told.lock().unwrap(),
        [(401, vec!["Bearer scope=\"a\"".to_owned()], None)]
    );
    let received = server.received();
    let sent: Vec<_> = received
        .of_kind("message")
        .iter()
        .map(|entry| entry.headers.get("authorization").cloned())
        .collect();
    assert_eq!(sent[0], None);
    assert!(
        sent[1..]
            .iter()
            .all(|sent| sent.as_deref() == Some("Bearer token-1"))
    );
}

#[tokio::test]
async fn a_server_that_is_never_content_is_given_up() {
    let server = Chaos::new().modern().probe(challenge()).http();
    let tokens = Arc::new(Tokens::default());
    let failure = connect(spec(&server, &tokens), None).await.err().unwrap();
    let refused = FailureKind::Refused {
        by: Refuser::Credentials,
        why: String::new(),
    };
    assert_eq!(
        std::mem::discriminant(&failure.kind),
        std::mem::discriminant(&refused)
    );
    assert_eq!(tokens.told.lock().unwrap().len(), 3);
    assert_eq!(server.received().methods().len(), 4);
    assert!(!failure.to_string().contains("token-"), "{failure}");
}

#[tokio::test]
async fn what_a_person_has_to_do_is_said_as_the_authorizer_said_it() {
    let server = Chaos::new().modern().probe(challenge()).http();
    let tokens = Arc::new(Tokens {
        refuses: true,
        ..Tokens::default()
    });
    let failure = connect(spec(&server, &tokens), None).await.err().unwrap();
    assert!(failure.to_string().contains("sign in first"), "{failure}");
    assert_eq!(server.received().methods().len(), 1);
}

#[tokio::test]
async fn a_403_about_scopes_is_a_challenge_and_another_is_a_status() {
    let scopes =
        Reply::status(403).header("WWW-Authenticate", "Bearer error=\"insufficient_scope\"");
    let server = Chaos::new()
        .modern()
        .tool("x", Behaviour::Answer)
        .on_nth("tools/call", 1, Behaviour::Http(scopes))
        .tool("y", Behaviour::Http(Reply::status(403)))
        .http();
    let tokens = Arc::new(Tokens::default());
    let connection = connect(spec(&server, &tokens), None).await.unwrap();
    connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
    assert_eq!(tokens.told.lock().unwrap()[0].0, 403);
    let failure = connection
        .call_tool("y", object("{}"), &options())
        .await
        .unwrap_err();
    assert!(failure.to_string().contains("HTTP 403"), "{failure}");
}

#[tokio::test]
async fn the_time_that_a_person_takes_to_sign_in_is_no_time_of_the_server() {
    let server = Chaos::new()
        .modern()
        .on_nth("server/discover", 1, challenge())
        .on_nth("tools/call", 1, challenge())
        .tool("x", Behaviour::Answer)
        .http();
    let tokens = Arc::new(Tokens {
        takes: std::time::Duration::from_secs(3),
        ..Tokens::default()
    });
    let mut spec = spec(&server, &tokens);
    spec.timeouts.start = std::time::Duration::from_millis(2_500);
    spec.timeouts.idle = std::time::Duration::from_millis(2_500);
    let connection = connect(spec, None).await.unwrap();
    connection
        .call_tool("x", object("{}"), &options())
        .await
        .unwrap();
    assert_eq!(tokens.told.lock().unwrap().len(), 2);
}
