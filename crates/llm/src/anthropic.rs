//! Anthropic Messages.

pub(crate) mod stream;
pub(crate) mod wire;
