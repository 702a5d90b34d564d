//! OpenAI Chat Completions, as OpenAI and everyone who imitates it speak it.

pub(crate) mod stream;
pub(crate) mod wire;
