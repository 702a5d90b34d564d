//! The configuration of the hub: the server lists and settings in files that people have, as one value.
//!
//! [`load`] finds the files, merges them, takes variables, presets and flags on top, and says of every server whether it
//! can be used, and of every setting where it came from. What a project's file would start, or send keys to, is not taken
//! before the person accepted it ([`Trust`]). [`mod@write`] changes one entry of a file and no other byte; [`import`] reads the
//! lists of other hosts. Nothing here starts a process, uses the network, or reads the environment: it is given.

mod digest;
mod error;
pub mod files;
pub mod import;
mod load;
mod profiles;
mod server;
pub mod settings;
mod surroundings;
mod trust;
pub mod write;

pub use error::{ConfigError, Place, Warning, hint_apart};
pub use load::{Config, load};
pub use profiles::Profiles;
pub use server::{
    Auth, Availability, Origin, Precondition, Protocol, Reach, Reason, Scope, Secret, Server,
    Shared, Sharing, ToolFilter, Transport, shared,
};
pub use settings::Settings;
pub use surroundings::{Choice, Surroundings};
pub use trust::{Asked, Trust, Untrusted};
