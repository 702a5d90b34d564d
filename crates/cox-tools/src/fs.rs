//! The file tools: `read`, `grep`, `glob`, `edit`, `apply_patch`, `write`.
