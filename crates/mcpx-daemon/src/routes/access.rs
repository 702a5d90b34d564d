//! Who may ask: over the Unix socket whoever may open its file; over TCP whoever has the token, and no web page.

use http::header;
use mcpx_api::{ApiError, Code};
use sha2::{Digest as _, Sha256};

/// What is asked of those who come over TCP.
#[derive(Clone)]
pub struct Access {
    /// The token, hashed: comparing hashes tells nothing of how far a guess was right.
    token: [u8; 32],
    /// Hosts that may be named beside the loopback ones.
    hosts: Vec<String>,
    /// Web origins that may ask beside the loopback ones.
    origins: Vec<String>,
}

impl Access {
    /// Access with this token.
    #[must_use]
    pub fn new(token: &str, hosts: Vec<String>, origins: Vec<String>) -> Self {
        Self {
            token: Sha256::digest(token.as_bytes()).into(),
            hosts,
            origins,
        }
    }

    /// Decides about one request over TCP.
    ///
    /// # Errors
    /// When it names another host, comes from a web page that may not ask, or brings no valid token.
    pub fn check(&self, head: &http::request::Parts) -> Result<(), ApiError> {
        self.check_names(head)?;
        self.check_token(head)
    }

    /// As [`Self::check`], without the token: a browser that asks whether a page may ask sends none.
    ///
    /// # Errors
    /// When it names another host, or comes from a web page that may not ask.
    pub(super) fn check_names(&self, head: &http::request::Parts) -> Result<(), ApiError> {
        // Each one that is there: of two, the one that is looked at could be another than the one that is meant.
        let all = |name: header::HeaderName| {
            let values = head.headers.get_all(name).into_iter();
            values.map(|value| String::from_utf8_lossy(value.as_bytes()))
        };
        let mut hosts: Vec<_> = all(header::HOST).collect();
        hosts.extend(
            head.uri
                .authority()
                .map(|authority| authority.as_str().into()),
        );
        // None is no host of ours either.
        let stranger = hosts.iter().find(|host| !self.is_host(host));
        if hosts.is_empty() || stranger.is_some() {
            return Err(forbidden(format!(
                "the host `{}` is not this daemon's",
                untrusted_text::terminal::one_line(stranger.map_or("", |host| host), 100)
            )));
        }
        if let Some(origin) = all(header::ORIGIN).find(|origin| !self.is_origin(origin)) {
            return Err(forbidden(format!(
                "web pages of `{}` may not ask",
                untrusted_text::terminal::one_line(&origin, 100)
            ))
            .hint("add it to `transport.allowedOrigins` if it may"));
        }
        Ok(())
    }

    fn check_token(&self, head: &http::request::Parts) -> Result<(), ApiError> {
        let given = text(head, header::AUTHORIZATION).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let given: Option<[u8; 32]> = given.map(|token| Sha256::digest(token.as_bytes()).into());
        match given {
            Some(given) if given == self.token => Ok(()),
            given => Err(ApiError::new(
                Code::Unauthorized,
                match given {
                    Some(_) => "the token is not this daemon's",
                    None => "no token was sent",
                },
            )
            .hint("send `Authorization: Bearer TOKEN`; the token is in the daemon's record, which only its owner can read: `mcpx daemon token`")),
        }
    }

    fn is_host(&self, host: &str) -> bool {
        let name = without_port(host);
        is_loopback(name)
            || self
                .hosts
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name))
    }

    fn is_origin(&self, origin: &str) -> bool {
        if self
            .origins
            .iter()
            .any(|known| known == "*" || known.eq_ignore_ascii_case(origin))
        {
            return true;
        }
        origin.split_once("://").is_some_and(|(scheme, host)| {
            matches!(scheme, "http" | "https") && is_loopback(without_port(host))
        })
    }
}

fn text(head: &http::request::Parts, name: header::HeaderName) -> Option<&str> {
    let value = head.headers.get(name)?;
    value.to_str().ok()
}

fn forbidden(message: String) -> ApiError {
    ApiError::new(Code::Forbidden, message)
}

/// The name or address before the port; what is behind it has to be one.
fn without_port(host: &str) -> &str {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, "")) => (name, None),
        Some((name, rest)) => (name, Some(rest.strip_prefix(':').unwrap_or("no port"))),
        None => match host.rsplit_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    if port.is_none_or(is_port) { name } else { host }
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(headers: &[(&str, &str)]) -> http::request::Parts {
        let mut builder = http::Request::builder().uri("/v1/health");
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(()).expect("a request").into_parts().0
    }

    #[test]
    fn a_caller_over_tcp_needs_the_token_a_loopback_host_and_no_foreign_page() {
        let access = Access::new("t", Vec::new(), vec!["https://ok.example".to_owned()]);
        let good = ("authorization", "Bearer t");
        let host = ("host", "127.0.0.1:80");
        let cases = [
            (vec![host, good], None),
            (vec![("host", "[::1]:9"), good], None),
            (
                vec![("host", "localhost"), ("authorization", "bearer t")],
                None,
            ),
            (vec![host, good, ("origin", "http://localhost:3000")], None),
            (vec![host, good, ("origin", "https://ok.example")], None),
            (vec![host], Some(Code::Unauthorized)),
            (
                vec![host, ("authorization", "Bearer x")],
                Some(Code::Unauthorized),
            ),
            (
                vec![host, ("authorization", "Basic t")],
                Some(Code::Unauthorized),
            ),
            (vec![("host", "evil.example"), good], Some(Code::Forbidden)),
            (
                vec![("host", "127.0.0.1.evil.example"), good],
                Some(Code::Forbidden),
            ),
            (vec![good], Some(Code::Forbidden)),
            (
                vec![host, good, ("origin", "https://evil.example")],
                Some(Code::Forbidden),
            ),
            (vec![host, good, ("origin", "null")], Some(Code::Forbidden)),
            (
                vec![host, good, ("origin", "http://localhost.evil.example")],
                Some(Code::Forbidden),
            ),
            (
                vec![host, good, ("origin", "http://[::1].evil.example")],
                Some(Code::Forbidden),
            ),
            (
                vec![("host", "[::1].evil.example"), good],
                Some(Code::Forbidden),
            ),
            (
                vec![("host", "localhost:80.evil.example"), good],
                Some(Code::Forbidden),
            ),
            // Two of them: the one that is looked at must not be another than the one that is meant.
            (
                vec![host, ("host", "evil.example"), good],
                Some(Code::Forbidden),
            ),
            (
                vec![
                    host,
                    good,
                    ("origin", "http://localhost"),
                    ("origin", "https://evil.example"),
                ],
                Some(Code::Forbidden),
            ),
        ];
        for (headers, expected) in cases {
            let got = access.check(&head(&headers)).err().map(|error| error.code);
            assert_eq!(got, expected, "{headers:?}");
        }
        let mut unreadable = head(&[host, good]);
        let name = http::HeaderValue::from_bytes(b"https://\xffevil").expect("a value");
        unreadable.headers.insert(header::ORIGIN, name);
        let got = access.check(&unreadable).err().map(|error| error.code);
        assert_eq!(got, Some(Code::Forbidden));
    }
}
