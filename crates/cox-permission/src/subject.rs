//! What a call is about: the words that rules match on.

use std::path::PathBuf;

use crate::{Risk, Segments};

/// What one call is about, as its tool states it before it runs.
///
/// A rule names an ability (`Edit`, `Read`, `Bash`, `WebFetch`, an MCP name) or a tool; the targets carry the
/// abilities, `tool` the name. A call with several targets is judged target by target: one deny denies the call,
/// one ask asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The tool's name as the model calls it, such as `edit` or `mcp__github__create_issue`.
    pub tool: String,
    /// The subject as shown to a person: a path, a command line, a URL or a name; may be empty.
    pub text: String,
    /// The risk of this very call, at or above nothing: a tool may lower or raise its usual risk per call.
    pub risk: Risk,
    /// What the call touches, in the order given by the call. Empty for a call that touches nothing outside cox.
    pub targets: Vec<Target>,
}

/// One thing that a call touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file or folder that is read.
    Read(PathTarget),
    /// A file that is created, changed, moved or deleted.
    Edit(PathTarget),
    /// A shell line, with its simple commands or the reason why they cannot be told.
    Command {
        /// The whole line as the model wrote it.
        line: String,
        /// Its simple commands.
        segments: Segments,
    },
    /// A URL that is fetched, in normal form.
    Url(String),
    /// A tool of an MCP server.
    Mcp {
        /// The server's configured name.
        server: String,
        /// The tool's name on that server.
        tool: String,
    },
}

/// A path as a rule sees it.
///
/// A deny or an ask holds when it matches either form; an allow must match both, so that a link never lends a
/// permission to the place it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathTarget {
    /// The path as the model wrote it.
    pub written: String,
    /// Absolute and lexically normal; links not followed.
    pub lexical: PathBuf,
    /// Absolute, with the links of its deepest existing ancestor resolved.
    pub real: PathBuf,
}
