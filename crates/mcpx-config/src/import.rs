//! Server lists of other hosts, taken over into ours: found, planned without writing, then applied.

mod codex;
mod host;
mod json_hosts;
mod opencode;
mod places;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::Value;

pub use host::Host;

use crate::{
    ConfigError, Surroundings,
    error::{quoted, quoted_path},
    files,
    server::{is_secret_name, shown},
    write::{Draft, Saved, WriteError},
};

/// One list that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Whose it is.
    pub host: Host,
    /// Where it is.
    pub file: PathBuf,
    /// The project it belongs to, when it is not the person's for everywhere.
    pub project: Option<PathBuf>,
    /// Its servers, in the order of the file.
    pub servers: Vec<Foreign>,
    /// Why nothing could be read.
    pub problem: Option<String>,
}

/// A server of another host, in our words.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreign {
    /// Its name there.
    pub name: String,
    /// Where it begins, from 1; 0 when that is not known.
    pub line: u32,
    /// The entry as we would write it, or why it cannot be taken. It may hold literal secrets.
    pub(crate) entry: Result<Value, String>,
    /// What is not taken over, or has to be done by hand.
    pub notes: Vec<String>,
}

impl Foreign {
    /// The entry with every literal secret left out.
    #[must_use]
    pub fn shown(&self) -> Option<Value> {
        self.entry.as_ref().ok().map(shown)
    }
}

/// Reads the lists of a host that are there, nearest first. Blocks on the file system; starts nothing.
#[must_use]
pub fn found(surroundings: &Surroundings, host: Host) -> Vec<Found> {
    places::of(surroundings, host)
        .into_iter()
        .filter(|place| place.file.is_file())
        .flat_map(|place| read(surroundings, host, &place))
        .collect()
}

fn read(surroundings: &Surroundings, host: Host, place: &places::Place) -> Vec<Found> {
    let list = |project: Option<PathBuf>, servers: Result<Vec<Foreign>, ConfigError>| {
        let (servers, problem) = match servers {
            Ok(servers) => (servers, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Found {
            host,
            file: place.file.clone(),
            project,
            servers,
            problem,
        }
    };
    let project = place.project.as_deref();
    let text = match files::read(&place.file) {
        Ok(text) => text,
        Err(error) => return vec![list(place.project.clone(), Err(error))],
    };
    if host == Host::Codex {
        return vec![list(
            place.project.clone(),
            codex::read(&text, &place.file, project),
        )];
    }
    // Settings of an editor that say nothing of servers are not ours to find fault with.
    if place.file.ends_with("settings.json")
        && !["mcp", "context_servers"]
            .iter()
            .any(|key| text.contains(key))
    {
        return Vec::new();
    }
    let root = match files::parse_root(&text, &place.file) {
        Ok(root) => root,
        Err(error) => return vec![list(place.project.clone(), Err(error))],
    };
    let servers = match host {
        Host::OpenCode => opencode::read(&root, project),
        Host::VsCode => {
            let is_settings = place.file.ends_with("settings.json");
            let part = if is_settings {
                root.get("mcp")
            } else {
                Some(&root)
            };
            json_hosts::read(part.and_then(|part| part.get("servers")), host, project)
        }
        Host::Zed => json_hosts::read(root.get("context_servers"), host, project),
        _ => json_hosts::read(root.get("mcpServers"), host, project),
    };
    let mut lists = Vec::new();
    // The part of `~/.claude.json` that is the person's own for the current project comes first.
    if host == Host::ClaudeCode && project.is_none() {
        for folder in surroundings.cwd.ancestors() {
            let part = root
                .get("projects")
                .and_then(|projects| projects.get(&folder.to_string_lossy()));
            let servers = part.and_then(|part| part.get("mcpServers"));
            if let (Some(part), Some(_)) = (part, servers) {
                let mut servers = json_hosts::read(servers, host, Some(folder));
                json_hosts::switch_off(&mut servers, part.get("disabledMcpServers"));
                lists.push(list(Some(folder.to_owned()), Ok(servers)));
            }
        }
    }
    lists.push(list(place.project.clone(), Ok(servers)));
    lists.retain(|list| !list.servers.is_empty() || list.problem.is_some());
    lists
}

/// What would become of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It would be added.
    Add,
    /// It is there, the same.
    Same,
    /// There is another one of this name, which stays unless replacing was asked for.
    Differs,
    /// It cannot be taken.
    CannotTake {
        /// Why.
        why: String,
    },
}

/// One server of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// The file it comes from.
    pub from: PathBuf,
    /// Where it begins there, from 1; 0 when that is not known.
    pub line: u32,
    /// What would become of it.
    pub change: Change,
    /// The entry without literal secrets.
    pub shown: Option<Value>,
    /// Names of variables, headers and parameters that hold a literal secret: it would be written into our file too.
    pub literal_secrets: Vec<String>,
    /// What is not taken over, or has to be done by hand.
    pub notes: Vec<String>,
    entry: Option<Value>,
}

/// What an import would do: nothing was written yet.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The file that would be written.
    pub target: PathBuf,
    /// Every server that was found.
    pub steps: Vec<Step>,
    /// Lists that could not be read, with the reason.
    pub problems: Vec<(PathBuf, String)>,
    draft: Draft,
}

/// Compares what was found with a file of ours.
///
/// # Errors
///
/// [`WriteError`] when the file cannot be read, or does not parse.
pub fn plan(lists: &[Found], target: &Path) -> Result<Plan, WriteError> {
    let draft = Draft::open(target)?;
    let ours: BTreeMap<String, Value> = draft.servers()?.into_iter().collect();
    let mut taken: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut steps = Vec::new();
    // As the file would be after each step, so that two of them do not share a namespace.
    let mut trial = draft.clone();
    for list in lists {
        for server in &list.servers {
            let change = change(server, list, &ours, &taken, target, &mut trial);
            if !matches!(change, Change::CannotTake { .. }) {
                taken.insert(server.name.clone(), list.file.clone());
            }
            steps.push(Step {
                name: server.name.clone(),
                from: list.file.clone(),
                line: server.line,
                change,
                shown: server.shown(),
                literal_secrets: literal_secrets(&server.entry),
                notes: server.notes.clone(),
                entry: server.entry.clone().ok(),
            });
        }
    }
    Ok(Plan {
        target: target.to_owned(),
        steps,
        problems: lists
            .iter()
            .filter_map(|list| Some((list.file.clone(), list.problem.clone()?)))
            .collect(),
        draft,
    })
}

fn change(
    server: &Foreign,
    list: &Found,
    ours: &BTreeMap<String, Value>,
    taken: &BTreeMap<String, PathBuf>,
    target: &Path,
    trial: &mut Draft,
) -> Change {
    let cannot = |why: String| Change::CannotTake { why };
    let entry = match &server.entry {
        Ok(entry) => entry,
        Err(why) => return cannot(why.clone()),
    };
    if list.file == target {
        return cannot("it is in the file that would be written".to_owned());
    }
    if let Some(file) = taken.get(&server.name) {
        return cannot(format!(
            "{} has one of this name, which is nearer",
            quoted_path(file)
        ));
    }
    if list
        .file
        .file_name()
        .is_some_and(|name| name == ".mcp.json")
    {
        return cannot("mcpx reads this file itself".to_owned());
    }
    if is_ourselves(entry) {
        return cannot("it is mcpx itself".to_owned());
    }
    let mut after = trial.clone();
    if let Err(error) = after.put_server(&server.name, entry) {
        return cannot(error.to_string().replace("\nhint: ", "; "));
    }
    match ours.get(&server.name) {
        None => {
            *trial = after;
            Change::Add
        }
        Some(mine) if mine == entry => Change::Same,
        Some(_) => Change::Differs,
    }
}

/// A host that uses the hub has the hub in its list; the hub must not start itself.
fn is_ourselves(entry: &Value) -> bool {
    let command = entry
        .get("command")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let program = Path::new(command)
        .file_stem()
        .map(|name| name.to_string_lossy().into_owned());
    let serves = entry
        .get("args")
        .and_then(Value::as_array)
        .is_some_and(|args| args.iter().any(|arg| arg == "serve"));
    serves && program.as_deref() == Some("mcpx")
}

/// Writes the servers that would be added, and with `replace` those that differ. Nothing is written when there are none.
///
/// # Errors
///
/// [`WriteError::Changed`] when the file changed since the plan was made; [`WriteError::Io`].
pub fn apply(plan: &Plan, replace: bool) -> Result<Saved, WriteError> {
    let mut draft = plan.draft.clone();
    let mut is_empty = true;
    for step in &plan.steps {
        let is_wanted = match step.change {
            Change::Add => true,
            Change::Differs => replace,
            Change::Same | Change::CannotTake { .. } => false,
        };
        if let (true, Some(entry)) = (is_wanted, &step.entry) {
            draft.put_server(&step.name, entry)?;
            is_empty = false;
        }
    }
    if is_empty {
        return Ok(Saved {
            path: plan.target.clone(),
            backup: None,
            is_changed: false,
        });
    }
    draft.save()
}

/// Names under which a literal stands that is not shown.
fn literal_secrets(entry: &Result<Value, String>) -> Vec<String> {
    let Ok(entry) = entry else {
        return Vec::new();
    };
    let safe = shown(entry);
    let mut names = Vec::new();
    for block in ["env", "headers", "auth"] {
        let (Some(all), Some(safe)) = (
            entry.get(block).and_then(Value::as_object),
            safe.get(block).and_then(Value::as_object),
        ) else {
            continue;
        };
        for (name, value) in all {
            // A variable such as `DEBUG=1` is hidden too, and still no secret.
            let is_secret = block == "auth" || is_secret_name(name);
            if is_secret && safe.get(name) != Some(value) {
                names.push(format!("{block}.{name}"));
            }
        }
    }
    for key in ["args", "url"] {
        if entry.get(key) != safe.get(key) {
            names.push(key.to_owned());
        }
    }
    names
}

/// What is said about a key that has no meaning for us.
fn note_dropped(key: &str) -> String {
    format!("{} is not taken over", quoted(key))
}

/// Writes every text of a value anew.
fn rewrite(value: &mut Value, how: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = how(text),
        Value::Array(elements) => {
            for element in elements {
                rewrite(element, how);
            }
        }
        Value::Object(members) => {
            for member in members.values_mut() {
                rewrite(member, how);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
