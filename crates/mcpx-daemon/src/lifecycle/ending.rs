//! The orderly end of a daemon: nothing new begins, what runs may end, what is left is told as interrupted.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mcp_wire::Object;
use mcpx_api::{ApiError, Code, Op};
use mcpx_config::settings::key;

use crate::events::kind;
use crate::hub::Hub;

/// How often it is looked whether the tasks are done.
const STEP: Duration = Duration::from_millis(20);

/// Begins the end. Tasks that run may end within `http.shutdownGrace`; what runs longer is marked as interrupted. Asked
/// for a second time it goes on as it was.
pub(crate) fn begin(hub: &Arc<Hub>, restart: bool) {
    if restart {
        hub.restarting.store(true, Ordering::SeqCst);
    }
    if hub.draining.swap(true, Ordering::SeqCst) {
        return;
    }
    hub.fronts.end_connections();
    let data = Object::new().with("restart", restart);
    hub.events.publish(kind::DAEMON_STOP, None, None, data);
    let hub = Arc::clone(hub);
    tokio::spawn(async move {
        let until = Instant::now() + hub.settings().duration(key::HTTP_SHUTDOWN_GRACE);
        while hub.tasks.running() > 0 && Instant::now() < until && !hub.stopping.is_cancelled() {
            tokio::time::sleep(STEP).await;
        }
        hub.tasks.interrupt(&hub);
        hub.stopping.cancel();
    });
}

/// Ends without waiting for what runs.
pub(crate) fn now(hub: &Hub) {
    hub.draining.store(true, Ordering::SeqCst);
    hub.tasks.interrupt(hub);
    hub.stopping.cancel();
}

/// Refuses what would begin something while the daemon ends.
///
/// # Errors
/// For everything but looking, and collecting what ran.
pub(crate) fn admit(hub: &Hub, operation: Op) -> Result<(), ApiError> {
    if !hub.is_ending() {
        return Ok(());
    }
    match operation {
        Op::Health
        | Op::Status
        | Op::Events
        | Op::LogQuery
        | Op::TasksList
        | Op::TaskGet
        | Op::TaskResult
        | Op::TaskCancel
        | Op::ResultRead
        | Op::Shutdown
        | Op::DaemonRestart => Ok(()),
        _ if hub.restarting.load(Ordering::SeqCst) => Err(ApiError::new(
            Code::Unavailable,
            "the daemon is being started anew, and this was not begun",
        )
        .hint("ask again in a moment")
        .with("delivery", "not_sent")),
        _ => Err(ApiError::new(
            Code::Unavailable,
            "the daemon is ending, and this was not begun",
        )
        .hint("ask again: the next command starts another daemon")
        .with("delivery", "not_sent")),
    }
}
