//! `cox doctor`: checks that everything that cox needs is there. Sends nothing.

use std::path::Path;

use serde_json::json;

use crate::{
    args::{Args, Doctor},
    commands::write_sets::{self, Mend},
    exit::{Exit, Failure},
    printer::Printer,
    settings::{Settings, environment::Environment},
    wire_up,
};

/// Days after which the table of prices is called old.
const OLD_PRICES_DAYS: i64 = 90;

/// One thing that was looked at.
#[derive(Debug)]
struct Check {
    name: String,
    state: State,
    detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    /// Works, but not as well as it could.
    Warning,
    /// Keeps `cox run` from working.
    Failed,
    /// Not needed by the current configuration.
    Unused,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::Unused => "unused",
        }
    }
}

/// Checks everything and prints a line for each; ends with 1 when something failed.
///
/// # Errors
///
/// A usage failure for folders that are not there.
pub(crate) fn doctor(doctor: &Doctor, args: &Args, printer: Printer) -> Result<Exit, Failure> {
    for (id, mend) in [
        (&doctor.finish_write_set, Mend::Finish),
        (&doctor.undo_write_set, Mend::Undo),
        (&doctor.forget_write_set, Mend::Forget),
    ] {
        if let Some(id) = id {
            let home = crate::settings::home(args)?;
            return write_sets::mend(id, mend, doctor.skip_changed, &home, printer);
        }
    }
    let checks = match Settings::load(args, Environment::read()) {
        Ok(settings) => all(&settings),
        Err(failure) if failure.exit == Exit::Usage => return Err(failure),
        Err(failure) => vec![Check {
            name: "configuration".to_owned(),
            state: State::Failed,
            detail: failure.message,
        }],
    };
    let failed = checks.iter().any(|check| check.state == State::Failed);
    let exit = if failed { Exit::Error } else { Exit::Ok };
    let told = if printer.json {
        let checks: Vec<_> = checks
            .iter()
            .map(|check| json!({ "name": check.name, "state": check.state.word(), "detail": check.detail }))
            .collect();
        printer.document(&json!({ "ok": !failed, "checks": checks, "exit_code": exit.code() }))
    } else {
        let lines: Vec<String> = checks
            .iter()
            .map(|check| {
                let detail = check
                    .detail
                    .replace('\n', "\n                                ");
                format!("{:<8}{:<24}{detail}", check.state.word(), check.name)
            })
            .collect();
        printer.result(&lines.join("\n"))
    };
    Ok(match crate::printed(told) {
        Exit::Ok => exit,
        failed => failed,
    })
}

fn all(settings: &Settings) -> Vec<Check> {
    let mut checks = vec![
        configuration(settings),
        rules(settings),
        home(settings),
        changes(settings),
    ];
    checks.extend(providers(settings));
    checks.push(sandbox_backend(settings));
    checks.push(prices());
    checks.push(git(settings));
    checks.push(instruction_files(settings));
    checks
}

fn check(name: impl Into<String>, state: State, detail: impl Into<String>) -> Check {
    Check {
        name: name.into(),
        state,
        detail: detail.into(),
    }
}

fn configuration(settings: &Settings) -> Check {
    if !settings.warnings.is_empty() {
        return check(
            "configuration",
            State::Warning,
            settings.warnings.join("\n"),
        );
    }
    let places = &settings.places;
    let files: Vec<String> = [Some(places.user_file()), places.project_file()]
        .into_iter()
        .flatten()
        .filter(|path| path.exists())
        .map(|path| places.short(&path))
        .collect();
    let detail = if files.is_empty() {
        "defaults only".to_owned()
    } else {
        files.join(", ")
    };
    check("configuration", State::Ok, detail)
}

fn rules(settings: &Settings) -> Check {
    match wire_up::rules(settings) {
        Ok(rules) if !wire_up::rules_without_a_tool(&rules).is_empty() => check(
            "permission rules",
            State::Warning,
            wire_up::rules_without_a_tool(&rules).join("\n"),
        ),
        Ok(rules) => check(
            "permission rules",
            State::Ok,
            format!(
                "{} deny, {} ask, {} allow",
                rules.deny.len(),
                rules.ask.len(),
                rules.allow.len()
            ),
        ),
        Err(failure) => check("permission rules", State::Failed, failure.message),
    }
}

fn home(settings: &Settings) -> Check {
    let places = &settings.places;
    let home = &places.cox_home;
    let existing = home
        .ancestors()
        .find(|folder| folder.exists())
        .unwrap_or(Path::new("/"));
    match tempfile::tempfile_in(existing) {
        Ok(_) if existing == home => check("home", State::Ok, places.short(home)),
        Ok(_) => check(
            "home",
            State::Ok,
            format!("{} (made when first needed)", places.short(home)),
        ),
        Err(error) => check(
            "home",
            State::Failed,
            format!(
                "{} cannot be written: {error}\nset COX_HOME or give `--home`",
                places.short(existing)
            ),
        ),
    }
}

fn changes(settings: &Settings) -> Check {
    let name = "unfinished changes";
    match write_sets::left(&cox_store::Home::new(&settings.places.cox_home)) {
        Ok(left) if left.is_empty() => check(name, State::Ok, "none"),
        Ok(left) => {
            let told: Vec<String> = left.iter().map(write_sets::Left::told).collect();
            check(name, State::Warning, told.join("\n"))
        }
        Err(failure) => check(name, State::Warning, failure.message),
    }
}

fn providers(settings: &Settings) -> Vec<Check> {
    let chosen = settings.text("core.provider");
    let names = settings.merged.names("providers");
    let mut checks: Vec<Check> = Vec::new();
    if !names.contains(&chosen) {
        checks.push(check(
            "provider",
            State::Failed,
            format!("there is no provider `{chosen}`"),
        ));
    }
    for name in names {
        let is_chosen = name == chosen;
        let title = if is_chosen {
            format!("provider {name} *")
        } else {
            format!("provider {name}")
        };
        let missing = if is_chosen {
            State::Failed
        } else {
            State::Unused
        };
        checks.push(match settings.provider(name) {
            Err(failure) => check(title, missing, failure.message),
            Ok(provider) => {
                let model = match settings.text("core.model") {
                    // The model that was named is meant for the provider that was chosen.
                    model if is_chosen && !model.is_empty() => model.to_owned(),
                    _ => provider.model.clone(),
                };
                match &provider.api_key_env {
                    Some(variable) if settings.environment.text(variable).is_none() => {
                        let mut detail = format!("{variable} is not set");
                        if is_chosen {
                            detail.push_str(
                                "\nset it, or choose another with `--provider` or `core.provider`",
                            );
                        }
                        check(title, missing, detail)
                    }
                    _ if model.is_empty() && is_chosen => {
                        check(title, missing, "no model: name one with `--model`")
                    }
                    key => {
                        let model = if model.is_empty() {
                            "any model, by `--model`"
                        } else {
                            &model
                        };
                        let key = key.as_ref().map_or_else(
                            || format!("at {}, no key needed", provider.base_url),
                            |variable| format!("key in {variable}"),
                        );
                        check(title, State::Ok, format!("{model}, {key}"))
                    }
                }
            }
        });
    }
    checks
}

fn sandbox_backend(settings: &Settings) -> Check {
    let mode = settings.text("sandbox.mode");
    if mode == "danger-full-access" {
        return check(
            "sandbox",
            State::Warning,
            "commands may change everything: there is no sandbox (danger-full-access)",
        );
    }
    let detected = wire_up::detect(settings);
    if detected.backend == sandbox::Backend::None {
        return check(
            "sandbox",
            State::Failed,
            format!("commands are refused: {}", detected.why),
        );
    }
    let gaps = detected.gaps();
    let state = if gaps.is_empty() {
        State::Ok
    } else {
        State::Warning
    };
    let may_change = if mode == "read-only" {
        "temporary files"
    } else {
        "the workspace and temporary files"
    };
    let network = if settings
        .merged
        .switch("sandbox.network")
        .unwrap_or_default()
    {
        "may use the network"
    } else {
        "reach no network"
    };
    let mut detail = format!(
        "commands may change {may_change} only and {network} ({mode}), held by {}: {}",
        wire_up::backend_word(&detected.backend),
        detected.why
    );
    let limits = wire_up::sandbox_limits(settings, &detected);
    let state = if limits.is_empty() {
        state
    } else {
        State::Warning
    };
    for limit in gaps.into_iter().map(str::to_owned).chain(limits) {
        detail.push('\n');
        detail.push_str(&limit);
    }
    check("sandbox", state, detail)
}

fn prices() -> Check {
    let verified = llm::catalog::verified_on();
    let today = (wire_up::clock())()
        .to_zoned_datetime(jiff::tz::TimeZone::UTC)
        .date();
    let age = verified
        .parse::<jiff::civil::Date>()
        .ok()
        .and_then(|day| today.since(day).ok());
    match age.map(|age| i64::from(age.get_days())) {
        Some(days) if days <= OLD_PRICES_DAYS => {
            check("prices", State::Ok, format!("checked on {verified}"))
        }
        Some(days) => check(
            "prices",
            State::Warning,
            format!("checked on {verified}, {days} days ago; costs may be off"),
        ),
        None => check(
            "prices",
            State::Warning,
            format!("the date `{verified}` cannot be read"),
        ),
    }
}

fn git(settings: &Settings) -> Check {
    let found = child_process::find_program("git", settings.environment.program_folders());
    match found {
        None => check(
            "git",
            State::Warning,
            "not on the PATH; cox works, but models like to use it",
        ),
        Some(path) => {
            let inside = settings.places.root.join(".git").exists();
            let detail = if inside {
                format!(
                    "{}, in {}",
                    path.display(),
                    settings.places.short(&settings.places.root)
                )
            } else {
                format!("{}; this folder is in no repository", path.display())
            };
            check("git", State::Ok, detail)
        }
    }
}

fn instruction_files(settings: &Settings) -> Check {
    let instructions = wire_up::instructions(settings);
    let files: Vec<String> = instructions
        .files
        .iter()
        .map(|file| settings.places.short(&file.path))
        .collect();
    let mut detail = if files.is_empty() {
        "none here".to_owned()
    } else {
        files.join(", ")
    };
    for notice in &instructions.notices {
        detail.push('\n');
        detail.push_str(notice);
    }
    let state = if instructions.notices.is_empty() {
        State::Ok
    } else {
        State::Warning
    };
    check("instruction files", state, detail)
}
