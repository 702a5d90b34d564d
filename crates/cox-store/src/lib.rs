//! Sessions on disk: rollout, archive, ledger.
//!
//! The rollout of a session is the truth: JSON Lines, append-only, one writer. The index is SQLite and can be rebuilt from the
//! rollouts at any time. The archive holds whole outputs and the pre-images of changed files.
#![allow(
    clippy::disallowed_methods,
    reason = "this is the door to cox's own state"
)]

pub mod archive;
pub mod home;
pub mod index;
pub mod rollout;
pub mod write_sets;

pub use archive::{Archive, ArchiveWriter, LinesCopied};
pub use cox_protocol::ArchiveId;
pub use home::{Clock, Home, StoreError};
pub use index::{By, Hit, Index, LedgerFilter, LedgerRow, SessionRow};
pub use rollout::{Replay, Rollout, Skipped, Stored, latest_for, list_ids};
pub use write_sets::{LeftRecord, OpenRecord, WriteSets};
