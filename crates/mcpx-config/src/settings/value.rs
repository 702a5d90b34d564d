//! A setting's value and its history.

use std::{fmt, path::PathBuf, time::Duration};

use super::kind::duration_text;
use crate::error::quoted_path;

/// The value of a setting, of the kind that it was declared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// On or off.
    Bool(bool),
    /// A whole number, never negative.
    Int(i64),
    /// A time.
    Duration(Duration),
    /// A size in bytes.
    Bytes(u64),
    /// Free text, or one of the choices.
    Text(String),
    /// Several texts.
    List(Vec<String>),
}

impl fmt::Display for Value {
    /// As it can be written again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Duration(value) => f.write_str(&duration_text(*value)),
            Self::Bytes(value) => f.write_str(&super::kind::bytes_text(*value)),
            Self::Text(text) => f.write_str(text),
            Self::List(texts) => f.write_str(&texts.join(",")),
        }
    }
}

impl Value {
    /// As JSON: durations and sizes as text, in the form that a file takes.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Bool(value) => (*value).into(),
            Self::Int(value) => (*value).into(),
            Self::List(texts) => texts.clone().into(),
            Self::Duration(_) | Self::Bytes(_) | Self::Text(_) => self.to_string().into(),
        }
    }
}

/// Where a value came from; later ones win.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The declaration.
    Default,
    /// A file.
    File {
        /// The file.
        path: PathBuf,
        /// Where the value stands, from 1.
        line: u32,
    },
    /// An environment variable, by its name.
    Variable(String),
    /// A preset, by its name.
    Preset(String),
    /// A flag.
    Flag(String),
    /// `PUT /v1/settings/…`, until the daemon ends.
    Runtime,
    /// Sent with one call.
    Call,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", quoted_path(path)),
            Self::Variable(name) => f.write_str(name),
            Self::Preset(name) => write!(f, "preset:{name}"),
            Self::Flag(name) => f.write_str(name),
            Self::Runtime => f.write_str("runtime"),
            Self::Call => f.write_str("call"),
        }
    }
}

/// A value that another one displaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadowed {
    /// The value.
    pub value: Value,
    /// Where it came from.
    pub source: Source,
}

/// A value, where it came from, and what it displaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The value.
    pub value: Value,
    /// Where it came from.
    pub source: Source,
    /// What it displaced, the next best first; the default is last.
    pub shadowed: Vec<Shadowed>,
}
