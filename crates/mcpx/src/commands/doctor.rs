//! `mcpx doctor`: what the hub needs, each with a remedy. Starts no server and no daemon.

mod checks;
mod runtimes;

use mcp_wire::{Object, Raw};
use mcpx_config::settings::key;

use crate::args::Typed;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::render::width::{padded, width};
use crate::settings::Told;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grade {
    /// As it should be.
    Fine,
    /// It works, and something should be seen.
    Look,
    /// Something does not work.
    Broken,
}

impl Grade {
    fn word(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Look => "note",
            Self::Broken => "fail",
        }
    }
}

/// One line of the report.
#[derive(Debug, Clone)]
pub(super) struct Check {
    /// What was looked at.
    pub(super) what: String,
    /// How it is.
    pub(super) grade: Grade,
    /// What was found.
    pub(super) found: String,
    /// What to do.
    pub(super) remedy: Option<String>,
}

impl Check {
    pub(super) fn new(what: impl Into<String>, grade: Grade, found: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            grade,
            found: found.into(),
            remedy: None,
        }
    }

    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// How wide the names of what is looked at get, in columns.
const WHAT: usize = 28;

/// Looks, and prints.
pub(super) async fn doctor(typed: &Typed, printer: Printer) -> Result<Exit, Failure> {
    let told = Told::read(typed.choice.clone())?;
    let mut all = vec![checks::program(&told), checks::git(&told)];
    match told.config() {
        Err(failure) => {
            let mut check = Check::new("configuration", Grade::Broken, failure.error.message);
            check.remedy = failure.error.hint;
            all.push(check);
        }
        Ok(config) => {
            all.extend(checks::settings(&config));
            all.push(checks::configuration(&config));
            all.extend(checks::shared(&config));
            all.extend(checks::servers(&told, &config));
            all.extend(runtimes::runtimes(&told, &config));
            all.extend(checks::folders(&told));
            let wait = config.settings.duration(key::DOCTOR_TIMEOUT);
            let looked = tokio::time::timeout(wait, checks::daemon(&told, &config, printer)).await;
            all.push(looked.unwrap_or_else(|_| {
                Check::new(
                    "daemon",
                    Grade::Broken,
                    format!("no answer within {:.0} s", wait.as_secs_f64()),
                )
                .remedy("end it and let the next command start another: `mcpx stop`")
            }));
            all.push(checks::log(&told));
        }
    }
    let is_broken = all.iter().any(|check| check.grade == Grade::Broken);
    let exit = if is_broken { Exit::Failed } else { Exit::Ok };
    if printer.json {
        let rows: Vec<Raw> = all
            .iter()
            .map(|check| {
                Raw::from(
                    Object::new()
                        .with("check", check.what.as_str())
                        .with("state", check.grade.word())
                        .with("found", check.found.as_str())
                        .with_some("remedy", check.remedy.as_deref()),
                )
            })
            .collect();
        let document = Object::new()
            .with("ok", !is_broken)
            .with("checks", Raw::of(&rows));
        printer.document(&Raw::from(document))?;
        return Ok(exit);
    }
    // One long name does not move what is found at everything else to the right.
    let columns = all
        .iter()
        .map(|check| width(&check.what).min(WHAT))
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for check in &all {
        let mut lines = check.found.lines();
        let first = lines.next().unwrap_or_default();
        let what = padded(&check.what, columns);
        text.push_str(&format!("{:4}  {what}  {first}\n", check.grade.word()));
        let indent = " ".repeat(columns + 8);
        for line in lines {
            text.push_str(&format!("{indent}{line}\n"));
        }
        for line in check.remedy.iter().flat_map(|remedy| remedy.lines()) {
            text.push_str(&format!("{indent}hint: {line}\n"));
        }
    }
    printer.result(&text)?;
    Ok(exit)
}
