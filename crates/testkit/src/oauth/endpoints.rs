//! The places that are asked: metadata, registration, authorization, tokens, and the MCP endpoint.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::http::{Reply, Request, decode, encode};
use super::state::{Code, Refresh, State};
use super::{Rules, Shared};

const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";

pub(super) fn answer(request: &Request, rules: &Rules, shared: &Shared) -> Reply {
    let base = &shared.base;
    let usual = format!(
        "/.well-known/oauth-authorization-server{}",
        rules.issuer_path
    );
    let metadata_path = rules.metadata_path.as_ref().unwrap_or(&usual);
    let mut state = shared.state.lock().unwrap();
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", RESOURCE) if rules.has_resource_metadata => {
            Reply::json(200, &resource(base, rules))
        }
        ("GET", path) if path == metadata_path => Reply::json(200, &metadata(base, rules)),
        ("POST", "/register") if rules.registers => register(request, rules, &mut state),
        ("GET", "/authorize") => authorize(request, base, rules, &mut state),
        ("POST", "/token") => {
            let reply = match token(request, rules, &mut state) {
                Ok(answer) => Reply::json(200, &answer),
                Err(error) => Reply::json(400, &json!({"error": error})),
            };
            Reply {
                delay: rules.token_delay,
                ..reply
            }
        }
        (_, "/mcp") => mcp(request, base, rules, &state),
        _ => Reply::status(404),
    }
}

fn issuer(base: &str, rules: &Rules) -> String {
    format!("{base}{}", rules.issuer_path)
}

fn resource(base: &str, rules: &Rules) -> Value {
    let own = format!("{base}/mcp");
    let mut document = json!({
        "resource": rules.resource.as_ref().unwrap_or(&own),
        "authorization_servers": [issuer(base, rules)],
    });
    if let Some(scopes) = &rules.resource_scopes {
        document["scopes_supported"] = json!(scopes);
    }
    document
}

fn metadata(base: &str, rules: &Rules) -> Value {
    let truth = issuer(base, rules);
    let mut document = json!({
        "issuer": rules.claimed_issuer.as_ref().unwrap_or(&truth),
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "response_types_supported": ["code"],
        "client_id_metadata_document_supported": rules.reads_client_documents,
        "authorization_response_iss_parameter_supported": rules.advertises_iss,
        "scopes_supported": rules.server_scopes,
    });
    if rules.registers {
        document["registration_endpoint"] = json!(format!("{base}/register"));
    }
    if rules.lists_s256 {
        document["code_challenge_methods_supported"] = json!(["plain", "S256"]);
    }
    if let Some(methods) = &rules.client_auth {
        document["token_endpoint_auth_methods_supported"] = json!(methods);
    }
    document
}

fn register(request: &Request, rules: &Rules, state: &mut State) -> Reply {
    let asked = request.json();
    let redirects: Vec<String> = asked["redirect_uris"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|uri| uri.as_str().map(str::to_owned))
        .collect();
    let is_loopback = |uri: &String| uri.starts_with("http://127.0.0.1:");
    if asked["application_type"] != "native" || !redirects.iter().all(is_loopback) {
        return Reply::json(400, &json!({"error": "invalid_redirect_uri"}));
    }
    let id = format!("client-{}", state.number());
    let secret = rules.gives_secret.then(|| state.secret("client"));
    state
        .clients
        .insert(id.clone(), (secret.clone(), redirects.clone()));
    let mut answer = json!({"client_id": id, "redirect_uris": redirects});
    if let Some(secret) = secret {
        answer["client_secret"] = json!(secret);
        answer["client_secret_expires_at"] = json!(0);
    }
    Reply::json(201, &answer)
}

fn authorize(request: &Request, base: &str, rules: &Rules, state: &mut State) -> Reply {
    let get = |name: &str| request.query.get(name).cloned().unwrap_or_default();
    let client = get("client_id");
    let is_document = rules.reads_client_documents && client.starts_with("https://");
    let is_configured = rules.clients.iter().any(|(id, _)| *id == client);
    let is_known = is_document || is_configured || state.clients.contains_key(&client);
    let redirect = get("redirect_uri");
    // Any port will do on the loopback, RFC 8252.
    let is_loopback = redirect.starts_with("http://127.0.0.1:") && redirect.ends_with("/callback");
    if !is_known || !is_loopback {
        return Reply::json(400, &json!({"error": "shown to the person alone"}));
    }
    let mut answer = vec![("state", get("state"))];
    match &rules.iss {
        None => answer.push(("iss", issuer(base, rules))),
        Some(iss) if iss.is_empty() => {}
        Some(iss) => answer.push(("iss", iss.clone())),
    }
    if get("code_challenge_method") != "S256" || get("resource").is_empty() {
        answer.push(("error", "invalid_request".to_owned()));
    } else {
        let code = state.secret("code");
        let given = Code {
            client,
            redirect: redirect.clone(),
            challenge: get("code_challenge"),
            resource: get("resource"),
            scope: get("scope"),
        };
        state.codes.insert(code.clone(), given);
        answer.push(("code", code));
    }
    let pairs: Vec<String> = answer
        .iter()
        .map(|(name, value)| format!("{name}={}", encode(value)))
        .collect();
    Reply::redirect(302, &format!("{redirect}?{}", pairs.join("&")))
}

fn token(request: &Request, rules: &Rules, state: &mut State) -> Result<Value, &'static str> {
    let form = request.form();
    let get = |name: &str| form.get(name).cloned().unwrap_or_default();
    let client = authenticate(request, &form, rules, state)?;
    let (resource, scope, family) = match get("grant_type").as_str() {
        "authorization_code" => {
            let code = state.codes.remove(&get("code")).ok_or("invalid_grant")?;
            let digest = Sha256::digest(get("code_verifier").as_bytes());
            let is_proven = URL_SAFE_NO_PAD.encode(digest) == code.challenge;
            if !is_proven || code.client != client || code.redirect != get("redirect_uri") {
                return Err("invalid_grant");
            }
            (code.resource, code.scope, state.number())
        }
        "refresh_token" => refresh(&get("refresh_token"), &client, rules, state)?,
        "client_credentials" => (get("resource"), get("scope"), 0),
        _ => return Err("unsupported_grant_type"),
    };
    if get("resource") != resource {
        return Err("invalid_target");
    }
    let access = state.secret("access");
    state.access.insert(access.clone(), scope.clone());
    let mut answer = json!({"access_token": access, "token_type": "Bearer", "scope": scope});
    if let Some(seconds) = rules.expires_in {
        answer["expires_in"] = json!(seconds);
    }
    let renews = get("grant_type") == "refresh_token";
    if family != 0 && (!renews || rules.rotates) {
        let token = state.secret("refresh");
        let given = Refresh {
            client,
            resource,
            scope,
            family,
        };
        state.refresh.insert(token.clone(), given);
        answer["refresh_token"] = json!(token);
    }
    Ok(answer)
}

/// Redeems a refresh token; a second time ends its family.
fn refresh(
    token: &str,
    client: &str,
    rules: &Rules,
    state: &mut State,
) -> Result<(String, String, u64), &'static str> {
    if let Some(family) = state.spent.get(token).copied() {
        if state.ended.insert(family) {
            state.reuses += 1;
        }
        return Err("invalid_grant");
    }
    let known = state.refresh.get(token).ok_or("invalid_grant")?;
    if known.client != client || state.ended.contains(&known.family) {
        return Err("invalid_grant");
    }
    let found = (known.resource.clone(), known.scope.clone(), known.family);
    if rules.rotates {
        state.refresh.remove(token);
        state.spent.insert(token.to_owned(), found.2);
    }
    Ok(found)
}

/// Returns the client's id if it is who it says.
fn authenticate(
    request: &Request,
    form: &HashMap<String, String>,
    rules: &Rules,
    state: &State,
) -> Result<String, &'static str> {
    let basic = request.headers.get("authorization").and_then(|value| {
        let bytes = STANDARD.decode(value.strip_prefix("Basic ")?).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (id, secret) = text.split_once(':')?;
        Some((decode(id), Some(decode(secret))))
    });
    let posted = || {
        Some((
            form.get("client_id")?.clone(),
            form.get("client_secret").cloned(),
        ))
    };
    let (id, secret) = basic.or_else(posted).ok_or("invalid_client")?;
    let wanted = match state.clients.get(&id) {
        Some((wanted, _)) => wanted.clone(),
        None if rules.reads_client_documents && id.starts_with("https://") => None,
        None => {
            let configured = rules.clients.iter().find(|(known, _)| *known == id);
            Some(configured.ok_or("invalid_client")?.1.clone())
        }
    };
    if wanted == secret {
        Ok(id)
    } else {
        Err("invalid_client")
    }
}

/// Answers an empty result to who has a token, and 403 to a call whose token lacks the scope.
fn mcp(request: &Request, base: &str, rules: &Rules, state: &State) -> Reply {
    let mut challenge = String::from("Bearer realm=\"mcp\"");
    if rules.names_metadata {
        challenge.push_str(&format!(", resource_metadata=\"{base}{RESOURCE}\""));
    }
    let token = request.headers.get("authorization");
    let token = token.and_then(|value| value.strip_prefix("Bearer "));
    let Some(scope) = token.and_then(|token| state.access.get(token)) else {
        if let Some(scope) = &rules.challenge_scope {
            challenge.push_str(&format!(", scope=\"{scope}\""));
        }
        return Reply::status(401).header("www-authenticate", &challenge);
    };
    if let Some(needed) = &rules.call_scope
        && !scope.split(' ').any(|scope| scope == needed)
    {
        challenge.push_str(&format!(
            ", error=\"insufficient_scope\", scope=\"{needed}\""
        ));
        return Reply::status(403).header("www-authenticate", &challenge);
    }
    Reply::json(
        200,
        &json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": {}}),
    )
}
