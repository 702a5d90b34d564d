//! Becoming the daemon of a set of configuration files, staying it, ending.

mod building;
pub mod children;
pub mod election;
pub(crate) mod ending;
pub mod guard;
pub mod reading;
pub mod reload;
pub mod start;
pub mod watching;
