//! The block `mcpx` of an entry, and the defaults that the top-level `pool` gives to every server.

use std::{collections::BTreeMap, path::Path, time::Duration};

use super::reader::Reader;
use crate::{
    ConfigError,
    files::Node,
    server::{Pattern, Precondition, Scope, Sharing, ToolFilter},
};

/// Every key of the block.
pub(crate) const BLOCK_KEYS: &[&str] = &[
    "sharing",
    "scope",
    "max",
    "min",
    "idleTimeout",
    "callTimeout",
    "startTimeout",
    "namespace",
    "description",
    "prelude",
    "profiles",
    "default",
    "tools",
    "extraIncludeTools",
    "excludeTools",
    "disabled",
    "logging",
    "requiresSecrets",
    "requiresServers",
    "preconditions",
];

/// Keys of `pool` that are no settings.
const POOL_KEYS: &[&str] = &[
    "tools",
    "extraIncludeTools",
    "excludeTools",
    "default",
    "profiles",
    "prelude",
    "requiresSecrets",
];

/// Says whether a key of `pool` is a default of servers and no setting.
pub(crate) fn is_pool_key(key: &str) -> bool {
    POOL_KEYS.contains(&key)
}

/// What the block says.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) sharing: Option<Sharing>,
    pub(super) scope: Option<Scope>,
    pub(super) max: Option<usize>,
    pub(super) min: Option<usize>,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) call_timeout: Option<Duration>,
    pub(super) start_timeout: Option<Duration>,
    pub(super) description: Option<String>,
    pub(super) prelude: Option<String>,
    pub(super) profiles: Option<Vec<String>>,
    pub(super) default: Option<bool>,
    pub(super) tools: Option<Vec<Pattern>>,
    pub(super) extra_include_tools: Vec<Pattern>,
    pub(super) exclude_tools: Vec<Pattern>,
    pub(super) log_level: Option<String>,
    pub(super) requires_secrets: Vec<String>,
    pub(super) requires_servers: Vec<String>,
    pub(super) preconditions: BTreeMap<String, Precondition>,
}

pub(super) fn read(block: &Node, reader: &mut Reader<'_>) -> Result<Block, ConfigError> {
    reader.only(block, "mcpx", BLOCK_KEYS)?;
    let max = reader.number(block, "max")?;
    if max == Some(0) {
        return Err(reader.wrong(block.get("max"), "max", "at least 1"));
    }
    let namespace = reader.plain_text(block, "namespace")?;
    if let Some(namespace) = &namespace
        && mcpx_catalog::names::namespace(namespace) != *namespace
    {
        return Err(reader.wrong(
            block.get("namespace"),
            "namespace",
            "a name of letters, digits and `_` that begins with no digit and is no word of JavaScript or of the hub",
        ));
    }
    // Read so that a value of the wrong kind is an error; what it says was seen before.
    reader.switch(block, "disabled")?;
    let scopes: Vec<String> = Scope::ALL
        .iter()
        .map(|scope| format!("`{}`", scope.word()))
        .collect();
    Ok(Block {
        sharing: reader.word(
            block,
            "sharing",
            Sharing::from_word,
            "`shared` or `exclusive`",
        )?,
        scope: reader.word(
            block,
            "scope",
            Scope::from_word,
            &format!("one of {}", scopes.join(", ")),
        )?,
        max,
        min: reader.number(block, "min")?,
        idle_timeout: reader.duration(block, "idleTimeout")?,
        call_timeout: reader.duration(block, "callTimeout")?,
        start_timeout: reader.duration(block, "startTimeout")?,
        description: reader.plain_text(block, "description")?,
        prelude: reader.plain_text(block, "prelude")?,
        profiles: reader.plain_texts(block, "profiles")?,
        default: reader.switch(block, "default")?,
        tools: reader.patterns(block, "tools")?,
        extra_include_tools: reader
            .patterns(block, "extraIncludeTools")?
            .unwrap_or_default(),
        exclude_tools: reader.patterns(block, "excludeTools")?.unwrap_or_default(),
        log_level: log_level(block, reader)?,
        requires_secrets: reader
            .plain_texts(block, "requiresSecrets")?
            .unwrap_or_default(),
        requires_servers: reader
            .plain_texts(block, "requiresServers")?
            .unwrap_or_default(),
        preconditions: preconditions(block, reader)?,
    })
}

fn log_level(block: &Node, reader: &Reader<'_>) -> Result<Option<String>, ConfigError> {
    let Some(logging) = block.get("logging") else {
        return Ok(None);
    };
    reader.only(logging, "mcpx.logging", &["level"])?;
    let levels = ["debug", "info", "warn", "error"];
    reader.word(
        logging,
        "level",
        |word| levels.contains(&word).then(|| word.to_owned()),
        "one of `debug`, `info`, `warn`, `error`",
    )
}

fn preconditions(
    block: &Node,
    reader: &Reader<'_>,
) -> Result<BTreeMap<String, Precondition>, ConfigError> {
    let Some(node) = block.get("preconditions") else {
        return Ok(BTreeMap::new());
    };
    if !matches!(node.kind, crate::files::Kind::Object(_)) {
        return Err(reader.wrong(
            Some(node),
            "preconditions",
            "an object from a tool to what it wants",
        ));
    }
    node.entries()
        .iter()
        .map(|entry| {
            reader.only(
                &entry.value,
                "mcpx.preconditions",
                &[
                    "requiresSecret",
                    "requiresServer",
                    "requiresSecrets",
                    "requiresServers",
                ],
            )?;
            let several = |one: &str, many: &str| -> Result<Vec<String>, ConfigError> {
                let mut all: Vec<String> =
                    reader.plain_text(&entry.value, one)?.into_iter().collect();
                all.extend(reader.plain_texts(&entry.value, many)?.unwrap_or_default());
                Ok(all)
            };
            Ok((
                entry.name.clone(),
                Precondition {
                    requires_secrets: several("requiresSecret", "requiresSecrets")?,
                    requires_servers: several("requiresServer", "requiresServers")?,
                },
            ))
        })
        .collect()
}

/// What `pool` gives to servers that do not say it themselves.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PoolDefaults {
    tools: Option<Vec<Pattern>>,
    extra: Vec<Pattern>,
    exclude: Vec<Pattern>,
    pub(super) default: bool,
    pub(super) profiles: Vec<String>,
    pub(super) prelude: Option<String>,
    pub(super) requires_secrets: Vec<String>,
}

impl PoolDefaults {
    /// The tools of a server: its own list in place of the pool's; what is added and left out adds up.
    pub(super) fn filter(
        &self,
        tools: Option<Vec<Pattern>>,
        extra: Vec<Pattern>,
        exclude: Vec<Pattern>,
    ) -> ToolFilter {
        let sum = |ours: &[Pattern], more: Vec<Pattern>| ours.iter().cloned().chain(more).collect();
        ToolFilter::new(
            tools.or_else(|| self.tools.clone()),
            sum(&self.extra, extra),
            sum(&self.exclude, exclude),
        )
    }
}

/// One file's `pool`, as far as it is no setting. `takes` says of a key whether it may be taken from this file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PoolBlock {
    tools: Option<Vec<Pattern>>,
    extra: Vec<Pattern>,
    exclude: Vec<Pattern>,
    default: Option<bool>,
    profiles: Option<Vec<String>>,
    prelude: Option<String>,
    requires_secrets: Vec<String>,
}

impl PoolBlock {
    pub(crate) fn read(
        root: &Node,
        file: &Path,
        takes: impl Fn(&str) -> bool,
    ) -> Result<Self, ConfigError> {
        let Some(pool) = root.get("pool") else {
            return Ok(Self::default());
        };
        let reader = Reader {
            file,
            variables: None,
            reason: None,
            unread: Vec::new(),
        };
        let mut block = Self {
            tools: reader.patterns(pool, "tools")?,
            extra: reader
                .patterns(pool, "extraIncludeTools")?
                .unwrap_or_default(),
            exclude: reader.patterns(pool, "excludeTools")?.unwrap_or_default(),
            default: reader.switch(pool, "default")?,
            profiles: reader.plain_texts(pool, "profiles")?,
            prelude: reader.plain_text(pool, "prelude")?,
            requires_secrets: reader
                .plain_texts(pool, "requiresSecrets")?
                .unwrap_or_default(),
        };
        if !takes("tools") {
            block.tools = None;
        }
        if !takes("extraIncludeTools") {
            block.extra.clear();
        }
        if !takes("default") {
            block.default = None;
        }
        if !takes("profiles") {
            block.profiles = None;
        }
        if !takes("prelude") {
            block.prelude = None;
        }
        Ok(block)
    }

    /// The blocks of the files, nearest first, as one: a nearer one wins, what is added, left out and required adds up.
    pub(crate) fn merged(blocks: &[Self]) -> PoolDefaults {
        let first = |has: fn(&Self) -> bool| blocks.iter().find(|block| has(block));
        PoolDefaults {
            tools: first(|block| block.tools.is_some()).and_then(|block| block.tools.clone()),
            extra: blocks
                .iter()
                .flat_map(|block| block.extra.clone())
                .collect(),
            exclude: blocks
                .iter()
                .flat_map(|block| block.exclude.clone())
                .collect(),
            default: first(|block| block.default.is_some())
                .and_then(|block| block.default)
                .unwrap_or(true),
            profiles: first(|block| block.profiles.is_some())
                .and_then(|block| block.profiles.clone())
                .unwrap_or_default(),
            prelude: first(|block| block.prelude.is_some()).and_then(|block| block.prelude.clone()),
            requires_secrets: blocks
                .iter()
                .flat_map(|block| block.requires_secrets.clone())
                .collect(),
        }
    }

    /// The keys that would widen what the hub does, when a project's file says them.
    pub(crate) fn widening(root: &Node) -> Vec<&crate::files::Entry> {
        let Some(pool) = root.get("pool") else {
            return Vec::new();
        };
        pool.entries()
            .iter()
            .filter(|entry| match entry.name.as_str() {
                "tools" | "extraIncludeTools" | "profiles" | "prelude" => true,
                "default" => entry.value.kind == crate::files::Kind::Bool(true),
                _ => false,
            })
            .collect()
    }
}
