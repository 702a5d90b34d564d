//! Peers that nobody of us wrote.
