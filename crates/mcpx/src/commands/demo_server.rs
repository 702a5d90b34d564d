//! `mcpx demo-server`: the demo tools over stdio or HTTP.

use clap::{ArgMatches, FromArgMatches as _, ValueEnum};
use mcp_wire::Era;

use crate::demo_server::{self, DemoOptions};
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::settings;

/// What may be typed behind `demo-server`.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoServer {
    /// Speak the revisions of this era alone.
    #[arg(long, value_name = "ERA")]
    era: Option<OneEra>,
    /// Begin with the second set of schemas, as `MCPX_DEMO_SCHEMA=2` does; the tool `change_schema` changes it at any time.
    #[arg(long)]
    changed: bool,
    /// Listen on this port of 127.0.0.1, 0 for a free one, and print the URL.
    #[arg(long, value_name = "PORT")]
    http: Option<u16>,
}

/// The revisions with a handshake, or those without.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum OneEra {
    Legacy,
    Modern,
}

/// Serves, as it was typed.
///
/// # Errors
/// As [`run`].
pub(super) async fn run_typed(matches: &ArgMatches) -> Result<Exit, Failure> {
    let typed =
        DemoServer::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    run(&typed).await
}

/// Serves until the client is gone.
///
/// # Errors
/// When the port cannot be opened, or a pipe breaks.
pub(crate) async fn run(typed: &DemoServer) -> Result<Exit, Failure> {
    let surroundings = settings::surroundings()?;
    let is_second = surroundings.variable("MCPX_DEMO_SCHEMA") == Some("2");
    let options = DemoOptions {
        era: typed.era.map(|era| match era {
            OneEra::Legacy => Era::Legacy,
            OneEra::Modern => Era::Modern,
        }),
        changed: typed.changed || is_second,
        http: typed.http,
        now: super::now_plain,
        announce: |url| {
            let _reader_gone = Printer::default().result(url);
        },
    };
    let served = demo_server::serve(options).await;
    served.map_err(|error| Failure::failed(format!("{error:#}")))?;
    Ok(Exit::Ok)
}
