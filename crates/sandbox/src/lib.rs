//! Turns a policy into a wrap around a command, per platform. Decides nothing.
//!
//! [`detect()`] finds out once which backend really works here, [`wrap()`] makes the argv prefix that holds a command to a
//! [`Policy`], [`helper`] is the entry of the program that confines itself before it becomes the command, and
//! [`denial()`] reads from a failed command's output what was refused. A policy that cannot be held is refused with the
//! reason: nothing here ever runs bare in silence.
#![allow(
    unsafe_code,
    reason = "this crate owns the operating system's confinement calls"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "mount points are made and removed here, and nowhere else"
)]

pub mod policy;

pub mod detect;
pub mod wrap;

pub mod hidden;
pub mod protected;

pub mod denial;
pub mod helper;

pub mod macos;
pub mod windows;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod mountpoint;
#[cfg(target_os = "linux")]
mod view;

pub use denial::{Denial, denial};
pub use detect::{Backend, Choice, Detected, detect};
pub use helper::helper_main;
pub use hidden::default_hidden;
pub use policy::{Mode, Policy};
pub use protected::default_read_only;
pub use wrap::{Refused, wrap};
