//! One change of a tool, and the kinds there are.

use jiff::Timestamp;
use serde_json::{Map, Value};

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $word:literal,)+) => {
        /// What changed. The word is the one on the wire and in the record.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Kind {
            $($(#[doc = $doc])+ $kind,)+
            /// A kind that a newer version recorded; kept as it is.
            Other(String),
        }

        impl Kind {
            /// The word for it.
            #[must_use]
            pub fn word(&self) -> &str {
                match self {
                    $(Self::$kind => $word,)+
                    Self::Other(word) => word,
                }
            }

            /// The kind with this word.
            #[must_use]
            pub fn of(word: &str) -> Self {
                match word {
                    $($word => Self::$kind,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }
    };
}

kinds! {
    /// A tool that a server read before did not have.
    ToolAdded = "tool-added",
    /// A tool is gone.
    ToolRemoved = "tool-removed",
    /// A tool that was gone is back.
    ToolReappeared = "tool-reappeared",
    /// There is an argument more.
    ArgumentAdded = "argument-added",
    /// There is an argument less.
    ArgumentRemoved = "argument-removed",
    /// An argument has another name. A guess: one went and one came under the same parent, with the same types, values,
    /// format and everything below, and with the same description or alike names; none when more than one pair would do.
    ArgumentRenamed = "argument-renamed",
    /// An optional argument is required.
    ArgumentRequired = "argument-required",
    /// A required argument is optional.
    ArgumentOptional = "argument-optional",
    /// An argument takes other types, or `null` too or no more.
    ArgumentRetyped = "argument-retyped",
    /// An argument no longer takes a value that it took.
    ArgumentNarrowed = "argument-narrowed",
    /// An argument takes a value that it did not take.
    ArgumentWidened = "argument-widened",
    /// Default, format or limits of an argument.
    ArgumentDetail = "argument-detail",
    /// Only words, of the tool or of an argument.
    DescriptionChanged = "description-changed",
    /// What the tool claims about itself.
    AnnotationChanged = "annotation-changed",
    /// The shape of the structured result.
    OutputChanged = "output-changed",
    /// A schema that was read before cannot be read any more.
    SchemaUnreadable = "schema-unreadable",
}

/// One difference between two snapshots of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What changed.
    pub kind: Kind,
    /// The path of the argument, when it is about one; after a renaming, the new one.
    pub field: Option<String>,
    /// After a renaming, the old path.
    pub from: Option<String>,
    /// A phrase for people, as "`repo` was added and is required": one line, safe to print.
    pub what: String,
}

/// A difference with the time at which it was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// When the reading was made that showed it.
    pub when: Timestamp,
    /// What changed.
    pub difference: Difference,
    /// Members of a stored change that this version does not know.
    pub rest: Map<String, Value>,
}

impl Change {
    /// Whether it is about the argument at `path`, under its name of now or of before, or about one above or below it.
    #[must_use]
    pub fn names(&self, path: &str) -> bool {
        [&self.difference.field, &self.difference.from]
            .into_iter()
            .flatten()
            .any(|named| is_within(named, path) || is_within(path, named))
    }
}

/// Whether the place at `path` is the one at `above` or below it.
pub(super) fn is_within(path: &str, above: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
