//! The commands that are the binary's own, and those of the table that people type in their own way.

use clap::{Arg, ArgAction, Args as _, Command, value_parser};
use mcpx_api::{Op, Operation};
use mcpx_config::import::Host;

use super::from_table;
use crate::commands::DemoServer;

/// Words of the first level that help does not show.
pub(super) const HIDDEN: &[&str] = &["guard", "reference", "words"];

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn positional(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .value_name(from_table::kebab(name).to_uppercase())
        .help(help)
}

fn pairs(help: &'static str) -> Arg {
    Arg::new("arguments")
        .value_name("ARGUMENTS")
        .action(ArgAction::Append)
        .num_args(0..)
        .help(help)
}

const SESSION: &str = "The caller's session, such as that of an agent";
const PAIRS: &str = "A JSON object, `@FILE` or `-` for stdin; or `key=value` read by the tool's schema, `a.b=value`, `key:=JSON`, `key=@FILE`";

/// The command of an operation that is typed in its own way.
pub(super) fn of_operation(operation: &'static Operation) -> Option<Command> {
    let about = operation.summary.trim_end_matches('.');
    let command = |name: &'static str| Command::new(name).about(about);
    Some(match operation.id {
        Op::Call => command("call")
            .arg(positional("tool", "`namespace.tool`, or a call as a script writes it").required(true))
            .arg(pairs(PAIRS))
            .arg(option("session", "ID", SESSION))
            .arg(option("timeout", "TIME", "How long it may take, `30s`"))
            .arg(
                option("task", "TTL", "Answer at once with a task, which is kept for this long")
                    .num_args(0..=1)
                    .require_equals(true)
                    .default_missing_value(""),
            )
            .arg(flag("raw", "Print the server's result as it came, whole"))
            .arg(from_table::out().help("Write the result into this file: an image as such, else the text")),
        Op::Batch => command("batch")
            .arg(positional("calls", "The calls as JSON, `@FILE`, a file, or `-` for stdin: [{\"tool\": …, \"args\": …}]"))
            .arg(option("calls-json", "JSON", "The calls as JSON").short('c').conflicts_with("calls"))
            .arg(option("file", "FILE", "The file with the calls").conflicts_with_all(["calls", "calls-json"]))
            .arg(flag("parallel", "Make them at the same time"))
            .arg(
                option("stop-on-error", "BOOL", "Whether a failure skips the rest (on by default)")
                    .num_args(0..=1)
                    .require_equals(true)
                    .default_missing_value("true"),
            )
            .arg(flag("no-stop-on-error", "Go on after a failure"))
            .arg(option("session", "ID", SESSION)),
        Op::ToolInvoke => command("tool")
            .about("Calls one of the hub's own MCP tools")
            .arg(positional("tool", "The tool, `mcpx_…`").required(true))
            .arg(pairs("Its arguments: a JSON object, `@FILE`, `-`, or `key=value`")),
        Op::ServersAdd => command("add")
            .arg(positional("name", "Its name").required(true))
            .arg(
                Arg::new("command")
                    .value_name("COMMAND")
                    .num_args(0..)
                    .action(ArgAction::Append)
                    .allow_hyphen_values(true)
                    .last(true)
                    .help("Its program and the program's arguments, behind `--`"),
            )
            .arg(option("url", "URL", "Its URL, instead of a program").conflicts_with("command"))
            .arg(option("transport", "KIND", "How the URL is spoken to").value_parser(["http", "sse"]))
            .arg(option("header", "NAME: VALUE", "A header for the URL; may be repeated").action(ArgAction::Append))
            .arg(option("env", "NAME=VALUE", "A variable for the program; may be repeated").action(ArgAction::Append))
            .arg(option("cwd", "DIR", "The program's folder"))
            .arg(option("mcpx", "JSON", "Sharing, scope, max and so on, as in a file"))
            .arg(option("scope", "WHERE", "Which file it is written into").value_parser(["project", "user"]))
            .arg(flag("replace", "Replace one of this name")),
        Op::PromptGet => command("get")
            .arg(positional("prompt", "`namespace.prompt`").required(true))
            .arg(pairs("Its arguments, `key=value`"))
            .arg(option("session", "ID", SESSION)),
        Op::ResourceRead => command("read")
            .arg(positional("uri", "`namespace/uri`").required(true))
            .arg(option("session", "ID", SESSION))
            .arg(from_table::out().help("Write its content into this file")),
        Op::Complete => command("complete")
            .arg(positional("reference", "`namespace.prompt`, or `namespace/uri-template`").required(true))
            .arg(positional("argument", "The argument and what it begins with, `repo=ac`").required(true))
            .arg(pairs("What is filled in already, `key=value`")),
        Op::LogQuery => from_table::command("log", operation)
            .arg(flag("follow", "Print what comes, until Ctrl-C").short('f')),
        Op::Shutdown => command("stop").arg(flag("all", "Every daemon of this state folder")),
        Op::Namespaces => from_table::command("ls", operation)
            .arg(flag("verbose", "With the reason and the remedy below each server that is not ready").short('v')),
        Op::Status => from_table::command("status", operation)
            .arg(flag("verbose", "With the sizes and times of each server, and where each comes from").short('v')),
        _ => return None,
    })
}

/// The other commands, with their words.
pub(super) fn commands() -> Vec<(&'static str, Command)> {
    vec![
        (
            "daemon",
            Command::new("daemon")
                .about("Be the daemon of this configuration")
                .arg(flag(
                    "detached",
                    "Start it in the background, and wait until it answers",
                )),
        ),
        (
            "daemon token",
            Command::new("token").about("Print the bearer token of the daemon's TCP endpoint"),
        ),
        (
            "daemons",
            Command::new("daemons")
                .about("The daemons of this state folder, and whether each answers"),
        ),
        (
            "servers import",
            Command::new("import")
                .about("Take the server list of another host; prints what it would do")
                .arg(
                    option("from", "HOST", "Whose list")
                        .required(true)
                        .action(ArgAction::Append)
                        .value_delimiter(',')
                        .value_parser(hosts()),
                )
                .arg(flag("write", "Do it; the old file is kept as .bak"))
                .arg(
                    option(
                        "scope",
                        "WHERE",
                        "Which file is written: your own, or the project's",
                    )
                    .value_parser(["user", "project"]),
                )
                .arg(option("to", "FILE", "Write this file"))
                .arg(flag("replace", "Replace servers of the same name")),
        ),
        (
            "servers trust",
            Command::new("trust")
                .about("Accept what the project's files would start, or take that back")
                .arg(
                    positional("names", "Only these servers and settings")
                        .num_args(0..)
                        .action(ArgAction::Append),
                )
                .arg(flag("yes", "Accept without a question").short('y'))
                .arg(flag("forget", "Take trust back").conflicts_with("yes")),
        ),
        (
            "config",
            Command::new("config")
                .about("The configuration as it is read")
                .arg(flag("path", "Only the files, nearest first"))
                .arg(flag(
                    "sources",
                    "Where each server and each setting comes from",
                ))
                .arg(
                    flag("defaults", "Every setting with its default")
                        .conflicts_with_all(["path", "sources", "schema"]),
                )
                .arg(
                    flag("schema", "The JSON Schema of a configuration file")
                        .conflicts_with_all(["path", "sources"]),
                ),
        ),
        (
            "init",
            Command::new("init")
                .about("Write a first configuration file")
                .arg(flag("global", "Your own file, for every folder"))
                .arg(flag(
                    "force",
                    "Replace a file that is there; the old one is kept as .bak",
                )),
        ),
        (
            "doctor",
            Command::new("doctor").about("Check what the hub needs; starts no server"),
        ),
        (
            "log sql",
            Command::new("sql")
                .about("Ask the log's index in SQL; reads only, needs no daemon")
                .arg(
                    positional("query", "The statement")
                        .required_unless_present_any(["schema", "path"]),
                )
                .arg(flag("schema", "Print the tables"))
                .arg(flag("path", "Print where the index lies")),
        ),
        (
            "serve",
            Command::new("serve")
                .about("Be an MCP server over stdio, for an agent")
                .arg(
                    option("tools", "WHICH", "The hub's own tools: `own`, or `none`")
                        .value_parser(["own", "none"]),
                ),
        ),
        (
            "demo-server",
            DemoServer::augment_args(Command::new("demo-server"))
                .about("Serve the demo tools, over stdio or HTTP")
                .long_about(None),
        ),
        (
            "completion",
            Command::new("completion")
                .about("Print a completion script")
                .arg(
                    positional("shell", "The shell")
                        .required(true)
                        .value_parser(value_parser!(clap_complete::Shell)),
                ),
        ),
        ("man", Command::new("man").about("Print the manual page")),
        (
            "guard",
            Command::new("guard")
                .hide(true)
                .about("The guardian of a daemon"),
        ),
        (
            "reference",
            Command::new("reference")
                .hide(true)
                .about("Print a reference page")
                .arg(
                    positional("page", "The page")
                        .required(true)
                        .value_parser(["cli", "settings", "api"]),
                ),
        ),
        (
            "words",
            Command::new("words")
                .hide(true)
                .about("Print what may stand next on a command line, for a shell that completes")
                .arg(option(
                    "line",
                    "LINE",
                    "The line up to the cursor, with the program",
                ))
                .arg(
                    positional("typed", "Its words without the program, behind `--`")
                        .num_args(0..)
                        .action(ArgAction::Append)
                        .allow_hyphen_values(true)
                        .last(true),
                ),
        ),
    ]
}

/// The hosts whose lists can be taken.
fn hosts() -> Vec<&'static str> {
    let hosts = Host::ALL.map(Host::word).into_iter();
    hosts.chain(["all"]).collect()
}
