//! `mcpx ls`, `search`, `types`, `status`: what there is.

use mcp_wire::{Object, Raw};
use mcpx_api::reply::{Found, Namespace};
use mcpx_api::{Op, operation};

use crate::exit::{Exit, Failure};
use crate::ladder;
use crate::printer::Printer;
use crate::settings::Told;

async fn ask(told: &Told, op: Op, params: Object) -> Result<mcpx_api::client::Answer, Failure> {
    let config = told.config()?;
    let client = ladder::connect(told, &config, super::caller(told)).await?;
    Ok(client.send(operation(op), &params).await?)
}

/// Lists the servers.
pub(super) async fn ls(told: &Told, printer: Printer) -> Result<Exit, Failure> {
    let answer = ask(told, Op::Namespaces, Object::new()).await?;
    if printer.json {
        printer.document(&answer.json()?);
        return Ok(Exit::Ok);
    }
    let rows: Vec<Namespace> = answer.read()?;
    for row in rows {
        let tools = row.tools.map_or("?".to_owned(), |tools| tools.to_string());
        printer.result(&format!(
            "{}\t{tools}\t{}\t{}",
            row.namespace,
            row.state,
            row.description.unwrap_or_default()
        ));
    }
    Ok(Exit::Ok)
}

/// Finds tools.
pub(super) async fn search(
    told: &Told,
    words: &[String],
    printer: Printer,
) -> Result<Exit, Failure> {
    let params = Object::new().with("q", words.join(" ").as_str());
    let answer = ask(told, Op::Search, params).await?;
    if printer.json {
        printer.document(&answer.json()?);
        return Ok(Exit::Ok);
    }
    let rows: Vec<Found> = answer.read()?;
    for row in rows {
        printer.result(&format!(
            "{}\t{}",
            row.function,
            row.description.unwrap_or_default()
        ));
    }
    Ok(Exit::Ok)
}

/// Prints signatures.
pub(super) async fn types(
    told: &Told,
    selectors: &[String],
    printer: Printer,
) -> Result<Exit, Failure> {
    let params = Object::new().with("ns", Raw::of(selectors));
    let answer = ask(told, Op::Types, params).await?;
    printer.result(&answer.text());
    Ok(Exit::Ok)
}

/// Shows the daemon.
pub(super) async fn status(told: &Told, printer: Printer) -> Result<Exit, Failure> {
    let answer = ask(told, Op::Status, Object::new()).await?;
    printer.document(&answer.json()?);
    Ok(Exit::Ok)
}
