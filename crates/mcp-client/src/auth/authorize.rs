//! The authorization request, and what is believed of its answer.

use std::collections::HashMap;

use url::Url;

use super::callback::PATH;
use super::discovery::Found;
use super::failure::{AuthError, said};
use super::record::Client;
use super::secret::{Secret, sha256};

/// A sign-in that is under way.
pub(crate) struct Request {
    /// What is opened in a browser.
    pub url: Url,
    /// What the answer has to carry.
    pub state: Secret,
    /// What the code is redeemed with.
    pub verifier: Secret,
    /// Where the answer comes to.
    pub redirect: String,
}

/// Builds the request.
pub(crate) fn request(
    found: &Found,
    client: &Client,
    scopes: &[String],
    redirect: &str,
) -> Result<Request, AuthError> {
    let server = &found.server;
    let refuse = |why: &str| {
        Err(AuthError::Refused(format!(
            "`{}` {why}",
            said(&server.issuer)
        )))
    };
    if server.pkce == Some(false) {
        return refuse(
            "does not say that it takes PKCE with S256, without which a code can be stolen",
        );
    }
    let Some(endpoint) = &server.authorization_endpoint else {
        return refuse("has no `authorization_endpoint`, so nobody can sign in");
    };
    let (state, verifier) = (Secret::random()?, Secret::random()?);
    let mut url = endpoint.clone();
    {
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", redirect)
            .append_pair("code_challenge", &sha256(verifier.expose()))
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", state.expose())
            .append_pair("resource", &found.resource);
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.join(" "));
        }
        // OpenID Connect gives a refresh token only if the person was asked.
        if scopes.iter().any(|scope| scope == "offline_access") {
            query.append_pair("prompt", "consent");
        }
    }
    Ok(Request {
        url,
        state,
        verifier,
        redirect: redirect.to_owned(),
    })
}

/// Returns the query of an address that a person pasted.
pub(crate) fn pasted(text: &str) -> Result<Secret, AuthError> {
    let url = Url::parse(text.trim()).ok();
    let url = url.filter(|url| url.path() == PATH);
    match url.as_ref().and_then(Url::query) {
        Some(query) => Ok(Secret::new(query)),
        None => Err(AuthError::Refused(format!(
            "what was pasted is no address that ends in `{PATH}?code=…`"
        ))),
    }
}

/// Returns the code in the answer's query, if the answer is to this request and from this server.
pub(crate) fn code(query: &Secret, request: &Request, found: &Found) -> Result<Secret, AuthError> {
    let server = &found.server;
    let refuse = |why: String| Err(AuthError::Refused(why));
    let mut answer: HashMap<String, String> = HashMap::new();
    for (name, value) in url::form_urlencoded::parse(query.expose().as_bytes()) {
        if answer
            .insert(name.into_owned(), value.into_owned())
            .is_some()
        {
            return refuse("the answer to the sign-in has a parameter twice".to_owned());
        }
    }
    let get = |name: &str| answer.get(name).map(String::as_str);
    if get("state") != Some(request.state.expose()) {
        return refuse("the answer belongs to another sign-in: its `state` is wrong".to_owned());
    }
    // Before anything else is believed, errors included (RFC 9207).
    match get("iss") {
        Some(iss) if iss != server.issuer => {
            return refuse(format!(
                "the answer to the sign-in is from `{}`, expected `{}`",
                said(iss),
                said(&server.issuer)
            ));
        }
        None if server.sends_iss => {
            return refuse(format!(
                "the answer to the sign-in does not say who it is from, although `{}` says that it always does",
                said(&server.issuer)
            ));
        }
        _ => {}
    }
    if let Some(error) = get("error") {
        let description =
            get("error_description").map_or(String::new(), |text| format!(": {}", said(text)));
        return Err(AuthError::Denied {
            issuer: said(&server.issuer),
            code: said(error),
            description,
        });
    }
    match get("code") {
        Some(code) if !code.is_empty() => Ok(Secret::new(code)),
        _ => refuse(format!(
            "the answer of `{}` to the sign-in has no code",
            said(&server.issuer)
        )),
    }
}

#[cfg(test)]
mod tests;
