//! `cox mcp probe`: connects to an MCP server, shows what it is and offers, and calls one of its tools.

use std::time::{Duration, Instant};

use child_process::{Env, Program};
use mcp_client::{
    CallOptions, Connection, FailureKind, Reach, ServerSpec, connect, server::HttpReach,
};
use mcp_wire::{CallResult, Implementation, Object, Raw, Tool};
use serde_json::{Value, json};

use crate::{
    args::{
        Args,
        mcp::{Mcp, McpCommand, Probe},
    },
    exit::{Exit, Failure},
    printer::Printer,
    settings::environment::Environment,
    stdin::read_stdin,
};

mod text;

/// Longest arguments that are read from stdin, in bytes.
const MAX_INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// Does what `cox mcp` was asked for.
///
/// # Errors
///
/// A failure for a command line that cannot be read, or a server that cannot be connected to.
pub(crate) fn mcp(mcp: &Mcp, args: &Args, printer: Printer) -> Result<Exit, Failure> {
    let McpCommand::Probe(probe) = &mcp.command;
    let spec = spec(probe, args, &Environment::read())?;
    let call = wanted_call(probe)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::error(format!("cannot start: {error}")))?;
    // Without it a server's stray child may outlive us on a system that cannot adopt; the probe runs all the same.
    let _can_adopt = child_process::adopt_orphans();
    let probed = runtime.block_on(run(spec, call));
    Ok(show(&probed, printer))
}

/// What was found.
struct Probed {
    connected: Result<Found, mcp_client::Failure>,
    survivors: Vec<i32>,
}

struct Found {
    took: Duration,
    connection: Connection,
    lists: Lists,
    called: Option<(String, Result<CallResult, mcp_client::Failure>)>,
}

/// What it offers. A list that a server does not declare is not asked for.
#[derive(Default)]
struct Lists {
    tools: Option<Result<mcp_client::lists::Listed<Tool>, mcp_client::Failure>>,
    resources: Option<Result<usize, mcp_client::Failure>>,
    prompts: Option<Result<usize, mcp_client::Failure>>,
}

async fn run(spec: ServerSpec, call: Option<(String, Object)>) -> Probed {
    let began = Instant::now();
    let interrupted = async {
        match tokio::signal::ctrl_c().await {
            Ok(()) => {}
            Err(_) => std::future::pending().await,
        }
    };
    let connection = tokio::select! {
        connection = connect(spec.clone(), None) => connection,
        () = interrupted => Err(stopped(&spec)),
    };
    let connection = match connection {
        Ok(connection) => connection,
        Err(failure) => {
            return Probed {
                connected: Err(failure),
                survivors: Vec::new(),
            };
        }
    };
    let took = began.elapsed();
    let options = CallOptions::default();
    let cancelled = options.cancelled.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            cancelled.cancel();
        }
    });
    let lists = lists(&connection, &options).await;
    let called = match call {
        Some((name, arguments)) => {
            let outcome = connection.call_tool(&name, arguments, &options).await;
            Some((name, outcome))
        }
        None => None,
    };
    let survivors = connection.close().await;
    Probed {
        connected: Ok(Found {
            took,
            connection,
            lists,
            called,
        }),
        survivors,
    }
}

fn stopped(spec: &ServerSpec) -> mcp_client::Failure {
    mcp_client::Failure {
        server: spec.label(),
        kind: FailureKind::NoAnswer {
            delivery: mcp_client::Delivery::NotSent,
            cause: mcp_client::Cause::Cancelled,
            why: "interrupted".to_owned(),
        },
        stderr: None,
    }
}

async fn lists(connection: &Connection, options: &CallOptions) -> Lists {
    let agreed = connection.agreed();
    let mut lists = Lists::default();
    if agreed.capabilities.has("tools") {
        lists.tools = Some(connection.tools(options).await);
    }
    if agreed.capabilities.has("resources") {
        lists.resources = Some(
            connection
                .resources(options)
                .await
                .map(|listed| listed.elements.len()),
        );
    }
    if agreed.capabilities.has("prompts") {
        lists.prompts = Some(
            connection
                .prompts(options)
                .await
                .map(|listed| listed.elements.len()),
        );
    }
    lists
}

fn spec(probe: &Probe, args: &Args, environment: &Environment) -> Result<ServerSpec, Failure> {
    let first = probe
        .target
        .first()
        .ok_or_else(|| Failure::usage("expected a program or a URL"))?;
    let text = first.to_string_lossy();
    let is_url = text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    });
    let reach = if is_url {
        http(probe, &text, environment)?
    } else {
        program(probe, args, environment)?
    };
    let client = Implementation::new("cox", env!("CARGO_PKG_VERSION"));
    let mut spec = ServerSpec::new("probe", reach, client);
    spec.timeouts.start = Duration::from_secs(probe.timeout);
    spec.timeouts.idle = Duration::from_secs(probe.timeout);
    spec.single_caller = true;
    Ok(spec)
}

fn program(probe: &Probe, args: &Args, environment: &Environment) -> Result<Reach, Failure> {
    if !probe.header.is_empty() || probe.unix_socket.is_some() {
        return Err(Failure::usage(
            "`--header` and `--unix-socket` are for a URL, and this is a program",
        ));
    }
    let mut env = Env::allowlisted(environment.variables());
    for variable in &probe.env {
        let (name, value) = match variable.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => {
                let value = environment.text(variable);
                let missing =
                    || Failure::usage(format!("`--env {variable}`: there is no such variable"));
                (variable.as_str(), value.ok_or_else(missing)?.to_owned())
            }
        };
        if name.is_empty() || name.contains('\0') || value.contains('\0') {
            return Err(Failure::usage("`--env` wants NAME=VALUE"));
        }
        env = env.set(name, value);
    }
    let mut target = probe.target.iter();
    let name = target.next().cloned().unwrap_or_default();
    let mut program = Program::new(name).args(target.cloned()).env(env);
    if let Some(cwd) = &args.global.cwd {
        program = program.cwd(cwd.clone());
    }
    Ok(Reach::Stdio(program))
}

fn http(probe: &Probe, url: &str, environment: &Environment) -> Result<Reach, Failure> {
    if probe.target.len() > 1 {
        return Err(Failure::usage(
            "a URL stands alone: what follows it is no argument of anything",
        ));
    }
    if !probe.env.is_empty() {
        return Err(Failure::usage(
            "`--env` is for a program, and this is a URL",
        ));
    }
    let url = url::Url::parse(url)
        .map_err(|error| Failure::usage(format!("`{url}` is no URL: {error}")))?;
    let headers = probe
        .header
        .iter()
        .map(|header| read_header(header, environment))
        .collect::<Result<_, _>>()?;
    Ok(Reach::Http(HttpReach {
        url,
        unix_socket: probe.unix_socket.clone(),
        headers,
        authorizer: None,
    }))
}

/// Reads `NAME: VALUE`. The value is not repeated in a message: it may be a secret.
fn read_header(header: &str, environment: &Environment) -> Result<(String, String), Failure> {
    let (name, value) = header
        .split_once(':')
        .ok_or_else(|| Failure::usage("`--header` wants `NAME: VALUE`, got no colon"))?;
    let (name, value) = (name.trim(), value.trim());
    let value = match value.strip_prefix('$') {
        Some(variable) => environment.text(variable).ok_or_else(|| {
            Failure::usage(format!(
                "`--header {name}`: there is no variable {variable}"
            ))
        })?,
        None => value,
    };
    Ok((name.to_owned(), value.to_owned()))
}

fn wanted_call(probe: &Probe) -> Result<Option<(String, Object)>, Failure> {
    let Some(name) = &probe.call else {
        return Ok(None);
    };
    let input = match probe.input.as_deref() {
        None => return Ok(Some((name.clone(), Object::new()))),
        Some("-") => read_stdin("input", MAX_INPUT_BYTES)?,
        Some(input) => input.to_owned(),
    };
    let arguments = Raw::parse(&input).and_then(|raw| raw.object()).map_err(|error| {
        Failure::usage(format!("the tool's arguments are a JSON object: {error}\nhint: --input '{{\"name\": \"value\"}}'"))
    })?;
    Ok(Some((name.clone(), arguments)))
}

/// Prints what was found. A failure to connect, or to call, is exit 1; a tool that says it failed is too.
fn show(probed: &Probed, printer: Printer) -> Exit {
    if !probed.survivors.is_empty() {
        let ids = probed
            .survivors
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        printer.warn(&format!(
            "these processes of the server could not be ended: {ids}"
        ));
    }
    let found = match &probed.connected {
        Ok(found) => found,
        Err(failure) => {
            if printer.json {
                let document = json!({ "connected": false, "error": failure_document(failure), "exit_code": 1 });
                return ended(printer.document(&document), Exit::Error);
            }
            printer.note(&format!("error: {failure}"));
            return Exit::Error;
        }
    };
    let failed = matches!(&found.called, Some((_, outcome)) if outcome.as_ref().map_or(true, |result| result.is_error));
    let exit = if failed { Exit::Error } else { Exit::Ok };
    let printed = if printer.json {
        printer.document(&document(found, exit))
    } else {
        printer.result(&text::text(found))
    };
    if !printer.json
        && let Some((_, Err(failure))) = &found.called
    {
        printer.note(&format!("error: {failure}"));
    }
    ended(printed, exit)
}

fn ended(printed: Result<(), crate::printer::NotPrinted>, exit: Exit) -> Exit {
    match crate::printed(printed) {
        Exit::Ok => exit,
        other => other,
    }
}

/// What is too deep to be a document is shown as its text.
fn value(raw: &Raw) -> Value {
    raw.value()
        .unwrap_or_else(|_| Value::String(raw.as_str().to_owned()))
}

fn document(found: &Found, exit: Exit) -> Value {
    let agreed = found.connection.agreed();
    let count = |list: &Option<Result<usize, mcp_client::Failure>>| match list {
        None => Value::Null,
        Some(Ok(count)) => json!(count),
        Some(Err(failure)) => json!({ "error": failure_document(failure) }),
    };
    let (tools, set_aside, cut) = match &found.lists.tools {
        None => (Value::Null, json!([]), Value::Null),
        Some(Err(failure)) => (json!({ "error": failure_document(failure) }), json!([]), Value::Null),
        Some(Ok(listed)) => (
            listed.elements.iter().map(|tool| value(&Raw::from(tool.raw().clone()))).collect(),
            listed
                .set_aside
                .iter()
                .map(|aside| json!({ "index": aside.index, "name": aside.name, "reason": aside.reason }))
                .collect(),
            json!(listed.cut),
        ),
    };
    let call = found.called.as_ref().map(|(name, outcome)| match outcome {
        Ok(result) => json!({ "tool": name, "result": value(&Raw::from(result.raw().clone())) }),
        Err(failure) => json!({ "tool": name, "error": failure_document(failure) }),
    });
    json!({
        "connected": true,
        "reached": found.connection.label().resolved,
        "milliseconds": u64::try_from(found.took.as_millis()).unwrap_or(u64::MAX),
        "era": found.connection.era().word(),
        "revision": agreed.revision.as_str(),
        "server": agreed.server_info.as_ref().map(|info| value(&Raw::from(info.raw().clone()))),
        "capabilities": value(&Raw::from(agreed.capabilities.raw().clone())),
        "instructions": agreed.instructions,
        "tools": tools,
        "set_aside": set_aside,
        "tools_cut": cut,
        "resources": count(&found.lists.resources),
        "prompts": count(&found.lists.prompts),
        "call": call,
        "exit_code": exit.code(),
    })
}

fn failure_document(failure: &mcp_client::Failure) -> Value {
    use mcp_client::Delivery;
    let mut document = match &failure.kind {
        FailureKind::Answered(error) => json!({
            "kind": "answered", "code": error.code, "message": error.message, "data": error.data.as_ref().map(value),
        }),
        FailureKind::NoAnswer { delivery, why, .. } => {
            let delivery = if *delivery == Delivery::NotSent {
                "not_sent"
            } else {
                "outcome_unknown"
            };
            json!({ "kind": "no_answer", "delivery": delivery, "message": why })
        }
        FailureKind::Refused { by, why } => {
            let by = if *by == mcp_client::Refuser::Credentials {
                "credentials"
            } else {
                "client"
            };
            json!({ "kind": "refused", "by": by, "message": why })
        }
    };
    document["reached"] = json!(failure.server.resolved);
    document["stderr"] = json!(
        failure
            .stderr
            .as_ref()
            .map(untrusted_text::Untrusted::verbatim)
    );
    document
}
