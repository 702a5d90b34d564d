//! What is checked before a body is read: the names of host and origin, the types of what is sent and taken.

use http::request::Parts;
use http::{HeaderMap, StatusCode, header};

use super::HttpConfig;
use super::answer::{Refused, plain};

/// Which types of answer a client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Takes {
    pub(super) json: bool,
    pub(super) events: bool,
}

/// Refuses foreign names: a page in a browser can send requests to a loopback address, but not under its name.
pub(super) fn check_names(config: &HttpConfig, head: &Parts) -> Result<(), Refused> {
    let refused = |what: &str, name: Option<&str>| {
        let Some(name) = name else {
            return Err(Box::new(plain(
                StatusCode::FORBIDDEN,
                &format!("the header `{what}` is missing, there twice, or no ASCII text"),
            )));
        };
        let name: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
        Err(Box::new(plain(
            StatusCode::FORBIDDEN,
            &format!(
                "the {what} `{name}` is not let in; loopback names are, and those of the configuration"
            ),
        )))
    };
    if config.check_host {
        let host = match head.uri.authority() {
            Some(authority) => Some(authority.as_str()),
            None => single(&head.headers, header::HOST.as_str()),
        };
        if !host.is_some_and(|host| is_known(host_name(host), &config.hosts)) {
            return refused("host", host);
        }
    }
    if !head.headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let Some(origin) = single(&head.headers, header::ORIGIN.as_str()) else {
        return refused("origin", None);
    };
    let is_listed = config
        .origins
        .iter()
        .any(|known| known == "*" || known.eq_ignore_ascii_case(origin));
    let name = ["http://", "https://"]
        .iter()
        .find_map(|scheme| origin.strip_prefix(scheme))
        .filter(|rest| !rest.contains('/'))
        .map(host_name);
    if is_listed || name.is_some_and(|name| is_known(name, &[])) {
        Ok(())
    } else {
        refused("origin", Some(origin))
    }
}

/// The one value of a header; `None` when it is missing, there twice, or no text.
pub(super) fn single<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_some() {
        return None;
    }
    first.to_str().ok()
}

fn is_known(name: &str, configured: &[String]) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    matches!(name.as_str(), "localhost" | "127.0.0.1" | "[::1]")
        || configured
            .iter()
            .any(|known| known == "*" || known.eq_ignore_ascii_case(&name))
}

/// The name without the port.
fn host_name(host: &str) -> &str {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) => name,
        _ => host,
    }
}

/// Checks what is sent, and finds out what is taken. Without `Accept` both types are.
pub(super) fn check_types(head: &Parts) -> Result<Takes, Refused> {
    let sent = single(&head.headers, header::CONTENT_TYPE.as_str()).unwrap_or_default();
    let essence = sent.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(Box::new(plain(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body has to be of the type application/json",
        )));
    }
    let encodings = head.headers.get_all(header::CONTENT_ENCODING).iter();
    let mut encodings = encodings.map(|value| value.as_bytes().trim_ascii());
    if encodings.any(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
        return Err(Box::new(plain(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body has to come without a `content-encoding`",
        )));
    }
    let takes = accepted(&head.headers);
    if !takes.json && !takes.events {
        return Err(Box::new(plain(
            StatusCode::NOT_ACCEPTABLE,
            "the answer is application/json or text/event-stream, and `Accept` names neither",
        )));
    }
    Ok(takes)
}

pub(super) fn accepted(headers: &HeaderMap) -> Takes {
    let values = headers.get_all(header::ACCEPT).iter();
    let text: Vec<&str> = values.map(|value| value.to_str().unwrap_or("?")).collect();
    let text = text.join(",").to_ascii_lowercase();
    let ranges: Vec<(&str, bool)> = text
        .split(',')
        .map(str::trim)
        .filter(|range| !range.is_empty())
        .map(range)
        .collect();
    Takes {
        json: is_taken(&ranges, ["application/json", "application/*", "*/*"]),
        events: is_taken(&ranges, ["text/event-stream", "text/*", "*/*"]),
    }
}

/// The name of one range of `Accept`, and whether it is wanted: with `q=0` it is not.
fn range(text: &str) -> (&str, bool) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let is_refused = parts.any(|part| {
        part.strip_prefix("q=")
            .and_then(|q| q.parse::<f32>().ok())
            .is_some_and(|q| q <= 0.0)
    });
    (name, !is_refused)
}

/// Whether a type is taken; of the names it goes by, the most specific one that is listed decides. An empty list takes
/// everything.
fn is_taken(ranges: &[(&str, bool)], names: [&str; 3]) -> bool {
    ranges.is_empty()
        || names
            .iter()
            .find_map(|name| ranges.iter().find(|(range, _)| range == name))
            .is_some_and(|(_, is_wanted)| *is_wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(headers: &[(&str, &str)]) -> Parts {
        let mut request = http::Request::builder().uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn loopback_and_configured_names_are_let_in_and_no_others() {
        let config = HttpConfig {
            hosts: vec!["hub.example".into()],
            origins: vec!["https://app.example:8443".into()],
            ..HttpConfig::default()
        };
        let check = |headers: &[(&str, &str)]| check_names(&config, &head(headers)).is_ok();
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:9",
            "[::1]:9",
            "[::1]",
            "hub.example:1",
        ] {
            assert!(check(&[("host", host)]), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost:x",
            "",
            "127.0.0.2",
            "user@localhost",
        ] {
            assert!(!check(&[("host", host)]), "{host}");
        }
        for (origin, let_in) in [
            ("http://localhost:3000", true),
            ("https://[::1]", true),
            ("https://app.example:8443", true),
            ("https://app.example", false),
            ("null", false),
            ("http://localhost.evil.example", false),
            ("http://localhost/x", false),
            ("file://localhost", false),
        ] {
            assert_eq!(
                check(&[("host", "localhost"), ("origin", origin)]),
                let_in,
                "{origin}"
            );
        }
        assert!(!check(&[("host", "localhost"), ("host", "evil.example")]));
        assert!(!check(&[]));
        assert!(!check(&[
            ("host", "localhost"),
            ("origin", "http://localhost"),
            ("origin", "http://evil.example")
        ]));
    }

    #[test]
    fn a_body_is_json_without_an_encoding() {
        let check = |name, value| {
            let json = ("content-type", "application/json; charset=utf-8");
            check_types(&head(&[json, (name, value)])).map_err(|refused| refused.status())
        };
        assert!(check("content-encoding", "Identity").is_ok());
        for (name, value) in [
            ("content-encoding", "gzip"),
            ("content-encoding", "identity, br"),
            ("content-type", "text/plain"),
        ] {
            assert_eq!(
                check(name, value),
                Err(StatusCode::UNSUPPORTED_MEDIA_TYPE),
                "{name}: {value}"
            );
        }
    }

    #[test]
    fn accept_is_read_as_a_list_of_ranges() {
        for (accept, json, events) in [
            ("application/json, text/event-stream", true, true),
            ("text/event-stream", false, true),
            ("application/json;q=0.5", true, false),
            ("*/*", true, true),
            ("text/html", false, false),
            ("application/json;q=0, text/*", false, true),
            ("application/json; Q=0, */*", false, true),
            ("*/*, text/event-stream;q=0.0", true, false),
            ("Application/JSON ; charset=utf-8", true, false),
            ("", true, true),
            (" , ", true, true),
        ] {
            assert_eq!(
                accepted(&head(&[("accept", accept)]).headers),
                Takes { json, events },
                "{accept}"
            );
        }
    }
}
