//! The tools that change files, in turns with plain reads and writes of the same files.
//!
//! As with the search, a tool is measured where it is used: from the end of the model's answer that asks for the change to
//! the first byte of the request that carries the result. That holds judging, the archive, the record and the diff. The
//! baseline reads each file, changes it in memory, writes it over itself and waits for the disk.

use std::{fs, io::Write as _, path::Path, time::Instant};

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::{
    figure::Figure,
    mock::Reply,
    run::{self, milliseconds},
};

/// Size of the file that is edited, in bytes.
const LARGE: usize = 10 << 20;

/// Files of the patch.
const FILES: usize = 200;

/// Measures an edit of a small file, one of a large file, and a patch of many.
pub(crate) fn against_plain_writes(cox: &Path, runs: usize) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, files, bytes) in [
        ("`edit` in a file of 4 KB", 1, 4 << 10),
        ("`edit` in a file of 10 MB", 1, LARGE),
        ("`apply_patch` over 200 files", FILES, 4 << 10),
    ] {
        let (mut ours, mut plain) = (vec![], vec![]);
        for round in 0..=runs {
            let folder = tempfile::tempdir()?;
            write_files(folder.path(), files, bytes)?;
            let call = if files == 1 {
                let input = json!({"path": "f0.txt", "old": "the middle of 0", "new": "another middle of 0"});
                Reply::Call("edit", input)
            } else {
                Reply::Call("apply_patch", json!({"patch": patch(files)}))
            };
            let run = run::run(
                cox,
                folder.path(),
                "change it",
                &[call, Reply::Text("done")],
            )?;
            check(folder.path(), files)?;
            write_files(folder.path(), files, bytes)?;
            let took = plainly(folder.path(), files)?;
            check(folder.path(), files)?;
            if round > 0 {
                ours.push(milliseconds(
                    run.requests[1].began - run.requests[0].answered,
                ));
                plain.push(took);
            }
        }
        let plain = Figure::new("  plain reads and writes, synced", "ms", plain);
        figures.push(Figure::new(name, "ms", ours).beside(&plain));
        figures.push(plain);
    }
    Ok(figures)
}

fn write_files(folder: &Path, files: usize, bytes: usize) -> anyhow::Result<()> {
    for number in 0..files {
        let line = "a line of text that is like the others and stays as it is\n";
        let half = line.repeat(bytes / line.len() / 2);
        let text = format!("{half}the middle of {number}\n{half}");
        fs::write(folder.join(format!("f{number}.txt")), text)?;
    }
    // What was written for the measurement is not to be written during it.
    for number in 0..files {
        fs::File::open(folder.join(format!("f{number}.txt")))?.sync_all()?;
    }
    Ok(())
}

fn patch(files: usize) -> String {
    let mut patch = "*** Begin Patch\n".to_owned();
    for number in 0..files {
        patch.push_str(&format!(
            "*** Update File: f{number}.txt\n@@\n-the middle of {number}\n+another middle of {number}\n"
        ));
    }
    patch.push_str("*** End Patch\n");
    patch
}

fn plainly(folder: &Path, files: usize) -> anyhow::Result<f64> {
    let started = Instant::now();
    for number in 0..files {
        let path = folder.join(format!("f{number}.txt"));
        let text = fs::read_to_string(&path)?;
        let text = text.replacen("the middle", "another middle", 1);
        let mut file = fs::File::create(&path)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
    }
    Ok(milliseconds(started.elapsed()))
}

/// Fails when a file was not changed: a figure of nothing is none.
fn check(folder: &Path, files: usize) -> anyhow::Result<()> {
    for number in 0..files {
        let path = folder.join(format!("f{number}.txt"));
        let text = fs::read_to_string(&path).context("read what was changed")?;
        if !text.contains(&format!("another middle of {number}\n")) {
            bail!("{} was not changed", path.display());
        }
    }
    Ok(())
}
