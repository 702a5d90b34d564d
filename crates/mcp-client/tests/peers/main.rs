//! The client with servers that nobody of us wrote, the official Rust SDK with our server, and many calls at once.

mod everything;
mod http;
mod load;
mod rmcp;
mod setup;
mod stdio;
