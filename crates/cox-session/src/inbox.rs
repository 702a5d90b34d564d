//! Everything that can wake a session, as one closed enum.

use cox_protocol::{Command, Event};

/// One thing that wakes the session's loop.
#[derive(Debug)]
pub(crate) enum Wake {
    /// A surface sent a command.
    Command(Command),
    /// The surface is gone: nobody will send another command.
    SurfaceGone,
    /// A running call has an event to record.
    Call(Event),
}
