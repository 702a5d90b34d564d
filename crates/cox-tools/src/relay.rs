//! What a tool may ask of the session behind it.

use async_trait::async_trait;

/// The session, as a tool sees it. Where no session stands behind a call, everything is unavailable.
#[async_trait]
pub trait Relay: Send + Sync {
    /// Puts a question to the person and waits for the answer.
    async fn ask(&self, question: &str, options: &[String]) -> Answer;
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The person's words.
    Text(String),
    /// The person does not want to answer.
    Dismissed,
    /// Nobody is there to ask.
    Nobody,
}
