//! What holds for any message.

mod any_json;
mod pass_through;
