use super::*;
use crate::auth::metadata::{ClientAuth, Server};

fn found(sends_iss: bool) -> Found {
    let base = Url::parse("https://as.example/").unwrap();
    let mut server = Server::without_metadata(&base).unwrap();
    server.sends_iss = sends_iss;
    server.authorization_endpoint = Some(base.join("/authorize?tenant=1").unwrap());
    Found {
        resource: "https://a.example/mcp".to_owned(),
        resource_scopes: None,
        server,
    }
}

fn client() -> Client {
    Client {
        id: "me & you".to_owned(),
        secret: None,
        auth: ClientAuth::None,
        redirect: None,
        secret_ends: None,
    }
}

fn asked(found: &Found, scopes: &[&str]) -> Request {
    let scopes: Vec<String> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    request(found, &client(), &scopes, "http://127.0.0.1:1/callback").unwrap()
}

#[test]
fn the_request_carries_pkce_resource_and_state() {
    let request = asked(&found(false), &["x", "offline_access"]);
    let query: HashMap<_, _> = request.url.query_pairs().into_owned().collect();
    let challenge = sha256(request.verifier.expose());
    for (name, value) in [
        ("tenant", "1"),
        ("response_type", "code"),
        ("client_id", "me & you"),
        ("redirect_uri", "http://127.0.0.1:1/callback"),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
        ("state", request.state.expose()),
        ("resource", "https://a.example/mcp"),
        ("scope", "x offline_access"),
        ("prompt", "consent"),
    ] {
        assert_eq!(query.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert_eq!(query.len(), 10);
    let bare = asked(&found(false), &[]);
    assert!(!bare.url.query().unwrap().contains("scope="));
}

#[test]
fn a_server_that_does_not_take_s256_is_refused() {
    let mut found = found(false);
    found.server.pkce = Some(false);
    let refused = request(&found, &client(), &[], "http://127.0.0.1:1/callback");
    assert!(matches!(refused, Err(AuthError::Refused(why)) if why.contains("S256")));
}

#[test]
fn iss_missing_refused() {
    const ISS: &str = "&iss=https%3A%2F%2Fas.example";
    for (sends_iss, iss, is_taken) in [
        (true, ISS, true),
        (false, ISS, true),
        (false, "", true),
        (true, "", false),
        (true, "&iss=https%3A%2F%2Fas.example%2F", false),
        (false, "&iss=https%3A%2F%2Fevil.example", false),
        (false, "&iss=", false),
        (true, "&iss=https%3A%2F%2Fas.example&iss=x", false),
    ] {
        let found = found(sends_iss);
        let request = asked(&found, &[]);
        for what in ["code=c", "error=access_denied"] {
            let query = format!("{what}&state={}{iss}", request.state.expose());
            let code = code(&Secret::new(query), &request, &found);
            let is_believed = match &code {
                Ok(code) => code.expose() == "c",
                Err(error) => error.is_denied("access_denied"),
            };
            assert_eq!(is_believed, is_taken, "{sends_iss} {iss}");
        }
    }
}

#[test]
fn an_answer_to_another_sign_in_is_refused() {
    let found = found(false);
    let request = asked(&found, &[]);
    let other = asked(&found, &[]);
    for query in [
        "code=c".to_owned(),
        "code=c&state=".to_owned(),
        format!("code=c&state={}", other.state.expose()),
        format!("code=&state={}", request.state.expose()),
    ] {
        let refused = code(&Secret::new(query), &request, &found);
        assert!(matches!(refused, Err(AuthError::Refused(_))));
    }
}

#[test]
fn what_a_person_pastes_is_the_address_they_were_sent_to() {
    let good = pasted(" http://127.0.0.1:1/callback?code=c&state=s\n").unwrap();
    assert_eq!(good.expose(), "code=c&state=s");
    for bad in [
        "",
        "c",
        "http://127.0.0.1:1/callback",
        "https://as.example/login?code=c",
    ] {
        assert!(pasted(bad).is_err(), "{bad}");
    }
}
