//! OpenAI Responses.

pub(crate) mod stream;
pub(crate) mod wire;
