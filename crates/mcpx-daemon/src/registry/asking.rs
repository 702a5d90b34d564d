//! Who answers a server's questions when the caller cannot.

use std::time::Duration;

use async_trait::async_trait;
use mcp_client::{Abilities, Ask, Asked};
use mcp_wire::Answer;

/// Nobody: nothing is declared, and what is asked anyway is cancelled.
pub struct Nobody;

#[async_trait]
impl Ask for Nobody {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    async fn ask(&self, _asked: Asked, _deadline: Duration) -> Answer {
        Answer::Cancel
    }
}

/// What an instance is started with: a caller with any ability may come, so all of them are declared; a question in a
/// call whose caller cannot answer is declined by that call.
pub struct WhoeverCalls;

#[async_trait]
impl Ask for WhoeverCalls {
    fn abilities(&self) -> Abilities {
        Abilities {
            forms: true,
            urls: true,
            sampling: true,
            roots: true,
        }
    }

    async fn ask(&self, _asked: Asked, _deadline: Duration) -> Answer {
        Answer::Cancel
    }
}
