//! Who authorizes for a server: what is asked for, in which order, and what is refused.

use testkit::oauth::{FakeOAuth, Reply, Rules};

use super::auth_setup::{call, client};

const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
const SERVER: &str = "/.well-known/oauth-authorization-server";

/// Calls once and returns what came of it, with the metadata that was asked for.
async fn discovery(rules: Rules) -> (Result<u16, String>, Vec<String>) {
    discovery_with(|_| {}, rules).await
}

async fn discovery_with(
    change: impl FnOnce(&FakeOAuth),
    rules: Rules,
) -> (Result<u16, String>, Vec<String>) {
    let server = FakeOAuth::start(rules);
    change(&server);
    let client = client(&server);
    let result = call(&client.oauth, &server).await;
    let mut lines = server.lines();
    lines.retain(|line| {
        line.starts_with("GET /.well-known")
            || line.contains("/tenant1")
            || line.contains("/custom")
    });
    (result, lines)
}

fn get(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| format!("GET {path}")).collect()
}

#[tokio::test]
async fn the_named_metadata_is_asked_alone() {
    let (result, asked) = discovery(Rules::default()).await;
    assert_eq!((result, asked), (Ok(200), get(&[RESOURCE, SERVER])));
}

#[tokio::test]
async fn metadata_that_is_not_named_is_looked_for_under_the_path_and_then_at_the_root() {
    let rules = Rules {
        names_metadata: false,
        ..Rules::default()
    };
    let (result, asked) = discovery(rules.clone()).await;
    assert_eq!((result, asked), (Ok(200), get(&[RESOURCE, SERVER])));

    let at_root = |server: &FakeOAuth| {
        let document = serde_json::json!({"resource": server.base(), "authorization_servers": [server.base()]});
        server.change(|rules| {
            rules.has_resource_metadata = false;
            let reply = Reply::json(200, &document);
            rules
                .replies
                .insert("/.well-known/oauth-protected-resource".to_owned(), reply);
        });
    };
    let (result, asked) = discovery_with(at_root, rules).await;
    let expected = get(&[RESOURCE, "/.well-known/oauth-protected-resource", SERVER]);
    assert_eq!((result, asked), (Ok(200), expected));
}

#[tokio::test]
async fn the_authorization_servers_metadata_is_looked_for_in_three_places() {
    let places = [
        "/.well-known/oauth-authorization-server/tenant1",
        "/.well-known/openid-configuration/tenant1",
        "/tenant1/.well-known/openid-configuration",
    ];
    for count in 1..=places.len() {
        let rules = Rules {
            issuer_path: "/tenant1".to_owned(),
            metadata_path: Some(places[count - 1].to_owned()),
            ..Rules::default()
        };
        let (result, asked) = discovery(rules).await;
        let expected = get(&[&[RESOURCE], &places[..count]].concat());
        assert_eq!((result, asked), (Ok(200), expected));
    }
}

#[tokio::test]
async fn a_server_of_2025_03_26_without_metadata_has_the_usual_endpoints() {
    let rules = Rules {
        has_resource_metadata: false,
        names_metadata: false,
        metadata_path: Some("/nowhere".to_owned()),
        ..Rules::default()
    };
    let (result, asked) = discovery(rules).await;
    let expected = get(&[
        RESOURCE,
        "/.well-known/oauth-protected-resource",
        SERVER,
        "/.well-known/openid-configuration",
    ]);
    assert_eq!((result, asked), (Ok(200), expected));
}

#[tokio::test]
async fn a_page_for_everything_is_no_metadata() {
    let page = Reply {
        body: "<!doctype html>".to_owned(),
        ..Reply::status(200)
    };
    let mut rules = Rules {
        metadata_path: Some("/.well-known/openid-configuration".to_owned()),
        ..Rules::default()
    };
    rules.replies.insert(SERVER.to_owned(), page);
    let (result, _) = discovery(rules).await;
    assert_eq!(result, Ok(200));
}

#[tokio::test]
async fn what_metadata_may_not_say_ends_the_search() {
    let refused = |change: &dyn Fn(&mut Rules)| {
        let mut rules = Rules::default();
        change(&mut rules);
        async move {
            let (result, _) = discovery(rules).await;
            result.unwrap_err()
        }
    };
    let error =
        refused(&|rules| rules.resource = Some("https://evil.example.com/mcp".to_owned())).await;
    assert!(
        error.contains("is about `https://evil.example.com/mcp`, expected"),
        "{error}"
    );
    let error =
        refused(&|rules| rules.claimed_issuer = Some("https://evil.example.com".to_owned())).await;
    assert!(
        error.contains("is that of `https://evil.example.com`"),
        "{error}"
    );
    let error = refused(&|rules| rules.lists_s256 = false).await;
    assert!(error.contains("PKCE with S256"), "{error}");
    let error = refused(&|rules| {
        let document = serde_json::json!({"resource": "x".repeat(300_000)});
        rules
            .replies
            .insert(RESOURCE.to_owned(), Reply::json(200, &document));
    })
    .await;
    assert!(error.contains("more than 256 KiB"), "{error}");
    let error = refused(&|rules| {
        rules
            .replies
            .insert(RESOURCE.to_owned(), Reply::status(503));
    })
    .await;
    assert!(error.contains("HTTP 503"), "{error}");
    let error = refused(&|rules| {
        rules
            .replies
            .insert(RESOURCE.to_owned(), Reply::redirect(307, RESOURCE));
    })
    .await;
    assert!(error.contains("redirected more than 3 times"), "{error}");
    let error = refused(&|rules| {
        let away = Reply::redirect(302, "http://as.example.com/x");
        rules.replies.insert(SERVER.to_owned(), away);
    })
    .await;
    assert!(error.contains("not `https`"), "{error}");
}

#[tokio::test]
async fn an_address_in_the_challenge_that_is_none_is_refused_and_not_guessed() {
    for bad in [
        "/.well-known/oauth-protected-resource",
        "http://example.com/x",
        "file:///x",
    ] {
        let challenge = format!("Bearer resource_metadata=\"{bad}\"");
        let mut rules = Rules::default();
        let reply = Reply::status(401).header("www-authenticate", &challenge);
        rules.replies.insert("/mcp".to_owned(), reply);
        let (result, asked) = discovery(rules).await;
        assert!(result.unwrap_err().contains(bad));
        assert_eq!(asked, Vec::<String>::new());
    }
}

#[tokio::test]
async fn metadata_may_be_redirected_and_what_is_posted_stays_at_its_origin() {
    let other = FakeOAuth::start(Rules::default());
    let moved = |server: &FakeOAuth| {
        server.change(|rules| {
            rules.metadata_path = Some("/custom".to_owned());
            rules
                .replies
                .insert(SERVER.to_owned(), Reply::redirect(307, "/custom"));
        });
    };
    let (result, asked) = discovery_with(moved, Rules::default()).await;
    assert_eq!(
        (result, asked),
        (Ok(200), get(&[RESOURCE, SERVER, "/custom"]))
    );

    for (path, to, status) in [
        ("/token", format!("{}/token", other.base()), 307),
        ("/register", format!("{}/register", other.base()), 308),
        ("/token", "/token2".to_owned(), 302),
    ] {
        let mut rules = Rules::default();
        rules
            .replies
            .insert(path.to_owned(), Reply::redirect(status, &to));
        let (result, _) = discovery(rules).await;
        let error = result.unwrap_err();
        assert!(error.contains("which is not followed"), "{error}");
    }
    assert_eq!(other.lines(), Vec::<String>::new());
}
