//! A command made from a row of the table: flags from the parameters, positionals from the path and from what comes first
//! in people's minds. And back: from what was typed to the parameters.

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_wire::{Object, Raw};
use mcpx_api::{Kind, Op, Operation, Output, Param, Params, Place};
use mcpx_config::Settings;

use crate::exit::Failure;
use crate::files;

/// Parameters that are settings as well, and are filled in from those.
const FROM_SETTINGS: &[&str] = &["profile", "skipDefault", "allProfiles"];

/// Parameters that are typed without a flag, in their order, besides those of the path.
fn positionals(op: Op) -> &'static [&'static str] {
    match op {
        Op::Search => &["q"],
        Op::Types
        | Op::Tools
        | Op::Client
        | Op::Globals
        | Op::Schema
        | Op::Resources
        | Op::ResourceTemplates
        | Op::Prompts => &["ns"],
        Op::Catalog => &["bias"],
        Op::Status | Op::Refresh | Op::Restart => &["server"],
        Op::Resolve => &["dir"],
        Op::History => &["tool"],
        Op::SessionRelease => &["session"],
        Op::StatsQuery => &["by"],
        Op::LogRecord => &["msg"],
        Op::SettingsSet => &["value"],
        _ => &[],
    }
}

fn is_positional(operation: &Operation, param: &Param) -> bool {
    param.place == Place::Path || positionals(operation.id).contains(&param.name)
}

/// Whether a positional takes every word that follows.
fn is_many(param: &Param) -> bool {
    param.kind == Kind::List || param.name == "q" || param.name == "msg"
}

/// The command of an operation.
pub(crate) fn command(name: &'static str, operation: &'static Operation) -> Command {
    let mut command = Command::new(name).about(operation.summary.trim_end_matches('.'));
    for alias in aliases(name) {
        command = command.visible_alias(*alias);
    }
    for param in operation.params {
        if !FROM_SETTINGS.contains(&param.name) {
            for arg in args(operation, param) {
                command = command.arg(arg);
            }
        }
    }
    if matches!(operation.output, Output::Text(_))
        || matches!(operation.id, Op::Schema | Op::Openapi)
    {
        command = command.arg(out());
    }
    command
}

/// `-o FILE`.
pub(crate) fn out() -> Arg {
    Arg::new("out")
        .short('o')
        .long("out")
        .value_name("FILE")
        .help("Write it into this file")
}

fn aliases(name: &str) -> &'static [&'static str] {
    match name {
        "ls" => &["list", "namespaces"],
        "remove" => &["rm"],
        _ => &[],
    }
}

/// The arguments of a parameter.
pub(crate) fn args(operation: &Operation, param: &'static Param) -> Vec<Arg> {
    if is_positional(operation, param) {
        let mut arg = Arg::new(param.name)
            .value_name(value_name(param))
            .help(capital(param.help))
            .required(param.required);
        if is_many(param) {
            arg = arg.num_args(1..).action(ArgAction::Append);
        }
        if param.kind == Kind::Any {
            arg = arg.allow_hyphen_values(true);
        }
        let mut all = vec![arg];
        if param.name == "ns" && !param.required {
            all.push(
                Arg::new("ns.flag")
                    .long("ns")
                    .value_name("NS")
                    .action(ArgAction::Append)
                    .hide(true),
            );
        }
        return all;
    }
    let long = kebab(param.name);
    let mut arg = Arg::new(param.name)
        .long(long.clone())
        .value_name(value_name(param))
        .help(capital(param.help));
    if param.name == "limit" || param.name == "top" {
        arg = arg.short('n');
    }
    if param.kind == Kind::List {
        arg = arg.action(ArgAction::Append);
    }
    if param.kind == Kind::Number {
        arg = arg.allow_negative_numbers(true);
    }
    if param.kind != Kind::Switch {
        return vec![arg.required(param.required)];
    }
    let arg = arg
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("true")
        .value_name("BOOL");
    let negative = Arg::new(format!("{}.no", param.name))
        .long(format!("no-{long}"))
        .action(ArgAction::SetTrue)
        .help(format!("Not: {}", param.help))
        .hide(!param.help.contains("on by default"));
    vec![arg.hide(param.help.contains("on by default")), negative]
}

fn value_name(param: &Param) -> String {
    match (param.name, param.kind) {
        ("q", _) => "WORDS".to_owned(),
        ("ns", _) => "NS".to_owned(),
        (_, Kind::Number) => "N".to_owned(),
        (_, Kind::Object | Kind::Objects) => "JSON".to_owned(),
        (name, _) => kebab(name).to_uppercase(),
    }
}

fn capital(help: &str) -> String {
    let mut chars = help.chars();
    match chars.next() {
        Some(first) if first.is_alphabetic() => first.to_uppercase().chain(chars).collect(),
        _ => help.to_owned(),
    }
}

/// `stopOnError` as `stop-on-error`.
pub(crate) fn kebab(name: &str) -> String {
    let mut out = String::new();
    for char in name.chars() {
        if char.is_uppercase() {
            out.push('-');
        }
        out.extend(char.to_lowercase());
    }
    out
}

/// What was typed, as the parameters of the operation.
///
/// # Errors
/// When a value is not of its kind.
pub(crate) fn params(
    operation: &Operation,
    matches: &ArgMatches,
    settings: &Settings,
) -> Result<Object, Failure> {
    let mut params = Object::new();
    for param in operation.params {
        if FROM_SETTINGS.contains(&param.name) {
            continue;
        }
        let typed = texts(matches, param.name);
        let flagged = texts(matches, &format!("{}.flag", param.name));
        let typed: Vec<String> = typed.into_iter().chain(flagged).collect();
        let is_refused = matches
            .try_get_one::<bool>(&format!("{}.no", param.name))
            .ok()
            .flatten()
            .is_some_and(|refused| *refused);
        if is_refused {
            params.set(param.name, false);
        } else if !typed.is_empty() {
            params.set(param.name, value(operation, param, &typed)?);
        }
    }
    fill_profiles(operation, settings, &mut params);
    Ok(params)
}

/// Puts in which servers the settings say the command is about.
pub(crate) fn fill_profiles(operation: &Operation, settings: &Settings, params: &mut Object) {
    let takes = |name: &str| operation.params.iter().any(|param| param.name == name);
    let profiles = settings.profiles();
    if takes("profile") && !profiles.names.is_empty() {
        params.set("profile", Raw::of(&profiles.names));
    }
    if takes("skipDefault") && profiles.skip_default {
        params.set("skipDefault", true);
    }
    if takes("allProfiles") && profiles.all {
        params.set("allProfiles", true);
    }
}

fn value(operation: &Operation, param: &Param, typed: &[String]) -> Result<Raw, Failure> {
    let joined = || match param.kind {
        Kind::List => typed.join(","),
        _ => typed.join(" "),
    };
    let bad = |error: mcpx_api::ApiError| Failure::from(error);
    Ok(match param.kind {
        Kind::Object | Kind::Objects => {
            let text = files::text_or_file(&joined())?;
            Params::read_text(param, &text).map_err(bad)?
        }
        // The value of a setting: JSON when it is some, else text.
        Kind::Any if operation.id == Op::SettingsSet => {
            let text = joined();
            Raw::parse(&text).unwrap_or_else(|_| Raw::from(text))
        }
        _ => Params::read_text(param, &joined()).map_err(bad)?,
    })
}

/// What stands for an argument; nothing when the command has no such argument.
pub(crate) fn texts(matches: &ArgMatches, id: &str) -> Vec<String> {
    matches
        .try_get_many::<String>(id)
        .ok()
        .flatten()
        .map(|values| values.cloned().collect())
        .unwrap_or_default()
}

/// The one text of an argument.
pub(crate) fn text(matches: &ArgMatches, id: &str) -> Option<String> {
    texts(matches, id).into_iter().next()
}

/// Whether a switch is on.
pub(crate) fn switch(matches: &ArgMatches, id: &str) -> bool {
    matches
        .try_get_one::<bool>(id)
        .ok()
        .flatten()
        .is_some_and(|is_on| *is_on)
}
