//! A server for people: references as they are written, literal secrets never.

mod arguments;

use serde_json::{Map, Value};
use untrusted_text::terminal::one_line;

pub(super) use arguments::{secrets_in_args, secrets_in_url, shown_url};

use super::{Server, expand::masked};

/// What stands for a value that is not shown.
pub(super) const HIDDEN: &str = "…";

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
        .any(|word| SECRET_WORDS.contains(&word) || word.ends_with("key"))
        || SECRET_WORDS
            .iter()
            .filter(|word| word.len() > 3)
            .any(|word| name.contains(word))
}

impl Server {
    /// The entry as it is written, with `…` in place of every literal in `env`, `headers` and `auth`, and of what may be a
    /// secret in arguments and URLs. References such as `${TOKEN}` stay. The text is foreign.
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
            ("url" | "serverUrl" | "httpUrl", Value::String(url)) => {
                Value::String(arguments::shown_url(url))
            }
            ("args" | "command", Value::Array(args)) => Value::Array(arguments::shown(args)),
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
        Value::String(_) | Value::Array(_) if is_name => value.clone(),
        Value::String(text) => Value::String(masked(text)),
        _ => Value::String(HIDDEN.to_owned()),
    }
}

/// What an entry would start or contact, on one line, for the person who is asked to trust it. What is accepted is what
/// is seen: nothing is cut, arguments and environment are as they are written, whatever they are called, and of URL,
/// headers and credential there is every variable that would be sent.
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
    } else if let Some(url) = written.get("url").and_then(Value::as_str) {
        arguments::launched_url(url)
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
            Some(Value::Object(members)) if members.is_empty() => {}
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
            "args": ["-y", "x", "--api-key", "hunter2", "--token=hunter2", "--token=${T}", "https://u:hunter2@h/p?k=hunter2",
                "--header", "Authorization: Bearer hunter2", "--header=X-Api-Key:hunter2", "postgresql://u:hunter2@db/x",
                "--dsn=postgresql://u:hunter2@db/x", "{\"token\": \"hunter2\"}", "OPENAI_APIKEY=hunter2", "--secret", 7],
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
        assert_eq!(shown["args"][8], "Authorization: …");
        assert_eq!(shown["args"][9], "--header=X-Api-Key:…");
        assert_eq!(shown["args"][15], "…");
    }

    #[test]
    fn whoever_is_asked_sees_each_variable_that_would_be_sent_away() {
        let entry = json!({
            "url": "https://h/${PATH_KEY}?q=${AWS_SECRET_ACCESS_KEY}&x=1",
            "headers": {"X": "a ${GITHUB_TOKEN} b", "Y": "${A:-${B}}"},
            "auth": {"type": "bearer", "token": "x${HOME}"},
        });
        let line = launch(&entry);
        for name in [
            "${PATH_KEY}",
            "${AWS_SECRET_ACCESS_KEY}",
            "${GITHUB_TOKEN}",
            "${A:-${B}}",
            "${HOME}",
        ] {
            assert!(line.contains(name), "{name} is not in {line}");
        }
        let entry = json!({"url": "https://${USER_TOKEN}:x@h/mcp"});
        assert_eq!(launch(&entry), "https://${USER_TOKEN}…@h/mcp");
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
