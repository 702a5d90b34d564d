//! Reads the server lists of other hosts.
