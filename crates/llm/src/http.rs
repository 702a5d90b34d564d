//! The HTTP client, built when it is first needed.
//!
//! A client for an `http://` address loads no certificates, which would take longer than everything else before the first
//! request. Redirects are not followed: they would carry the key to another host. A host on this machine is never asked
//! through a proxy.

use std::{error::Error as _, sync::Once, time::Duration};

use url::{Host, Url};

/// Builds the client for one server.
pub(crate) fn client(url: &Url, connect_timeout: Duration) -> Result<reqwest::Client, String> {
    install_crypto();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!(
            env!("CARGO_PKG_NAME"),
            "/",
            env!("CARGO_PKG_VERSION")
        ))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(connect_timeout)
        .tcp_nodelay(true)
        .pool_idle_timeout(Duration::from_secs(30));
    if is_local(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        let no_certificates = rustls::ClientConfig::builder()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        // A new connection costs nothing without TLS, while small servers close a kept one just when it is used again.
        builder = builder
            .tls_backend_preconfigured(no_certificates)
            .pool_max_idle_per_host(0);
    }
    builder.build().map_err(|error| chain(&error))
}

/// Makes `ring` the process's cryptography unless the program has chosen already.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that another provider is installed, which serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
}

/// Says whether an address, such as a `base_url`, names this machine. What is no address does not.
pub fn is_on_this_machine(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| is_local(&url))
}

/// Says whether a URL names this machine.
pub(crate) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
        None => false,
    }
}

/// Returns an error with its causes, without the URL, which the message names already.
pub(crate) fn chain(error: &reqwest::Error) -> String {
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
        error.to_string()
    } else {
        texts.join(": ")
    }
}

/// Says whether certificates or the handshake are at fault, which do not heal by trying again.
pub(crate) fn is_about_tls(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        // An I/O error hides what it wraps from `source`.
        let wrapped = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        if error.is::<rustls::Error>() || wrapped.is_some_and(|inner| inner.is::<rustls::Error>()) {
            return true;
        }
        cause = error.source();
    }
    false
}
