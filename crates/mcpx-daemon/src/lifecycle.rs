//! Becoming the daemon of a set of configuration files, staying it, ending.

pub mod election;
pub mod reload;
pub mod start;
pub mod watching;
