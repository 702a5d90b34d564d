//! Turns what went wrong into an error a person can act on: who, what the server said, what to do.

use std::time::Duration;

use serde_json::Value;

use crate::{Error, ErrorKind, retry};

/// Most characters of a server's message that an error repeats.
const MAX_MESSAGE_CHARS: usize = 400;

/// An error, and whether the same request may be tried again at once.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) may_retry: bool,
}

/// An error as a server words it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerError {
    /// Its class, such as `rate_limit_error`; may be empty.
    pub(crate) class: String,
    /// Its code, such as `insufficient_quota` or `429`; may be empty.
    pub(crate) code: String,
    /// Its text; may be empty.
    pub(crate) message: String,
}

impl ServerError {
    /// Reads the error out of a body in any of the shapes that servers use, or nothing if the body has none.
    pub(crate) fn find(body: &Value) -> Option<Self> {
        let body = match body {
            Value::Array(items) => items.first()?,
            other => other,
        };
        let error = match body.get("error") {
            Some(Value::Null) | None => {
                let is_error = body.get("object").and_then(Value::as_str) == Some("error")
                    || body.get("type").and_then(Value::as_str) == Some("error");
                let detail = body.get("detail").or_else(|| body.get("errors"));
                return match detail {
                    Some(detail) => Some(Self {
                        message: word(Some(detail)),
                        ..Self::default()
                    }),
                    None if is_error || body.get("choices").is_none() => {
                        let message = word(body.get("message"));
                        (!message.is_empty()).then(|| Self {
                            class: word(body.get("type")),
                            code: word(body.get("code")),
                            message,
                        })
                    }
                    None => None,
                };
            }
            Some(error) => error,
        };
        if let Value::String(message) = error {
            return Some(Self {
                message: message.clone(),
                ..Self::default()
            });
        }
        // A gateway wraps what its own upstream said.
        let raw = error
            .get("metadata")
            .and_then(|metadata| metadata.get("raw"));
        let mut message = word(error.get("message"));
        if let Some(raw) = raw.and_then(Value::as_str) {
            message = format!("{message}: {raw}");
        }
        Some(Self {
            class: word(error.get("type").or_else(|| error.get("status"))),
            code: word(error.get("code")),
            message,
        })
    }

    fn is(&self, name: &str) -> bool {
        self.class == name || self.code == name
    }
}

/// Returns a JSON value as a word; empty for nothing.
fn word(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// What an HTTP answer that is not a stream says.
#[derive(Debug, Default)]
pub(crate) struct Refused<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
    pub(crate) retry_after: Option<Duration>,
    pub(crate) request_id: Option<&'a str>,
    pub(crate) location: Option<&'a str>,
}

/// Who is asked, for messages.
#[derive(Clone)]
pub(crate) struct Who {
    /// The provider's configured name.
    pub(crate) provider: String,
    /// Host of its URL, with the port if it has one.
    pub(crate) host: String,
    /// The whole URL asked.
    pub(crate) url: String,
    /// The model asked.
    pub(crate) model: String,
    /// The variable that holds the key.
    pub(crate) key_env: Option<String>,
    /// The key itself, so that a message that repeats it can be cleaned.
    pub(crate) key: Option<String>,
    /// Whether the host is this machine.
    pub(crate) is_local: bool,
}

impl Who {
    /// The server answered with a status that is not success.
    pub(crate) fn refused(&self, refused: &Refused<'_>) -> Failure {
        let text = String::from_utf8_lossy(refused.body);
        let error = serde_json::from_str(&text)
            .ok()
            .and_then(|body| ServerError::find(&body))
            .unwrap_or_else(|| ServerError {
                message: without_tags(&text),
                ..ServerError::default()
            });
        let mut failure = self.judge(Some(refused.status), &error);
        if let Some(wait) = refused.retry_after {
            failure.error.retry_after = Some(wait);
        }
        let said = match (self.clean(&error.message), refused.location) {
            (said, _) if !said.is_empty() => format!(": {said}"),
            (_, Some(location)) => format!(": it points to {}", self.clean(location)),
            _ => " without a message".to_owned(),
        };
        let request = match refused.request_id {
            Some(id) => format!(" (request {})", self.clean(id)),
            None => String::new(),
        };
        self.word(
            &mut failure,
            &format!("answered {}{said}{request}", refused.status),
        );
        failure
    }

    /// The server reported an error after the answer had begun as a success.
    pub(crate) fn in_stream(&self, error: &ServerError) -> Failure {
        let status = error
            .code
            .parse()
            .ok()
            .filter(|code| (400..600).contains(code));
        let mut failure = self.judge(status, error);
        let class = [&error.class, &error.code]
            .into_iter()
            .find(|word| !word.is_empty());
        let said = match (self.clean(&error.message), class) {
            (said, None) if said.is_empty() => "no details".to_owned(),
            (said, None) => said,
            (said, Some(class)) if said.is_empty() => self.clean(class),
            (said, Some(class)) => format!("{said} ({})", self.clean(class)),
        };
        self.word(&mut failure, &format!("failed while answering: {said}"));
        failure
    }

    /// The server's answer could not be read.
    pub(crate) fn malformed(&self, what: &str) -> Failure {
        let mut failure = failure(ErrorKind::Malformed, None, false);
        let what = self.clean(what);
        self.word(
            &mut failure,
            &format!("sent something that is no answer: {what}"),
        );
        failure
    }

    /// The server could not be reached, or the connection broke.
    pub(crate) fn network(&self, what: &str, may_retry: bool) -> Failure {
        let mut failure = failure(ErrorKind::Network, None, may_retry);
        let what = self.clean(what);
        self.word(&mut failure, &what);
        failure
    }

    /// The server was reached and no encrypted connection came about.
    pub(crate) fn not_secure(&self, why: &str) -> Failure {
        let mut failure = failure(ErrorKind::Network, None, false);
        failure.error.message = format!(
            "{} ({}) gave no secure connection: {}\nhint: does `base_url` say `https` where it should say `http`? \
             does the system trust the certificate, which behind a company's proxy is the proxy's?",
            self.provider,
            self.host,
            self.clean(why)
        );
        failure
    }

    /// The server was silent for too long.
    pub(crate) fn timeout(&self, what: &str) -> Failure {
        let mut failure = failure(ErrorKind::Timeout, None, true);
        self.word(&mut failure, what);
        failure
    }

    /// We cancelled before anything arrived.
    pub(crate) fn cancelled(&self) -> Failure {
        let mut failure = failure(ErrorKind::Cancelled, None, false);
        self.word(&mut failure, "was cancelled before anything arrived");
        failure
    }

    /// Says what kind of failure it is; the message comes later.
    fn judge(&self, status: Option<u16>, error: &ServerError) -> Failure {
        let (mut kind, mut may_retry) = match status {
            Some(401 | 403) => (ErrorKind::Auth, false),
            Some(402) => (ErrorKind::RateLimited, false),
            Some(408) => (ErrorKind::Timeout, true),
            Some(409 | 425) => (ErrorKind::Overloaded, true),
            Some(413) => (ErrorKind::ContextTooLong, false),
            Some(429) => (ErrorKind::RateLimited, true),
            Some(501 | 505) => (ErrorKind::BadRequest, false),
            Some(500..) => (ErrorKind::Overloaded, true),
            Some(300..=399) => (ErrorKind::Config, false),
            Some(_) => (ErrorKind::BadRequest, false),
            None => match (error.class.as_str(), error.code.as_str()) {
                ("authentication_error" | "permission_error", _) => (ErrorKind::Auth, false),
                ("rate_limit_error", _) | (_, "rate_limit_exceeded") => {
                    (ErrorKind::RateLimited, true)
                }
                ("request_too_large", _) => (ErrorKind::ContextTooLong, false),
                ("invalid_request_error" | "not_found_error" | "billing_error", _)
                | (_, "invalid_prompt" | "invalid_image") => (ErrorKind::BadRequest, false),
                // `overloaded_error`, `api_error`, `server_error` and whatever else goes wrong over there.
                _ => (ErrorKind::Overloaded, true),
            },
        };
        if is_out_of_credit(error) {
            (kind, may_retry) = (ErrorKind::RateLimited, false);
        } else if kind != ErrorKind::Auth && is_overflow(error) {
            (kind, may_retry) = (ErrorKind::ContextTooLong, false);
        }
        let mut failure = failure(kind, status, may_retry);
        failure.error.retry_after = retry::wait_in_words(&error.message);
        failure
    }

    /// Writes the message and its hints.
    fn word(&self, failure: &mut Failure, what: &str) {
        let mut message = format!("{} ({}) {what}", self.provider, self.host);
        for hint in self.hints(failure) {
            message.push_str("\nhint: ");
            message.push_str(&hint);
        }
        failure.error.message = message;
    }

    fn hints(&self, failure: &Failure) -> Vec<String> {
        let key = match &self.key_env {
            Some(variable) => format!("the key in `{variable}`"),
            None => "the key, and whether the provider needs one (`api_key_env`)".to_owned(),
        };
        match (failure.error.kind, failure.error.status) {
            (ErrorKind::Auth, _) => vec![format!("check {key}")],
            (ErrorKind::RateLimited, _) if !failure.may_retry => {
                vec![format!(
                    "add credit to the account, or take another provider with `--provider`"
                )]
            }
            (ErrorKind::RateLimited, _) => match failure.error.retry_after {
                Some(wait) => vec![format!("the server asks to wait {}", retry::in_words(wait))],
                None => vec!["wait a little, or raise `max_retries`".to_owned()],
            },
            (ErrorKind::BadRequest, Some(404)) => vec![format!(
                "{} was asked for model `{}`; check `model` and `base_url`",
                self.url, self.model
            )],
            (ErrorKind::Config, _) => vec![format!(
                "{} was asked; redirects are not followed, so set `base_url` to the final address",
                self.url
            )],
            (ErrorKind::ContextTooLong, _) => {
                vec!["the conversation is larger than the model takes; shorten it or start a new session"
                    .to_owned()]
            }
            (ErrorKind::Network, _) if self.is_local => {
                vec![format!("is the server at {} running?", self.host)]
            }
            (ErrorKind::Malformed, _) => {
                vec![format!(
                    "{} was asked; check `base_url` and `api`",
                    self.url
                )]
            }
            _ => Vec::new(),
        }
    }

    /// Makes foreign text fit for an error: no key, no controls, one line, cut.
    pub(crate) fn clean(&self, text: &str) -> String {
        let text = match &self.key {
            Some(key) if key.len() >= 8 => text.replace(key.as_str(), "[key]"),
            _ => text.to_owned(),
        };
        // Before the cut, which could leave a part of a secret that nobody recognises any more.
        let text = untrusted_text::redact::redact(&text);
        let text = untrusted_text::terminal::for_terminal(&text);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match text.char_indices().nth(MAX_MESSAGE_CHARS) {
            None => text,
            Some((end, _)) => {
                let left_out = text[end..].chars().count();
                format!("{}… ({left_out} more characters)", &text[..end])
            }
        }
    }
}

fn failure(kind: ErrorKind, status: Option<u16>, may_retry: bool) -> Failure {
    Failure {
        error: Error {
            kind,
            message: String::new(),
            status,
            retry_after: None,
        },
        may_retry,
    }
}

/// A setting is wrong; says which and what to do.
pub(crate) fn config_error(message: impl Into<String>) -> Error {
    Error {
        kind: ErrorKind::Config,
        message: message.into(),
        status: None,
        retry_after: None,
    }
}

/// Says whether the account has no credit, which no waiting cures.
fn is_out_of_credit(error: &ServerError) -> bool {
    const NAMES: [&str; 4] = [
        "insufficient_quota",
        "billing_error",
        "billing_not_active",
        "billing_hard_limit_reached",
    ];
    NAMES.iter().any(|name| error.is(name)) || error.message.contains("credit balance is too low")
}

/// Says whether the request is larger than the model's context. Servers agree on no code, so their words decide.
fn is_overflow(error: &ServerError) -> bool {
    const NAMES: [&str; 5] = [
        "context_length_exceeded",
        "model_context_window_exceeded",
        "model_max_prompt_tokens_exceeded",
        "exceed_context_size_error",
        "request_too_large",
    ];
    // Lower case. One row is one wording; the comment names whose.
    const WORDS: [&[&str]; 29] = [
        &["prompt is too long"],                       // Anthropic
        &["exceed context limit"],                     // Anthropic, input plus max_tokens
        &["input is too long for"],                    // Anthropic models elsewhere
        &["exceeds the context window"],               // OpenAI Responses
        &["maximum context length"],                   // OpenAI Chat, vLLM, OpenRouter, DeepSeek
        &["request too large for"], // OpenAI, one request over the minute's tokens
        &["exceeds the available context size"], // llama.cpp
        &["context size", "exceed"], // llama.cpp, older
        &["exceeds the context length"], // Ollama, LM Studio
        &["greater than the context length"], // LM Studio
        &["context length", "exceeded"], // LM Studio, MiniMax
        &["context the overflows"], // LM Studio, as it is spelled
        &["longer than the maximum model length"], // vLLM
        &["input token count", "exceeds the maximum"], // Gemini
        &["maximum prompt length is"], // xAI
        &["reduce the length of the messages"], // Groq
        &["too large for model with"], // Mistral
        &["exceeded model token limit"], // Moonshot
        &["prompt exceeds max length"], // Z.AI
        &["context window exceeds"], // MiniMax
        &["prompt token count", "exceeds the limit"], // GitHub Models
        &["tokens", "max_new_tokens", "must be"], // text-generation-inference
        &["longer than the model's context length"], // SGLang
        &["too many tokens", "in the prompt"], // Cohere
        &["input tokens exceed"],   // OpenAI, a limit of the account
        &["exceeds the model context window"], // Ollama's cloud
        &["exceeds the max_model_len"], // vLLM, older
        &["tokens in request more than max tokens"], // Zhipu, older
        &["input is too long"],     // Alibaba
    ];
    let message = error.message.to_lowercase();
    NAMES.iter().any(|name| error.is(name))
        || WORDS
            .iter()
            .any(|words| words.iter().all(|word| message.contains(word)))
}

/// Returns the text of an HTML page roughly: what stands outside of tags. Other text stays as it is.
fn without_tags(text: &str) -> String {
    if !text.trim_start().starts_with('<') {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut is_tag = false;
    for character in text.chars() {
        match character {
            '<' => is_tag = true,
            '>' => {
                is_tag = false;
                out.push(' ');
            }
            _ if !is_tag => out.push(character),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests;
