//! Which addresses a server may send us to.
//!
//! Metadata is text of the other side, and it names the addresses that we fetch, post secrets to and open in a browser.
//! So each has to be absolute and `https`. `http` is for this machine alone, and a server that is not itself on this
//! machine or in a private network may not name an address there: it could have us ask what only we can reach.
//!
//! Names are not looked up for this. A name that leads to a private address leads there over TLS, to a service that needs
//! a certificate for that name; and what is fetched unasked are `GET`s without a credential, whose answer the server
//! does not see.

use std::net::IpAddr;

use url::{Host, Url};

use super::failure::{AuthError, said};

/// Reads an address that `by` named. `near` is the server's own.
pub(crate) fn address(what: &str, text: &str, near: &Url) -> Result<Url, AuthError> {
    let refuse = |why: &str| {
        Err(AuthError::Refused(format!(
            "the {what} `{}` {why}",
            said(text)
        )))
    };
    let Ok(url) = Url::parse(text) else {
        return refuse("is no absolute URL");
    };
    match url.scheme() {
        "https" => {}
        "http" if is_this_machine(&url) => {}
        "http" => return refuse("is not `https`, and not on this machine"),
        _ => return refuse("is not `https`"),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("carries a user name or a password");
    }
    if url.fragment().is_some() {
        return refuse("has a fragment");
    }
    if is_private(&url) && !is_private(near) {
        return refuse("is an address that only this machine or its network can reach");
    }
    Ok(url)
}

/// Says whether a URL names this machine.
pub(crate) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => is_localhost(name),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => {
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback())
        }
        None => false,
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}

/// Says whether a URL names an address that is not of the internet.
fn is_private(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => is_localhost(name),
        Some(Host::Ipv4(address)) => is_private_ip(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => is_private_ip(IpAddr::V6(address)),
        None => false,
    }
}

fn is_private_ip(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_broadcast()
                || a == 0
                // Shared address space of providers, RFC 6598.
                || (a == 100 && (64..128).contains(&b))
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_private_ip(IpAddr::V4(v4)),
            None => {
                v6.is_loopback()
                    || v6.is_unspecified()
                    || v6.is_unique_local()
                    || v6.is_unicast_link_local()
            }
        },
    }
}

/// The origin, as `scheme://host[:port]`.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Says whether the metadata's `resource` is about this server: the same origin, and a path that the server's lies in. A
/// slash at its end makes no difference.
pub(crate) fn covers(resource: &Url, server: &Url) -> bool {
    if resource.origin() != server.origin() {
        return false;
    }
    let whole = resource.path().trim_end_matches('/');
    let Some(rest) = server.path().strip_prefix(whole) else {
        return false;
    };
    (rest.is_empty() || rest.starts_with('/'))
        && resource
            .query()
            .is_none_or(|query| server.query() == Some(query))
}

/// The server as a resource, when no metadata names it: its URL without fragment and user information.
pub(crate) fn resource_of(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    let _kept_without_host = (url.set_username(""), url.set_password(None));
    let text = url.to_string();
    // The form without a slash is the usual one where the path is empty.
    match (url.path(), url.query()) {
        ("/", None) => text.trim_end_matches('/').to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn addresses_that_metadata_may_not_name_are_refused() {
        let public = url("https://mcp.example.com/mcp");
        let local = url("http://127.0.0.1:4000/mcp");
        let private = url("https://10.0.0.7/mcp");
        let cases = [
            ("https://as.example.com/x?y=1", &public, true),
            ("https://as.example.com/", &local, true),
            ("http://localhost:3000/", &local, true),
            ("http://[::1]:3000/", &local, true),
            ("https://10.1.1.1/", &private, true),
            ("http://as.example.com/", &public, false),
            ("http://10.0.0.7/", &private, false),
            ("/.well-known/x", &public, false),
            ("//as.example.com/x", &public, false),
            ("", &public, false),
            ("javascript:alert(1)", &public, false),
            ("file:///etc/passwd", &local, false),
            ("https://u:p@as.example.com/", &public, false),
            ("https://as.example.com/#f", &public, false),
            ("http://localhost:3000/", &public, false),
            ("https://127.0.0.1/", &public, false),
            ("https://0x7f.1/", &public, false),
            ("https://169.254.169.254/latest", &public, false),
            ("https://192.168.1.1/", &public, false),
            ("https://100.64.0.1/", &public, false),
            ("https://[::ffff:10.0.0.1]/", &public, false),
            ("https://[fd00::1]/", &public, false),
            ("https://[fe80::1]/", &public, false),
        ];
        for (text, near, is_fine) in cases {
            assert_eq!(address("address", text, near).is_ok(), is_fine, "{text}");
        }
    }

    #[test]
    fn resource_trailing_slash() {
        let cases = [
            ("https://a.example/mcp", "https://a.example/mcp", true),
            ("https://a.example/mcp/", "https://a.example/mcp", true),
            ("https://a.example/mcp", "https://a.example/mcp/", true),
            ("https://a.example", "https://a.example/mcp", true),
            ("https://a.example/", "https://a.example", true),
            (
                "https://A.example:443/mcp",
                "https://a.example/mcp?x=1",
                true,
            ),
            ("https://a.example/mc", "https://a.example/mcp", false),
            ("https://a.example/mcp/x", "https://a.example/mcp", false),
            (
                "https://a.example/mcp?t=1",
                "https://a.example/mcp?t=2",
                false,
            ),
            ("http://a.example/mcp", "https://a.example/mcp", false),
            ("https://a.example:8443/mcp", "https://a.example/mcp", false),
            ("https://evil.example/mcp", "https://a.example/mcp", false),
        ];
        for (resource, server, is_covered) in cases {
            assert_eq!(
                covers(&url(resource), &url(server)),
                is_covered,
                "{resource} {server}"
            );
        }
    }

    #[test]
    fn a_server_is_a_resource_without_what_is_private_in_its_url() {
        for (server, resource) in [
            ("https://a.example", "https://a.example"),
            ("https://u:p@a.example/mcp#x", "https://a.example/mcp"),
            ("https://a.example/mcp/", "https://a.example/mcp/"),
        ] {
            assert_eq!(resource_of(&url(server)), resource);
        }
    }
}
