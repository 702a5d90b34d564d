//! How a person is asked to sign in.

use std::fmt;

use async_trait::async_trait;
use url::Url;

/// Brings an address before a person. Given by the product: it opens a browser, or prints the address.
#[async_trait]
pub trait SignIn: Send + Sync {
    /// Shows the address and returns how the answer comes. It is dropped when the answer arrives over the loopback
    /// address first, so it may wait for a person to paste something.
    ///
    /// # Errors
    ///
    /// When nobody can be asked: in words.
    async fn open(&self, url: &UrlToOpen) -> Result<Opened, String>;
}

/// What came of showing an address.
#[derive(Clone, PartialEq, Eq)]
pub enum Opened {
    /// The browser of this machine has it: the answer comes over the loopback address.
    Waiting,
    /// The person pasted the address that their browser, elsewhere, was sent to.
    Redirected(String),
    /// The person does not want to.
    Declined,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting => "Waiting",
            Self::Redirected(_) => "Redirected([secret])",
            Self::Declined => "Declined",
        })
    }
}

/// An address to sign in at, and what for.
#[derive(Clone, PartialEq, Eq)]
pub struct UrlToOpen {
    /// The server's configured name.
    pub server: String,
    /// Where the person signs in: `https`, or `http` on this machine. It holds no credential, and is good for one sign-in.
    pub url: Url,
    /// Who asks, as its metadata says. This and what follows are text of the server, cut and safe to print.
    pub issuer: String,
    /// What the tokens will be for.
    pub resource: String,
    /// The scopes that are asked for; empty when the authorization server decides.
    pub scopes: Vec<String>,
}

impl fmt::Debug for UrlToOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut plain = self.url.clone();
        plain.set_query(None);
        f.debug_struct("UrlToOpen")
            .field("server", &self.server)
            .field("url", &plain.as_str())
            .field("issuer", &self.issuer)
            .field("resource", &self.resource)
            .field("scopes", &self.scopes)
            .finish()
    }
}
