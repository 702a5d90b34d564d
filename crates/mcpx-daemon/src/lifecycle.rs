//! Becoming the daemon of a set of configuration files, staying it, ending.

pub mod children;
pub mod election;
pub mod guard;
pub mod reload;
pub mod start;
pub mod watching;
