//! How the tools changed, and how they were read again, as people read it.

use mcp_wire::{Object, Raw};

use super::{Desk, members};
use crate::exit::{Exit, Failure};
use crate::render::Table;

/// Changes of schemas, tool by tool, newest first; without any, how many tools are watched.
pub(super) fn history(desk: &Desk<'_>, document: &Raw) -> Result<(), Failure> {
    let whole = document.object().unwrap_or_default();
    let watched = whole
        .get("tools")
        .and_then(|raw| raw.array().ok())
        .map_or(0, |tools| tools.len());
    let changes = whole.object("changes").unwrap_or_default();
    let mut table = Table::new(["SEEN", "TOOL", "CHANGE", "WHAT"]).keeping(1);
    let mut any = false;
    for (tool, list) in changes.iter() {
        for change in members(Some(list)) {
            any = true;
            let text = |name: &str| change.string(name).unwrap_or_default();
            let when = text("when");
            table.row([
                when.get(..16).unwrap_or(&when).replace('T', " "),
                tool.to_owned(),
                text("kind"),
                text("what"),
            ]);
        }
    }
    if any {
        return desk.printer.painted(&table.lines(desk.printer));
    }
    desk.printer.note(&match watched {
        0 => "no tool was read yet; `mcpx refresh` reads them".to_owned(),
        1 => "one tool is known, and it never changed".to_owned(),
        many => format!("{many} tools are known, and none of them changed"),
    });
    Ok(())
}

/// What was read again: the namespaces on stdout, what came and went and what failed on stderr. Fails when a server did.
pub(super) fn refresh(desk: &Desk<'_>, document: &Raw) -> Result<Exit, Failure> {
    let whole = document.object().unwrap_or_default();
    let list = |name: &str| -> Vec<String> {
        whole
            .get(name)
            .and_then(|raw| raw.read().ok())
            .unwrap_or_default()
    };
    desk.printer.result(&list("namespaces").join("\n"))?;
    for name in ["added", "removed", "changed"] {
        let servers = list(name);
        if !servers.is_empty() {
            desk.printer
                .note(&format!("{name}: {}", servers.join(", ")));
        }
    }
    let errors: Vec<Object> = members(whole.get("errors"));
    for error in &errors {
        let text = |name: &str| error.string(name).unwrap_or_default();
        desk.printer.note(&format!("error: {}", text("error")));
    }
    Ok(if errors.is_empty() {
        Exit::Ok
    } else {
        Exit::Failed
    })
}
