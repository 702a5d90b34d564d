//! The files: which are read, and what JSON with comments is in them.

mod node;
mod search;

pub(crate) use node::{Entry, Kind, Node, parse, parse_root};
pub use search::{FileKind, Found, Where, project_file, search, user_file};
pub(crate) use search::{read, text};
