//! The real binary, each time with a home and a working folder of its own.

mod cli;
mod configuration;
mod demo;
mod harness;
mod kill;
mod run;
