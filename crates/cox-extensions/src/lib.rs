//! Files that people already have for their agents: instruction files today.

pub mod instructions;

pub use instructions::{InstructionFile, Instructions, load};
