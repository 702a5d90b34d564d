//! The key that seals the states of questions, so that a state outlives the daemon that gave it.
//!
//! One file of 64 hexadecimal digits for all daemons of a state folder; a file that is anything else is replaced, and what
//! was sealed before does not open any more.

use crate::{StateDir, StoreError, lock, random, state_dir};

/// The file.
const FILE: &str = "state.key";

/// Returns the key, and makes it when there is none.
///
/// # Errors
///
/// [`StoreError`] when it can be neither read nor written, or the system gives no randomness.
pub fn state_key(state: &StateDir) -> Result<[u8; 32], StoreError> {
    let path = state.path(FILE);
    lock::with(&path, || {
        if let Some(key) = state_dir::read(&path, 1_024)?.and_then(|bytes| parse(&bytes)) {
            return Ok(key);
        }
        let text = random::hex()? + &random::hex()?;
        state_dir::replace(&path, &[text.as_bytes()])?;
        parse(text.as_bytes()).ok_or(StoreError::NoRandomness)
    })
}

fn parse(bytes: &[u8]) -> Option<[u8; 32]> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut key = [0; 32];
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_a_broken_one_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = StateDir::open(folder.path()).expect("a state folder");
        let key = state_key(&state).expect("a key");
        assert_eq!(state_key(&state).expect("a key"), key);
        assert_ne!(key, [0; 32]);
        std::fs::write(state.path(FILE), "short").expect("written");
        let other = state_key(&state).expect("a key");
        assert_ne!(other, key);
        assert_eq!(state_key(&state).expect("a key"), other);
    }
}
