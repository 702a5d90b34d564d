//! The token endpoint.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use untrusted_text::redact::Redactor;

use super::discovery::Found;
use super::failure::{AuthError, said};
use super::fetch::Fetch;
use super::metadata::{ClientAuth, text};
use super::record::{Client, Record, Tokens};
use super::secret::Secret;

/// How long before its end an access token is renewed at the earliest, in seconds.
const MARGIN: u64 = 60;

/// What tokens are given for.
pub(crate) enum Grant<'a> {
    /// A code, with the verifier behind its challenge and the redirect address it came to.
    Code {
        code: &'a Secret,
        verifier: &'a Secret,
        redirect: &'a str,
    },
    /// A refresh token.
    Refresh(&'a Secret),
    /// The client itself.
    Client,
}

/// Asks for tokens. `scopes` is what they are recorded under, and is sent when the client asks for itself. `kept` is what
/// there is so far, whose secrets the server knows and might say back.
pub(crate) async fn ask(
    fetch: &Fetch,
    found: &Found,
    client: &Client,
    grant: Grant<'_>,
    scopes: &[String],
    kept: Option<&Record>,
    now: u64,
) -> Result<Tokens, AuthError> {
    let scope = scopes.join(" ");
    let mut secrets: Vec<&str> = kept.map_or_else(Vec::new, Record::secrets);
    let mut form = Vec::new();
    match &grant {
        Grant::Code {
            code,
            verifier,
            redirect,
        } => {
            form.push(("grant_type", "authorization_code"));
            form.push(("code", code.expose()));
            form.push(("code_verifier", verifier.expose()));
            form.push(("redirect_uri", *redirect));
            secrets.extend([code.expose(), verifier.expose()]);
        }
        Grant::Refresh(token) => {
            form.push(("grant_type", "refresh_token"));
            form.push(("refresh_token", token.expose()));
            secrets.push(token.expose());
        }
        Grant::Client => {
            form.push(("grant_type", "client_credentials"));
            if !scope.is_empty() {
                form.push(("scope", &scope));
            }
        }
    }
    form.push(("resource", &found.resource));
    let secret = client.secret.as_ref().map(Secret::expose);
    secrets.extend(secret);
    let authorization = match client.auth {
        ClientAuth::Basic => Some(basic(&client.id, secret.unwrap_or_default())),
        ClientAuth::None | ClientAuth::Post => {
            form.push(("client_id", &client.id));
            None
        }
    };
    if let (ClientAuth::Post, Some(secret)) = (client.auth, secret) {
        form.push(("client_secret", secret));
    }
    let endpoint = &found.server.token_endpoint;
    let reply = fetch
        .post_form("token endpoint", endpoint, &form, authorization.as_deref())
        .await?;
    let issuer = said(&found.server.issuer);
    let redactor = Redactor::with_values(secrets.into_iter().map(str::to_owned).collect());
    let status = reply.status;
    // Some say what is wrong with HTTP 200.
    if let Some(Value::Object(answer)) = &reply.json
        && let Some(error) = text(answer, "error")
    {
        let shown = |text: &str| said(&redactor.redact(text).text);
        let description = text(answer, "error_description");
        return Err(AuthError::Denied {
            issuer,
            code: shown(error),
            description: description.map_or(String::new(), |text| format!(": {}", shown(text))),
        });
    }
    let Some(answer) = reply.object() else {
        return Err(AuthError::Refused(format!(
            "the token endpoint of `{issuer}` answered HTTP {status} without a token"
        )));
    };
    let mut tokens = read(&answer, now)
        .map_err(|why| AuthError::Refused(format!("the token endpoint of `{issuer}` {why}")))?;
    scopes.clone_into(&mut tokens.scopes);
    match grant {
        // Without a new one the old one stays good.
        Grant::Refresh(old) => tokens.refresh = tokens.refresh.or_else(|| Some(old.clone())),
        Grant::Client => tokens.is_of_client = true,
        Grant::Code { .. } => {}
    }
    Ok(tokens)
}

fn read(answer: &Map<String, Value>, now: u64) -> Result<Tokens, &'static str> {
    let is_bearer =
        text(answer, "token_type").is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    if !is_bearer {
        return Err("gave a token of another type than `Bearer`");
    }
    let access = text(answer, "access_token").ok_or("gave no `access_token`")?;
    if !access.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("gave a token with characters that no header may have");
    }
    let life = answer.get("expires_in").and_then(|value| {
        // Some write the number as a string or with a fraction.
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        text.split('.').next()?.parse::<u64>().ok()
    });
    Ok(Tokens {
        access: Secret::new(access),
        refresh: text(answer, "refresh_token").map(Secret::new),
        ends: life.map(|life| now.saturating_add(life)),
        renew_from: life.map(|life| now.saturating_add(life - MARGIN.min(life / 4))),
        scopes: Vec::new(),
        is_of_client: false,
    })
}

/// RFC 6749, 2.3.1: both are form-encoded first.
fn basic(id: &str, secret: &str) -> String {
    let encode =
        |text: &str| -> String { url::form_urlencoded::byte_serialize(text.as_bytes()).collect() };
    let pair = format!("{}:{}", encode(id), encode(secret));
    format!("Basic {}", STANDARD.encode(pair))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tokens_are_read_with_the_time_they_have() {
        let cases = [
            (
                json!({"access_token": "a", "expires_in": 3600}),
                Some((4_600, 4_540)),
            ),
            (
                json!({"access_token": "a", "expires_in": "40"}),
                Some((1_040, 1_030)),
            ),
            (
                json!({"access_token": "a", "expires_in": 3.5}),
                Some((1_003, 1_003)),
            ),
            (
                json!({"access_token": "a", "expires_in": u64::MAX}),
                Some((u64::MAX, u64::MAX)),
            ),
            (
                json!({"access_token": "a", "expires_in": -1, "token_type": "BEARER"}),
                None,
            ),
            (json!({"access_token": "a"}), None),
        ];
        for (answer, times) in cases {
            let tokens = read(answer.as_object().unwrap(), 1_000).unwrap();
            assert_eq!(tokens.ends.zip(tokens.renew_from), times, "{answer}");
        }
        for bad in [
            json!({}),
            json!({"access_token": ""}),
            json!({"access_token": "a b"}),
            json!({"access_token": "a\r\nx: y"}),
            json!({"access_token": "a", "token_type": "DPoP"}),
        ] {
            assert!(read(bad.as_object().unwrap(), 1_000).is_err(), "{bad}");
        }
    }

    #[test]
    fn basic_encodes_before_it_joins() {
        assert_eq!(
            basic("a:b", "c d"),
            format!("Basic {}", STANDARD.encode("a%3Ab:c+d"))
        );
    }
}
