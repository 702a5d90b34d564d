//! Which scopes are asked for, and how often.

use testkit::oauth::{FakeOAuth, Reply, Rules};

use super::auth_setup::{call, client};

fn asked(server: &FakeOAuth) -> Vec<Option<String>> {
    let requests = server.requests_for("/authorize");
    requests
        .iter()
        .map(|request| request.query.get("scope").cloned())
        .collect()
}

fn some(scope: &str) -> Option<String> {
    Some(scope.to_owned())
}

#[tokio::test]
async fn a_step_up_asks_for_what_there_was_and_what_is_needed() {
    let server = FakeOAuth::start(Rules {
        challenge_scope: Some("basic".to_owned()),
        resource_scopes: Some(vec![
            "basic".to_owned(),
            "write".to_owned(),
            "admin".to_owned(),
        ]),
        ..Rules::default()
    });
    let client = client(&server);
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    server.change(|rules| rules.call_scope = Some("write".to_owned()));
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    assert_eq!(asked(&server), [some("basic"), some("basic write")]);
    let registered = server.requests_for("/register")[0].json();
    assert_eq!(registered["scope"], "basic write admin");
}

#[tokio::test]
async fn a_server_that_is_never_content_is_given_up() {
    let server = FakeOAuth::start(Rules::default());
    let client = client(&server);
    let wants = |scope: &str| {
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
        Reply::status(403).header("www-authenticate", &challenge)
    };
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    server.change(|rules| {
        rules.replies.insert("/mcp".to_owned(), wants("a"));
    });
    let error = call(&client.oauth, &server).await.unwrap_err();
    assert!(error.contains("were asked for already: `a`"), "{error}");
    assert_eq!(client.browser.sign_ins(), 2);

    // More each time.
    for scope in ["b", "c", "d"] {
        server.change(|rules| {
            rules.replies.insert("/mcp".to_owned(), wants(scope));
        });
        drop(call(&client.oauth, &server).await);
    }
    assert!(
        client.browser.sign_ins() <= 3,
        "{}",
        client.browser.sign_ins()
    );

    // 403 for another reason is an answer.
    server.change(|rules| {
        rules.replies.insert("/mcp".to_owned(), Reply::status(403));
    });
    assert_eq!(call(&client.oauth, &server).await, Ok(403));
}

#[tokio::test]
async fn a_server_that_refuses_every_token_is_given_up() {
    let server = FakeOAuth::start(Rules::default());
    let client = client(&server);
    server.change(|rules| {
        rules.replies.insert("/mcp".to_owned(), Reply::status(401));
    });
    let error = call(&client.oauth, &server).await.unwrap_err();
    assert!(
        error.contains("refuses what its authorization server gives"),
        "{error}"
    );
    assert!(
        client.browser.sign_ins() <= 3,
        "{}",
        client.browser.sign_ins()
    );
}

#[tokio::test]
async fn offline_access_is_asked_for_where_it_is_offered() {
    for (offered, expected) in [
        (vec![], "x"),
        (vec!["offline_access".to_owned()], "x offline_access"),
    ] {
        let server = FakeOAuth::start(Rules {
            resource_scopes: Some(vec!["x".to_owned()]),
            server_scopes: offered,
            ..Rules::default()
        });
        assert_eq!(call(&client(&server).oauth, &server).await, Ok(200));
        assert_eq!(asked(&server), [some(expected)]);
    }
}

#[tokio::test]
async fn the_resource_is_in_both_requests_as_its_metadata_writes_it() {
    let server = FakeOAuth::start(Rules::default());
    let written = format!("{}/", server.endpoint());
    server.change(|rules| rules.resource = Some(written.clone()));
    assert_eq!(call(&client(&server).oauth, &server).await, Ok(200));
    assert_eq!(
        server.requests_for("/authorize")[0].query["resource"],
        written
    );
    assert_eq!(server.requests_for("/token")[0].form()["resource"], written);
}
