//! A constant for each setting, so that a misspelt path, or a value read as the wrong kind, does not compile.

pub use super::table::keys::*;
