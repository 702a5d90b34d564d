//! `mcpx words`: what may stand next on a command line that a shell completes. Hidden; the scripts of `mcpx completion` ask it.
//!
//! It starts neither a daemon nor a server, is silent when it knows nothing, and never fails: a shell that completes has
//! nowhere to show why.

use std::time::Duration;

use clap::ArgMatches;
use mcp_wire::{Object, Raw};
use mcpx_api::Op;
use mcpx_api::reply::Namespace;
use mcpx_config::Config;
use mcpx_config::settings::registry::SETTINGS;
use untrusted_text::terminal::one_line;

use super::call::arguments::Schema;
use super::from_table::members;
use crate::args::from_table::{fill_profiles, text, texts};
use crate::args::{self, Typed};
use crate::exit::{Exit, Failure};
use crate::ladder::Hub;
use crate::printer::Printer;
use crate::settings::Told;

/// How long a person who pressed a key waits.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Longest description beside a word, in characters.
const DESCRIPTION: usize = 60;

/// A word, and what it is.
struct Word {
    word: String,
    about: String,
}

impl Word {
    fn new(word: impl Into<String>, about: &str) -> Self {
        Self {
            word: word.into(),
            about: one_line(about, DESCRIPTION),
        }
    }
}

/// Prints the words, one a line, behind a tab what each is.
pub(super) async fn words(matches: &ArgMatches, printer: Printer) -> Result<Exit, Failure> {
    let typed = match text(matches, "line") {
        Some(line) => split(&line),
        None => texts(matches, "typed"),
    };
    let found = tokio::time::timeout(PATIENCE, next(&typed)).await;
    let found = found.ok().flatten().unwrap_or_default();
    let current = typed.last().map_or("", String::as_str);
    let mut lines = String::new();
    for Word { word, about } in found {
        // What a shell would take apart, or act on, is not offered.
        let is_plain = !word.contains(|char: char| char.is_control() || char.is_whitespace());
        if is_plain && word.starts_with(current) && word != current {
            lines.push_str(&format!("{word}\t{about}\n"));
        }
    }
    printer.painted(&lines)?;
    Ok(Exit::Ok)
}

/// The words of a line of a shell; the last one is what is being typed, empty behind a space. Quotes hold a word together.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut chars = line.trim_start().chars();
    while let Some(char) = chars.next() {
        let word = words.last_mut();
        match (quote, char, word) {
            (Some(open), _, _) if open == char => quote = None,
            (None, '\'' | '"', _) => quote = Some(char),
            (None, ' ' | '\t', Some(word)) => {
                if !word.is_empty() {
                    words.push(String::new());
                }
            }
            (None | Some('"'), '\\', Some(word)) => word.extend(chars.next()),
            (_, _, Some(word)) => word.push(char),
            (_, _, None) => {}
        }
    }
    // The program itself.
    words.remove(0);
    words
}

/// What may stand at the end of `typed`, whose last word is the one that is being typed.
async fn next(typed: &[String]) -> Option<Vec<Word>> {
    let (current, before) = typed.split_last()?;
    if current.starts_with('-') {
        return None;
    }
    let placed = args::placed(before)?;
    let command = placed.words.as_str();
    let place = placed.arguments.len();
    match (command, place) {
        ("settings get" | "settings set" | "settings unset", 0) => {
            return Some(settings());
        }
        ("call", _) | ("types" | "tools" | "schema" | "client" | "globals", _) => {}
        ("history" | "status" | "refresh" | "restart" | "prompts get" | "servers remove", 0) => {}
        ("task get" | "task result" | "task cancel", 0) => {}
        _ => return None,
    }
    let told = Told::read(placed.choice).ok()?;
    let (config, _) = told.config_or_earlier().ok()?;
    let typed = Typed {
        words: command.to_owned(),
        matches: ArgMatches::default(),
        choice: told.choice.clone(),
    };
    let desk = super::Desk {
        typed: &typed,
        told,
        config,
        printer: Printer::default(),
    };
    let hub = desk.hub().ok()?;
    match command {
        "servers remove" => Some(
            desk.config
                .servers
                .keys()
                .map(|name| Word::new(name, ""))
                .collect(),
        ),
        "status" | "refresh" | "restart" => Some(
            spaces(&hub, &desk.config)
                .await
                .into_iter()
                .map(|space| Word::new(space.namespace, &space.about))
                .collect(),
        ),
        "task get" | "task result" | "task cancel" => tasks(&hub).await,
        "prompts get" => prompts(&hub, &desk.config).await,
        "call" if place > 0 => arguments(&hub, &desk.config, &placed.arguments, current).await,
        _ => Some(tools(&hub, &desk.config, current).await),
    }
}

fn settings() -> Vec<Word> {
    SETTINGS
        .iter()
        .filter(|setting| !setting.plumbing)
        .map(|setting| Word::new(setting.path, setting.help))
        .collect()
}

/// Asks a daemon that runs.
async fn ask(hub: &Hub<'_>, op: Op, params: &Object) -> Option<Raw> {
    hub.ask_running(op, params).await.ok()??.json().ok()
}

/// A namespace, and whether its tools are known without starting anything.
struct Space {
    namespace: String,
    about: String,
    is_read: bool,
}

impl Space {
    fn path(&self) -> String {
        format!("{}.", self.namespace)
    }
}

/// The namespaces: from the daemon, else as they are configured.
async fn spaces(hub: &Hub<'_>, config: &Config) -> Vec<Space> {
    let mut params = Object::new();
    let operation = mcpx_api::operation(Op::Namespaces);
    fill_profiles(operation, &config.settings, &mut params);
    let rows = ask(hub, Op::Namespaces, &params).await;
    if let Some(rows) = rows.and_then(|rows| rows.read::<Vec<Namespace>>().ok()) {
        let rows = rows.into_iter().map(|row| Space {
            is_read: row.tools.is_some(),
            about: row.description.unwrap_or_default(),
            namespace: row.namespace,
        });
        return rows.collect();
    }
    let servers = config.servers.values();
    servers
        .map(|server| Space {
            namespace: server.namespace.clone(),
            about: server.description.clone().unwrap_or_default(),
            is_read: false,
        })
        .collect()
}

/// `namespace.`, and the tools where one namespace is meant. Servers that nobody has read yet have none.
async fn tools(hub: &Hub<'_>, config: &Config, current: &str) -> Vec<Word> {
    let spaces = spaces(hub, config).await;
    let meant: Vec<&Space> = spaces
        .iter()
        .filter(|space| space.path().starts_with(current) || current.starts_with(&space.path()))
        .collect();
    let known = match meant.as_slice() {
        [one] if one.is_read => described(hub, &one.namespace).await.unwrap_or_default(),
        _ => Vec::new(),
    };
    if known.is_empty() {
        let paths = meant
            .iter()
            .map(|space| Word::new(space.path(), &space.about));
        return paths.collect();
    }
    let text = |tool: &Object, name: &str| tool.string(name).unwrap_or_default();
    known
        .iter()
        .map(|tool| Word::new(text(tool, "function"), &text(tool, "description")))
        .collect()
}

async fn described(hub: &Hub<'_>, path: &str) -> Option<Vec<Object>> {
    let params = Object::new().with("ns", Raw::of(&[path]));
    let rows = ask(hub, Op::Tools, &params).await?;
    Some(members(Some(&rows)))
}

/// `name=` for the arguments that are not there yet, `name=word` where the schema has the words.
async fn arguments(
    hub: &Hub<'_>,
    config: &Config,
    typed: &[String],
    current: &str,
) -> Option<Vec<Word>> {
    let (tool, given) = typed.split_first()?;
    // A server that nobody has read yet would be started by the question.
    let spaces = spaces(hub, config).await;
    let is_read = |space: &Space| space.is_read && tool.starts_with(&space.path());
    spaces.iter().any(is_read).then_some(())?;
    let tools = described(hub, tool).await?;
    let [one] = tools.as_slice() else { return None };
    let schema = Schema::of(one.get("inputSchema"));
    if let Some((name, _)) = current.split_once('=') {
        let words = schema.words(name).into_iter();
        return Some(
            words
                .map(|word| Word::new(format!("{name}={word}"), ""))
                .collect(),
        );
    }
    let required = schema.required();
    let names = schema.names().into_iter();
    Some(
        names
            .filter(|name| {
                !given
                    .iter()
                    .any(|word| word.starts_with(&format!("{name}=")))
            })
            .map(|name| {
                let about = if required.contains(&name) {
                    "required"
                } else {
                    ""
                };
                Word::new(format!("{name}="), about)
            })
            .collect(),
    )
}

async fn tasks(hub: &Hub<'_>) -> Option<Vec<Word>> {
    let whole = ask(hub, Op::TasksList, &Object::new())
        .await?
        .object()
        .ok()?;
    let text = |row: &Object, name: &str| row.string(name).unwrap_or_default();
    Some(
        members(whole.get("tasks"))
            .iter()
            .map(|row| {
                let about = format!("{}.{}", text(row, "server"), text(row, "tool"));
                Word::new(text(row, "id"), &about)
            })
            .collect(),
    )
}

async fn prompts(hub: &Hub<'_>, config: &Config) -> Option<Vec<Word>> {
    let spaces = spaces(hub, config).await.into_iter();
    let read: Vec<String> = spaces
        .filter(|space| space.is_read)
        .map(|space| space.namespace)
        .collect();
    if read.is_empty() {
        return None;
    }
    let params = Object::new().with("ns", Raw::of(&read));
    let rows = ask(hub, Op::Prompts, &params).await?;
    let text = |row: &Object, name: &str| row.string(name).unwrap_or_default();
    Some(
        members(Some(&rows))
            .iter()
            .map(|row| {
                let path = format!("{}.{}", text(row, "namespace"), text(row, "name"));
                Word::new(path, &text(row, "description"))
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_as_a_shell_splits_it_and_its_last_word_is_the_one_being_typed() {
        #[track_caller]
        fn check(line: &str, expect: &[&str]) {
            assert_eq!(split(line), expect, "{line}");
        }
        check("mcpx ", &[""]);
        check("mcpx call de", &["call", "de"]);
        check("mcpx  call demo.echo ", &["call", "demo.echo", ""]);
        check("mcpx call 'a b'=\"c d", &["call", "a b=c d"]);
        check("mcpx call a\\ b", &["call", "a b"]);
    }
}
