//! A server for people: references as they are written, literal secrets never.

use serde_json::{Map, Value};
use untrusted_text::terminal::one_line;

use super::Server;

/// What stands for a value that is not shown.
const HIDDEN: &str = "…";

/// Words in the name of a variable, header or key whose value is a secret.
const SECRET_WORDS: &[&str] = &[
    "auth",
    "cookie",
    "credential",
    "key",
    "pass",
    "pat",
    "private",
    "pwd",
    "secret",
    "session",
    "signature",
    "token",
];

/// Says whether the value under this name should not be seen.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| SECRET_WORDS.contains(&word))
        || SECRET_WORDS
            .iter()
            .filter(|word| word.len() > 3)
            .any(|word| name.contains(word))
}

/// Says whether a text is nothing but references, such as `${TOKEN}` or `Bearer ${TOKEN}`.
fn is_reference(text: &str) -> bool {
    let text = text
        .strip_prefix("Bearer ")
        .or_else(|| text.strip_prefix("Basic "))
        .unwrap_or(text);
    text.starts_with("${")
        && text.ends_with('}')
        && text.matches("${").count() == 1
        && !text.contains(":-")
}

impl Server {
    /// The entry as it is written, with `…` in place of every literal in `env`, `headers` and `auth` and of the user
    /// information and query of the URL. References such as `${TOKEN}` stay. The text is foreign.
    #[must_use]
    pub fn shown(&self) -> Value {
        shown(&self.written.0)
    }
}

/// See [`Server::shown`].
pub(crate) fn shown(entry: &Value) -> Value {
    let Value::Object(entry) = entry else {
        return entry.clone();
    };
    let mut safe = Map::new();
    for (key, value) in entry {
        let value = match (key.as_str(), value) {
            ("env" | "environment" | "headers" | "auth" | "http_headers", Value::Object(inner)) => {
                Value::Object(
                    inner
                        .iter()
                        .map(|(name, value)| (name.clone(), hidden(key, name, value)))
                        .collect(),
                )
            }
            ("url" | "serverUrl" | "httpUrl", Value::String(url)) => Value::String(shown_url(url)),
            ("args", Value::Array(args)) => Value::Array(shown_args(args)),
            ("command", Value::Array(args)) => Value::Array(shown_args(args)),
            _ => value.clone(),
        };
        safe.insert(key.clone(), value);
    }
    Value::Object(safe)
}

fn hidden(block: &str, name: &str, value: &Value) -> Value {
    let is_name =
        block == "auth" && matches!(name, "type" | "name" | "username" | "scopes" | "clientId");
    match value {
        Value::String(text) if is_name || text.is_empty() || is_reference(text) => value.clone(),
        Value::Array(_) if is_name => value.clone(),
        _ => Value::String(HIDDEN.to_owned()),
    }
}

/// An argument after a flag that sounds like a secret, and the part after the `=` of such a flag.
fn shown_args(args: &[Value]) -> Vec<Value> {
    let mut is_after_secret = false;
    args.iter()
        .map(|arg| {
            let Value::String(text) = arg else {
                return arg.clone();
            };
            if std::mem::take(&mut is_after_secret) && !text.starts_with('-') && !is_reference(text)
            {
                return Value::String(HIDDEN.to_owned());
            }
            if let Some((flag, value)) = text.split_once('=')
                && is_secret_name(flag)
                && !is_reference(value)
            {
                return Value::String(format!("{flag}={HIDDEN}"));
            }
            is_after_secret = text.starts_with('-') && !text.contains('=') && is_secret_name(text);
            if text.contains("://") {
                return Value::String(shown_url(text));
            }
            arg.clone()
        })
        .collect()
}

/// The URL without its password and the values of its query.
fn shown_url(text: &str) -> String {
    let Ok(mut url) = url::Url::parse(text) else {
        // With a reference in it: what stands before the query is not secret by custom.
        return match text.split_once('?') {
            Some((before, query)) if !is_reference(query) => format!("{before}?{HIDDEN}"),
            _ => text.to_owned(),
        };
    };
    let has_user = !url.username().is_empty() || url.password().is_some();
    let has_query = url.query().is_some_and(|query| !query.is_empty());
    if !has_user && !has_query {
        return text.to_owned();
    }
    if has_user {
        // Cannot fail for a URL that has user information.
        let _kept = url.set_username("").and_then(|()| url.set_password(None));
    }
    url.set_query(None);
    let mut safe = url.to_string();
    if has_query {
        safe.push('?');
        safe.push_str(HIDDEN);
    }
    safe
}

/// What an entry would start or contact, on one line, for the person who is asked to trust it. What is accepted is what
/// is seen: nothing is cut, and arguments and environment are as they are written, whatever they are called.
pub(crate) fn launch(written: &Value) -> String {
    let mut entry = shown(written);
    for key in ["args", "env"] {
        if let (Some(value), Some(members)) = (written.get(key), entry.as_object_mut()) {
            members.insert(key.to_owned(), value.clone());
        }
    }
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let mut line = if let Some(of) = text("aliasOf") {
        format!("another view of `{of}`")
    } else if let Some(url) = text("url") {
        url.to_owned()
    } else {
        let mut words: Vec<String> = text("command").map(str::to_owned).into_iter().collect();
        if let Some(Value::Array(args)) = entry.get("args") {
            words.extend(args.iter().map(|arg| match arg {
                Value::String(text) if !text.is_empty() && !text.contains(char::is_whitespace) => {
                    text.clone()
                }
                Value::String(text) => format!("{text:?}"),
                other => other.to_string(),
            }));
        }
        words.join(" ")
    };
    for (key, label) in [
        ("cwd", "in"),
        ("env", "with the environment"),
        ("headers", "with the headers"),
        ("auth", "with the credential"),
    ] {
        match entry.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => line.push_str(&format!(", {label} {text}")),
            Some(value) => line.push_str(&format!(", {label} {value}")),
        }
    }
    one_line(&line, usize::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literals_that_may_be_secret_are_not_shown_and_references_are() {
        let entry = json!({
            "command": "npx",
            "args": ["-y", "x", "--api-key", "hunter2", "--token=hunter2", "--token=${T}", "https://u:hunter2@h/p?k=hunter2"],
            "env": {"A": "hunter2", "B": "${B}", "C": "${C:-hunter2}"},
            "url": "https://u:hunter2@host/mcp?key=hunter2",
            "headers": {"Authorization": "Bearer ${T}", "X-Key": "hunter2"},
            "auth": {"type": "basic", "username": "me", "password": "hunter2"},
        });
        let shown = shown(&entry);
        assert!(!shown.to_string().contains("hunter2"), "{shown}");
        assert_eq!(shown["env"]["B"], "${B}");
        assert_eq!(shown["headers"]["Authorization"], "Bearer ${T}");
        assert_eq!(shown["auth"]["username"], "me");
        assert_eq!(shown["args"][5], "--token=${T}");
        assert_eq!(shown["url"], "https://host/mcp?…");
    }

    #[test]
    fn what_would_be_launched_is_one_line() {
        let entry = json!({"command": "npx", "args": ["-y", "a b", "\u{1b}[2J"], "cwd": "/x", "env": {"GIT_ASKPASS": "./evil"}});
        assert_eq!(
            launch(&entry),
            "npx -y \"a b\" ␛[2J, in /x, with the environment {\"GIT_ASKPASS\":\"./evil\"}"
        );
    }
}
