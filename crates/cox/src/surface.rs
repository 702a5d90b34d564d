//! The surfaces: how a session looks and who answers it.

pub(crate) mod answers;
pub(crate) mod event_json;
pub(crate) mod headless;
pub(crate) mod outcome;
pub(crate) mod signals;
pub(crate) mod text;
