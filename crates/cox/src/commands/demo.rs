//! `cox demo`: the main job on a small repository, without a key.
//!
//! The model's replies are scripted. Everything else is what `cox run` does: the tools, the permission rules, the sandbox
//! and the session on disk.
#![expect(
    clippy::disallowed_methods,
    reason = "the demo makes its own sample folder, where no session runs yet"
)]

use std::{
    ffi::OsString,
    fs,
    io::IsTerminal as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Parser as _;
use cox_protocol::Event;
use cox_store::{Home, Rollout};
use llm::{
    catalog::Price,
    scripted::{Scripted, ScriptedReply},
};
use serde_json::json;

use crate::{
    args::{Args, OutputFormat},
    commands::run::start,
    exit::{Exit, Failure},
    printer::Printer,
    settings::{Settings, environment::Environment},
    surface::{headless::Prompt, text::painted},
    wire_up,
};

const PROMPT: &str = "A test fails. Find out why, repair the code and show that the tests pass.";

/// A sample repository and the words of its script.
struct Sample {
    /// Runs the tests.
    program: &'static str,
    /// The command line of the tests.
    tests: &'static str,
    /// Each file: path and text.
    files: &'static [(&'static str, &'static str)],
    /// The file with the mistake.
    broken: &'static str,
    /// The mistake.
    old: &'static str,
    /// The repair.
    new: &'static str,
}

const SAMPLES: [Sample; 2] = [
    Sample {
        program: "python3",
        tests: "python3 -m unittest",
        files: &[
            ("AGENTS.md", include_str!("../../demo/python/AGENTS.md")),
            ("README.md", include_str!("../../demo/python/README.md")),
            (
                "shop/__init__.py",
                include_str!("../../demo/python/shop/__init__.py"),
            ),
            (
                "shop/receipt.py",
                include_str!("../../demo/python/shop/receipt.py"),
            ),
            (
                "tests/__init__.py",
                include_str!("../../demo/python/tests/__init__.py"),
            ),
            (
                "tests/test_receipt.py",
                include_str!("../../demo/python/tests/test_receipt.py"),
            ),
        ],
        broken: "shop/receipt.py",
        old: "    if quantity > BULK_FROM:",
        new: "    if quantity >= BULK_FROM:",
    },
    Sample {
        program: "node",
        tests: "node --test",
        files: &[
            ("AGENTS.md", include_str!("../../demo/node/AGENTS.md")),
            ("README.md", include_str!("../../demo/node/README.md")),
            ("package.json", include_str!("../../demo/node/package.json")),
            (
                "src/receipt.js",
                include_str!("../../demo/node/src/receipt.js"),
            ),
            (
                "test/receipt.test.js",
                include_str!("../../demo/node/test/receipt.test.js"),
            ),
        ],
        broken: "src/receipt.js",
        old: "  if (quantity > BULK_FROM) {",
        new: "  if (quantity >= BULK_FROM) {",
    },
];

/// Copies a sample repository, lets the scripted model repair it, shows what changed and what to do next.
///
/// # Errors
///
/// A failure when neither Python nor Node.js is there, the folder cannot be made, or the session cannot be opened.
pub(crate) fn demo(args: &Args, printer: Printer) -> Result<Exit, Failure> {
    let environment = Environment::read();
    let sample = choose(&environment)?;
    let folder = tempfile::Builder::new()
        .prefix("cox-demo-")
        .tempdir()
        .map_err(|error| {
            Failure::error(format!(
                "cannot make a temporary folder: {error}\nhint: set TMPDIR to a folder that can be written"
            ))
        })?
        .keep();
    let (home, work) = (folder.join("home"), folder.join("shop"));
    for (path, text) in sample.files {
        write(&work.join(path), text)?;
    }

    let allowed = [
        format!("Edit({})", sample.broken),
        format!("Bash({})", sample.tests),
    ];
    let run_args = args_of(args, &home, &work, &allowed)?;
    let settings = Settings::load(&run_args, environment.without_ours())?;
    let model = Scripted::new(replies(sample)).with_model("a script");
    let mut spec = wire_up::around(&settings, Arc::new(model))?;
    // A script costs nothing, which is known.
    spec.price = Some(Price {
        input: 0,
        output: 0,
        cache_read: 0,
        cache_write: 0,
    });

    printer.note(&format!(
        "demo: a small repository with a failing test, in {}\n\
         The model's replies are scripted. Everything else is real: the tools, the permission rules, the sandbox, \
         the session on disk.\n\
         allowed for this run: {}\n\
         sandbox: {}\n\
         prompt: {PROMPT}\n",
        work.display(),
        allowed.join(", "),
        wire_up::sandbox_words(&settings),
    ));
    let format = if printer.json {
        OutputFormat::Json
    } else {
        OutputFormat::Text
    };
    let prompt = Prompt {
        text: PROMPT.to_owned(),
        images: Vec::new(),
        format,
        paints: painted::are_wanted(&settings.environment, std::io::stderr().is_terminal()),
        answers: false,
    };
    let exit = start(spec, prompt, printer)?;
    if !printer.json {
        let _closed = printer.result(&format!(
            "\nwhat changed in {}:\n{}",
            work.display(),
            changes(sample, &work)
        ));
        printer.note(&next_steps(&home));
    }
    if exit == Exit::Ok && !tests_passed(&home)? {
        printer.note(&format!(
            "error: the last words of the script are wrong: `{}` did not pass in the sandbox of this machine\n\
             hint: what it printed stands above; `cox doctor` says more about the sandbox",
            sample.tests
        ));
        return Ok(Exit::Error);
    }
    Ok(exit)
}

/// Says whether the last command of the demo's session ended well, which a script cannot know.
fn tests_passed(home: &Path) -> Result<bool, Failure> {
    let home = Home::new(home);
    let Some(session) = cox_store::list_ids(&home)?.first().copied() else {
        return Ok(false);
    };
    let events = Rollout::read(&home, session)?.events;
    let last = events.iter().rev().find_map(|stored| match &stored.event {
        Event::ToolDone(done) if done.name == "bash" => Some(done.ok),
        _ => None,
    });
    Ok(last.unwrap_or_default())
}

/// Returns the first sample whose program is there and may be used inside the sandbox.
fn choose(environment: &Environment) -> Result<&'static Sample, Failure> {
    let folders = environment.program_folders();
    let hidden = environment
        .user_home()
        .map(|home| sandbox::default_hidden(&home))
        .unwrap_or_default();
    let is_usable = |path: PathBuf| !hidden.iter().any(|folder| path.starts_with(folder));
    SAMPLES
        .iter()
        .find(|sample| child_process::find_program(sample.program, &folders).is_some_and(is_usable))
        .ok_or_else(|| {
            Failure::error("the demo needs `python3` or `node`, and neither is on the PATH\nhint: install one of them")
        })
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| Failure::error(format!("cannot write {}: {error}", path.display())))
}

/// Returns the command line of `cox run` that the demo stands for.
fn args_of(args: &Args, home: &Path, work: &Path, allowed: &[String]) -> Result<Args, Failure> {
    let mut line: Vec<OsString> = ["cox", "run", "--prompt", PROMPT, "--allowed-tools"]
        .iter()
        .map(OsString::from)
        .collect();
    line.push(allowed.join(",").into());
    line.extend(["--home".into(), home.into(), "--cwd".into(), work.into()]);
    if let Some(mode) = &args.global.sandbox {
        line.extend(["--sandbox".into(), mode.into()]);
    }
    Args::try_parse_from(line).map_err(|error| Failure::error(error.to_string()))
}

fn replies(sample: &Sample) -> Vec<ScriptedReply> {
    vec![
        ScriptedReply::new()
            .text("I run the tests and look for the place where the discount is made.")
            .call("bash", json!({ "command": sample.tests }))
            .call("grep", json!({ "pattern": "BULK_FROM" })),
        ScriptedReply::new()
            .text("Ten articles should be cheaper already, and the README says so too. I read the code.")
            .call("read", json!({ "path": sample.broken }))
            .call("read", json!({ "path": "README.md" })),
        ScriptedReply::new()
            .text("The comparison leaves out exactly ten.")
            .call("edit", json!({ "path": sample.broken, "old": sample.old, "new": sample.new })),
        ScriptedReply::new().call("bash", json!({ "command": sample.tests })),
        ScriptedReply::new().text(format!(
            "The discount began at eleven articles because `{}` compared with `>`. It compares with `>=` now, as the \
             README says, and all tests pass.",
            sample.broken
        )),
    ]
}

/// Returns what is different now from what was copied, as a unified diff.
fn changes(sample: &Sample, work: &Path) -> String {
    let mut diff = String::new();
    for (path, before) in sample.files {
        let after = fs::read_to_string(work.join(path)).unwrap_or_default();
        if after != *before {
            let changes = similar::TextDiff::from_lines(*before, after.as_str());
            diff.push_str(
                &changes
                    .unified_diff()
                    .header(&format!("a/{path}"), &format!("b/{path}"))
                    .to_string(),
            );
        }
    }
    if diff.is_empty() {
        "nothing\n".to_owned()
    } else {
        diff
    }
}

fn next_steps(home: &Path) -> String {
    // As it was called, so that the lines can be pasted.
    let cox = std::env::args().next().unwrap_or_else(|| "cox".to_owned());
    let home = home.display();
    format!(
        "\nlook at this session:\n  {cox} sessions --home {home}\n\
         work in your own repository with a key:\n  \
         export ANTHROPIC_API_KEY=…\n  {cox} run -p \"say what this repository is for\"\n\
         or with a model on this machine (Ollama here; `--provider lmstudio` for LM Studio):\n  \
         ollama pull qwen3-coder\n  {cox} run --provider local -p \"say what this repository is for\"\n\
         check the set-up:\n  {cox} doctor"
    )
}
