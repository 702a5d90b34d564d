//! `mcpx daemons`: the records of this state folder, and whether each daemon answers.

use mcp_wire::{Object, Raw};
use mcpx_api::{Caller, Client, Op, operation};
use mcpx_config::settings::key;
use mcpx_store::StateDir;
use mcpx_store::daemons::{DaemonRecord, Daemons};

use super::Desk;
use crate::exit::{Exit, Failure};
use crate::render::Table;

/// Lists them.
pub(super) async fn daemons(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let listing = Daemons::new(&StateDir::at(&desk.told.state)).list();
    let mut rows = Vec::new();
    for record in listing.records {
        let state = state(desk, &record).await;
        rows.push((record, state));
    }
    if desk.printer.json {
        let rows: Vec<Raw> = rows
            .iter()
            .map(|(record, state)| row(record, state))
            .collect();
        let document = Object::new().with("daemons", Raw::of(&rows)).with(
            "broken",
            Raw::of(
                &listing
                    .broken
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>(),
            ),
        );
        desk.printer.document(&Raw::from(document))?;
        return Ok(Exit::Ok);
    }
    for problem in &listing.broken {
        desk.printer.note(&format!("warning: {problem}"));
    }
    if rows.is_empty() {
        desk.printer.note("no daemon runs");
        return Ok(Exit::Ok);
    }
    let mut table = Table::new([
        "KEY", "PID", "STATE", "VERSION", "STARTED", "ENDPOINT", "FILES",
    ]);
    for (record, state) in &rows {
        table.row([
            record.key.clone(),
            record.pid.to_string(),
            (*state).to_owned(),
            record.version.clone(),
            record.started_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            record.endpoint.clone().unwrap_or_default(),
            files(record).join(", "),
        ]);
    }
    desk.printer.painted(&table.lines(desk.printer))?;
    Ok(Exit::Ok)
}

async fn state(desk: &Desk<'_>, record: &DaemonRecord) -> &'static str {
    let wait = desk.config.settings.duration(key::DAEMON_PROBE_TIMEOUT);
    let client = Client::unix(&record.socket, Caller::default(), wait);
    match client.send(operation(Op::Health), &Object::new()).await {
        Ok(_) => "answers",
        Err(_) if record.is_alive() == Some(false) => "gone",
        Err(_) => "silent",
    }
}

fn files(record: &DaemonRecord) -> Vec<String> {
    record
        .files
        .iter()
        .map(|file| file.display().to_string())
        .collect()
}

fn row(record: &DaemonRecord, state: &str) -> Raw {
    Raw::from(
        Object::new()
            .with("key", record.key.as_str())
            .with("pid", i64::from(record.pid))
            .with("state", state)
            .with("version", record.version.as_str())
            .with("startedAt", record.started_at.to_string())
            .with("socket", record.socket.display().to_string())
            .with_some("endpoint", record.endpoint.as_deref())
            .with("files", Raw::of(&files(record))),
    )
}
