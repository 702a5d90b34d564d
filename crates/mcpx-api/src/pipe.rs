//! The connection of `mcpx serve` to the daemon: its protocol, and what the daemon says on it when it ends.

use mcp_wire::{Notification, Object, Raw};

/// What a connection is upgraded to: messages as over stdio, for one caller.
pub const PROTOCOL: &str = "mcpx-stdio";

/// The one message on it that is not for the client.
const ENDING: &str = "notifications/dev.mcpx/ending";

/// The daemon takes no more messages on this connection, and ends when what it took is answered or its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// How many messages it took, counted by their lines: none of those behind them was looked at.
    pub taken: u64,
    /// Whether another daemon takes its place.
    pub restart: bool,
}

impl Ending {
    /// As a message.
    #[must_use]
    pub fn to_notification(self) -> Notification {
        let params = Object::new()
            .with("taken", Raw::of(&self.taken))
            .with("restart", self.restart);
        Notification::new(ENDING, params)
    }

    /// Whether a notification of this method is one.
    #[must_use]
    pub fn is(method: &str) -> bool {
        method == ENDING
    }

    /// From the params of such a notification.
    #[must_use]
    pub fn read(params: &Object) -> Option<Self> {
        Some(Self {
            taken: params.get("taken")?.read().ok()?,
            restart: params.get("restart").and_then(Raw::boolean)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_read_as_it_was_said() {
        let ending = Ending {
            taken: 7,
            restart: true,
        };
        let said = ending.to_notification();
        assert!(Ending::is(&said.method));
        assert_eq!(Ending::read(&said.params), Some(ending));
    }
}
