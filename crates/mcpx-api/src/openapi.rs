//! The interface as a document of OpenAPI 3.1, made from the table of operations. Pure: what only a running daemon knows
//! is handed in.

mod replies;
mod requests;

use serde_json::{Map, Value, json};

use crate::operation::{Effect, Operation, Output};
use crate::{Code, Op, operations};

/// What only a running daemon knows.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The program's version.
    pub version: String,
    /// The path of its Unix socket.
    pub socket: Option<String>,
    /// Its TCP endpoint, `http://127.0.0.1:PORT`.
    pub endpoint: Option<String>,
    /// A path for each tool: `/v1/call/SERVER/TOOL` to a path item with `post`.
    pub tool_paths: Map<String, Value>,
    /// The schemas that those refer to.
    pub tool_schemas: Map<String, Value>,
}

/// The document.
#[must_use]
pub fn document(about: About) -> Value {
    let mut paths = Map::new();
    for operation in operations::all() {
        let item = paths
            .entry(operation.path.to_owned())
            .or_insert_with(|| json!({}));
        if let Value::Object(item) = item {
            let method = operation.method.as_str().to_ascii_lowercase();
            item.insert(method, described(operation));
        }
    }
    for (path, item) in about.tool_paths {
        paths.insert(path, of_tool(item));
    }
    let mut schemas = replies::schemas();
    schemas.extend(about.tool_schemas);
    let mut servers = Vec::new();
    if let Some(endpoint) = &about.endpoint {
        servers.push(json!({
            "url": endpoint,
            "description": "Over TCP, from this machine alone: the token of the daemon's record is needed."
        }));
    }
    let socket = about
        .socket
        .as_deref()
        .unwrap_or("daemon-KEY.sock in the state folder");
    servers.push(json!({
        "url": "http://mcpx",
        "description": format!("Over the Unix socket {socket}: whoever may open its file may ask, without a token.")
    }));
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "mcpx",
            "version": about.version,
            "description": DESCRIPTION,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"}
        },
        "servers": servers,
        "security": [{"bearer": []}],
        "tags": families(),
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "The token in the daemon's record, which only its owner can read. Over the Unix socket none is needed."
            }},
            "parameters": requests::headers(),
            "responses": errors(),
            "schemas": schemas
        }
    })
}

const DESCRIPTION: &str = "One daemon holds the MCP servers of a person and shares them between all their agents, commands and scripts. \
Every operation answers with JSON or text. What it could not do, it says with `{error, code, hint?}` and a status: 4xx is the request's, \
502 a server's, 503 the daemon's at the moment. Who asks is told by the `X-Mcpx-…` headers; what is not told isolates.";

/// The families of the table, as tags.
fn families() -> Value {
    json!([
        {"name": "daemon", "description": "The daemon itself: health, status, events, reload, restart, end."},
        {"name": "catalogue", "description": "What there is: servers, tools, signatures, resources, prompts, and how they changed."},
        {"name": "calls", "description": "Calls of tools, and what they leave behind: large results and tasks."},
        {"name": "servers", "description": "Which servers are configured, and the settings."},
        {"name": "log", "description": "What happened: records, and calls counted."}
    ])
}

fn family(operation: &Operation) -> &'static str {
    const NAMES: [&str; 5] = ["daemon", "catalogue", "calls", "servers", "log"];
    let at = operations::OPERATIONS
        .iter()
        .position(|family| family.iter().any(|one| one.id == operation.id));
    at.and_then(|at| NAMES.get(at)).copied().unwrap_or("daemon")
}

fn described(operation: &Operation) -> Value {
    let mut out = json!({
        "operationId": operation.name,
        "summary": operation.summary.trim_end_matches('.'),
        "description": description(operation),
        "tags": [family(operation)],
        "responses": responses(operation),
    });
    let parameters = requests::parameters(operation);
    if !parameters.is_empty() {
        out["parameters"] = Value::Array(parameters);
    }
    if let Some(body) = requests::body(operation) {
        out["requestBody"] = body;
    }
    out["x-mcpx-effect"] = match operation.effect {
        Effect::Reads => "reads",
        Effect::Changes => "changes",
        Effect::Destroys => "destroys",
    }
    .into();
    out["x-mcpx-idempotent"] = operation.idempotent.into();
    if let Some(tool) = operation.tool {
        out["x-mcpx-tool"] = tool.into();
    }
    if let Some(word) = operation.word {
        out["x-mcpx-command"] = format!("mcpx {word}").into();
    }
    out
}

fn description(operation: &Operation) -> String {
    let mut text = operation.summary.to_owned();
    if let Some(word) = operation.word {
        text.push_str(&format!(" On the command line: `mcpx {word}`."));
    }
    if let Some(tool) = operation.tool {
        text.push_str(&format!(" As a tool over MCP: `{tool}`."));
    }
    text
}

fn responses(operation: &Operation) -> Value {
    let mut responses = Map::new();
    for (status, description, schema) in replies::of(operation.id) {
        let content = match operation.output {
            Output::Events => json!({"text/event-stream": {"schema": {"type": "string"}}}),
            Output::Text(media_type) => json!({media_type: {"schema": {"type": "string"}}}),
            Output::Json => content(operation.id, schema),
        };
        responses.insert(
            status.to_string(),
            json!({"description": description, "content": content}),
        );
    }
    for code in codes(operation) {
        let reference = format!("#/components/responses/{}", code.word());
        responses.insert(code.status().to_string(), json!({"$ref": reference}));
    }
    Value::Object(responses)
}

fn content(operation: Op, schema: &str) -> Value {
    let reference = json!({"schema": {"$ref": format!("#/components/schemas/{schema}")}});
    let text = json!({"schema": {"type": "string"}});
    match operation {
        Op::Schema => json!({"application/json": reference, "application/typescript": text}),
        Op::ToolInvoke => json!({
            "application/json": reference,
            "application/typescript": text,
            "text/plain": text
        }),
        _ => json!({"application/json": reference}),
    }
}

/// Every code that an operation can fail with; each code of a call on the road to a server, and those of the road to the
/// daemon.
#[must_use]
pub fn codes(operation: &Operation) -> Vec<Code> {
    use Code::{
        BadRequest, Conflict, Exhausted, Forbidden, NotFound, Timeout, TooLarge, Unauthorized,
        Unavailable, Unprocessable, Upstream,
    };
    let mut codes = vec![
        BadRequest,
        Unauthorized,
        Forbidden,
        Timeout,
        TooLarge,
        Unavailable,
    ];
    // On the road to a server.
    const ROAD: [Code; 4] = [Conflict, Unprocessable, Exhausted, Upstream];
    let own: &[Code] = match operation.id {
        Op::Call
        | Op::CallPath
        | Op::ResourceRead
        | Op::PromptGet
        | Op::Complete
        | Op::Tools
        | Op::Types
        | Op::Catalog
        | Op::Client
        | Op::Globals
        | Op::Schema
        | Op::Resources
        | Op::ResourceTemplates
        | Op::Prompts
        | Op::Events
        | Op::ToolInvoke
        | Op::TaskResult => &ROAD,
        Op::Refresh
        | Op::Reload
        | Op::SettingsSet
        | Op::SettingsUnset
        | Op::ServersAdd
        | Op::ServersRemove => &[Conflict, Unprocessable],
        Op::TaskCancel => &[Conflict],
        _ => &[],
    };
    codes.extend(own);
    let in_path = operation.path.contains('{');
    if in_path
        || matches!(
            operation.id,
            Op::LogQuery | Op::SettingsSet | Op::SettingsUnset
        )
    {
        codes.push(NotFound);
    }
    codes.sort_by_key(|code| code.status());
    codes.dedup();
    codes
}

/// What a code means, in a few words.
pub(crate) fn meaning(code: Code) -> &'static str {
    match code {
        Code::BadRequest => "the request cannot be read, or names what is not configured",
        Code::Unauthorized => "no valid token was sent",
        Code::Forbidden => "a host or a web page that may not ask",
        Code::NotFound => "there is no such thing",
        Code::MethodNotAllowed => "there is no such method on this path",
        Code::Timeout => "it took too long",
        Code::Conflict => "it is there already, is over already, or was cancelled",
        Code::TooLarge => "the body is too large",
        Code::Unprocessable => "it was understood, and cannot be done as things are",
        Code::Exhausted => "there is no room at the moment",
        Code::Upstream => "a server behind the hub failed, or answered with an error",
        Code::Unavailable => "the daemon, or the server, cannot at the moment",
        Code::Internal => "the daemon failed",
    }
}

fn errors() -> Value {
    let error = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}});
    let all = Code::all().map(|code| {
        (
            code.word().to_owned(),
            json!({"description": requests::sentence(meaning(code)), "content": error}),
        )
    });
    Value::Object(all.collect())
}

/// A tool's own path: what its server says of it, and what the hub does around that.
fn of_tool(mut item: Value) -> Value {
    let operation = operations::operation(Op::CallPath);
    let Some(post) = item.get_mut("post") else {
        return item;
    };
    let mut all = responses(operation);
    let own = "/responses/200/content/application~1json/schema/properties/result/properties/structuredContent";
    if let Some(own) = post.pointer(own) {
        // The answer of every call, with what this tool says in its result.
        let result = json!({"type": "object", "properties": {"structuredContent": own}});
        all["200"]["content"]["application/json"]["schema"] = json!({
            "allOf": [
                {"$ref": "#/components/schemas/CallAnswer"},
                {"type": "object", "properties": {"result": result}}
            ]
        });
    }
    post["responses"] = all;
    let parameters: Vec<Value> = requests::parameters(operation)
        .into_iter()
        .filter(|parameter| parameter["in"] != "path")
        .collect();
    post["parameters"] = Value::Array(parameters);
    item
}

#[cfg(test)]
mod tests;
