//! No secret is anywhere but on its wire and in the store.

use std::path::Path;
use std::sync::atomic::Ordering;

use mcp_client::auth::{Registered, Secret};
use mcp_client::transport::Authorizer as _;
use testkit::oauth::{FakeOAuth, Reply, Rules};

use super::auth_setup::{call, client_with};

const SENTINEL: &str = "SENTINEL";

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[tokio::test]
async fn secret_sentinel_nowhere() {
    let secret = format!("{SENTINEL}-configured");
    let server = FakeOAuth::start(Rules {
        clients: vec![("me".to_owned(), secret.clone())],
        client_auth: None,
        expires_in: Some(1_000),
        ..Rules::default()
    });
    let registered = Registered {
        issuer: Some(server.base().to_owned()),
        id: "me".to_owned(),
        secret: Some(Secret::new(secret)),
        auth: None,
    };
    let mut shown = vec![format!("{registered:?}")];
    let client = client_with(&server, |config| config.registered = Some(registered));
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    client.clock.fetch_add(990, Ordering::SeqCst);
    assert_eq!(call(&client.oauth, &server).await, Ok(200));

    // Errors of a server that says back what it was sent, and a record in its debug form.
    let store = super::auth_setup::file_store(&client.home);
    let (record, _) = store.load("fake").unwrap();
    shown.push(format!("{record:?}"));
    let tokens = record.unwrap().tokens.unwrap();
    let refresh = tokens.refresh.unwrap();
    let echo = serde_json::json!({
        "error": "server_error",
        "error_description": format!("cannot take {} of {SENTINEL}-configured", refresh.expose()),
    });
    server.change(|rules| {
        rules
            .replies
            .insert("/token".to_owned(), Reply::json(400, &echo));
    });
    client.clock.fetch_add(1_001, Ordering::SeqCst);
    shown.push(client.oauth.header().await.unwrap_err());
    shown.push(format!("{:?}", client.oauth.sign_in().await.unwrap_err()));
    shown.push(format!("{:?}", client.browser.opened.lock().unwrap()));
    for opened in client.browser.opened.lock().unwrap().iter() {
        shown.push(opened.url.to_string());
    }
    for text in &shown {
        assert!(!text.contains(SENTINEL), "{text}");
    }
    assert!(
        shown[2].contains("[redacted: configured key]"),
        "{}",
        shown[2]
    );

    // Every secret that was given out: in no URL, and in no file but the record.
    let secrets = server.secrets();
    assert!(secrets.len() >= 5, "{secrets:?}");
    for request in server.requests() {
        let line = request.head.lines().next().unwrap();
        assert!(!line.contains(SENTINEL), "{line}");
    }
    let mut found = Vec::new();
    files(client.home.path(), &mut found);
    found.retain(|path| std::fs::read_to_string(path).unwrap().contains(SENTINEL));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(client.home.path().join("tokens")));
}

#[tokio::test]
async fn nothing_of_the_transport_gets_to_the_authorization_server() {
    let server = FakeOAuth::start(Rules::default());
    let client = client_with(&server, |_| {});
    assert_eq!(call(&client.oauth, &server).await, Ok(200));
    for request in server.requests() {
        if request.path == "/mcp" {
            continue;
        }
        for (name, _) in request.headers {
            let is_ours = [
                "host",
                "accept",
                "user-agent",
                "content-type",
                "content-length",
            ]
            .contains(&name.as_str());
            assert!(is_ours, "{name} to {}", request.path);
        }
    }
}
