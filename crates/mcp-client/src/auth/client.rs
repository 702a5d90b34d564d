//! Who we are to an authorization server: registered beforehand, by a document of ours, or registered now.

use serde_json::{Map, Value, json};

use super::config::OAuthConfig;
use super::discovery::Found;
use super::failure::{AuthError, said};
use super::fetch::Fetch;
use super::metadata::{ClientAuth, Server, is_same_issuer, text};
use super::record::{Client, Record};
use super::secret::Secret;

/// Says who we are without asking anybody: as configured, by our document, or as registered before with this very issuer.
pub(crate) fn known(
    config: &OAuthConfig,
    found: &Found,
    record: Option<&Record>,
    now: u64,
) -> Result<Option<Client>, AuthError> {
    let server = &found.server;
    if let Some(registered) = &config.registered {
        let first = record.filter(|record| record.client.id == registered.id);
        let of = registered
            .issuer
            .as_ref()
            .or(first.map(|record| &record.issuer));
        if let Some(of) = of
            && !is_same_issuer(of, &server.issuer)
        {
            return Err(AuthError::Refused(format!(
                "the client id of `{}` belongs to `{}`, but now `{}` is to authorize it, which is not shown it\nhint: sign \
                 out, or configure a client id for the new one",
                config.name,
                said(of),
                said(&server.issuer)
            )));
        }
        return Ok(Some(Client {
            id: registered.id.clone(),
            secret: registered.secret.clone(),
            auth: registered
                .auth
                .unwrap_or_else(|| auth_of(server, registered.secret.is_some())),
            redirect: None,
            secret_ends: None,
        }));
    }
    if let Some(document) = config.client_document.as_ref()
        && server.reads_client_documents
    {
        return Ok(Some(Client {
            id: document.to_string(),
            secret: None,
            auth: ClientAuth::None,
            redirect: None,
            secret_ends: None,
        }));
    }
    let kept = record
        .filter(|record| record.issuer == server.issuer)
        .map(|record| &record.client)
        .filter(|client| client.redirect.is_some())
        .filter(|client| client.secret_ends.is_none_or(|ends| now < ends));
    Ok(kept.cloned())
}

/// How a token endpoint is told who asks, when nobody chose.
fn auth_of(server: &Server, has_secret: bool) -> ClientAuth {
    if !has_secret {
        return ClientAuth::None;
    }
    let takes = |method: ClientAuth| {
        server
            .client_auth
            .as_ref()
            // RFC 8414: it is Basic when nothing is said.
            .map_or(method == ClientAuth::Basic, |all| {
                all.iter().any(|name| name == method.name())
            })
    };
    if !takes(ClientAuth::Basic) && takes(ClientAuth::Post) {
        ClientAuth::Post
    } else {
        ClientAuth::Basic
    }
}

/// Registers us (RFC 7591). The registration is kept across ports: RFC 8252 has servers accept any on the loopback.
pub(crate) async fn register(
    fetch: &Fetch,
    config: &OAuthConfig,
    found: &Found,
    scopes: &[String],
    redirect: &str,
) -> Result<Client, AuthError> {
    let server = &found.server;
    let issuer = said(&server.issuer);
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(AuthError::Refused(format!(
            "`{issuer}` registers no clients by itself and none is configured\nhint: register one there and configure its \
             client id for `{}`, with the redirect address `http://127.0.0.1/callback`",
            config.name
        )));
    };
    let body = request(config, found, scopes, redirect);
    let reply = fetch
        .post_json("client registration", endpoint, &body)
        .await?;
    let status = reply.status;
    if let Some(Value::Object(answer)) = &reply.json
        && let Some(error) = text(answer, "error")
    {
        let description = text(answer, "error_description");
        return Err(AuthError::Denied {
            issuer,
            code: said(error),
            description: description.map_or(String::new(), |text| format!(": {}", said(text))),
        });
    }
    let Some(answer) = reply.object() else {
        return Err(AuthError::Refused(format!(
            "`{issuer}` does not register us: it answered HTTP {status}"
        )));
    };
    registered(&answer, server, redirect).ok_or_else(|| {
        AuthError::Refused(format!("`{issuer}` registered us without a `client_id`"))
    })
}

fn request(config: &OAuthConfig, found: &Found, scopes: &[String], redirect: &str) -> Value {
    let server = &found.server;
    let takes = |method: ClientAuth| {
        server
            .client_auth
            .as_ref()
            .is_none_or(|all| all.iter().any(|name| name == method.name()))
    };
    // A program that anybody can read has no use for a secret.
    let auth = [ClientAuth::None, ClientAuth::Basic, ClientAuth::Post]
        .into_iter()
        .find(|method| takes(*method))
        .unwrap_or(ClientAuth::None);
    let mut all: Vec<&str> = scopes.iter().map(String::as_str).collect();
    // What a step-up may ask for later has to be registered now.
    for scope in found.resource_scopes.iter().flatten() {
        if !all.contains(&scope.as_str()) {
            all.push(scope);
        }
    }
    let mut body = json!({
        "client_name": config.client_name,
        "application_type": "native",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": auth.name(),
    });
    if !all.is_empty() {
        body["scope"] = Value::String(all.join(" "));
    }
    body
}

fn registered(answer: &Map<String, Value>, server: &Server, redirect: &str) -> Option<Client> {
    let secret = text(answer, "client_secret").map(Secret::new);
    let auth = text(answer, "token_endpoint_auth_method")
        .and_then(ClientAuth::named)
        .filter(|method| *method == ClientAuth::None || secret.is_some())
        .unwrap_or_else(|| auth_of(server, secret.is_some()));
    let ends = answer.get("client_secret_expires_at");
    Some(Client {
        id: text(answer, "client_id")?.to_owned(),
        secret,
        auth,
        redirect: Some(redirect.to_owned()),
        secret_ends: ends.and_then(Value::as_u64).filter(|ends| *ends > 0),
    })
}
