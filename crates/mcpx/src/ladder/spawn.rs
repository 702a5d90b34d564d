//! Starts a daemon in the background, with what this command was told.

use std::ffi::OsString;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use child_process::Detached;
use mcpx_config::Config;
use mcpx_config::settings::key;
use mcpx_config::settings::registry::{SettingScope, by_path};
use mcpx_store::StateDir;

use crate::exit::Failure;
use crate::settings::{Told, environment};

/// The file that a daemon prints to.
const OUTPUT: &str = "daemon.log";
/// Size after which that file is followed by another.
const OUTPUT_BYTES: u64 = 1 << 20;

/// What one prints that was not elected.
pub(crate) const ALREADY: &str = "a daemon for these configuration files runs already";

/// A daemon that was started, and may not be one yet.
#[derive(Debug)]
pub(super) struct Started {
    state: StateDir,
    /// Where its file ended before.
    from: u64,
}

/// Starts one. Several may be started at once: one of them becomes the daemon, the others end.
pub(super) fn start(told: &Told, config: &Config) -> Result<Started, Failure> {
    let state = StateDir::open(&told.state).map_err(|error| Failure::failed(error.to_string()))?;
    // The file is rotated by whoever opens it, and then only named.
    let output = state.root().join(OUTPUT);
    if let Err(error) = state.append(OUTPUT, OUTPUT_BYTES) {
        return Err(Failure::failed(error.to_string()));
    }
    let from = std::fs::metadata(&output).map_or(0, |metadata| metadata.len());
    let configured = config.settings.text(key::AUTOSTART_BIN);
    let program = if configured.is_empty() {
        this_program(&told.surroundings.exe)
    } else {
        PathBuf::from(configured)
    };
    let daemon = Detached {
        program,
        args: args(told, config),
        env: environment(),
        cwd: told.surroundings.cwd.clone(),
    };
    daemon
        .start(&output)
        .map_err(|error| Failure::failed(format!("the daemon cannot be started: {error}")))?;
    Ok(Started { state, from })
}

/// The program that runs now, or what took its place meanwhile.
pub(crate) fn this_program(exe: &Path) -> PathBuf {
    let text = exe.to_string_lossy();
    text.strip_suffix(" (deleted)")
        .map_or_else(|| exe.to_owned(), PathBuf::from)
}

/// The command line of a daemon that reads what this command read.
fn args(told: &Told, config: &Config) -> Vec<OsString> {
    // It is detached already, so that it need not do so itself.
    let mut args: Vec<OsString> = config
        .settings
        .list(key::AUTOSTART_ARGS)
        .iter()
        .filter(|word| *word != "--detached")
        .map(OsString::from)
        .collect();
    if told.choice.demo {
        args.push("--demo".into());
    }
    if let Some(file) = &told.choice.config_file {
        args.push("--config".into());
        args.push(told.surroundings.cwd.join(file).into());
    }
    let idle = config.settings.duration(key::AUTOSTART_IDLE_EXIT);
    let mut says_idle = false;
    for (path, text) in &told.choice.flags {
        let Some(setting) = by_path(path) else {
            continue;
        };
        let is_for_daemon = setting.scope == SettingScope::Daemon
            || matches!(
                setting.path,
                "paths.config" | "paths.cache" | "preset" | "presets"
            );
        if is_for_daemon {
            says_idle |= setting.path == "daemon.idleExit";
            args.push(format!("{}={text}", setting.flag()).into());
        }
    }
    if !says_idle {
        let idle = mcpx_config::settings::duration_text(idle);
        args.push(format!("--daemon-idle-exit={idle}").into());
    }
    let mut state = OsString::from("--paths-state=");
    state.push(&told.state);
    args.push(state);
    args
}

impl Started {
    /// Why it ended without becoming the daemon, when it said so.
    pub(super) fn failed(&self) -> Option<String> {
        let printed = self.printed().ok()?;
        let at = printed.find("error: ")?;
        if at > 0 && !printed[..at].ends_with('\n') {
            return None;
        }
        // To the end of a line: what is half written is read at the next look.
        let end = printed.rfind('\n')?;
        printed
            .get(at + "error: ".len()..end)
            .map(|text| text.trim_end().to_owned())
    }

    /// Whether one ended because another daemon holds the lock.
    pub(super) fn lost(&self) -> bool {
        self.printed()
            .is_ok_and(|printed| printed.contains(ALREADY))
    }

    fn printed(&self) -> std::io::Result<String> {
        let mut file = std::fs::File::open(self.output())?;
        file.seek(SeekFrom::Start(self.from))?;
        let mut bytes = Vec::new();
        file.take(64 * 1024).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The end of what daemons printed, as lines below a message.
    pub(super) fn tail(&self, max_bytes: u64) -> String {
        let tail = self.state.tail(OUTPUT, max_bytes);
        let tail = tail.trim_end();
        if tail.is_empty() {
            return String::new();
        }
        let lines: Vec<String> = tail.lines().map(|line| format!("\n  {line}")).collect();
        lines.concat()
    }

    /// The file.
    pub(super) fn output(&self) -> PathBuf {
        self.state.root().join(OUTPUT)
    }
}
