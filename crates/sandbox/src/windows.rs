//! Windows has no sandbox yet, and says so.

use std::path::Path;

use crate::{Choice, Detected};

/// Returns that there is none.
pub fn detect(_choice: Choice, _helper: &Path) -> Detected {
    Detected::none("there is no sandbox for this system yet")
}
