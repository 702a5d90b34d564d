//! A daemon of another version: an older one without tasks gives way to this program's, any other is told about.

use std::time::Instant;

use mcp_wire::{Object, Raw};
use mcpx_api::Op;
use mcpx_config::settings::key;

use super::Hub;
use crate::VERSION;
use crate::exit::Failure;

impl Hub<'_> {
    /// Lets an older daemon give way, when it has no task to do.
    pub(super) async fn same_version(&self) -> Result<(), Failure> {
        let Some(record) = &self.record else {
            return Ok(());
        };
        if record.version == VERSION || record.is_alive() != Some(true) {
            return Ok(());
        }
        if !is_older(&record.version, VERSION) {
            self.printer.note(&format!(
                "note: the daemon has version {}, this command {VERSION}",
                record.version
            ));
            return Ok(());
        }
        let nothing = Object::new();
        let Some(tasks) = self.ask_running(Op::TasksList, &nothing).await? else {
            return Ok(());
        };
        let running = tasks
            .json()
            .ok()
            .and_then(|raw| raw.object().ok())
            .and_then(|document| document.get("tasks").cloned())
            .and_then(|tasks| tasks.array().ok())
            .unwrap_or_default()
            .iter()
            .filter_map(|task| task.object().ok()?.get("state").and_then(Raw::string))
            .filter(|state| state == "working")
            .count();
        if running > 0 {
            self.printer.note(&format!(
                "note: the daemon has version {}, this command {VERSION}; it has {running} tasks to do and is left alone",
                record.version
            ));
            return Ok(());
        }
        // Another command may have done it meanwhile.
        match self.ping().await {
            Ok(health) if health.pid == record.pid => {}
            _ => return Ok(()),
        }
        self.printer.note(&format!(
            "note: the daemon had version {} and is started again with {VERSION}",
            record.version
        ));
        self.ask_running(Op::Shutdown, &nothing).await?;
        let wait = self
            .config
            .settings
            .duration(key::AUTOSTART_CONNECT_TIMEOUT);
        self.gone(Instant::now() + wait).await
    }
}

/// Whether a version comes before another. What is no version comes before nothing.
fn is_older(version: &str, than: &str) -> bool {
    fn read(version: &str) -> Option<Vec<u64>> {
        let plain = version.split(['-', '+']).next()?;
        plain.split('.').map(|part| part.parse().ok()).collect()
    }
    match (read(version), read(than)) {
        (Some(version), Some(than)) => version < than,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_older;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_older("0.9.0", "0.10.0"));
        assert!(!is_older("0.10.0", "0.9.9"));
        assert!(!is_older("0.1.0", "0.1.0"));
        assert!(!is_older("nonsense", "0.1.0"));
    }
}
