//! The one place an event passes on its way out: rollout first, then state, then surface.

use cox_protocol::Event;
use cox_store::{Rollout, StoreError};
use tokio::sync::mpsc;

use crate::state::State;

/// Writes events down and hands them on.
pub(crate) struct Journal {
    rollout: Rollout,
    surface: mpsc::Sender<Event>,
    pub(crate) state: State,
}

impl Journal {
    pub(crate) fn new(rollout: Rollout, surface: mpsc::Sender<Event>, state: State) -> Self {
        Self {
            rollout,
            surface,
            state,
        }
    }

    /// Records an event and shows it. A surface that is gone is no error: the record goes on.
    pub(crate) async fn emit(&mut self, event: Event) -> Result<(), StoreError> {
        self.rollout.append(&event)?;
        self.state.apply(&event);
        drop(self.surface.send(event).await);
        Ok(())
    }

    /// Makes everything recorded so far survive a power cut.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        self.rollout.sync()
    }

    /// Shows an event that can no longer be recorded, such as the failure of the record itself.
    pub(crate) async fn show_unrecorded(&mut self, event: Event) {
        self.state.apply(&event);
        drop(self.surface.send(event).await);
    }
}
