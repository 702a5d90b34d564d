//! The two documents: what a protected resource says about itself (RFC 9728), and an authorization server (RFC 8414).

use serde_json::{Map, Value};
use url::Url;

use super::address::{address, covers};
use super::failure::{AuthError, said};

type Object = Map<String, Value>;

/// How an MCP server is to be authorized for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    /// What tokens are asked for, byte for byte as the metadata has it.
    pub resource: String,
    /// The issuers, as written; may be empty.
    pub issuers: Vec<String>,
    /// The scopes that it knows; `None` when it does not say.
    pub scopes: Option<Vec<String>>,
}

impl Resource {
    /// Reads the metadata of `server`.
    pub(crate) fn read(document: &Object, server: &Url) -> Result<Self, AuthError> {
        let refuse = |why: String| Err(AuthError::Refused(why));
        let Some(resource) = text(document, "resource") else {
            return refuse(format!(
                "the resource metadata of `{server}` names no `resource`"
            ));
        };
        let is_ours = Url::parse(resource).is_ok_and(|named| covers(&named, server));
        if !is_ours {
            return refuse(format!(
                "the resource metadata is about `{}`, expected `{server}`: a token for one is not shown to the other",
                said(resource)
            ));
        }
        Ok(Self {
            resource: resource.to_owned(),
            issuers: texts(document, "authorization_servers").unwrap_or_default(),
            scopes: texts(document, "scopes_supported"),
        })
    }
}

/// How a token endpoint is told who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuth {
    /// Not at all: `client_id` in the form. For a client without a secret.
    None,
    /// HTTP Basic.
    Basic,
    /// Id and secret in the form.
    Post,
}

impl ClientAuth {
    /// The name in metadata.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::None, Self::Basic, Self::Post]
            .into_iter()
            .find(|method| method.name() == name)
    }
}

/// An authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Server {
    /// Who it is, as its own metadata writes it.
    pub issuer: String,
    /// Where a person signs in; a server for programs alone has none.
    pub authorization_endpoint: Option<Url>,
    /// Where tokens come from.
    pub token_endpoint: Url,
    /// Where clients are registered.
    pub registration_endpoint: Option<Url>,
    /// Its scopes; empty when it does not say.
    pub scopes: Vec<String>,
    /// How token requests may be authenticated; `None` when it does not say.
    pub client_auth: Option<Vec<String>>,
    /// Whether it takes PKCE with S256; `None` when there is no metadata to say.
    pub pkce: Option<bool>,
    /// Whether it reads client id metadata documents.
    pub reads_client_documents: bool,
    /// Whether it says in each answer who it is.
    pub sends_iss: bool,
}

impl Server {
    /// Reads metadata that was asked for at `issuer`.
    pub(crate) fn read(document: &Object, issuer: &str, near: &Url) -> Result<Self, AuthError> {
        let claimed = text(document, "issuer").unwrap_or_default();
        if !is_same_issuer(claimed, issuer) {
            return Err(AuthError::Refused(format!(
                "the metadata of the authorization server `{}` is that of `{}`",
                said(issuer),
                said(claimed)
            )));
        }
        let endpoint = |name: &str| {
            text(document, name)
                .map(|url| address(name, url, near))
                .transpose()
        };
        let Some(token_endpoint) = endpoint("token_endpoint")? else {
            return Err(AuthError::Refused(format!(
                "the metadata of the authorization server `{}` names no `token_endpoint`",
                said(issuer)
            )));
        };
        let pkce = texts(document, "code_challenge_methods_supported");
        Ok(Self {
            issuer: claimed.to_owned(),
            authorization_endpoint: endpoint("authorization_endpoint")?,
            token_endpoint,
            registration_endpoint: endpoint("registration_endpoint")?,
            scopes: texts(document, "scopes_supported").unwrap_or_default(),
            client_auth: texts(document, "token_endpoint_auth_methods_supported"),
            pkce: Some(pkce.is_some_and(|all| all.iter().any(|method| method == "S256"))),
            reads_client_documents: flag(document, "client_id_metadata_document_supported"),
            sends_iss: flag(document, "authorization_response_iss_parameter_supported"),
        })
    }

    /// The endpoints that a server of revision 2025-03-26 has when it has no metadata.
    pub(crate) fn without_metadata(base: &Url) -> Result<Self, AuthError> {
        let endpoint = |path: &str| {
            base.join(path)
                .map_err(|error| AuthError::Refused(format!("`{base}` has no endpoints: {error}")))
        };
        Ok(Self {
            issuer: super::address::origin(base),
            authorization_endpoint: Some(endpoint("/authorize")?),
            token_endpoint: endpoint("/token")?,
            registration_endpoint: Some(endpoint("/register")?),
            scopes: Vec::new(),
            client_auth: None,
            pkce: None,
            reads_client_documents: false,
            sends_iss: false,
        })
    }
}

/// Issuers are compared as text. Alone where the path is empty, a slash makes no difference: there it makes none to a
/// URL either, and the two ends are often written by different libraries.
pub(crate) fn is_same_issuer(a: &str, b: &str) -> bool {
    fn plain(issuer: &str) -> &str {
        match issuer.strip_suffix('/') {
            Some(rest) if rest.matches('/').count() == 2 => rest,
            _ => issuer,
        }
    }
    plain(a) == plain(b)
}

pub(crate) fn text<'a>(document: &'a Object, name: &str) -> Option<&'a str> {
    document.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn texts(document: &Object, name: &str) -> Option<Vec<String>> {
    let all = document.get(name)?.as_array()?;
    let texts = all.iter().filter_map(Value::as_str).map(str::to_owned);
    Some(texts.collect())
}

fn flag(document: &Object, name: &str) -> bool {
    document.get(name).and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: &Value) -> Object {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn metadata_of_another_resource_is_refused() {
        let server = Url::parse("https://a.example/mcp").unwrap();
        let read = |value: Value| Resource::read(&object(&value), &server);
        let good =
            read(json!({"resource": "https://a.example/mcp/", "scopes_supported": ["x", 1]}));
        let expected = Resource {
            resource: "https://a.example/mcp/".to_owned(),
            issuers: Vec::new(),
            scopes: Some(vec!["x".to_owned()]),
        };
        assert_eq!(good, Ok(expected));
        for bad in [
            json!({}),
            json!({"resource": "/mcp"}),
            json!({"resource": "https://evil.example/mcp"}),
        ] {
            assert!(read(bad).is_err());
        }
    }

    #[test]
    fn issuer_swap_refused() {
        let near = Url::parse("https://a.example/mcp").unwrap();
        let read = |claimed: &str, asked: &str| {
            let document = json!({"issuer": claimed, "token_endpoint": "https://as.example/token"});
            Server::read(&object(&document), asked, &near).is_ok()
        };
        assert!(read("https://as.example", "https://as.example"));
        assert!(read("https://as.example/", "https://as.example"));
        assert!(read("https://as.example/t", "https://as.example/t"));
        for (claimed, asked) in [
            ("https://evil.example", "https://as.example"),
            ("https://as.example/t/", "https://as.example/t"),
            ("https://as.example/u", "https://as.example/t"),
            ("https://AS.example", "https://as.example"),
            ("https:/", "https://"),
            ("", "https://as.example"),
        ] {
            assert!(!read(claimed, asked), "{claimed} {asked}");
        }
    }

    #[test]
    fn an_endpoint_that_is_no_address_refuses_the_whole_metadata() {
        let near = Url::parse("https://a.example/mcp").unwrap();
        for endpoint in [
            "token_endpoint",
            "authorization_endpoint",
            "registration_endpoint",
        ] {
            for bad in [
                "/x",
                "http://as.example/x",
                "https://127.0.0.1/x",
                "javascript:x",
            ] {
                let mut document =
                    object(&json!({"issuer": "https://i", "token_endpoint": "https://i/t"}));
                document.insert(endpoint.to_owned(), json!(bad));
                let read = Server::read(&document, "https://i", &near);
                assert!(
                    matches!(read, Err(AuthError::Refused(_))),
                    "{endpoint} {bad}"
                );
            }
        }
    }
}
