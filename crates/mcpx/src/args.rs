//! What may be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// A hub for MCP servers: one daemon keeps them, every agent and script asks it.
#[derive(Debug, Parser)]
#[command(name = "mcpx", version, disable_help_subcommand = true)]
pub(crate) struct Args {
    /// Print one JSON document, in every case.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Read this configuration file and no other.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Use the built-in demo server and no configuration.
    #[arg(long)]
    pub(crate) demo: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the servers; starts none.
    #[command(visible_aliases = ["list", "namespaces"])]
    Ls,
    /// Find tools by words.
    Search {
        /// What to look for.
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Print signatures of a namespace or of single tools.
    Types {
        /// `namespace` or `namespace.tool`.
        #[arg(required = true)]
        selectors: Vec<String>,
    },
    /// Call one tool.
    Call {
        /// `namespace.tool`.
        tool: String,
        /// A JSON object, or `key=value` pairs.
        arguments: Vec<String>,
    },
    /// Show the daemon, its servers and their instances.
    Status,
    /// Be the daemon.
    Daemon {
        /// Settings, as flags.
        #[arg(long, value_name = "TIME", default_value = "0s")]
        daemon_idle_exit: String,
        /// The state folder.
        #[arg(long, value_name = "DIR")]
        paths_state: Option<PathBuf>,
    },
    /// End the daemon.
    Stop,
    /// Serve the demo tools over stdio.
    DemoServer,
}
