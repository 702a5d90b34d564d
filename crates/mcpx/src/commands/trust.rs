//! `mcpx servers trust`: what the project's files would start, and the person's word on it.

use mcp_wire::{Object, Raw};
use mcpx_api::Op;
use mcpx_config::{Asked, Untrusted};
use mcpx_store::StateDir;
use mcpx_store::trust::{Accepted, TrustFile};
use untrusted_text::terminal::one_line;

use super::{Desk, now_plain};
use crate::args::from_table::{switch, texts};
use crate::args::nearest::{did_you_mean, nearest};
use crate::exit::{Exit, Failure};

/// Accepts, or takes trust back.
pub(super) async fn trust(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let names = texts(&desk.typed.matches, "names");
    if switch(&desk.typed.matches, "forget") {
        return forget(desk, &names).await;
    }
    let waiting = named(&desk.config.untrusted, &names)?;
    let printer = desk.printer;
    if waiting.is_empty() {
        if printer.json {
            printer.document(&document(&[], false))?;
        } else {
            printer.note("nothing waits for your word here");
        }
        return Ok(Exit::Ok);
    }
    let accepts = if switch(&desk.typed.matches, "yes") {
        if !printer.json {
            printer.note(&listing(&waiting));
        }
        true
    } else if printer.json || !printer.can_ask {
        if printer.json {
            printer.document(&document(&waiting, false))?;
        } else {
            printer.result(&listing(&waiting))?;
            printer.note("hint: accept them: `mcpx servers trust --yes`");
        }
        return Ok(Exit::Ok);
    } else {
        printer.note(&listing(&waiting));
        printer.confirms("accept them?")
    };
    if !accepts {
        printer.note("nothing was accepted");
        return Ok(Exit::Failed);
    }
    accept(desk, &waiting)?;
    take_up(desk).await?;
    if printer.json {
        printer.document(&document(&waiting, true))?;
    } else {
        printer.note(&format!("accepted: {}", titles(&waiting)));
    }
    Ok(Exit::Ok)
}

/// The waiting entries with these names; all when none is named.
fn named(waiting: &[Untrusted], names: &[String]) -> Result<Vec<Untrusted>, Failure> {
    if names.is_empty() {
        return Ok(waiting.to_vec());
    }
    let known: Vec<String> = waiting.iter().map(title).collect();
    for name in names {
        if !known.contains(name) {
            let near = nearest(name, known.iter().map(String::as_str));
            return Err(Failure::usage(format!(
                "nothing called `{}` waits for your word",
                one_line(name, 120)
            ))
            .hint(
                did_you_mean(&near)
                    .unwrap_or_else(|| "`mcpx servers trust` lists what does".to_owned()),
            ));
        }
    }
    let is_named = |one: &&Untrusted| names.contains(&title(one));
    Ok(waiting.iter().filter(is_named).cloned().collect())
}

fn title(one: &Untrusted) -> String {
    match &one.asked {
        Asked::Server { name, .. } => name.clone(),
        Asked::Setting { path, .. } => path.clone(),
    }
}

fn titles(all: &[Untrusted]) -> String {
    let titles: Vec<String> = all.iter().map(|one| one_line(&title(one), 80)).collect();
    titles.join(", ")
}

/// What waits, each with its place and what it would do.
pub(super) fn listing(all: &[Untrusted]) -> String {
    let mut text = "The files of this project want:".to_owned();
    for one in all {
        let place = format!("{}:{}", one.file.display(), one.line);
        let what = match &one.asked {
            Asked::Server { name, launch } => format!(
                "the server `{}`: {}",
                one_line(name, 80),
                // Whole: what is cut off would be accepted unseen.
                one_line(launch, usize::MAX)
            ),
            Asked::Setting { path, text } => {
                format!("the setting `{path}` = {}", one_line(text, usize::MAX))
            }
        };
        text.push_str(&format!("\n  {what}\n    {}", one_line(&place, 4_096)));
    }
    text
}

fn document(all: &[Untrusted], accepted: bool) -> Raw {
    let rows: Vec<Raw> = all
        .iter()
        .map(|one| {
            let row = Object::new()
                .with("file", one.file.display().to_string())
                .with("line", Raw::of(&one.line));
            Raw::from(match &one.asked {
                Asked::Server { name, launch } => row
                    .with("server", name.as_str())
                    .with("launch", launch.as_str()),
                Asked::Setting { path, text } => row
                    .with("setting", path.as_str())
                    .with("value", text.as_str()),
            })
        })
        .collect();
    Raw::from(
        Object::new()
            .with("entries", Raw::of(&rows))
            .with("accepted", accepted),
    )
}

/// Writes down that these were accepted.
pub(super) fn accept(desk: &Desk<'_>, all: &[Untrusted]) -> Result<(), Failure> {
    let state =
        StateDir::open(&desk.told.state).map_err(|error| Failure::failed(error.to_string()))?;
    let file = TrustFile::new(&state);
    for one in all {
        let entry = Accepted {
            file: one.file.clone(),
            at: now_plain(),
            name: title(one),
        };
        let told = file
            .trust(&one.digest, entry)
            .map_err(|error| Failure::failed(error.to_string()))?;
        if let Some(problem) = told {
            desk.printer.note(&format!("warning: {problem}"));
        }
    }
    Ok(())
}

/// Lets a daemon that runs take it up.
pub(super) async fn take_up(desk: &Desk<'_>) -> Result<(), Failure> {
    desk.hub()?.ask_running(Op::Reload, &Object::new()).await?;
    Ok(())
}

async fn forget(desk: &Desk<'_>, names: &[String]) -> Result<Exit, Failure> {
    let state =
        StateDir::open(&desk.told.state).map_err(|error| Failure::failed(error.to_string()))?;
    let file = TrustFile::new(&state);
    let (accepted, _) = file.load();
    // Of the files that are read here; another project's trust is not this one's to take back.
    let here = |entry: &Accepted| {
        desk.config.files.contains(&entry.file)
            || desk
                .told
                .surroundings
                .cwd
                .starts_with(entry.file.parent().unwrap_or(&entry.file))
    };
    let mut forgotten = Vec::new();
    for (digest, entry) in accepted {
        if here(&entry) && (names.is_empty() || names.contains(&entry.name)) {
            file.forget(&digest, now_plain())
                .map_err(|error| Failure::failed(error.to_string()))?;
            forgotten.push(entry.name);
        }
    }
    if let Some(missing) = names.iter().find(|name| !forgotten.contains(name)) {
        return Err(Failure::usage(format!(
            "nothing called `{}` was accepted here",
            one_line(missing, 120)
        )));
    }
    take_up(desk).await?;
    if desk.printer.json {
        let document = Object::new().with("forgotten", Raw::of(&forgotten));
        desk.printer.document(&Raw::from(document))?;
    } else if forgotten.is_empty() {
        desk.printer.note("nothing was accepted here");
    } else {
        desk.printer
            .note(&format!("no longer accepted: {}", forgotten.join(", ")));
    }
    Ok(Exit::Ok)
}
