//! What was recorded of a tool at one reading.

use mcp_wire::{Hints, Tool};

use crate::canonical;
use crate::shape::Shape;

/// One thing that is recorded of a tool.
///
/// The list only grows, at its end. A snapshot stores how many of it its reading knew, so that what an older one lacks is
/// never taken for empty: two snapshots are compared only in what both know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aspect {
    /// Paths and types of the arguments.
    Types,
    /// Which arguments are required.
    Required,
    /// Which take `null`.
    Nullable,
    /// Which values they take.
    Allowed,
    /// Their defaults.
    Default,
    /// Their formats.
    Format,
    /// Their limits.
    Limits,
    /// Digests of their descriptions.
    FieldDescription,
    /// A digest of the tool's description.
    Description,
    /// The tool's annotations.
    Hints,
    /// The shape of its structured result.
    Output,
}

impl Aspect {
    /// All, in the order in which they were added.
    pub const ALL: [Self; 11] = [
        Self::Types,
        Self::Required,
        Self::Nullable,
        Self::Allowed,
        Self::Default,
        Self::Format,
        Self::Limits,
        Self::FieldDescription,
        Self::Description,
        Self::Hints,
        Self::Output,
    ];
}

/// A tool as it was at one reading.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// How many of [`Aspect::ALL`] the reading knew.
    pub reads: usize,
    /// Its arguments.
    pub input: Shape,
    /// Its structured result, when it declares one.
    pub output: Option<Shape>,
    /// A digest of its description, when it has one.
    pub description: Option<String>,
    /// What its annotations mean, the defaults filled in: read-only, destructive, idempotent, open world.
    pub hints: [bool; 4],
}

impl Snapshot {
    /// Records a tool.
    #[must_use]
    pub fn of(tool: &Tool) -> Self {
        let hints = tool.hints();
        Self {
            reads: Aspect::ALL.len(),
            input: Shape::of(&tool.input_schema()),
            output: tool.output_schema().map(Shape::of),
            description: tool
                .description()
                .filter(|text| !text.is_empty())
                .map(|text| canonical::digest(&text)),
            hints: effective(&hints),
        }
    }

    /// Whether the reading knew of `aspect`.
    #[must_use]
    pub fn knows(&self, aspect: Aspect) -> bool {
        Aspect::ALL
            .iter()
            .take(self.reads)
            .any(|known| *known == aspect)
    }
}

/// The names of the annotations, in the order of [`Snapshot::hints`].
pub(super) const HINTS: [&str; 4] = [
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
];

fn effective(hints: &Hints) -> [bool; 4] {
    [
        hints.read_only,
        hints.destructive,
        hints.idempotent,
        hints.open_world,
    ]
}
