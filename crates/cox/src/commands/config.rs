//! `cox config`: shows and changes the configuration.

use serde_json::{Map, Value, json};

use crate::{
    args::{Args, Config, ConfigCommand},
    exit::{Exit, Failure},
    printer::{NotPrinted, Printer},
    settings::{self, Settings, environment::Environment, places::Places},
};

/// Does what was asked.
///
/// # Errors
///
/// A failure names the file and line, or the key, that is wrong.
pub(crate) fn config(config: &Config, args: &Args, printer: Printer) -> Result<Exit, Failure> {
    if let ConfigCommand::Path = config.command {
        return path(args, printer);
    }
    if let ConfigCommand::Set { key, value } = &config.command {
        return set(key, value, args, printer);
    }
    let settings = Settings::load(args, Environment::read())?;
    for warning in &settings.warnings {
        printer.warn(warning);
    }
    match &config.command {
        ConfigCommand::Get { key } => get(key, &settings, printer),
        ConfigCommand::Show { sources } => Ok(crate::printed(show(&settings, *sources, printer))),
        ConfigCommand::Path | ConfigCommand::Set { .. } => Ok(Exit::Ok),
    }
}

fn get(key: &str, settings: &Settings, printer: Printer) -> Result<Exit, Failure> {
    let Some(found) = settings.merged.get(key) else {
        settings::check(key, "")?;
        return Err(Failure::error(format!(
            "`{key}` is not set: there is no such provider"
        )));
    };
    Ok(crate::printed(if printer.json {
        printer.document(
            &json!({ "key": key, "value": to_json(&found.value), "source": found.origin }),
        )
    } else {
        printer.result(&match &found.value {
            layered_config::Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }))
}

fn show(settings: &Settings, sources: bool, printer: Printer) -> Result<(), NotPrinted> {
    if printer.json {
        let keys: Map<String, Value> = settings
            .merged
            .iter()
            .map(|(key, setting)| {
                (
                    key.to_owned(),
                    json!({ "value": to_json(&setting.value), "source": setting.origin }),
                )
            })
            .collect();
        return printer.document(&Value::Object(keys));
    }
    let rows = layered_config::rows(&settings.merged);
    if sources {
        return printer.result(&layered_config::render(&rows));
    }
    let lines: Vec<String> = rows
        .iter()
        .map(|row| format!("{} = {}", row.key, row.value))
        .collect();
    printer.result(&lines.join("\n"))
}

fn to_json(value: &layered_config::Value) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn path(args: &Args, printer: Printer) -> Result<Exit, Failure> {
    let places = Places::find(&args.global, &Environment::read())?;
    let user = places.user_file();
    let project = places.project_file();
    Ok(crate::printed(if printer.json {
        printer.document(&json!({
            "user": place(&user),
            "project": project.as_deref().map(place),
        }))
    } else {
        let mut lines = vec![describe("user", &user)];
        lines.extend(project.as_deref().map(|path| describe("project", path)));
        printer.result(&lines.join("\n"))
    }))
}

/// Returns a path as JSON, which holds text alone: bytes that are no UTF-8 are replaced.
fn place(path: &std::path::Path) -> Value {
    json!({ "path": path.to_string_lossy(), "exists": path.exists() })
}

fn describe(whose: &str, path: &std::path::Path) -> String {
    let state = if path.exists() {
        ""
    } else {
        " (not there yet)"
    };
    format!("{whose}: {}{state}", path.display())
}

fn set(key: &str, value: &str, args: &Args, printer: Printer) -> Result<Exit, Failure> {
    let places = Places::find(&args.global, &Environment::read())?;
    settings::set(&places, key, value)?;
    let file = places.user_file();
    Ok(crate::printed(if printer.json {
        printer.document(&json!({ "key": key, "value": value, "path": file.to_string_lossy() }))
    } else {
        printer.note(&format!("{}: `{key}` is set", places.short(&file)));
        Ok(())
    }))
}
