//! What is kept for one server: who we are to its authorization server, and the tokens.
//!
//! A record is bound to the server's URL, the issuer, the client and the resource. What does not fit any more is dropped
//! whole: a token is shown to nobody but who it was given for.

use serde_json::{Map, Value, json};
use url::Url;

use super::address::origin;
use super::metadata::{ClientAuth, text};
use super::secret::{Secret, sha256};

/// The version of the written form.
const VERSION: u64 = 1;

/// What is kept for one server. Its debug form shows no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The server's origin, for people who look at what is kept.
    pub origin: String,
    /// The SHA-256 of the server's URL, whose query may be secret.
    pub server_digest: String,
    /// The authorization server that all below belongs to.
    pub issuer: String,
    /// What the tokens are for.
    pub resource: String,
    /// Who we are to the issuer.
    pub client: Client,
    /// The tokens; `None` before the first sign-in and after they were rejected.
    pub tokens: Option<Tokens>,
}

/// A client of one authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Its id.
    pub id: String,
    /// Its secret, when it has one.
    pub secret: Option<Secret>,
    /// How it says who it is.
    pub auth: ClientAuth,
    /// The redirect address that was registered; `None` when it was not registered by us.
    pub redirect: Option<String>,
    /// When the secret ends, in seconds since 1970; `None` when it does not.
    pub secret_ends: Option<u64>,
}

/// What an authorization server granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokens {
    /// The access token.
    pub access: Secret,
    /// The refresh token, when there is one.
    pub refresh: Option<Secret>,
    /// When the access token ends, in seconds since 1970; `None` when the server did not say.
    pub ends: Option<u64>,
    /// From when on it is renewed, in seconds since 1970: before it ends.
    pub renew_from: Option<u64>,
    /// The scopes that were asked for.
    pub scopes: Vec<String>,
    /// Whether it came for the client itself, without a person.
    pub is_of_client: bool,
}

impl Tokens {
    /// The value of the `authorization` header.
    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.access.expose())
    }
}

/// The digest under which a server's URL is remembered.
pub(crate) fn digest(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    sha256(url.as_str())
}

impl Record {
    /// Says whether it is about this URL.
    pub(crate) fn is_of(&self, server: &Url) -> bool {
        self.origin == origin(server) && self.server_digest == digest(server)
    }

    /// Every secret in it.
    pub(crate) fn secrets(&self) -> Vec<&str> {
        let tokens = self.tokens.as_ref();
        let access = tokens.map(|tokens| &tokens.access);
        let refresh = tokens.and_then(|tokens| tokens.refresh.as_ref());
        let all = [self.client.secret.as_ref(), access, refresh];
        all.into_iter().flatten().map(Secret::expose).collect()
    }

    /// The written form.
    #[must_use]
    pub fn to_json(&self) -> String {
        let client = &self.client;
        let tokens = self.tokens.as_ref().map(|tokens| {
            json!({
                "access": tokens.access.expose(),
                "refresh": tokens.refresh.as_ref().map(Secret::expose),
                "ends": tokens.ends,
                "renew_from": tokens.renew_from,
                "scopes": tokens.scopes,
                "is_of_client": tokens.is_of_client,
            })
        });
        json!({
            "version": VERSION,
            "origin": self.origin,
            "server_digest": self.server_digest,
            "issuer": self.issuer,
            "resource": self.resource,
            "client": {
                "id": client.id,
                "secret": client.secret.as_ref().map(Secret::expose),
                "auth": client.auth.name(),
                "redirect": client.redirect,
                "secret_ends": client.secret_ends,
            },
            "tokens": tokens,
        })
        .to_string()
    }

    /// Reads the written form; `None` when it is torn or of another version.
    #[must_use]
    pub fn from_json(written: &str) -> Option<Self> {
        let document: Value = serde_json::from_str(written).ok()?;
        if document["version"].as_u64() != Some(VERSION) {
            return None;
        }
        let object = document.as_object()?;
        let owned = |name: &str| text(object, name).map(str::to_owned);
        Some(Self {
            origin: owned("origin")?,
            server_digest: owned("server_digest")?,
            issuer: owned("issuer")?,
            resource: owned("resource")?,
            client: client(object.get("client")?.as_object()?)?,
            tokens: match object.get("tokens")? {
                Value::Object(all) => Some(tokens(all)?),
                _ => None,
            },
        })
    }
}

fn client(object: &Map<String, Value>) -> Option<Client> {
    Some(Client {
        id: text(object, "id")?.to_owned(),
        secret: text(object, "secret").map(Secret::new),
        auth: ClientAuth::named(text(object, "auth")?)?,
        redirect: text(object, "redirect").map(str::to_owned),
        secret_ends: object.get("secret_ends").and_then(Value::as_u64),
    })
}

fn tokens(object: &Map<String, Value>) -> Option<Tokens> {
    let scopes = object.get("scopes")?.as_array()?;
    Some(Tokens {
        access: Secret::new(text(object, "access")?),
        refresh: text(object, "refresh").map(Secret::new),
        ends: object.get("ends").and_then(Value::as_u64),
        renew_from: object.get("renew_from").and_then(Value::as_u64),
        scopes: scopes
            .iter()
            .filter_map(|scope| scope.as_str().map(str::to_owned))
            .collect(),
        is_of_client: object.get("is_of_client").and_then(Value::as_bool) == Some(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let server = Url::parse("https://a.example/mcp?key=1").unwrap();
        Record {
            origin: origin(&server),
            server_digest: digest(&server),
            issuer: "https://as.example".to_owned(),
            resource: "https://a.example/mcp".to_owned(),
            client: Client {
                id: "c".to_owned(),
                secret: Some(Secret::new("SENTINEL")),
                auth: ClientAuth::Post,
                redirect: Some("http://127.0.0.1:1/callback".to_owned()),
                secret_ends: Some(7),
            },
            tokens: Some(Tokens {
                access: Secret::new("SENTINEL"),
                refresh: Some(Secret::new("SENTINEL")),
                ends: Some(9),
                renew_from: None,
                scopes: vec!["x".to_owned()],
                is_of_client: false,
            }),
        }
    }

    #[test]
    fn a_record_survives_being_written() {
        let mut record = record();
        assert_eq!(Record::from_json(&record.to_json()), Some(record.clone()));
        record.tokens = None;
        record.client.secret = None;
        assert_eq!(Record::from_json(&record.to_json()), Some(record.clone()));
        let written = record.to_json();
        assert_eq!(Record::from_json(&written[..written.len() - 1]), None);
        assert_eq!(
            Record::from_json(&written.replace("\"version\":1", "\"version\":2")),
            None
        );
    }

    #[test]
    fn a_record_shows_no_secret_and_knows_its_url() {
        let record = record();
        assert!(!format!("{record:?}").contains("SENTINEL"));
        for (url, is_ours) in [
            ("https://a.example/mcp?key=1#f", true),
            ("https://a.example/mcp?key=2", false),
            ("https://a.example/mcp/?key=1", false),
            ("https://b.example/mcp?key=1", false),
        ] {
            assert_eq!(record.is_of(&Url::parse(url).unwrap()), is_ours, "{url}");
        }
    }
}
