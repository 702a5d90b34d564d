//! What the authorization server knows: clients, codes, tokens.

use std::collections::{HashMap, HashSet};

/// Everything that was given out.
#[derive(Default)]
pub(super) struct State {
    /// Secrets and redirect addresses by client id.
    pub(super) clients: HashMap<String, (Option<String>, Vec<String>)>,
    /// By code.
    pub(super) codes: HashMap<String, Code>,
    /// Scopes by access token.
    pub(super) access: HashMap<String, String>,
    /// By refresh token.
    pub(super) refresh: HashMap<String, Refresh>,
    /// Refresh tokens that were redeemed, with their family.
    pub(super) spent: HashMap<String, u64>,
    /// Families that ended because a token came twice.
    pub(super) ended: HashSet<u64>,
    /// How many did.
    pub(super) reuses: usize,
    /// All secrets so far.
    pub(super) secrets: Vec<String>,
    count: u64,
}

/// A code that was given.
pub(super) struct Code {
    pub client: String,
    pub redirect: String,
    pub challenge: String,
    pub resource: String,
    pub scope: String,
}

/// A refresh token that is good.
pub(super) struct Refresh {
    pub client: String,
    pub resource: String,
    pub scope: String,
    pub family: u64,
}

impl State {
    /// Returns a secret that was never given before, and remembers it.
    pub(super) fn secret(&mut self, kind: &str) -> String {
        let secret = format!("SENTINEL-{kind}-{}", self.number());
        self.secrets.push(secret.clone());
        secret
    }

    pub(super) fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }
}
