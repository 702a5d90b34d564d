//! The permission rules that people already have in `.claude/settings.json`.
//!
//! Deny and ask rules count from the person's file and from the project's; allow rules from the person's alone, since a
//! repository may not widen what runs. An allow rule that cannot be read is dropped with a warning. What cannot be read of
//! the others fails closed: whatever the rule may have been about asks.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use cox_permission::{RuleSet, RuleSource};
use serde_json::Value;

use crate::settings::places::Places;

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Rules that name everything that a rule can.
const EVERYTHING: &[&str] = &["Read", "Edit", "Bash", "WebFetch", "mcp__*"];

/// Rules from elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Imported {
    /// Rules that deny.
    pub(crate) deny: Vec<RuleSource>,
    /// Rules that ask.
    pub(crate) ask: Vec<RuleSource>,
    /// Rules that allow; from the person's own file.
    pub(crate) allow: Vec<RuleSource>,
    /// Folders that the person's own file adds to the workspace, as written.
    pub(crate) folders: Vec<String>,
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
            imported.ask_for_everything(&shown, &problem);
            return;
        }
    };
    let document: Value = match serde_json::from_str(&text) {
        Ok(document) => document,
        Err(error) => {
            imported.ask_for_everything(&format!("{shown}:{}", error.line()), "it is not JSON");
            return;
        }
    };
    read_folders(&document, &shown, is_own, imported);
    for kind in ["deny", "ask", "allow"] {
        let Some(rules) = document.pointer(&format!("/permissions/{kind}")) else {
            continue;
        };
        let Some(rules) = rules.as_array() else {
            let problem = format!("`permissions.{kind}` is no list of rules");
            imported.lose(kind, &shown, &problem);
            continue;
        };
        for rule in rules {
            let Some(rule) = rule.as_str() else {
                let problem = format!("a rule of `permissions.{kind}` is no text");
                imported.lose(kind, &shown, &problem);
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
                (Err(error), "allow") => imported
                    .warnings
                    .push(format!("{error}\nhint: until then it allows nothing")),
                (Err(error), _) => imported.ask_instead(&source, &error.to_string(), places),
                (Ok(_), "deny") => imported.deny.push(source),
                (Ok(_), "ask") => imported.ask.push(source),
                (Ok(_), _) => imported.allow.push(source),
            }
        }
    }
}

impl Imported {
    /// Drops what allows, and fails closed for the rest.
    fn lose(&mut self, kind: &str, shown: &str, problem: &str) {
        match kind {
            "allow" => self
                .warnings
                .push(format!("{shown}: {problem}: it allows nothing")),
            _ => self.ask_for_everything(shown, problem),
        }
    }

    /// Asks for everything that rules can name, since nobody knows what would have been denied.
    fn ask_for_everything(&mut self, origin: &str, problem: &str) {
        self.warnings.push(format!(
            "{origin}: its permission rules cannot be read: {problem}: until they can, every call asks"
        ));
        self.ask.extend(EVERYTHING.iter().map(|text| RuleSource {
            text: (*text).to_owned(),
            origin: origin.to_owned(),
        }));
    }

    /// Asks for every use of the tool that a lost rule names.
    fn ask_instead(&mut self, lost: &RuleSource, problem: &str, places: &Places) {
        let name = lost.text.split('(').next().unwrap_or_default().trim();
        let whole = RuleSource {
            text: name.to_owned(),
            origin: lost.origin.clone(),
        };
        let is_rule = RuleSet::compile(
            Vec::new(),
            vec![whole.clone()],
            Vec::new(),
            &places.anchors(),
        );
        if is_rule.is_err() {
            self.warnings.push(problem.to_owned());
            self.ask_for_everything(&lost.origin, "it is not known what a rule of them is about");
            return;
        }
        // A rule with a path is about the ability, whatever tool it names.
        let text = match name.to_ascii_lowercase().as_str() {
            "write" | "apply_patch" | "rename_symbol" => "Edit",
            "grep" | "glob" | "ls" | "outline" => "Read",
            _ => name,
        };
        self.warnings.push(format!(
            "{problem}\nhint: until then every call of `{}` asks",
            text.escape_debug()
        ));
        self.ask.push(RuleSource {
            text: text.to_owned(),
            ..whole
        });
    }
}

/// Takes the folders that a person's own file adds; a project's are told.
fn read_folders(document: &Value, shown: &str, is_own: bool, imported: &mut Imported) {
    let Some(folders) = document.pointer("/permissions/additionalDirectories") else {
        return;
    };
    let folders = folders.as_array().into_iter().flatten();
    let written = folders.filter_map(|folder| folder.as_str());
    if is_own {
        imported.folders.extend(written.map(str::to_owned));
        return;
    }
    imported.warnings.extend(written.map(|folder| {
        format!(
            "{shown}: the additional directory `{}` is ignored: a project may not add one\nhint: to add it yourself, give `--add-dir`",
            folder.escape_debug()
        )
    }));
}

fn text_of(file: &Path) -> Result<Option<String>, String> {
    let opened = match std::fs::File::open(file) {
        Ok(opened) => opened,
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
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
