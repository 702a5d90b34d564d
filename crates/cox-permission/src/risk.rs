//! How much harm a call can do, in four ascending classes.

use serde::{Deserialize, Serialize};

/// How much harm a call can do. Ordered: a later class is riskier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Looks and changes nothing.
    ReadOnly,
    /// Changes files of the workspace in a way that can be undone from the archive.
    Write,
    /// Runs code.
    Exec,
    /// May destroy what cannot be brought back.
    Destructive,
}
