//! From files, environment and flags to one configuration.

mod merge;
mod relations;
mod trusted;

use std::{collections::BTreeMap, path::PathBuf};

use crate::{
    Choice, ConfigError, Server, Settings, Surroundings, Trust, Untrusted, Warning,
    digest::Digest,
    files::{self, Found, Node},
    server::{Context, PoolBlock},
    settings,
};

/// Hexadecimal characters of a key and of a hash.
const DIGEST_CHARS: usize = 16;

/// The key of a daemon that was started with `--demo`.
const DEMO: &str = "demo";

/// Everything that was configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The files that were read, nearest first, with their links resolved.
    pub files: Vec<PathBuf>,
    /// The same files as they were found, with whose word each is.
    pub sources: Vec<Found>,
    /// What tells one set of files from another: 16 hexadecimal characters; `demo` with `--demo`. It is the daemon's name.
    pub key: String,
    /// A digest of the servers' definitions, 16 hexadecimal characters: another one means that something was edited.
    pub hash: String,
    /// By name; each with a namespace that no other one has.
    pub servers: BTreeMap<String, Server>,
    /// The settings.
    pub settings: Settings,
    /// What waits for the person's word.
    pub untrusted: Vec<Untrusted>,
    /// What should be seen at once.
    pub warnings: Vec<Warning>,
    /// Keys that mean nothing here, such as those of other hosts: for `doctor`.
    pub unknown_keys: Vec<Warning>,
}

impl Config {
    /// The server with this namespace.
    #[must_use]
    pub fn by_namespace(&self, namespace: &str) -> Option<&Server> {
        self.servers
            .values()
            .find(|server| server.namespace == namespace)
    }

    fn key_of(files: &[Found]) -> String {
        let mut digest = Digest::new();
        for file in files {
            digest.part(file.resolved.as_os_str().as_encoded_bytes());
        }
        digest.hex(DIGEST_CHARS)
    }
}

/// A file and what is in it.
pub(crate) struct Read {
    pub(crate) found: Found,
    pub(crate) root: Node,
}

/// Reads the configuration. Blocks on the file system.
///
/// # Errors
///
/// [`ConfigError`] with its place: a file that cannot be read or is no JSON, a value of the wrong kind, an unknown key in
/// `mcpx`, two servers with one namespace, an alias of an alias. A server that merely cannot be used is no error.
pub fn load(
    surroundings: &Surroundings,
    choice: &Choice,
    trust: &Trust,
) -> Result<Config, ConfigError> {
    let files = if choice.demo {
        Vec::new()
    } else {
        let place = settings::where_to_look(surroundings, choice)?;
        files::search(surroundings, &place)?
    };
    let key = if choice.demo {
        DEMO.to_owned()
    } else {
        Config::key_of(&files)
    };
    let read: Vec<Read> = files
        .into_iter()
        .map(|found| {
            let text = files::read(&found.path)?;
            let root = files::parse_root(&text, &found.path)?;
            Ok(Read { found, root })
        })
        .collect::<Result<_, ConfigError>>()?;

    let mut untrusted = Vec::new();
    let mut unknown_keys = Vec::new();
    let mut assigned = Vec::new();
    let mut pools = Vec::new();
    for file in &read {
        let (taken, unknown) = settings::from_file(&file.root, &file.found.path)?;
        unknown_keys.extend(unknown);
        assigned.push(trusted::settings(taken, file, trust, &mut untrusted));
        let refused = trusted::pool(file, trust, &mut untrusted);
        pools.push(PoolBlock::read(&file.root, &file.found.path, |key| {
            !refused.contains(&key)
        })?);
    }
    let (settings, mut warnings) = settings::resolve(assigned, surroundings, choice)?;
    let pool = PoolBlock::merged(&pools);
    let context = Context {
        surroundings,
        settings: &settings,
        pool: &pool,
    };
    let mut servers = if choice.demo {
        merge::demo(&context)?
    } else {
        merge::servers(&read, &context, trust, &mut untrusted, &mut warnings)?
    };
    relations::yielding(&mut servers, &mut warnings);
    relations::namespaces(&servers)?;
    relations::aliases(&mut servers)?;
    relations::requirements(&mut servers);
    unknown_keys.extend(merge::unknown_of_servers(&servers));
    if settings.bool(settings::key::PLUMBING_STRICT_UNKNOWN_KEYS)
        && let Some(first) = unknown_keys.first()
    {
        return Err(ConfigError::new(
            first.place.clone(),
            first.message.clone(),
            "only keys that mean something, because `plumbing.strictUnknownKeys` is set",
        ));
    }
    Ok(Config {
        files: read
            .iter()
            .map(|file| file.found.resolved.clone())
            .collect(),
        sources: read.into_iter().map(|file| file.found).collect(),
        key,
        hash: merge::hash(&servers),
        servers,
        settings,
        untrusted,
        warnings,
        unknown_keys,
    })
}

#[cfg(test)]
mod tests;
