//! Finds out who authorizes for a server: the resource's metadata, then the authorization server's.
//!
//! An answer of 4xx, or one that is no JSON object, says that a place has no metadata, and the next is asked. No answer, a
//! 5xx or metadata that says what it may not ends the search: falling back then would let whoever can disturb one request
//! choose the authorization server.

use url::Url;

use super::address::{address, origin, resource_of};
use super::failure::{AuthError, said};
use super::fetch::Fetch;
use super::metadata::{Resource, Server};

/// Who authorizes for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// What tokens are asked for.
    pub resource: String,
    /// The scopes that the resource knows; `None` when it does not say.
    pub resource_scopes: Option<Vec<String>>,
    /// The authorization server.
    pub server: Server,
}

/// Looks for the metadata. `named` is the address in the challenge; `known` is preferred where several issuers are listed.
pub(crate) async fn discover(
    fetch: &Fetch,
    named: Option<&str>,
    known: Option<&str>,
) -> Result<Found, AuthError> {
    let near = fetch.near();
    let Some(resource) = resource_metadata(fetch, named).await? else {
        return without_resource_metadata(fetch).await;
    };
    let preferred = known.filter(|issuer| resource.issuers.iter().any(|listed| listed == issuer));
    let own = origin(near);
    let issuer = preferred
        .or(resource.issuers.first().map(String::as_str))
        .unwrap_or(&own);
    let Some(server) = server_metadata(fetch, issuer).await? else {
        if resource.issuers.is_empty() {
            return without_resource_metadata(fetch).await;
        }
        return Err(AuthError::Refused(format!(
            "the authorization server `{}` has no metadata in any of the places for it",
            said(issuer)
        )));
    };
    Ok(Found {
        resource: resource.resource,
        resource_scopes: resource.scopes,
        server,
    })
}

async fn resource_metadata(
    fetch: &Fetch,
    named: Option<&str>,
) -> Result<Option<Resource>, AuthError> {
    let near = fetch.near();
    let mut places = Vec::new();
    if let Some(named) = named {
        places.push(address("resource metadata address", named, near)?);
    }
    places.extend(resource_places(near));
    for place in places {
        let reply = fetch.get("resource metadata", &place).await?;
        if let Some(document) = reply.object() {
            return Resource::read(&document, near).map(Some);
        }
    }
    Ok(None)
}

/// As revision 2025-03-26 has it: the server's own origin authorizes, by its metadata or at the usual endpoints.
async fn without_resource_metadata(fetch: &Fetch) -> Result<Found, AuthError> {
    let near = fetch.near();
    let server = match server_metadata(fetch, &origin(near)).await? {
        Some(server) => server,
        None => Server::without_metadata(near)?,
    };
    Ok(Found {
        resource: resource_of(near),
        resource_scopes: None,
        server,
    })
}

async fn server_metadata(fetch: &Fetch, issuer: &str) -> Result<Option<Server>, AuthError> {
    let near = fetch.near();
    let url = address("authorization server", issuer, near)?;
    if url.query().is_some() {
        return Err(AuthError::Refused(format!(
            "the authorization server `{}` has a query, which an issuer may not",
            said(issuer)
        )));
    }
    for place in server_places(&url) {
        let reply = fetch.get("authorization server's metadata", &place).await?;
        if let Some(document) = reply.object() {
            return Server::read(&document, issuer, near).map(Some);
        }
    }
    Ok(None)
}

/// Where a resource's metadata is when the challenge does not say: under its path, then at the root.
fn resource_places(server: &Url) -> Vec<Url> {
    const NAME: &str = "/.well-known/oauth-protected-resource";
    let path = server.path().trim_end_matches('/');
    let mut paths = vec![format!("{NAME}{path}")];
    if !path.is_empty() {
        paths.push(NAME.to_owned());
    }
    at(server, &paths)
}

/// Where an authorization server's metadata is, in the order of the MCP specification.
fn server_places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/openid-configuration"));
    }
    at(issuer, &paths)
}

fn at(base: &Url, paths: &[String]) -> Vec<Url> {
    let place = |path: &String| {
        let mut url = base.clone();
        url.set_path(path);
        url.set_query(None);
        url.set_fragment(None);
        let _kept_without_host = (url.set_username(""), url.set_password(None));
        url
    };
    paths.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(urls: &[Url]) -> Vec<&str> {
        urls.iter().map(Url::as_str).collect()
    }

    #[test]
    fn metadata_is_looked_for_in_the_given_order() {
        let url = |text: &str| Url::parse(text).unwrap();
        assert_eq!(
            texts(&resource_places(&url("https://u:p@a.example/x/mcp/?q=1#f"))),
            [
                "https://a.example/.well-known/oauth-protected-resource/x/mcp",
                "https://a.example/.well-known/oauth-protected-resource"
            ]
        );
        assert_eq!(
            texts(&resource_places(&url("https://a.example"))),
            ["https://a.example/.well-known/oauth-protected-resource"]
        );
        assert_eq!(
            texts(&server_places(&url("https://as.example/tenant1"))),
            [
                "https://as.example/.well-known/oauth-authorization-server/tenant1",
                "https://as.example/.well-known/openid-configuration/tenant1",
                "https://as.example/tenant1/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            texts(&server_places(&url("https://as.example/"))),
            [
                "https://as.example/.well-known/oauth-authorization-server",
                "https://as.example/.well-known/openid-configuration"
            ]
        );
    }
}
