//! The credential of a server, and what it adds to a request or to a program's environment.

use std::{collections::BTreeMap, fmt};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use url::Url;

use super::{Reach, Server};

/// Text that is never shown: `Debug` prints `…`, and there is no `Display`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The `auth` block of a server, expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer …`.
    Bearer {
        /// The token.
        token: Secret,
    },
    /// `Authorization: Basic …`.
    Basic {
        /// The name; without a colon.
        username: String,
        /// The password.
        password: Secret,
    },
    /// A header of the person's choice.
    Header {
        /// Its name.
        name: String,
        /// Its value.
        value: Secret,
    },
    /// A parameter of the URL.
    Query {
        /// Its name.
        name: String,
        /// Its value.
        value: Secret,
    },
    /// Variables of the program's environment.
    Env {
        /// Name and value.
        variables: BTreeMap<String, Secret>,
    },
    /// A person signs in; somebody else keeps the tokens.
    OAuth {
        /// The client that was registered by hand.
        client_id: Option<String>,
        /// Its secret.
        client_secret: Option<Secret>,
        /// What is asked for; empty: what the server names.
        scopes: Vec<String>,
    },
}

impl Auth {
    /// The word of `auth.type`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Bearer { .. } => "bearer",
            Self::Basic { .. } => "basic",
            Self::Header { .. } => "header",
            Self::Query { .. } => "query",
            Self::Env { .. } => "env",
            Self::OAuth { .. } => "oauth",
        }
    }

    /// The header it adds, or takes the place of.
    fn header(&self) -> Option<(String, String)> {
        match self {
            Self::Bearer { token } => {
                Some(("Authorization".into(), format!("Bearer {}", token.expose())))
            }
            Self::Basic { username, password } => {
                let pair = format!("{username}:{}", password.expose());
                Some((
                    "Authorization".into(),
                    format!("Basic {}", STANDARD.encode(pair)),
                ))
            }
            Self::Header { name, value } => Some((name.clone(), value.expose().to_owned())),
            Self::Query { .. } | Self::Env { .. } | Self::OAuth { .. } => None,
        }
    }
}

impl Server {
    /// The headers to send: those of the entry, with the credential's in place of one of the same name.
    #[must_use]
    pub fn sent_headers(&self) -> Vec<(String, String)> {
        let Reach::Http { headers, .. } = &self.reach else {
            return Vec::new();
        };
        let mut sent = headers.clone();
        if let Some((name, value)) = self.auth.as_ref().and_then(Auth::header) {
            sent.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
            sent.push((name, value));
        }
        sent
    }

    /// The URL to send to, with the credential in it when it is a parameter. Not for people: it may hold a secret.
    #[must_use]
    pub fn sent_url(&self) -> Option<String> {
        let Reach::Http { url, .. } = &self.reach else {
            return None;
        };
        let Some(Auth::Query { name, value }) = &self.auth else {
            return Some(url.clone());
        };
        let mut url = Url::parse(url).ok()?;
        let kept: Vec<(String, String)> = url
            .query_pairs()
            .filter(|(other, _)| other != name)
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        url.query_pairs_mut()
            .clear()
            .extend_pairs(kept)
            .append_pair(name, value.expose());
        Some(url.into())
    }

    /// The variables to add to the program's environment, the credential's included.
    #[must_use]
    pub fn sent_env(&self) -> BTreeMap<String, String> {
        let Reach::Stdio { env, .. } = &self.reach else {
            return BTreeMap::new();
        };
        let mut sent = env.clone();
        if let Some(Auth::Env { variables }) = &self.auth {
            for (name, value) in variables {
                sent.insert(name.clone(), value.expose().to_owned());
            }
        }
        sent
    }

    /// Whether a person has to sign in before it can be used.
    #[must_use]
    pub fn wants_sign_in(&self) -> bool {
        matches!(self.auth, Some(Auth::OAuth { .. }))
    }

    /// Every value that must not be printed, logged or stored: credentials, what stands under a secret's name, what
    /// arguments and the URL carry, and the variables with such a name that the entry refers to or requires. For a redactor.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let mut secrets: Vec<String> = match &self.auth {
            None => Vec::new(),
            Some(
                Auth::Bearer { token: value }
                | Auth::Basic {
                    password: value, ..
                },
            ) => {
                vec![value.expose().to_owned()]
            }
            Some(Auth::Header { value, .. } | Auth::Query { value, .. }) => {
                vec![value.expose().to_owned()]
            }
            Some(Auth::Env { variables }) => variables
                .values()
                .map(|value| value.expose().to_owned())
                .collect(),
            Some(Auth::OAuth { client_secret, .. }) => client_secret
                .iter()
                .map(|value| value.expose().to_owned())
                .collect(),
        };
        match &self.reach {
            Reach::Stdio { args, env, .. } => {
                secrets.extend(super::shown::secrets_in_args(args));
                secrets.extend(
                    env.iter()
                        .filter(|(name, _)| super::shown::is_secret_name(name))
                        .map(|(_, value)| value.clone()),
                );
            }
            Reach::Http { url, headers, .. } => {
                secrets.extend(super::shown::secrets_in_url(url));
                secrets.extend(
                    headers
                        .iter()
                        .filter(|(name, _)| super::shown::is_secret_name(name))
                        .map(|(_, value)| value.clone()),
                );
            }
            Reach::Alias { .. } => {}
        }
        secrets.extend(self.looked_up.iter().map(|value| value.expose().to_owned()));
        secrets.retain(|secret| !secret.is_empty());
        secrets
    }
}
