//! The client against servers that misbehave as a test says.

mod calls;
mod delivery;
mod era;
mod lists;
mod processes;
mod questions;
mod setup;
