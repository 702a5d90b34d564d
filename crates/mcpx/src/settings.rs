//! The one place that reads the environment: where the command stands, and what it was told.
#![allow(
    clippy::disallowed_methods,
    reason = "the environment is read here and handed down"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use mcpx_config::files::{Where, search};
use mcpx_config::settings::key;
use mcpx_config::{Choice, Config, Surroundings, Trust, load};
use mcpx_store::StateDir;
use mcpx_store::daemons::Daemons;
use mcpx_store::trust::TrustFile;

use crate::exit::{Exit, Failure};

/// Where a command stands, and what it was told.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    /// Folder, environment, home, program.
    pub(crate) surroundings: Surroundings,
    /// Files and flags.
    pub(crate) choice: Choice,
    /// The folder of sockets, records and logs.
    pub(crate) state: PathBuf,
}

/// Reads where the command stands.
///
/// # Errors
/// When there is no current folder.
pub(crate) fn surroundings() -> Result<Surroundings, Failure> {
    let cwd = std::env::current_dir()
        .map_err(|error| Failure::failed(format!("the current folder cannot be used: {error}")))?;
    let exe = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("this program has no path: {error}")))?;
    let env: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let home = env
        .get("HOME")
        .filter(|home| !home.is_empty())
        .map(PathBuf::from);
    Ok(Surroundings {
        cwd,
        env,
        home,
        exe,
    })
}

/// The whole environment, for a program that is to have the same.
pub(crate) fn environment() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().collect()
}

/// One variable of the environment.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// How stdout looks: the width of its terminal, nothing when it is none.
pub(crate) fn width() -> Option<usize> {
    use std::io::IsTerminal as _;
    if !std::io::stdout().is_terminal() {
        return None;
    }
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(std::io::stdout())
        && size.ws_col > 0
    {
        return Some(usize::from(size.ws_col));
    }
    let told = variable("COLUMNS").and_then(|text| text.parse().ok());
    Some(told.unwrap_or(80))
}

/// Whether a terminal is to be printed to without colours: `NO_COLOR`, or one that has none.
pub(crate) fn is_plain_terminal() -> bool {
    variable("NO_COLOR").is_some() || variable("TERM").is_some_and(|name| name == "dumb")
}

/// Whether somebody can be asked.
pub(crate) fn can_ask() -> bool {
    use std::io::IsTerminal as _;
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// The system's folder for temporary files.
pub(crate) fn temporary() -> PathBuf {
    std::env::temp_dir()
}

impl Told {
    /// Reads where the command stands, and where the hub's state is.
    ///
    /// # Errors
    /// When there is no folder for the state.
    pub(crate) fn read(choice: Choice) -> Result<Self, Failure> {
        let surroundings = surroundings()?;
        let flag = choice
            .flags
            .iter()
            .rev()
            .find(|(path, _)| path == "paths.state")
            .map(|(_, value)| PathBuf::from(value));
        let Some(state) = flag.or_else(|| state_folder(&surroundings)) else {
            return Err(Failure::failed("there is no folder for the hub's state")
                .hint("set HOME, XDG_STATE_HOME or MCPX_STATE_DIR"));
        };
        let state = surroundings.cwd.join(state);
        Ok(Self {
            surroundings,
            choice,
            state,
        })
    }

    /// Reads the configuration.
    ///
    /// # Errors
    /// When a file cannot be read as one.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let (accepted, _) = TrustFile::new(&StateDir::at(&self.state)).load();
        let trust = accepted.into_keys().collect();
        load(&self.surroundings, &self.choice, &trust)
            .map_err(|error| Failure::with_hint_lines(Exit::Usage, &error.to_string()))
    }
}

impl Told {
    /// Reads the configuration; when it is broken and a daemon runs that read these files before, what is enough to
    /// reach it, with what is wrong.
    ///
    /// # Errors
    /// When a file cannot be read as one, and no daemon has it from before.
    pub(crate) fn config_or_earlier(&self) -> Result<(Config, Option<Failure>), Failure> {
        match self.config() {
            Ok(config) => Ok((config, None)),
            Err(failure) => match self.earlier() {
                Some(config) => Ok((config, Some(failure))),
                None => Err(failure),
            },
        }
    }

    /// The way to a daemon that serves the files that are found here, whatever is in them now.
    fn earlier(&self) -> Option<Config> {
        let only = self.choice.config_file.clone().or_else(|| {
            let names = key::PATHS_CONFIG_FILE.setting().variables();
            names
                .iter()
                .find_map(|name| self.surroundings.variable(name).map(PathBuf::from))
        });
        let place = Where {
            only,
            ..Where::default()
        };
        let files: Vec<PathBuf> = search(&self.surroundings, &place)
            .ok()?
            .into_iter()
            .map(|found| found.resolved)
            .collect();
        let listing = Daemons::new(&StateDir::at(&self.state)).list();
        let record = listing
            .records
            .into_iter()
            .find(|record| record.files == files && record.is_alive() == Some(true))?;
        let without_files = Choice {
            demo: true,
            ..self.choice.clone()
        };
        let config = load(&self.surroundings, &without_files, &Trust::none()).ok()?;
        Some(Config {
            key: record.key,
            files: record.files,
            hash: record.config_hash,
            servers: BTreeMap::new(),
            ..config
        })
    }
}

fn state_folder(surroundings: &Surroundings) -> Option<PathBuf> {
    let setting = key::PATHS_STATE.setting();
    let told = setting
        .variables()
        .into_iter()
        .find_map(|name| surroundings.variable(&name).map(PathBuf::from));
    told.or_else(|| {
        let xdg = surroundings.variable("XDG_STATE_HOME").map(PathBuf::from);
        let base = xdg.or_else(|| Some(surroundings.home.clone()?.join(".local/state")))?;
        Some(base.join("mcpx"))
    })
}
