//! What the crate promises to others: the specifications in `spec/`, and the algebra of judgement.

mod calls;
mod comments;
mod corpus;
mod properties;
mod spec;
