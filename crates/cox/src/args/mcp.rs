//! `cox mcp`.

use std::ffi::OsString;

use clap::{Args as ClapArgs, Subcommand};

/// `cox mcp`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Mcp {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

/// What `cox mcp` may do.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Connect to an MCP server, say what it is and offers, and call one of its tools
    ///
    /// The program runs as you typed it, outside the sandbox, with the allowlisted environment and what `--env` adds.
    #[command(
        after_help = "Examples:\n  cox mcp probe npx -y @modelcontextprotocol/server-everything\n  \
                            cox mcp probe --call echo --input '{\"message\":\"hi\"}' -- node server.js\n  \
                            cox mcp probe https://mcp.example.com/mcp"
    )]
    Probe(Probe),
}

/// `cox mcp probe`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Probe {
    /// A program with its arguments, or one http or https URL
    #[arg(value_name = "TARGET", required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) target: Vec<OsString>,
    /// Call this tool
    #[arg(long, value_name = "TOOL")]
    pub(crate) call: Option<String>,
    /// Its arguments, a JSON object; `-` reads it from stdin
    #[arg(
        long,
        value_name = "JSON",
        requires = "call",
        allow_hyphen_values = true
    )]
    pub(crate) input: Option<String>,
    /// A variable of the program's environment, as NAME=VALUE, or NAME to pass one on; may be repeated
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// A header for the URL, as `NAME: VALUE`; `NAME: $VARIABLE` takes it from the environment; may be repeated
    #[arg(long, value_name = "HEADER")]
    pub(crate) header: Vec<String>,
    /// Connect to the URL's server over this Unix socket
    #[arg(long, value_name = "PATH")]
    pub(crate) unix_socket: Option<std::path::PathBuf>,
    /// Seconds for the handshake, and for a call without a sign of life
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
}
