//! The HTTP client of one server.
//!
//! A client for an `http://` address loads no certificates. Redirects are not followed here, since only the endpoint knows
//! which of them may carry its headers. A host on this machine is never asked through a proxy.

use std::error::Error as _;
use std::sync::Once;
use std::time::Duration;

use url::{Host, Url};

use crate::server::HttpReach;

/// How long a connection may take, TLS included.
const CONNECT: Duration = Duration::from_secs(15);
/// How long a connection is kept for the next request; shorter than what servers usually keep one. A request on one that
/// was closed meanwhile, and of which nothing was written, is sent again on a new one.
const KEPT: Duration = Duration::from_secs(4);

/// Builds the client.
///
/// # Errors
/// When it cannot be built: in words.
pub(super) fn build(reach: &HttpReach) -> Result<reqwest::Client, String> {
    install_crypto();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!(
            env!("CARGO_PKG_NAME"),
            "/",
            env!("CARGO_PKG_VERSION")
        ))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .pool_idle_timeout(KEPT);
    if reach.unix_socket.is_some() || is_local(&reach.url) {
        builder = builder.no_proxy();
    }
    if reach.url.scheme() == "http" {
        let no_certificates = rustls::ClientConfig::builder()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(no_certificates);
    }
    if let Some(path) = &reach.unix_socket {
        builder = over_socket(builder, path)?;
    }
    builder.build().map_err(|error| chain(&error))
}

#[cfg(unix)]
fn over_socket(
    builder: reqwest::ClientBuilder,
    path: &std::path::Path,
) -> Result<reqwest::ClientBuilder, String> {
    Ok(builder.unix_socket(path))
}

#[cfg(not(unix))]
fn over_socket(
    _builder: reqwest::ClientBuilder,
    path: &std::path::Path,
) -> Result<reqwest::ClientBuilder, String> {
    Err(format!(
        "this system has no Unix sockets: {}",
        path.display()
    ))
}

/// Makes `ring` the process's cryptography unless the program has chosen already.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that another provider is installed, which serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
}

fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
        None => false,
    }
}

/// An error's causes, without the URL, which may hold a secret.
pub(super) fn chain(error: &reqwest::Error) -> String {
    let mut texts = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !texts.iter().any(|seen: &String| seen.contains(&text)) {
            texts.push(text);
        }
        cause = error.source();
    }
    if texts.is_empty() {
        "the request could not be made".to_owned()
    } else {
        texts.join(": ")
    }
}
