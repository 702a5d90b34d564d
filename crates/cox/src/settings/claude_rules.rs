//! The permission rules that people already have in `.claude/settings.json`.
//!
//! Deny and ask rules count from the person's file and from the project's; allow rules from the person's alone, since a
//! repository may not widen what runs. A rule that cannot be read is told, not skipped in silence.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use cox_permission::{RuleSet, RuleSource};
use serde_json::Value;

use crate::settings::places::Places;

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Rules from elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Imported {
    /// Rules that deny.
    pub(crate) deny: Vec<RuleSource>,
    /// Rules that ask.
    pub(crate) ask: Vec<RuleSource>,
    /// Rules that allow; from the person's own file.
    pub(crate) allow: Vec<RuleSource>,
    /// What was refused or cannot be read.
    pub(crate) warnings: Vec<String>,
}

/// Reads the rules of every file that there is.
pub(crate) fn import(places: &Places) -> Imported {
    let own = places.user_home.join(".claude");
    let project = places.root.join(".claude");
    let mut imported = Imported::default();
    read(&own, "settings.json", true, places, &mut imported);
    if project != own {
        read(&project, "settings.json", false, places, &mut imported);
        read(
            &project,
            "settings.local.json",
            false,
            places,
            &mut imported,
        );
    }
    imported
}

fn read(folder: &Path, name: &str, is_own: bool, places: &Places, imported: &mut Imported) {
    let file = folder.join(name);
    let shown = places.short(&file);
    let text = match text_of(&file) {
        Ok(Some(text)) => text,
        Ok(None) => return,
        Err(problem) => {
            imported.warnings.push(format!(
                "{shown}: its permission rules do not count: {problem}"
            ));
            return;
        }
    };
    let document: Value = match serde_json::from_str(&text) {
        Ok(document) => document,
        Err(error) => {
            imported.warnings.push(format!(
                "{shown}:{}: its permission rules do not count: it is not JSON",
                error.line()
            ));
            return;
        }
    };
    for kind in ["deny", "ask", "allow"] {
        let Some(rules) = document.pointer(&format!("/permissions/{kind}")) else {
            continue;
        };
        let Some(rules) = rules.as_array() else {
            imported.warnings.push(format!(
                "{shown}: `permissions.{kind}` does not count: expected a list of rules"
            ));
            continue;
        };
        for rule in rules {
            let Some(rule) = rule.as_str() else {
                imported.warnings.push(format!(
                    "{shown}: a rule of `permissions.{kind}` does not count: expected a text"
                ));
                continue;
            };
            let origin = format!("{shown}:{}", line_of(&text, rule));
            if kind == "allow" && !is_own {
                imported.warnings.push(format!(
                    "{origin}: `{}` is ignored: a project may not allow\nhint: to allow it yourself, add it to `permissions.allow` of your configuration",
                    rule.escape_debug()
                ));
                continue;
            }
            let source = RuleSource {
                text: translated(rule, folder, is_own, places),
                origin,
            };
            let read = RuleSet::compile(
                vec![source.clone()],
                Vec::new(),
                Vec::new(),
                &places.anchors(),
            );
            match (read, kind) {
                (Err(error), _) => imported.warnings.push(error.to_string()),
                (Ok(_), "deny") => imported.deny.push(source),
                (Ok(_), "ask") => imported.ask.push(source),
                (Ok(_), _) => imported.allow.push(source),
            }
        }
    }
}

fn text_of(file: &Path) -> Result<Option<String>, String> {
    let opened = match std::fs::File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    // A pipe would never end.
    if !opened.metadata().is_ok_and(|about| about.is_file()) {
        return Err("it is no ordinary file".into());
    }
    let mut text = String::new();
    opened
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    match text.len() as u64 > MAX_BYTES {
        true => Err(format!("it is larger than {MAX_BYTES} bytes")),
        false => Ok(Some(text)),
    }
}

/// Returns the line of the file in which a rule stands, counted from 1.
fn line_of(text: &str, rule: &str) -> usize {
    let written = Value::from(rule).to_string();
    let at = text.find(&written).unwrap_or_default();
    text[..at].matches('\n').count() + 1
}

/// Returns a rule in our grammar: there, `//x` is an absolute path and `/x` starts at the folder of the settings.
fn translated(rule: &str, folder: &Path, is_own: bool, places: &Places) -> String {
    let Some((name, path)) = rule.split_once('(') else {
        return rule.to_owned();
    };
    if ![
        "read",
        "edit",
        "write",
        "grep",
        "glob",
        "multiedit",
        "notebookedit",
    ]
    .contains(&name.to_ascii_lowercase().as_str())
    {
        return rule.to_owned();
    }
    if let Some(absolute) = path.strip_prefix("//") {
        return format!("{name}(/{absolute}");
    }
    match path.strip_prefix('/') {
        Some(rest) => {
            let base: PathBuf = if is_own {
                folder.to_owned()
            } else {
                places.root.clone()
            };
            format!("{name}({}/{rest}", base.display())
        }
        None => rule.to_owned(),
    }
}
