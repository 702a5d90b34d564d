//! The settings: each declared once, with its value, where the value came from and what it displaced.

mod kind;
mod layers;
mod presets;
pub mod reference;
pub mod registry;
mod resolved;
mod schema;
mod sources;
mod value;

pub use kind::{duration_text, parse_bytes, parse_duration};
pub(crate) use layers::resolve;
pub use registry::key;
pub use resolved::{Applied, Settings};
pub use schema::schema;
pub(crate) use sources::{Assigned, distance, from_file, row, value_of, where_to_look};
pub use value::{Resolved, Shadowed, Source, Value};
