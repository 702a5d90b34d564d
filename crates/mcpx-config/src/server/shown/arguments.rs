//! Secrets in arguments and URLs: behind a flag, a header or a key that sounds like one, and where URLs carry them.

use serde_json::Value;

use super::{HIDDEN, is_secret_name};
use crate::server::expand::masked;

/// Shortest run of letters and digits that is taken for a secret in a path, in characters.
const TOKEN_CHARS: usize = 16;

/// Characters of a UUID.
const UUID_CHARS: usize = 36;

/// Arguments with `…` in place of what may be a secret.
pub(super) fn shown(args: &[Value]) -> Vec<Value> {
    let mut is_after_secret = false;
    args.iter()
        .map(|arg| {
            let is_secret = std::mem::take(&mut is_after_secret);
            let Value::String(text) = arg else {
                return if is_secret {
                    Value::String(HIDDEN.to_owned())
                } else {
                    arg.clone()
                };
            };
            is_after_secret = announces_secret(text);
            Value::String(match secret_at(text, is_secret) {
                Some(at) => {
                    let before = match &text[..at] {
                        before if before.contains("://") => shown_url(before),
                        before => before.to_owned(),
                    };
                    let secret = masked(&text[at..]);
                    match before.strip_suffix(HIDDEN) {
                        Some(before) if secret.starts_with(HIDDEN) => format!("{before}{secret}"),
                        _ => format!("{before}{secret}"),
                    }
                }
                None if text.contains("://") => shown_url(text),
                None => text.clone(),
            })
        })
        .collect()
}

/// The texts in expanded arguments that may be secrets.
pub(crate) fn secrets_in_args(args: &[String]) -> Vec<String> {
    let mut is_after_secret = false;
    let mut found = Vec::new();
    for arg in args {
        let at = secret_at(arg, std::mem::take(&mut is_after_secret));
        is_after_secret = announces_secret(arg);
        if let Some(at) = at {
            let is_around =
                |c: char| matches!(c, '"' | '\'' | '{' | '}' | ',') || c.is_whitespace();
            let text = arg[at..].trim_matches(is_around);
            let bare = text.split_once(' ').map(|(_scheme, bare)| bare.to_owned());
            found.push(text.to_owned());
            found.extend(bare);
        }
        if arg.contains("://") {
            found.extend(secrets_in_url(arg));
        }
    }
    found
}

/// The texts in an expanded URL that may be secrets.
pub(crate) fn secrets_in_url(text: &str) -> Vec<String> {
    let url = Taken::apart(text);
    let mut found: Vec<String> = Vec::new();
    if let Some(user) = url.user {
        found.push(
            user.split_once(':')
                .map_or(user, |(_name, word)| word)
                .to_owned(),
        );
    }
    let parts = url.path.split('/');
    found.extend(parts.filter(|part| is_token_like(part)).map(str::to_owned));
    for pair in url.query.split(['?', '&', '#']) {
        if let Some((name, value)) = pair.split_once('=')
            && (is_secret_name(name) || is_token_like(value))
        {
            found.push(value.to_owned());
        }
    }
    found
}

/// Whether the next argument is a secret.
fn announces_secret(text: &str) -> bool {
    text.starts_with('-') && !text.contains(['=', ':', ' ']) && is_secret_name(text)
}

/// Where a secret begins: at once behind a flag that announced one, or behind `name=` and `name:`.
fn secret_at(text: &str, is_announced: bool) -> Option<usize> {
    if is_announced && !text.starts_with('-') {
        return Some(0);
    }
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let separators = text.match_indices(['=', ':']);
    // The first is the one with the most behind it.
    let mut ends = separators.filter_map(|(at, separator)| {
        let before = text[..at].trim_end_matches(['"', '\'']);
        let start = before.rfind(|c: char| !is_in_name(c)).map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        });
        let after = &text[at + separator.len()..];
        let is_scheme = after.starts_with("//");
        (!is_scheme && is_secret_name(&before[start..]))
            .then(|| text.len() - after.trim_start_matches([' ', '"', '\'']).len())
    });
    ends.next()
}

/// A URL without its password, the values of its query and what looks like a token in its path. References stay.
pub(crate) fn shown_url(text: &str) -> String {
    shown_with(text, is_token_like)
}

/// The same with the whole path.
pub(super) fn launched_url(text: &str) -> String {
    shown_with(text, |_| false)
}

fn shown_with(text: &str, is_secret: impl Fn(&str) -> bool) -> String {
    let url = Taken::apart(text);
    let mut safe = url.scheme.to_owned();
    if let Some(user) = url.user.map(masked).filter(|user| user.contains("${")) {
        safe.push_str(&user);
        safe.push('@');
    }
    safe.push_str(url.host);
    for (at, part) in url.path.split('/').enumerate() {
        if at > 0 {
            safe.push('/');
        }
        if is_secret(part) {
            safe.push_str(&masked(part));
        } else {
            safe.push_str(part);
        }
    }
    let mut query = url.query.chars();
    safe.extend(query.next());
    safe.push_str(&masked(query.as_str()));
    safe
}

/// Whether nobody would choose this for a name: a long run of letters and digits, or a UUID.
fn is_token_like(part: &str) -> bool {
    let is_uuid = part.len() == UUID_CHARS
        && part.matches('-').count() == 4
        && part.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let is_mixed = |run: &str| {
        run.len() >= TOKEN_CHARS
            && run.contains(|c: char| c.is_ascii_digit())
            && run.contains(|c: char| c.is_ascii_alphabetic())
    };
    is_uuid
        || part
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(is_mixed)
}

/// The parts of a URL, or of an argument with one in it; together they are the text.
struct Taken<'a> {
    /// With `://`, and what an argument has before it.
    scheme: &'a str,
    /// Without `@`.
    user: Option<&'a str>,
    host: &'a str,
    path: &'a str,
    /// Query and fragment, with their sign.
    query: &'a str,
}

impl<'a> Taken<'a> {
    fn apart(text: &'a str) -> Self {
        let (scheme, rest) = text.split_at(text.find("://").map_or(0, |at| at + 3));
        let (authority, rest) = rest.split_at(outside(rest, &['/', '?', '#']));
        let (path, query) = rest.split_at(outside(rest, &['?', '#']));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        Self {
            scheme,
            user,
            host,
            path,
            query,
        }
    }
}

/// Where the first of these stands that is in no reference; the end when there is none.
fn outside(text: &str, wanted: &[char]) -> usize {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, char) in text.char_indices() {
        match char {
            '{' if before == '$' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            char if depth == 0 && wanted.contains(&char) => return at,
            _ => {}
        }
        before = char;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_url_keeps_what_is_no_secret() {
        for (text, expected) in [
            ("https://h/mcp", "https://h/mcp"),
            ("https://h:8080/a/b?", "https://h:8080/a/b?"),
            ("https://u:p@h/mcp?k=v#f", "https://h/mcp?…"),
            (
                "https://h/s/ZmFrZS10b2tlbi1vZi1hLXRlc3Q9/mcp",
                "https://h/s/…/mcp",
            ),
            ("https://${HOST:-a/b?c}/x", "https://${HOST:-a/b?c}/x"),
            ("${BASE}/mcp?key=v", "${BASE}/mcp?…"),
            ("https://h/?a=${A}", "https://h/?…${A}"),
            ("--url=https://u:p@h/x", "--url=https://h/x"),
            ("no url", "no url"),
        ] {
            assert_eq!(shown_url(text), expected);
        }
        assert_eq!(
            launched_url("https://h/s/ZmFrZS10b2tlbi1vZi1hLXRlc3Q9/mcp"),
            "https://h/s/ZmFrZS10b2tlbi1vZi1hLXRlc3Q9/mcp"
        );
    }

    #[test]
    fn what_arguments_and_urls_carry_is_known_to_a_redactor() {
        let args = [
            "--api-key",
            "hunter2-a",
            "--header",
            "Authorization: Bearer hunter2-b",
            "postgresql://me:hunter2-c@db/x",
            "TOKEN=hunter2-d",
            "--port=80",
            "name",
        ]
        .map(str::to_owned);
        assert_eq!(
            secrets_in_args(&args),
            [
                "hunter2-a",
                "Bearer hunter2-b",
                "hunter2-b",
                "hunter2-c",
                "hunter2-d"
            ]
        );
        assert_eq!(
            secrets_in_url("https://h/a?api_key=hunter2-e&page=2"),
            ["hunter2-e"]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_shown(text in r#"([$}{:=@/?#"ä -]|token|\$\{A|://){0,30}"#) {
            drop(shown(&[Value::String(text.clone()), Value::String(text.clone())]));
            drop(secrets_in_args(&[text.clone(), text.clone()]));
            prop_assert!(launched_url(&text).len() <= text.len() * 4);
        }
    }
}
