//! A server as an entry of a file: from the parameters of a request, and back to what may be shown.

use mcp_wire::{Object, Raw};
use mcpx_api::{ApiError, Params};
use mcpx_config::{Reach, Server};
use serde_json::{Map, Value};

/// The entry that a request describes.
///
/// # Errors
/// When a part has the wrong shape. Whether the whole makes sense is decided by who writes it.
pub(super) fn read(params: &Params) -> Result<Value, ApiError> {
    let mut entry = Map::new();
    for name in ["command", "url", "cwd", "transport"] {
        if let Some(text) = params.text(name) {
            if text.contains('\0') {
                return Err(ApiError::bad(format!("`{name}` holds a zero byte")));
            }
            entry.insert(name.to_owned(), Value::String(text));
        }
    }
    if params.get("args").is_some() {
        let args = params.list("args");
        if args.iter().any(|arg| arg.contains('\0')) {
            return Err(ApiError::bad("`args` holds a zero byte"));
        }
        entry.insert("args".to_owned(), args.into());
    }
    for name in ["env", "headers"] {
        if let Some(pairs) = params.members(name) {
            entry.insert(name.to_owned(), texts(name, &pairs)?);
        }
    }
    if let Some(block) = params.get("mcpx") {
        let block = block
            .value()
            .map_err(|error| ApiError::bad(format!("`mcpx` cannot be read: {error}")))?;
        entry.insert("mcpx".to_owned(), block);
    }
    let ways = ["command", "url"]
        .iter()
        .filter(|way| entry.contains_key(**way));
    match ways.count() {
        1 => {}
        0 => {
            return Err(ApiError::bad(
                "nothing says how the server is reached: expected `command` or `url`",
            ));
        }
        _ => {
            return Err(ApiError::bad(
                "`command` and `url` were both given: expected one of the two",
            ));
        }
    }
    // Otherwise they would be written, and mean nothing.
    let idle: &[&str] = if entry.contains_key("command") {
        &["headers", "transport"]
    } else {
        &["args", "env", "cwd"]
    };
    if let Some(name) = idle.iter().find(|name| entry.contains_key(**name)) {
        return Err(ApiError::bad(format!(
            "`{name}` means nothing for a server with `{}`",
            if entry.contains_key("command") {
                "command"
            } else {
                "url"
            }
        )));
    }
    Ok(Value::Object(entry))
}

fn texts(name: &str, pairs: &Object) -> Result<Value, ApiError> {
    let mut out = Map::new();
    for (key, value) in pairs.iter() {
        let text = value.string().ok_or_else(|| {
            ApiError::bad(format!(
                "`{name}.{}` was {}, expected text",
                untrusted_text::terminal::one_line(key, 60),
                value.kind().word()
            ))
        })?;
        if key.contains('\0') || text.contains('\0') {
            return Err(ApiError::bad(format!("`{name}` holds a zero byte")));
        }
        out.insert(key.to_owned(), Value::String(text));
    }
    Ok(Value::Object(out))
}

/// How a server is reached, as it is written: references stay references, literals that may be secret are not shown, and
/// of environment and headers there are only the names.
pub(super) fn reach(server: &Server) -> Object {
    let shown = server.shown();
    let mut out = Object::new();
    for name in ["command", "args", "cwd", "url", "transport", "aliasOf"] {
        if let Some(value) = shown.get(name) {
            out.set(name, Raw::of(value));
        }
    }
    let (env, headers): (Vec<String>, Vec<String>) = match &server.reach {
        Reach::Stdio { env, .. } => (env.keys().cloned().collect(), Vec::new()),
        Reach::Http { headers, .. } => (
            Vec::new(),
            headers.iter().map(|(name, _)| name.clone()).collect(),
        ),
        Reach::Alias { .. } => (Vec::new(), Vec::new()),
    };
    if !env.is_empty() {
        out.set("env", Raw::of(&env));
    }
    if !headers.is_empty() {
        out.set("headers", Raw::of(&headers));
    }
    out
}
