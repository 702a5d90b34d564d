//! A schema as rows: one for each place where a value can stand, so that two readings can be compared and a wrong
//! argument be explained.
//!
//! References are followed within the document; what leads back to itself is a named type, written `$Name`. What
//! `anyOf`, `oneOf` and `allOf` say about one place is one row: alternatives join their types and require what all of
//! them require; parts that hold together leave the types that all allow and require what any requires. Conditions
//! (`if`, `not`, `dependentRequired`) make no rows. The work is bounded; a shape that is not whole says so in
//! [`Shape::cut`], and then only its top level is certain.

mod flatten;
mod level;
mod value_types;

pub(crate) use self::level::required;
use mcp_wire::Raw;
use serde_json::{Map, Value};

use crate::{canonical, reference};

/// Most rows of one shape. The rest is cut, the deepest first.
pub const MAX_FIELDS: usize = 500;
/// How many levels below the top are read.
pub const MAX_DEPTH: usize = 12;
/// Most schemas that are looked at for one shape, each as often as it is referred to.
pub const MAX_NODES: usize = 20_000;
/// Most text of all rows, in bytes: references make many rows of a short schema.
pub const MAX_BYTES: usize = 64 << 10;
/// Longest name of a member that stands whole in a path, in characters; a longer one is cut and ends in a digest.
pub const MAX_NAME_CHARS: usize = 200;
/// Most allowed values that a row lists; of more it keeps a digest of all.
pub const MAX_ALLOWED: usize = 100;

/// A schema as rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shape {
    /// Sorted by path; at most [`MAX_FIELDS`].
    pub fields: Vec<Field>,
    /// Whether members that no row names are taken too.
    pub open: bool,
    /// What was left out, when a limit was reached.
    pub cut: Option<Cut>,
    /// Why there are no rows, when the schema could not be read.
    pub unread: Option<String>,
}

/// How much of a shape is certain after a limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Every row of the top level is there; deeper ones may be missing.
    Below,
    /// Even the top level is not whole.
    Top,
}

/// One place in a schema where a value can stand.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Field {
    /// Where: `repo`, `labels[]` (any element), `pair[0]` (one element), `filter.state`, `env.*` (members that have no
    /// name of their own), `env.~"^X_"` (members that match). A name that is not made of letters, digits, `_`, `-`
    /// and `$` alone is quoted as in JSON.
    pub path: String,
    /// The types it takes, sorted and joined by `|`, without `null`; `unknown` for any, `never` for none, `$Name` for
    /// a type that holds itself.
    pub types: String,
    /// Whether it must be there when its parent is.
    pub required: bool,
    /// Whether it takes `null` beside its types.
    pub nullable: bool,
    /// The only values that it takes.
    pub allowed: Option<Allowed>,
    /// What stands for it when it is not sent, as JSON.
    pub default: Option<String>,
    /// As `date-time` or `uri`.
    pub format: Option<String>,
    /// Sorted; as `maxLength=10`, `pattern="^a"`.
    pub limits: Vec<String>,
    /// A digest of its description: enough to see that it changed.
    pub description: Option<String>,
    /// Members of a stored row that this version does not know, kept for the one that does.
    pub rest: Map<String, Value>,
}

/// The only values that a place takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// As JSON, sorted; the first [`MAX_ALLOWED`].
    pub values: Vec<String>,
    /// A digest of all of them, when there are more than `values` shows.
    pub more: Option<String>,
}

impl Shape {
    /// Reads a schema. One that cannot be read gives a shape without rows that says why.
    #[must_use]
    pub fn of(schema: &Raw) -> Self {
        match schema.value() {
            Ok(value) => flatten::flatten(&reference::local(value)),
            Err(error) => Self {
                open: true,
                unread: Some(canonical::shorten(&error.reason, 200)),
                ..Self::default()
            },
        }
    }

    /// The rows of the top level: what a caller sends.
    pub fn arguments(&self) -> impl Iterator<Item = &Field> {
        self.fields
            .iter()
            .filter(|field| parent(&field.path).is_none())
    }

    /// The row at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Field> {
        self.fields
            .binary_search_by(|field| field.path.as_str().cmp(path))
            .ok()
            .map(|at| &self.fields[at])
    }
}

/// The path of the place that holds the one at `path`; nothing for the top level.
#[must_use]
pub fn parent(path: &str) -> Option<&str> {
    let (mut cut, mut quoted, mut escaped) = (None, false, false);
    for (at, byte) in path.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'.' | b'[' if !quoted && at > 0 => cut = Some(at),
            _ => {}
        }
    }
    cut.map(|at| &path[..at])
}

/// One name as it stands in a path.
#[must_use]
pub fn segment(name: &str) -> String {
    let name = &canonical::shorten(name, MAX_NAME_CHARS);
    let is_plain = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'));
    if is_plain {
        name.to_owned()
    } else {
        Value::from(name.as_str()).to_string()
    }
}

#[cfg(test)]
mod tests;
