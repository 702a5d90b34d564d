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
    let refused = |what: &str, name: &str| {
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
        let host = host.unwrap_or_default();
        if !is_known(host_name(host), &config.hosts) {
            return refused("host", host);
        }
    }
    if !head.headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let origin = single(&head.headers, header::ORIGIN.as_str()).unwrap_or_default();
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
        refused("origin", origin)
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
    if !headers.contains_key(header::ACCEPT) {
        return Takes {
            json: true,
            events: true,
        };
    }
    let mut takes = Takes {
        json: false,
        events: false,
    };
    for value in headers.get_all(header::ACCEPT) {
        for range in value.to_str().unwrap_or_default().split(',') {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default().to_ascii_lowercase();
            let is_refused = parts.any(|part| {
                part.strip_prefix("q=")
                    .and_then(|q| q.parse::<f32>().ok())
                    .is_some_and(|q| q <= 0.0)
            });
            if is_refused {
                continue;
            }
            takes.json |= matches!(name.as_str(), "application/json" | "application/*" | "*/*");
            takes.events |= matches!(name.as_str(), "text/event-stream" | "text/*" | "*/*");
        }
    }
    takes
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
        assert!(!check(&[
            ("host", "localhost"),
            ("origin", "http://localhost"),
            ("origin", "http://evil.example")
        ]));
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
        ] {
            assert_eq!(
                accepted(&head(&[("accept", accept)]).headers),
                Takes { json, events },
                "{accept}"
            );
        }
    }
}
