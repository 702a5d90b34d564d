//! Names that nobody can guess.

use std::fmt::Write as _;

use ring::rand::{SecureRandom as _, SystemRandom};

use crate::StoreError;

/// Returns 128 random bits as 32 hex digits.
pub(crate) fn hex() -> Result<String, StoreError> {
    let mut bytes = [0_u8; 16];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| StoreError::NoRandomness)?;
    let mut text = String::with_capacity(32);
    for byte in bytes {
        // Writing into a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
