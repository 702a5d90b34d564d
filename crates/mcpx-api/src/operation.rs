//! What an operation is, as a row of the table.

use crate::Op;

/// One thing the hub can be asked to do.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// For code that has to do it.
    pub id: Op,
    /// Its name in documents, `call`.
    pub name: &'static str,
    /// How it is sent over HTTP.
    pub method: Method,
    /// Where, with `{name}` for a part that is a parameter.
    pub path: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// What it takes.
    pub params: &'static [Param],
    /// What it does to the world.
    pub effect: Effect,
    /// Whether doing it twice does no more than doing it once.
    pub idempotent: bool,
    /// What comes back.
    pub output: Output,
    /// Its name as an MCP tool, when it is one.
    pub tool: Option<&'static str>,
    /// Its words on the command line, when it has some.
    pub word: Option<&'static str>,
}

/// A method of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words of HTTP")]
pub enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    /// As it is spelled.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// What an operation does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Reads,
    /// It changes something.
    Changes,
    /// It may destroy something.
    Destroys,
}

/// What comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// A JSON document.
    Json,
    /// Text of this media type.
    Text(&'static str),
    /// A stream of server-sent events.
    Events,
}

/// One parameter.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// Where it travels.
    pub place: Place,
    /// What it may be.
    pub kind: Kind,
    /// Whether it has to be there.
    pub required: bool,
    /// The words that it may be; empty: any.
    pub choices: &'static [&'static str],
    /// One sentence, or a few words.
    pub help: &'static str,
}

/// Where a parameter travels over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A part of the path.
    Path,
    /// The query.
    Query,
    /// A member of the body, which is an object.
    Body,
    /// It is the whole body.
    Whole,
}

/// The largest number of a parameter: beyond it, not every reader of JSON reads the same number.
pub const LARGEST: i64 = 9_007_199_254_740_991;

/// What a parameter may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number from 0 to [`LARGEST`].
    Number,
    /// Yes or no. In a query also `1`, `0`, and nothing at all for yes.
    Switch,
    /// A list of text. In a query separated by commas.
    List,
    /// A JSON object.
    Object,
    /// A list of JSON objects.
    Objects,
    /// Any JSON.
    Any,
}

impl Param {
    const fn new(name: &'static str, place: Place, kind: Kind, help: &'static str) -> Self {
        Self {
            name,
            place,
            kind,
            required: false,
            choices: &[],
            help,
        }
    }

    /// A part of the path; it has to be there.
    #[must_use]
    pub const fn path(name: &'static str, help: &'static str) -> Self {
        Self::new(name, Place::Path, Kind::Text, help).required()
    }

    /// In the query.
    #[must_use]
    pub const fn query(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self::new(name, Place::Query, kind, help)
    }

    /// A member of the body.
    #[must_use]
    pub const fn body(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self::new(name, Place::Body, kind, help)
    }

    /// The whole body.
    #[must_use]
    pub const fn whole(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self::new(name, Place::Whole, kind, help)
    }

    /// It is one of these words.
    #[must_use]
    pub const fn one_of(mut self, choices: &'static [&'static str]) -> Self {
        self.choices = choices;
        self
    }

    /// It has to be there.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

impl Kind {
    /// For messages: `a list of text`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "a whole number from 0 on",
            Self::Switch => "true or false",
            Self::List => "a list of text",
            Self::Object => "a JSON object",
            Self::Objects => "a list of JSON objects",
            Self::Any => "JSON",
        }
    }
}
