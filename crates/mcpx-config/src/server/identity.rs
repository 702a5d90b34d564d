//! What makes two servers the same process: their identity.

use std::collections::BTreeMap;

use super::{Auth, Reach, Server};
use crate::digest::Digest;

/// Hexadecimal characters of an identity.
const CHARS: usize = 16;

impl Server {
    /// A digest over everything that decides what is launched or contacted: command, arguments, folder, environment, URL,
    /// transport, headers in their order, credential, protocol, sharing and scope. Not over sizes, timeouts and
    /// presentation. Servers with one identity share their instances; an alias has the identity of the server behind it.
    #[must_use]
    pub fn identity(&self) -> String {
        if let Some(identity) = &self.alias_identity {
            return identity.clone();
        }
        let mut digest = Digest::new();
        match &self.reach {
            Reach::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                digest.part("stdio").part(command);
                digest.part(args.len().to_string());
                for arg in args {
                    digest.part(arg);
                }
                map(&mut digest, env);
                match cwd {
                    Some(cwd) => digest.part("cwd").part(cwd.as_os_str().as_encoded_bytes()),
                    None => digest.part("no cwd"),
                };
            }
            Reach::Http {
                url,
                transport,
                headers,
            } => {
                digest.part("http").part(url).part(format!("{transport:?}"));
                digest.part(headers.len().to_string());
                for (name, value) in headers {
                    digest.part(name).part(value);
                }
            }
            Reach::Alias { of } => {
                digest.part("alias").part(of);
            }
        }
        auth(&mut digest, self.auth.as_ref());
        digest
            .part(self.protocol.word())
            .part(self.sharing.word())
            .part(self.scope.word());
        digest.hex(CHARS)
    }
}

fn map(digest: &mut Digest, map: &BTreeMap<String, String>) {
    digest.part(map.len().to_string());
    for (name, value) in map {
        digest.part(name).part(value);
    }
}

fn auth(digest: &mut Digest, auth: Option<&Auth>) {
    let Some(auth) = auth else {
        digest.part("no auth");
        return;
    };
    digest.part(auth.kind());
    match auth {
        Auth::Bearer { token } => {
            digest.part(token.expose());
        }
        Auth::Basic { username, password } => {
            digest.part(username).part(password.expose());
        }
        Auth::Header { name, value } | Auth::Query { name, value } => {
            digest.part(name).part(value.expose());
        }
        Auth::Env { variables } => {
            digest.part(variables.len().to_string());
            for (name, value) in variables {
                digest.part(name).part(value.expose());
            }
        }
        Auth::OAuth {
            client_id,
            client_secret,
            scopes,
        } => {
            digest
                .part(format!("{client_id:?}"))
                .part(client_secret.as_ref().map_or("", |secret| secret.expose()))
                .part(scopes.join(" "));
        }
    }
}
