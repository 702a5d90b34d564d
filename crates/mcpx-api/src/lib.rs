//! The words of the hub's HTTP API.
