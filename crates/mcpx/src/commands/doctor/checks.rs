//! The single looks.

use std::path::{Path, PathBuf};

use child_process::find_program;
use mcp_wire::Object;
use mcpx_api::Op;
use mcpx_config::settings::key;
use mcpx_config::{Config, Reach, Server};
use mcpx_store::StateDir;
use mcpx_store::log::index::Index;
use mcpx_store::trust::TrustFile;
use untrusted_text::terminal::one_line;

use super::{Check, Grade};
use crate::VERSION;
use crate::ladder::Hub;
use crate::printer::Printer;
use crate::settings::Told;

fn folders_of_path(told: &Told) -> Vec<PathBuf> {
    let path = told.surroundings.variable("PATH").unwrap_or_default();
    std::env::split_paths(path).collect()
}

/// This program.
pub(super) fn program(told: &Told) -> Check {
    Check::new(
        "mcpx",
        Grade::Fine,
        format!("{VERSION}, {}", told.surroundings.exe.display()),
    )
}

/// What scopes by repository need in rare layouts.
pub(super) fn git(told: &Told) -> Check {
    match find_program("git", folders_of_path(told)) {
        Some(path) => Check::new("git", Grade::Fine, path.display().to_string()),
        None => Check::new("git", Grade::Look, "not on PATH").remedy(
            "only unusual layouts of repositories need it, for the scopes `repo` and `worktree`",
        ),
    }
}

/// Settings that contradict each other.
pub(super) fn settings(config: &Config) -> Vec<Check> {
    let settings = &config.settings;
    let mut found = Vec::new();
    let mut contradiction = |text: String, remedy: &str| {
        found.push(Check::new("settings", Grade::Look, text).remedy(remedy));
    };
    if settings.int(key::POOL_MIN) > settings.int(key::POOL_MAX) {
        contradiction(
            format!(
                "`pool.min` ({}) is more than `pool.max` ({})",
                settings.int(key::POOL_MIN),
                settings.int(key::POOL_MAX)
            ),
            "lower `pool.min`",
        );
    }
    if settings.int(key::POOL_MAX) > settings.int(key::POOL_GLOBAL_MAX) {
        contradiction(
            "`pool.max` is more than `pool.globalMax`".to_owned(),
            "a server never gets more instances than all may have together",
        );
    }
    if settings.bool(key::PROFILE_SKIP_DEFAULT) && settings.list(key::PROFILE_NAMES).is_empty() {
        contradiction(
            "`profile.skipDefault` is on, and no profile is named".to_owned(),
            "listings are empty: name one with `--profile`",
        );
    }
    if found.is_empty() {
        found.push(Check::new(
            "settings",
            Grade::Fine,
            "none contradicts another",
        ));
    }
    found
}

/// Servers that are one: under several names, with sizes that may be another entry's.
pub(super) fn shared(config: &Config) -> Vec<Check> {
    let pools = mcpx_config::shared(&config.servers);
    let equals = pools.into_values().filter(|shared| shared.is_of_equals);
    equals
        .map(|shared| {
            let names = one_line(&shared.names.join(", "), 200);
            let server = &shared.server;
            let found = format!(
                "{names} are launched in the same way and share their processes: max {}, min {}, idle after {} s",
                server.max,
                server.min,
                server.idle_timeout.as_secs()
            );
            Check::new("shared", Grade::Fine, found)
                .remedy("a variable of its own in `env` parts one from the others")
        })
        .collect()
}

/// The files.
pub(super) fn configuration(config: &Config) -> Check {
    let files: Vec<String> = config
        .files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    if files.is_empty() && config.servers.is_empty() {
        return Check::new("configuration", Grade::Look, "no file was found").remedy(
            "`mcpx init` writes one, `mcpx servers import --from all` takes the lists of other hosts",
        );
    }
    let mut lines = vec![format!(
        "{} servers, from {}",
        config.servers.len(),
        match files.as_slice() {
            [] => "this program".to_owned(),
            files => files.join(", "),
        }
    )];
    lines.extend(config.warnings.iter().map(ToString::to_string));
    lines.extend(config.unknown_keys.iter().map(ToString::to_string));
    let grade = if lines.len() > 1 {
        Grade::Look
    } else {
        Grade::Fine
    };
    let check = Check::new("configuration", grade, lines.join("\n"));
    if config.untrusted.is_empty() {
        check
    } else {
        Check {
            grade: Grade::Look,
            ..check
        }
        .remedy(format!(
            "{} entries of this project wait for your word: `mcpx servers trust`",
            config.untrusted.len()
        ))
    }
}

/// Each server: whether it can be used, and what its command is.
pub(super) fn servers(told: &Told, config: &Config) -> Vec<Check> {
    config
        .servers
        .values()
        .map(|server| of_server(told, server))
        .collect()
}

fn of_server(told: &Told, server: &Server) -> Check {
    let what = format!("server {}", one_line(&server.name, 60));
    if let Some(reason) = server.reason() {
        let text = reason.to_string();
        let (found, remedy) = mcpx_config::hint_apart(&text);
        let remedy = remedy.map(str::to_owned);
        let grade = match reason {
            mcpx_config::Reason::Untrusted { .. } => Grade::Look,
            _ => Grade::Broken,
        };
        return Check {
            remedy,
            ..Check::new(what, grade, found)
        };
    }
    match &server.reach {
        Reach::Http { .. } => {
            // As it is written: what variables put in may be a secret.
            let shown = server.shown();
            let url = shown.get("url").and_then(serde_json::Value::as_str);
            Check::new(what, Grade::Fine, one_line(url.unwrap_or_default(), 400))
        }
        Reach::Alias { of } => Check::new(
            what,
            Grade::Fine,
            format!("another view of `{}`", one_line(of, 80)),
        ),
        Reach::Stdio {
            command, env, cwd, ..
        } => {
            if let Some(cwd) = cwd
                && !cwd.is_dir()
            {
                return Check::new(
                    what,
                    Grade::Broken,
                    format!("its folder `{}` is not there", cwd.display()),
                )
                .remedy("mend `cwd` of the server");
            }
            let path = env.get("PATH").map(String::as_str);
            match resolved(told, command, path, cwd.as_deref()) {
                Some(program) => Check::new(what, Grade::Fine, program.display().to_string()),
                None => Check::new(what, Grade::Broken, format!("`{}` is not on PATH", one_line(command, 200)))
                    .remedy("install it, or write its whole path; a daemon that a desktop started may have another PATH than your shell"),
            }
        }
    }
}

/// The program that a command names, as the daemon would find it.
pub(super) fn resolved(
    told: &Told,
    command: &str,
    path: Option<&str>,
    cwd: Option<&Path>,
) -> Option<PathBuf> {
    if command.contains('/') {
        let base = cwd.unwrap_or(&told.surroundings.cwd);
        let path = base.join(command);
        return path.is_file().then_some(path);
    }
    match path {
        Some(path) => find_program(command, std::env::split_paths(path)),
        None => find_program(command, folders_of_path(told)),
    }
}

/// The folders that are written to.
pub(super) fn folders(told: &Told) -> Vec<Check> {
    let mut all = Vec::new();
    all.push(if told.state.is_dir() {
        match StateDir::open(&told.state) {
            Ok(_) => Check::new("state", Grade::Fine, told.state.display().to_string()),
            Err(error) => Check::new("state", Grade::Broken, error.to_string())
                .remedy("make it yours alone, or name another: `paths.state`"),
        }
    } else {
        Check::new(
            "state",
            Grade::Fine,
            format!("{} is made when it is needed", told.state.display()),
        )
    });
    let (_, problem) = TrustFile::new(&StateDir::at(&told.state)).load();
    if let Some(problem) = problem {
        all.push(
            Check::new("trust", Grade::Broken, problem.to_string())
                .remedy("what was accepted is unknown: accept it again with `mcpx servers trust`"),
        );
    }
    all
}

/// The daemon, when one runs.
pub(super) async fn daemon(told: &Told, config: &Config, printer: Printer) -> Check {
    let broken = |error: String| Check::new("daemon", Grade::Broken, error);
    let hub = match Hub::new(told, config, mcpx_api::Caller::default(), printer) {
        Ok(hub) => hub,
        Err(failure) => return broken(failure.error.message),
    };
    let answer = match hub.ask_running(Op::Status, &Object::new()).await {
        Ok(answer) => answer,
        Err(failure) => {
            return broken(failure.error.message)
                .remedy("end it and let the next command start another: `mcpx stop`");
        }
    };
    let Some(answer) = answer else {
        let found = if config.settings.bool(key::DAEMON_AUTOSTART) {
            "none runs; the next command that needs one starts it"
        } else {
            "none runs, and `daemon.autostart` is off"
        };
        return Check::new("daemon", Grade::Fine, found);
    };
    let status: mcpx_api::reply::Status = match answer.read() {
        Ok(status) => status,
        Err(error) => return broken(error.to_string()),
    };
    let check = Check::new(
        "daemon",
        Grade::Fine,
        format!(
            "version {}, process {}, up {} s",
            status.version, status.pid, status.uptime_sec
        ),
    );
    if status.version != VERSION {
        return Check {
            grade: Grade::Look,
            ..check
        }
        .remedy(format!(
            "this command has version {VERSION}: `mcpx daemon restart`"
        ));
    }
    match status.config_error {
        Some(error) => broken(format!(
            "{}\nit goes on with an earlier configuration: {error}",
            check.found
        ))
        .remedy("mend the file; it is taken up by itself"),
        None => check,
    }
}

/// The log's index.
pub(super) fn log(told: &Told) -> Check {
    let state = StateDir::at(&told.state);
    if !state.logs_dir().is_dir() {
        return Check::new("log", Grade::Fine, "nothing is logged yet");
    }
    let looked = Index::open(&state).and_then(|mut index| {
        let refreshed = index.refresh()?;
        Ok((index.path().display().to_string(), refreshed))
    });
    match looked {
        Err(error) => Check::new("log", Grade::Broken, error.to_string()).remedy(
            "remove `logs/index.db` in the state folder; it is made anew from the files beside it",
        ),
        Ok((path, refreshed)) if refreshed.skipped > 0 || refreshed.unreadable > 0 => Check::new(
            "log",
            Grade::Look,
            format!(
                "{path}; {} lines and {} files could not be read and are left out",
                refreshed.skipped, refreshed.unreadable
            ),
        ),
        Ok((path, refreshed)) => Check::new(
            "log",
            Grade::Fine,
            format!("{path}, {} files", refreshed.files),
        ),
    }
}
