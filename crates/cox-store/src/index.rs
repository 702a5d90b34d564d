//! The index: SQLite with full-text search over the rollouts, rebuilt from them when missing or old.
