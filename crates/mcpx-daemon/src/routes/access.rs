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
        let text = |name| {
            head.headers
                .get(name)
                .and_then(|value: &http::HeaderValue| value.to_str().ok())
        };
        let host = text(header::HOST)
            .or_else(|| head.uri.authority().map(http::uri::Authority::as_str))
            .unwrap_or_default();
        if !self.is_host(host) {
            return Err(forbidden(format!(
                "the host `{}` is not this daemon's",
                untrusted_text::terminal::one_line(host, 100)
            )));
        }
        if let Some(origin) = text(header::ORIGIN)
            && !self.is_origin(origin)
        {
            return Err(forbidden(format!(
                "web pages of `{}` may not ask",
                untrusted_text::terminal::one_line(origin, 100)
            ))
            .hint("add it to `transport.allowedOrigins` if it may"));
        }
        let given = text(header::AUTHORIZATION).and_then(|value| {
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

fn forbidden(message: String) -> ApiError {
    ApiError::new(Code::Forbidden, message)
}

fn without_port(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
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
        ];
        for (headers, expected) in cases {
            let got = access.check(&head(&headers)).err().map(|error| error.code);
            assert_eq!(got, expected, "{headers:?}");
        }
    }
}
