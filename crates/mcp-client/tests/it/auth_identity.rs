//! Who we are to an authorization server.

use mcp_client::auth::{Registered, Secret};
use testkit::oauth::{FakeOAuth, Reply, Rules};
use url::Url;

use super::auth_setup::{Browser, call, client, client_with, config, file_store};
use mcp_client::auth::OAuth;
use std::sync::Arc;

const DOCUMENT: &str = "https://client.example.com/client.json";

#[tokio::test]
async fn cimd_then_dcr() {
    let server = FakeOAuth::start(Rules {
        reads_client_documents: true,
        ..Rules::default()
    });
    let with_document = client_with(&server, |config| {
        config.client_document = Some(Url::parse(DOCUMENT).unwrap());
    });
    assert_eq!(call(&with_document.oauth, &server).await, Ok(200));
    assert_eq!(
        server.requests_for("/authorize")[0].query["client_id"],
        DOCUMENT
    );
    assert_eq!(server.requests_for("/register").len(), 0);

    server.change(|rules| rules.reads_client_documents = false);
    let other = client_with(&server, |config| {
        config.client_document = Some(Url::parse(DOCUMENT).unwrap());
    });
    assert_eq!(call(&other.oauth, &server).await, Ok(200));
    let asked = server.requests_for("/register")[0].json();
    assert_eq!(asked["application_type"], "native");
    assert_eq!(
        asked["grant_types"],
        serde_json::json!(["authorization_code", "refresh_token"])
    );
    assert_eq!(asked["token_endpoint_auth_method"], "none");
    assert!(
        asked["redirect_uris"][0]
            .as_str()
            .unwrap()
            .starts_with("http://127.0.0.1:")
    );

    server.change(|rules| rules.registers = false);
    let error = call(&client(&server).oauth, &server).await.unwrap_err();
    assert!(
        error.contains("registers no clients by itself and none is configured"),
        "{error}"
    );
    assert!(error.contains("hint: "), "{error}");
}

#[tokio::test]
async fn a_registration_is_kept_across_sign_ins_and_ports() {
    let server = FakeOAuth::start(Rules::default());
    let first = client(&server);
    assert_eq!(call(&first.oauth, &server).await, Ok(200));
    let redirect = server.requests_for("/authorize")[0].query["redirect_uri"].clone();
    server.end_all_tokens();
    // The port of the registration is taken by now.
    let port = Url::parse(&redirect).unwrap().port().unwrap();
    let taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    assert_eq!(call(&first.oauth, &server).await, Ok(200));
    drop(taken);
    let second = server.requests_for("/authorize")[1].query["redirect_uri"].clone();
    assert_ne!(second, redirect);
    assert_eq!(server.requests_for("/register").len(), 1);

    // Another process, with the same home.
    server.end_all_tokens();
    let config = config(
        &server,
        &first.browser,
        file_store(&first.home),
        &first.clock,
    );
    assert_eq!(call(&OAuth::new(config).unwrap(), &server).await, Ok(200));
    assert_eq!(server.requests_for("/register").len(), 1);
}

#[tokio::test]
async fn a_registration_that_the_server_forgot_is_made_anew() {
    let server = FakeOAuth::start(Rules::default());
    let client = client(&server);
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    server.end_all_tokens();
    server.forget_clients();
    // The refresh says that the client is unknown, so the sign-in registers at once.
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    assert_eq!(server.requests_for("/register").len(), 2);
}

#[tokio::test]
async fn credentials_stay_with_their_issuer() {
    let server = FakeOAuth::start(Rules::default());
    let client = client(&server);
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    let before = server.secrets();
    server.change(|rules| rules.issuer_path = "/tenant2".to_owned());
    server.end_access_tokens();
    let seen = server.requests().len();
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    assert_eq!(server.requests_for("/register").len(), 2);
    let ids: Vec<_> = server
        .requests_for("/authorize")
        .iter()
        .map(|request| request.query["client_id"].clone())
        .collect();
    assert_ne!(ids[0], ids[1]);
    for request in &server.requests()[seen..] {
        let is_authorization = request.path != "/mcp";
        for secret in &before {
            let shows = request.head.contains(secret) || request.body.contains(secret);
            assert!(!(is_authorization && shows), "{}", request.path);
        }
    }
}

#[tokio::test]
async fn a_client_of_another_issuer_is_not_shown() {
    let server = FakeOAuth::start(Rules::default());
    let client = client_with(&server, |config| {
        config.registered = Some(Registered {
            issuer: Some("https://as.example.com".to_owned()),
            id: "me".to_owned(),
            secret: Some(Secret::new("SENTINEL-configured")),
            auth: None,
        });
    });
    let error = call(&client.oauth, &server).await.unwrap_err();
    assert!(
        error.contains("belongs to `https://as.example.com`"),
        "{error}"
    );
    assert!(
        server
            .requests()
            .iter()
            .all(|request| !request.head.contains("SENTINEL"))
    );
    assert_eq!(client.browser.sign_ins(), 0);
}

#[tokio::test]
async fn a_client_without_an_issuer_belongs_to_the_first_that_is_named() {
    let server = FakeOAuth::start(Rules {
        clients: vec![("me".to_owned(), "SENTINEL-configured".to_owned())],
        client_auth: None,
        ..Rules::default()
    });
    let client = client_with(&server, |config| {
        config.registered = Some(Registered {
            issuer: None,
            id: "me".to_owned(),
            secret: Some(Secret::new("SENTINEL-configured")),
            auth: None,
        });
    });
    // The first one does not even give a token.
    server.change(|rules| {
        rules
            .replies
            .insert("/token".to_owned(), Reply::status(404));
    });
    let error = call(&client.oauth, &server).await.unwrap_err();
    assert!(error.contains("HTTP 404 without a token"), "{error}");
    server.change(|rules| {
        rules.replies.clear();
        rules.issuer_path = "/tenant2".to_owned();
    });
    let error = call(&client.oauth, &server).await.unwrap_err();
    assert!(
        error.contains("the client id of `fake` belongs to"),
        "{error}"
    );
    assert_eq!(server.requests_for("/token").len(), 1);
    client.oauth.sign_out().await.unwrap();
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
}

#[tokio::test]
async fn the_token_endpoint_is_told_who_asks_as_it_wants() {
    for (methods, gives_secret, has_header, has_field) in [
        (Some(vec!["none".to_owned()]), false, false, false),
        (
            Some(vec!["client_secret_basic".to_owned()]),
            true,
            true,
            false,
        ),
        (
            Some(vec!["client_secret_post".to_owned()]),
            true,
            false,
            true,
        ),
        (None, true, true, false),
    ] {
        let server = FakeOAuth::start(Rules {
            client_auth: methods.clone(),
            gives_secret,
            ..Rules::default()
        });
        assert_eq!(call(&client(&server).oauth, &server).await, Ok(200));
        let request = &server.requests_for("/token")[0];
        let seen = (
            request.headers.contains_key("authorization"),
            request.form().contains_key("client_secret"),
        );
        assert_eq!(seen, (has_header, has_field), "{methods:?}");
    }
}

#[tokio::test]
async fn a_client_can_ask_for_itself() {
    let server = FakeOAuth::start(Rules {
        clients: vec![("me".to_owned(), "a secret: with &".to_owned())],
        client_auth: None,
        resource_scopes: Some(vec!["x".to_owned()]),
        expires_in: Some(100),
        ..Rules::default()
    });
    let client = client_with(&server, |config| {
        config.sign_in = None;
        config.is_for_client = true;
        config.registered = Some(Registered {
            issuer: Some(server.base().to_owned()),
            id: "me".to_owned(),
            secret: Some(Secret::new("a secret: with &")),
            auth: None,
        });
    });
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    client
        .clock
        .fetch_add(90, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    let asked = server.requests_for("/token");
    assert_eq!(asked.len(), 2);
    for request in asked {
        let form = request.form();
        assert_eq!(
            (form["grant_type"].as_str(), form["scope"].as_str()),
            ("client_credentials", "x")
        );
        assert_eq!(form["resource"], server.endpoint());
    }
}

#[tokio::test]
async fn a_person_can_paste_the_address_and_can_be_missing() {
    let server = FakeOAuth::start(Rules::default());
    let pasting = Arc::new(Browser {
        pastes: true,
        ..Browser::default()
    });
    let with = client_with(&server, |config| config.sign_in = Some(pasting));
    assert_eq!(call(&with.oauth, &server).await, Ok(200));

    let idle = Arc::new(Browser {
        is_idle: true,
        ..Browser::default()
    });
    let with = client_with(&server, |config| {
        config.sign_in = Some(idle);
        config.deadlines.sign_in = std::time::Duration::from_millis(50);
    });
    for registrations in [2, 3] {
        // Perhaps nobody answers because the page says that the client is unknown, so it is registered anew.
        let error = call(&with.oauth, &server).await.unwrap_err();
        assert!(error.contains("no answer to the sign-in"), "{error}");
        assert_eq!(server.requests_for("/register").len(), registrations);
    }

    let with = client_with(&server, |config| config.sign_in = None);
    let error = call(&with.oauth, &server).await.unwrap_err();
    assert_eq!(
        error,
        "`fake` wants a person to sign in, and nobody can be asked from here"
    );
}
