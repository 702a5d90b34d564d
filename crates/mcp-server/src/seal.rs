//! Seals the state of a question before a client carries it, and opens it again.
//!
//! What comes back from a client is an attacker's text. A seal is encrypted and authenticated, and binds the state to
//! the method, the arguments, the principal and a time: taken to another place it does not open, and the error says why.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use mcp_wire::{Object, Raw};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Value;

/// What a seal begins with: its format.
const FORMAT: u8 = 1;
/// How much of a key's digest names it.
const KEY_ID: usize = 8;
/// How many used seals are remembered.
const MAX_USED: usize = 100_000;
/// How many keys are kept.
const MAX_KEYS: usize = 8;

/// Why a state was not sealed or did not open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// It is not one of ours, or somebody changed it.
    #[error("`requestState` was not made by this server, or was changed")]
    Tampered,
    /// Its key is no longer kept.
    #[error(
        "`requestState` was sealed with a key that is no longer in use; send the request again without it"
    )]
    UnknownKey,
    /// It is too old.
    #[error("`requestState` has expired; send the request again without it")]
    Expired,
    /// It was made for another method.
    #[error("`requestState` was made for `{0}`")]
    OtherMethod(String),
    /// It was made for other arguments.
    #[error(
        "`requestState` was made for other params; only `inputResponses`, `requestState` and `_meta` may differ"
    )]
    OtherParams,
    /// It was made for somebody else.
    #[error("`requestState` was made for somebody else")]
    OtherPrincipal,
    /// It was used before.
    #[error("`requestState` was used before")]
    Used,
    /// Too many used states are remembered to be sure about this one.
    #[error("too many states are in use to tell whether this one is new; try again later")]
    Full,
    /// The system's randomness or the cipher failed.
    #[error("the state could not be sealed")]
    Failed,
}

/// What a seal is bound to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: &'a Object,
    pub(crate) principal: Option<&'a str>,
}

/// What was sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) state: Vec<u8>,
    /// What kind of question each key was.
    pub(crate) kinds: Vec<(String, String)>,
}

struct Key {
    id: [u8; KEY_ID],
    key: LessSafeKey,
}

/// Seals and opens. The newest key seals; older ones open until they are dropped.
pub struct Sealer {
    keys: RwLock<Vec<Key>>,
    random: SystemRandom,
    single_use: bool,
    used: Mutex<HashMap<String, Timestamp>>,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").finish_non_exhaustive()
    }
}

impl Sealer {
    /// A sealer with one key of its own: what it sealed does not open after a restart.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub fn random() -> Result<Self, SealError> {
        let sealer = Self::empty();
        sealer.rotate()?;
        Ok(sealer)
    }

    /// A sealer with these keys, the newest first.
    ///
    /// # Errors
    /// When there is none.
    pub fn with_keys(keys: &[[u8; 32]]) -> Result<Self, SealError> {
        let sealer = Self::empty();
        for bytes in keys.iter().rev() {
            sealer.add(bytes)?;
        }
        let empty = sealer.keys().is_empty();
        if empty {
            Err(SealError::Failed)
        } else {
            Ok(sealer)
        }
    }

    fn empty() -> Self {
        Self {
            keys: RwLock::default(),
            random: SystemRandom::new(),
            single_use: false,
            used: Mutex::default(),
        }
    }

    /// Lets each state open once. A client that lost the answer to its second call cannot repeat it then.
    #[must_use]
    pub fn single_use(mut self) -> Self {
        self.single_use = true;
        self
    }

    /// Seals with a new random key from now on; states of the last keys still open.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub fn rotate(&self) -> Result<(), SealError> {
        let mut bytes = [0; 32];
        self.random
            .fill(&mut bytes)
            .map_err(|_| SealError::Failed)?;
        self.add(&bytes)
    }

    /// Forgets all keys but the newest `keep`, at least one: what they sealed no longer opens.
    pub fn keep_newest(&self, keep: usize) {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.truncate(keep.max(1));
    }

    fn add(&self, bytes: &[u8; 32]) -> Result<(), SealError> {
        let key = UnboundKey::new(&AES_256_GCM, bytes).map_err(|_| SealError::Failed)?;
        let mut id = [0; KEY_ID];
        id.copy_from_slice(&digest(&SHA256, bytes).as_ref()[..KEY_ID]);
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        let key = LessSafeKey::new(key);
        keys.insert(0, Key { id, key });
        keys.truncate(MAX_KEYS);
        Ok(())
    }

    fn keys(&self) -> std::sync::RwLockReadGuard<'_, Vec<Key>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seals a state until `now + ttl`.
    pub(crate) fn seal(
        &self,
        sealed: &Sealed,
        bound: Bound<'_>,
        now: Timestamp,
        ttl: Duration,
    ) -> Result<String, SealError> {
        let mut random = [0; NONCE_LEN + 16];
        self.random
            .fill(&mut random)
            .map_err(|_| SealError::Failed)?;
        let (nonce, serial) = random.split_at(NONCE_LEN);
        let expires = now
            .as_millisecond()
            .saturating_add(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
        let kinds: Object = sealed
            .kinds
            .iter()
            .map(|(key, kind)| (key.clone(), Raw::from(kind.as_str())))
            .collect();
        let plain = Object::new()
            .with("m", bound.method)
            .with("d", digest_of(bound.params))
            .with_some("p", bound.principal)
            .with("x", expires)
            .with("n", URL_SAFE_NO_PAD.encode(serial))
            .with("k", kinds)
            .with("s", STANDARD.encode(&sealed.state));
        let mut text = Raw::from(plain).as_str().as_bytes().to_vec();
        let keys = self.keys();
        let newest = keys.first().ok_or(SealError::Failed)?;
        let aad = header(&newest.id);
        newest
            .key
            .seal_in_place_append_tag(unique(nonce)?, Aad::from(&aad), &mut text)
            .map_err(|_| SealError::Failed)?;
        Ok(URL_SAFE_NO_PAD.encode([aad.as_slice(), nonce, &text].concat()))
    }

    /// Opens what [`Sealer::seal`] made, when it is used where it was made for.
    pub(crate) fn open(
        &self,
        blob: &str,
        bound: Bound<'_>,
        now: Timestamp,
    ) -> Result<Sealed, SealError> {
        let plain = self.decrypt(blob)?;
        let text = |name: &str| plain.string(name).ok_or(SealError::Tampered);
        let expires = plain
            .get("x")
            .and_then(Raw::integer)
            .ok_or(SealError::Tampered)?;
        if plain.string("p").as_deref() != bound.principal {
            return Err(SealError::OtherPrincipal);
        }
        if now.as_millisecond() >= expires {
            return Err(SealError::Expired);
        }
        let made_for = text("m")?;
        if made_for != bound.method {
            return Err(SealError::OtherMethod(made_for));
        }
        if text("d")? != digest_of(bound.params) {
            return Err(SealError::OtherParams);
        }
        let kinds = plain.object("k").ok_or(SealError::Tampered)?;
        let kinds = kinds
            .iter()
            .map(|(key, kind)| (key.to_owned(), kind.string().unwrap_or_default()))
            .collect();
        let state = STANDARD
            .decode(text("s")?)
            .map_err(|_| SealError::Tampered)?;
        if self.single_use {
            self.use_up(text("n")?, expires, now)?;
        }
        Ok(Sealed { state, kinds })
    }

    fn decrypt(&self, blob: &str) -> Result<Object, SealError> {
        let bytes = URL_SAFE_NO_PAD
            .decode(blob)
            .map_err(|_| SealError::Tampered)?;
        let (aad, rest) = bytes
            .split_at_checked(1 + KEY_ID)
            .ok_or(SealError::Tampered)?;
        let (nonce, text) = rest
            .split_at_checked(NONCE_LEN)
            .ok_or(SealError::Tampered)?;
        if aad.first() != Some(&FORMAT) {
            return Err(SealError::Tampered);
        }
        let keys = self.keys();
        let key = keys
            .iter()
            .find(|key| aad.get(1..) == Some(key.id.as_slice()))
            .ok_or(SealError::UnknownKey)?;
        let mut text = text.to_vec();
        let plain = key
            .key
            .open_in_place(unique(nonce)?, Aad::from(aad), &mut text)
            .map_err(|_| SealError::Tampered)?;
        let raw = Raw::parse_bytes(plain).map_err(|_| SealError::Tampered)?;
        raw.object().map_err(|_| SealError::Tampered)
    }

    fn use_up(&self, serial: String, expires: i64, now: Timestamp) -> Result<(), SealError> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.contains_key(&serial) {
            return Err(SealError::Used);
        }
        if used.len() >= MAX_USED {
            used.retain(|_, expires| *expires > now);
        }
        // Forgetting a used state would let it be used again: rather nobody gets in for a while.
        if used.len() >= MAX_USED {
            return Err(SealError::Full);
        }
        let expires = Timestamp::from_millisecond(expires).map_err(|_| SealError::Tampered)?;
        used.insert(serial, expires);
        Ok(())
    }
}

fn header(id: &[u8; KEY_ID]) -> Vec<u8> {
    let mut header = vec![FORMAT];
    header.extend_from_slice(id);
    header
}

fn unique(nonce: &[u8]) -> Result<Nonce, SealError> {
    Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError::Tampered)
}

/// The digest of a request's params: without what differs between the first call and the next, and the same for members
/// in another order.
fn digest_of(params: &Object) -> String {
    let mut params = params.clone();
    for name in ["inputResponses", "requestState", mcp_wire::meta::META] {
        params.remove(name);
    }
    let raw = Raw::from(params);
    let text = match raw.value() {
        Ok(value) => {
            let mut text = String::new();
            write_sorted(&value, &mut text);
            text
        }
        // Deeper than we look: as it was spelled.
        Err(_) => raw.as_str().to_owned(),
    };
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()).as_ref())
}

fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            text.push('{');
            for (name, value) in members {
                text.push_str(Raw::from(name.as_str()).as_str());
                text.push(':');
                write_sorted(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(elements) => {
            text.push('[');
            for element in elements {
                write_sorted(element, text);
                text.push(',');
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests;
