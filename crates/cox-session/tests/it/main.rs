//! The session engine, driven through its front door with a model that answers as told.

mod approvals;
mod budget;
mod calls;
mod context;
mod harness;
mod interrupt;
mod prefix;
mod resume;
mod secrets;
