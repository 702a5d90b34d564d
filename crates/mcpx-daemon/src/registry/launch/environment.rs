//! What a program sees of the daemon's environment.
//!
//! Not all of it: the daemon was started by whoever came first, in whatever shell, and holds keys that are nobody's
//! business. A program gets what programs need to run at all, to find their files and to reach the network, what its
//! entry asks for by name (`requiresSecrets`), and what its entry sets.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

use child_process::Env;
use mcpx_config::Server;

/// Passed besides what every child gets, in either case: the way to the network, and whom to trust there.
const NETWORK: [&str; 9] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// The environment of a server's program.
pub(super) fn of(server: &Server, daemon: &BTreeMap<OsString, OsString>) -> Env {
    let mut env = Env::allowlisted(daemon);
    for (name, value) in daemon {
        if passes(name) {
            env = env.set(name, value);
        }
    }
    let wanted = server.preconditions.values();
    let wanted = wanted.flat_map(|precondition| &precondition.requires_secrets);
    for name in server.requires_secrets.iter().chain(wanted) {
        if let Some(value) = daemon.get(OsStr::new(name)) {
            env = env.set(name, value);
        }
    }
    for (name, value) in server.sent_env() {
        env = env.set(name, value);
    }
    env
}

fn passes(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        name.starts_with("XDG_")
            || NETWORK
                .iter()
                .any(|passed| passed.eq_ignore_ascii_case(name))
    })
}
