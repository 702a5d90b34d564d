//! OAuth for a server over HTTP: finds out who authorizes, has a person sign in, keeps the tokens and renews them.
//!
//! [`OAuth`] is an [`Authorizer`](crate::transport::Authorizer). What it promises:
//!
//! - A credential is shown to nobody but who it is for: a record is bound to the server's URL, the issuer, the client and
//!   the resource, and what does not fit is dropped. Nothing of the transport gets to an authorization server.
//! - One refresh at a time, among tasks and among processes. New tokens are on the disk before they are used, the old ones
//!   stay until then, and a call that is cancelled in the middle loses none. A rejected refresh token is removed only if
//!   it is still the one that is kept.
//! - Everything is bounded: requests, redirects, bodies, waits, and how often a person is asked.
//! - No token, code or secret is in a message, a debug form or a URL.
//!
//! What it does not do: open a browser ([`SignIn`] does), or choose where tokens are kept ([`TokenStore`]). Tokens that
//! are bound to a key (DPoP), `private_key_jwt` and enterprise-managed authorization are not built.

mod address;
mod authorize;
mod callback;
mod challenge;
mod client;
mod config;
mod discovery;
mod failure;
mod fetch;
mod kept;
mod metadata;
mod oauth;
mod record;
mod scope;
mod secret;
mod sign_in;
mod store;
mod token;

pub use callback::RedirectHost;
pub use config::{Deadlines, OAuthConfig, Registered};
pub use failure::AuthError;
pub use metadata::ClientAuth;
pub use oauth::OAuth;
pub use record::{Client, Record, Tokens};
pub use secret::Secret;
pub use sign_in::{Opened, SignIn, UrlToOpen};
#[cfg(feature = "keyring")]
pub use store::KeyringStore;
pub use store::{FileStore, MemoryStore, TokenStore, Version};
