//! Judges whether a call may run: a subject, the rules, the mode and the policy in; allow, ask or deny out.
//!
//! Pure: no I/O, no waiting, no clock. Every verdict carries its reason and, where one decided, the rule. The order
//! of judgement stands in [`judge`]. What it does not do: run anything, ask anyone, or resolve a path.

pub mod judge;
pub mod mode;
pub mod risk;
pub mod rule;
pub mod segments;
pub mod subject;

pub use judge::{Decision, Grants, Judge, Part, Verdict, Why};
pub use mode::{ApprovalPolicy, Mode};
pub use risk::{Risk, command_risk, read_paths};
pub use rule::{Anchors, Examples, HiddenPath, Rule, RuleError, RuleSet, RuleSource};
pub use segments::{Redirect, Segment, Segments, segments, segments_of_any_shell};
pub use subject::{PathTarget, Subject, Target};
