//! Times one edit of a file of 4 KiB by way of a write set, in turns with the same bytes read, written and synced plainly.
//!
//! The archive and the journal do on the disk what those of `cox` do: a file written under another name and renamed.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example prints and writes files of its own"
)]

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use cox_workspace::{
    Access, Begun, Journal, PreImages, Roots, WriteSet, confine, edit::edit, file,
};

/// Rounds that are counted; one more comes first.
const ROUNDS: usize = 300;

fn main() {
    if let Err(error) = measure() {
        println!("{error}");
    }
}

fn measure() -> Result<(), Box<dyn std::error::Error>> {
    let top = std::env::temp_dir()
        .canonicalize()?
        .join(format!("edit-cost-{}", std::process::id()));
    let (work, home) = (top.join("work"), top.join("home"));
    fs::create_dir_all(&work)?;
    fs::create_dir_all(&home)?;
    let lines: String = (0..64)
        .map(|line| format!("line {line:02} of a file that is about as long as most of them are"))
        .map(|line| format!("{line:63}\n"))
        .collect();
    fs::write(work.join("edited"), &lines)?;
    fs::write(work.join("plain"), &lines)?;
    let (mut by_set, mut plainly, mut in_memory) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let (from, to) = if round % 2 == 0 {
            ("31", "xx")
        } else {
            ("xx", "31")
        };
        let (old, new) = (format!("line {from} of"), format!("line {to} of"));
        let start = Instant::now();
        let computing = edited(&work, &home, &old, &new)?;
        by_set.push(start.elapsed());
        in_memory.push(computing);
        let start = Instant::now();
        rewritten(&work.join("plain"), &old, &new)?;
        plainly.push(start.elapsed());
    }
    fs::remove_dir_all(&top)?;
    let [set, plain, memory] = [by_set, plainly, in_memory].map(median);
    println!(
        "an edit of {} bytes: {set:.2?}, of which computing {memory:.2?}; read, written and synced plainly: {plain:.2?}; {:.1} times",
        lines.len(),
        set.as_secs_f64() / plain.as_secs_f64()
    );
    Ok(())
}

/// Edits as the tool does: judge, read, compute, write. Returns the time that the computing took.
fn edited(
    work: &Path,
    home: &Path,
    old: &str,
    new: &str,
) -> Result<Duration, Box<dyn std::error::Error>> {
    let roots = Roots {
        cwd: work.to_owned(),
        home: home.to_owned(),
        readable: vec![work.to_owned()],
        writable: vec![work.to_owned()],
    };
    let at = confine(&roots, "edited", Access::Write)?;
    let before = file::read(&at, 1 << 20)?;
    let start = Instant::now();
    let after = edit(&before, old, new, false)?.bytes;
    let computing = start.elapsed();
    let mut set = WriteSet::new(&roots);
    set.update(at, before, after);
    let home = Home(home.to_owned());
    set.apply(&home, &home)?;
    Ok(computing)
}

fn rewritten(path: &Path, old: &str, new: &str) -> io::Result<()> {
    let after = fs::read_to_string(path)?.replace(old, new);
    let mut file = File::create(path)?;
    file.write_all(after.as_bytes())?;
    file.sync_data()
}

struct Home(PathBuf);

impl Home {
    /// Puts a whole file under a new name.
    fn put(&self, bytes: &[u8], lock: bool, durable: bool) -> io::Result<(PathBuf, File)> {
        use std::hash::{BuildHasher as _, RandomState};
        let path = self
            .0
            .join(format!("{:016x}", RandomState::new().hash_one(0)));
        let part = path.with_extension("part");
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&part)?;
        if lock {
            file.lock()?;
        }
        file.write_all(bytes)?;
        if durable {
            file.sync_data()?;
        }
        fs::rename(&part, &path)?;
        Ok((path, file))
    }
}

impl PreImages for Home {
    fn keep(&self, _path: &Path, bytes: &[u8]) -> io::Result<String> {
        self.put(bytes, false, false)
            .map(|(path, _)| path.display().to_string())
    }
}

impl Journal for Home {
    fn begin(&self, record: &[u8], durable: bool) -> io::Result<Box<dyn Begun>> {
        let (path, file) = self.put(record, true, durable)?;
        Ok(Box::new(Record { path, _lock: file }))
    }
}

struct Record {
    path: PathBuf,
    _lock: File,
}

impl Begun for Record {
    fn rewrite(&mut self, record: &[u8]) -> io::Result<()> {
        fs::write(&self.path, record)
    }

    fn end(self: Box<Self>) {
        drop(fs::remove_file(&self.path));
    }
}

/// The middle one of the rounds behind the first, which fills the system's caches.
fn median(mut times: Vec<Duration>) -> Duration {
    times.remove(0);
    times.sort();
    times[times.len() / 2]
}
