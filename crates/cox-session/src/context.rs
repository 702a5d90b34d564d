//! What the model sees: the stable prefix, the conversation, and how both are kept inside the window.

pub(crate) mod estimate;
pub(crate) mod fit;
pub(crate) mod prefix;
pub(crate) mod request;
