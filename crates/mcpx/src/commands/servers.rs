//! `mcpx servers add` and `import`: servers written into a file.

use std::path::PathBuf;

use mcp_wire::{Object, Raw};
use mcpx_api::Op;
use mcpx_config::files::{project_file, user_file};
use mcpx_config::import::{Change, Found, Host, Plan, Step, apply, found, plan};
use untrusted_text::terminal::one_line;

use super::Desk;
use super::call::arguments;
use crate::args::from_table::{switch, text, texts};
use crate::exit::{Exit, Failure};

/// Writes one server.
pub(super) async fn add(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let matches = &desk.typed.matches;
    let mut params = Object::new().with("name", text(matches, "name").unwrap_or_default());
    let command = texts(matches, "command");
    let url = text(matches, "url");
    match (command.split_first(), url) {
        (Some((program, args)), _) => {
            params.set("command", program.as_str());
            params.set("args", Raw::of(args));
        }
        (None, Some(url)) => params.set("url", url),
        (None, None) => {
            return Err(Failure::usage("a server needs a program or a URL").hint(
                "`mcpx servers add NAME -- PROGRAM ARGS…`, or `mcpx servers add NAME --url URL`",
            ));
        }
    }
    let pairs = |id: &str, separator: char, example: &str| -> Result<Option<Object>, Failure> {
        let mut object = Object::new();
        for typed in texts(matches, id) {
            let (name, value) = typed.split_once(separator).ok_or_else(|| {
                // The value may be a secret.
                let shown: String = one_line(&typed, 40);
                Failure::usage(format!("`--{id}` was `{shown}`, expected `{example}`"))
            })?;
            object.set(name.trim(), value.trim_start());
        }
        Ok((!object.is_empty()).then_some(object))
    };
    if let Some(env) = pairs("env", '=', "NAME=VALUE")? {
        params.set("env", env);
    }
    if let Some(headers) = pairs("header", ':', "NAME: VALUE")? {
        params.set("headers", headers);
    }
    for name in ["cwd", "transport", "scope"] {
        if let Some(value) = text(matches, name) {
            params.set(name, value);
        }
    }
    if let Some(json) = text(matches, "mcpx") {
        params.set("mcpx", arguments::object(&json)?);
    }
    if switch(matches, "replace") {
        params.set("replace", true);
    }
    let document = desk.hub()?.ask(Op::ServersAdd, &params).await?.json()?;
    desk.print(&document)?;
    Ok(Exit::Ok)
}

/// Takes the lists of other hosts: prints the plan, and with `--write` does it.
pub(super) async fn import(desk: &Desk<'_>) -> Result<Exit, Failure> {
    let matches = &desk.typed.matches;
    let words = texts(matches, "from");
    let hosts: Vec<Host> = if words.iter().any(|word| word == "all") {
        Host::ALL.to_vec()
    } else {
        words
            .iter()
            .filter_map(|word| Host::from_word(word))
            .collect()
    };
    let lists: Vec<Found> = hosts
        .iter()
        .flat_map(|host| found(&desk.told.surroundings, *host))
        .collect();
    let target = target(desk)?;
    let wrong = |error: mcpx_config::write::WriteError| {
        Failure::with_hint_lines(Exit::Failed, &error.to_string())
    };
    let plan = plan(&lists, &target).map_err(wrong)?;
    // Of the lists that are there, none could be read.
    let exit = if plan.steps.is_empty() && !plan.problems.is_empty() {
        Exit::Failed
    } else {
        Exit::Ok
    };
    let replaces = switch(matches, "replace");
    let writes = switch(matches, "write");
    let saved = if writes {
        Some(apply(&plan, replaces).map_err(wrong)?)
    } else {
        None
    };
    if saved.as_ref().is_some_and(|saved| saved.is_changed) {
        desk.hub()?.ask_running(Op::Reload, &Object::new()).await?;
    }
    if desk.printer.json {
        let steps: Vec<Raw> = plan.steps.iter().map(|step| row(step, replaces)).collect();
        let problems = plan.problems.iter();
        let problems: Vec<String> = problems.map(|(_, why)| why.clone()).collect();
        let backup = saved.as_ref().and_then(|saved| saved.backup.clone());
        let document = Object::new()
            .with("file", plan.target.display().to_string())
            .with("steps", Raw::of(&steps))
            .with("problems", Raw::of(&problems))
            .with(
                "written",
                saved.as_ref().is_some_and(|saved| saved.is_changed),
            )
            .with_some("backup", backup.map(|path| path.display().to_string()));
        desk.printer.document(&Raw::from(document))?;
        return Ok(exit);
    }
    print_plan(desk, &plan, replaces, &words)?;
    match saved {
        Some(saved) if saved.is_changed => {
            let backup = saved
                .backup
                .map(|path| format!("; what it was is in {}", path.display()));
            desk.printer.note(&format!(
                "{} is written{}",
                saved.path.display(),
                backup.unwrap_or_default()
            ));
        }
        Some(_) => desk.printer.note("nothing had to be written"),
        None if would_write(&plan, replaces) => desk.printer.note(&format!(
            "hint: this was a look only; `--write` writes it to {}",
            plan.target.display()
        )),
        None => {}
    }
    Ok(exit)
}

fn target(desk: &Desk<'_>) -> Result<PathBuf, Failure> {
    let matches = &desk.typed.matches;
    let surroundings = &desk.told.surroundings;
    if let Some(file) = text(matches, "to") {
        return Ok(surroundings.cwd.join(file));
    }
    if text(matches, "scope").as_deref() == Some("project") {
        return Ok(project_file(surroundings));
    }
    if let Some(file) = &desk.told.choice.config_file {
        return Ok(surroundings.cwd.join(file));
    }
    user_file(surroundings).ok_or_else(|| {
        Failure::usage("there is no home to write into").hint("name the file: `--to FILE`")
    })
}

fn is_written(step: &Step, replaces: bool) -> bool {
    match step.change {
        Change::Add => true,
        Change::Differs => replaces,
        _ => false,
    }
}

fn would_write(plan: &Plan, replaces: bool) -> bool {
    plan.steps.iter().any(|step| is_written(step, replaces))
}

fn word(step: &Step, replaces: bool) -> (&'static str, Option<String>) {
    match &step.change {
        Change::Add => ("add", None),
        Change::Same => ("same", None),
        Change::Differs if replaces => ("replace", None),
        Change::Differs => (
            "differs",
            Some("there is another one of this name; `--replace` replaces it".to_owned()),
        ),
        Change::CannotTake { why } => ("skip", Some(why.clone())),
    }
}

fn row(step: &Step, replaces: bool) -> Raw {
    let (word, why) = word(step, replaces);
    Raw::from(
        Object::new()
            .with("name", step.name.as_str())
            .with("change", word)
            .with_some("why", why.as_deref())
            .with("from", step.from.display().to_string())
            .with("line", Raw::of(&step.line))
            .with_some("entry", step.shown.clone())
            .with("literalSecrets", Raw::of(&step.literal_secrets))
            .with("notes", Raw::of(&step.notes)),
    )
}

fn print_plan(
    desk: &Desk<'_>,
    plan: &Plan,
    replaces: bool,
    words: &[String],
) -> Result<(), Failure> {
    for (_, why) in &plan.problems {
        desk.printer.note(&format!("warning: {why}"));
    }
    if plan.steps.is_empty() {
        if !plan.problems.is_empty() {
            return Ok(());
        }
        let hosts = if words.iter().any(|word| word == "all") {
            "any host".to_owned()
        } else {
            words.join(", ")
        };
        desk.printer
            .note(&format!("no server list of {hosts} was found here"));
        return Ok(());
    }
    let mut text = String::new();
    for step in &plan.steps {
        let (word, why) = word(step, replaces);
        let place = if step.line > 0 {
            format!("{}:{}", step.from.display(), step.line)
        } else {
            step.from.display().to_string()
        };
        text.push_str(&format!(
            "{word:8}{}  ({place})\n",
            one_line(&step.name, 80)
        ));
        let entry = step.shown.as_ref().map(ToString::to_string);
        let lines = why
            .into_iter()
            .chain(entry.filter(|_| is_written(step, replaces)))
            .chain(step.notes.iter().cloned())
            .chain((!step.literal_secrets.is_empty()).then(|| {
                format!(
                    "holds secrets as plain text, which would be copied: {}",
                    step.literal_secrets.join(", ")
                )
            }));
        for line in lines {
            text.push_str(&format!("        {}\n", one_line(&line, 2_000)));
        }
    }
    desk.printer.painted(&text)
}
