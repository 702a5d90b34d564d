//! What a tool may ask of the session behind it.

use std::fs::File;

use async_trait::async_trait;
use cox_store::ArchiveId;

/// The session, as a tool sees it. Where no session stands behind a call, everything is unavailable.
#[async_trait]
pub trait Relay: Send + Sync {
    /// Puts a question to the person and waits for the answer.
    async fn ask(&self, question: &str, options: &[String]) -> Answer;

    /// Opens a place for the output of something that outlives its call; none where nothing outlives a call.
    fn keeper(&self) -> Option<Box<dyn Keeper>> {
        None
    }
}

/// Keeps the output of something that outlives its call: redacted, then archived whole.
pub trait Keeper: Send {
    /// Returns the id under which it is archived once it has ended.
    fn id(&self) -> ArchiveId;

    /// Takes the next bytes. A disk that fails is reported by [`finish`](Self::finish).
    fn write(&mut self, bytes: &[u8]);

    /// Ends the output.
    ///
    /// # Errors
    ///
    /// Why it could not be kept, in words.
    fn finish(&mut self) -> Result<(), String>;

    /// Opens what was kept so far for reading, ended or not.
    ///
    /// # Errors
    ///
    /// Why it cannot be read, in words.
    fn open(&mut self) -> Result<File, String>;
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
