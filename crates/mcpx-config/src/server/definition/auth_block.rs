//! The block `auth` of an entry.

use super::reader::Reader;
use crate::{
    ConfigError,
    files::Node,
    server::{Auth, Reach, Secret},
};

/// Reads the block. Its kind has to fit how the server is reached.
pub(super) fn read(
    block: &Node,
    reach: &Reach,
    reader: &mut Reader<'_>,
) -> Result<Auth, ConfigError> {
    let known: &[&str] = &[
        "type",
        "token",
        "username",
        "password",
        "name",
        "value",
        "env",
        "clientId",
        "clientSecret",
        "scopes",
    ];
    reader.only(block, "auth", known)?;
    let kind = reader.plain_text(block, "type")?;
    let expected = "one of `bearer`, `basic`, `header`, `query`, `env`, `oauth`";
    let Some(kind) = kind else {
        return Err(ConfigError::new(
            block.place(reader.file),
            "`auth` without `type`",
            format!("`type`: {expected}"),
        ));
    };
    let auth = match kind.as_str() {
        "bearer" => Auth::Bearer {
            token: secret(block, "token", reader)?,
        },
        "basic" => Auth::Basic {
            username: text(block, "username", reader)?,
            password: secret(block, "password", reader)?,
        },
        "header" => Auth::Header {
            name: text(block, "name", reader)?,
            value: secret(block, "value", reader)?,
        },
        "query" => Auth::Query {
            name: text(block, "name", reader)?,
            value: secret(block, "value", reader)?,
        },
        "env" => env(block, reader)?,
        "oauth" => Auth::OAuth {
            client_id: reader.optional_text(block, "clientId")?,
            client_secret: reader
                .optional_text(block, "clientSecret")?
                .map(Secret::new),
            scopes: reader.texts(block, "scopes")?.unwrap_or_default(),
        },
        _ => return Err(reader.wrong(block.get("type"), "auth.type", expected)),
    };
    fits(&auth, reach, block, reader)?;
    check(&auth, reader);
    Ok(auth)
}

fn text(block: &Node, key: &str, reader: &mut Reader<'_>) -> Result<String, ConfigError> {
    let Some(text) = reader.plain_text(block, key)? else {
        return Err(ConfigError::new(
            block.place(reader.file),
            format!("`auth` without `{key}`"),
            format!("`{key}`"),
        ));
    };
    Ok(reader.expanded(&text, &format!("auth.{key}")))
}

fn secret(block: &Node, key: &str, reader: &mut Reader<'_>) -> Result<Secret, ConfigError> {
    text(block, key, reader).map(Secret::new)
}

/// Either `name` and `value`, or `env` with several.
fn env(block: &Node, reader: &mut Reader<'_>) -> Result<Auth, ConfigError> {
    let pairs = if block.get("env").is_some() {
        reader.pairs(block, "env")?
    } else {
        vec![(text(block, "name", reader)?, text(block, "value", reader)?)]
    };
    Ok(Auth::Env {
        variables: pairs
            .into_iter()
            .map(|(name, value)| (name, Secret::new(value)))
            .collect(),
    })
}

fn fits(auth: &Auth, reach: &Reach, block: &Node, reader: &Reader<'_>) -> Result<(), ConfigError> {
    let problem = match (auth, reach) {
        (_, Reach::Alias { .. }) => "a credential of a view; it belongs to the server behind it",
        (Auth::Env { .. }, Reach::Http { .. }) => "variables for a server that has a `url`",
        (Auth::Env { .. }, Reach::Stdio { .. }) => return Ok(()),
        (_, Reach::Stdio { .. }) => "a credential for requests to a server that has a `command`",
        (_, Reach::Http { .. }) => return Ok(()),
    };
    Err(ConfigError::new(
        block.place(reader.file),
        problem,
        "`type` `env` with `command`, another one with `url`",
    ))
}

/// What HTTP or a system cannot carry makes the server unavailable.
fn check(auth: &Auth, reader: &mut Reader<'_>) {
    match auth {
        Auth::Bearer { token } => {
            reader.check_header("auth.token", "Authorization", token.expose());
        }
        Auth::Basic { username, .. } if username.contains(':') => {
            reader.unavailable("auth.username", "it holds a colon".to_owned());
        }
        Auth::Header { name, value } => reader.check_header("auth.name", name, value.expose()),
        Auth::Env { variables } => {
            for (name, value) in variables {
                if name.is_empty() || name.contains(['=', '\0']) || value.expose().contains('\0') {
                    reader.unavailable(
                        &format!("auth.env.{name}"),
                        "it cannot be a variable".to_owned(),
                    );
                }
            }
        }
        Auth::Basic { .. } | Auth::Query { .. } | Auth::OAuth { .. } => {}
    }
}
