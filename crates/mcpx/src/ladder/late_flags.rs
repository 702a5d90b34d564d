//! Flags of the daemon's settings on a command that finds a daemon: it runs with what it was started with, and that is
//! said.

use std::sync::atomic::Ordering;

use mcpx_config::settings::registry::{SettingScope, by_path};

use super::Hub;

impl Hub<'_> {
    /// Tells of the flags that the daemon does not take any more. Once for all requests of a command.
    pub(super) fn tell_late_flags(&self) {
        if self.has_told.swap(true, Ordering::Relaxed) {
            return;
        }
        for (path, text) in &self.told.choice.flags {
            let Some(setting) = by_path(path) else {
                continue;
            };
            if setting.scope != SettingScope::Daemon {
                continue;
            }
            let way = if setting.hot {
                format!("change it: `mcpx settings set {} {text}`", setting.path)
            } else {
                "end the daemon first: `mcpx stop`".to_owned()
            };
            self.printer.note(&format!(
                "note: `{}` is a setting of the daemon, which runs already without it\nhint: {way}",
                setting.flag()
            ));
        }
    }
}
